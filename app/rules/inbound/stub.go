// Package inbound parses mail from strangers.
package inbound

import "mailer/app"

// Message is a message as people read it.
type Message struct {
	Headers               []app.Header
	From, FromEmail       string
	To, Cc, Bcc, ReplyTo  []string
	Subject, MessageID    string
	InReplyTo, References []string
	Text, HTML            string
	Files                 []app.ReceivedFile
	Auto                  app.AutoSubmitted
}

// Parse parses a message.
func Parse(raw []byte) *Message { return &Message{} }

// Part returns the content of the n-th part.
func Part(raw []byte, n int) ([]byte, bool) { return nil, false }

// ReplyText returns the text without quotes.
func ReplyText(m *Message) string { return m.Text }
