package app

type BroadcastMail struct{ b Broadcast }

func CompileBroadcast(b *Broadcast) (*BroadcastMail, error)  { return &BroadcastMail{*b}, nil }
func (m *BroadcastMail) Size() int64                         { return int64(len(m.b.HTML)) + 2048 }
func (m *BroadcastMail) Fields(c *Contact) map[string]string { return nil }
func (m *BroadcastMail) Mail(s *Sealer, r *BroadcastRecipient) *Mail {
	a, _ := ParseAddress(r.Email)
	return &Mail{From: m.b.From, To: []Address{a}, Subject: m.b.Subject, HTML: m.b.HTML, Text: "x"}
}
