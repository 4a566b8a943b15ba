package app

import (
	"strings"
	"sync"
)

// Bodies are the bodies of a broadcast's mail to one recipient; nil: none.
type Bodies struct {
	HTML, Text *Body
}

// Body is one body in pieces: what all recipients get, and what is only one's.
type Body struct {
	Pieces   []Piece
	NonASCII bool // what it shares is mostly not ASCII
}

// Piece is a part of a body.
type Piece struct {
	Shared   *SharedText // nil: nothing
	Personal string      // follows Shared
}

// SharedText is a text that many mails have in common, so that it is encoded for
// the wire once. Its text never changes; it is safe for concurrent use.
type SharedText struct {
	Text string
	once sync.Once
	wire []byte
}

// Encoded is what encode makes of the text. encode is asked once, so it is to be
// the same function each time; nobody may change what it returned.
func (t *SharedText) Encoded(encode func(text string) []byte) []byte {
	t.once.Do(func() { t.wire = encode(t.Text) })
	return t.wire
}

// String puts the pieces together; empty for nil.
func (b *Body) String() string {
	var out strings.Builder
	out.Grow(int(b.size()))
	for piece := range b.texts() {
		out.WriteString(piece)
	}
	return out.String()
}

// texts returns the texts of all pieces in order.
func (b *Body) texts() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if b == nil {
			return
		}
		for i := range b.Pieces {
			p := &b.Pieces[i]
			if p.Shared != nil && !yield(p.Shared.Text) || !yield(p.Personal) {
				return
			}
		}
	}
}

func (b *Body) size() (n int64) {
	for piece := range b.texts() {
		n += int64(len(piece))
	}
	return n
}

// Size is the bytes of both bodies; 0 for nil.
func (b *Bodies) Size() int {
	if b == nil {
		return 0
	}
	return int(b.HTML.size() + b.Text.size())
}

// HasBody reports whether the mail says anything.
func (m *Mail) HasBody() bool {
	if m.Bodies != nil {
		return m.Bodies.HTML != nil || m.Bodies.Text != nil
	}
	return m.HTML != "" || m.Text != ""
}

// Flatten is the mail with its bodies as strings, for those who read or keep them:
// the mail itself unless it is one of a broadcast.
func (m *Mail) Flatten() *Mail {
	if m.Bodies == nil {
		return m
	}
	whole := *m
	whole.HTML, whole.Text, whole.Bodies = m.Bodies.HTML.String(), m.Bodies.Text.String(), nil
	return &whole
}
