package listen

// Submission returns the addresses of SMTP submission, each with its kind of TLS.
func (l *Listeners) Submission() [][2]string { return l.smtp.Ports() }
