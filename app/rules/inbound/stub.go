package inbound

// ReplyText returns the text without quotes.
func ReplyText(m *Message) string { return m.Text }
