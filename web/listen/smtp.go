package listen

// Submission is where mail is taken by SMTP: addresses, each with how TLS is spoken there.
func (l *Doors) Submission() [][2]string { return l.smtp.Ports() }
