package app

import (
	"strings"
	"sync"
)

// Bodies holds the bodies of a broadcast's mail to one recipient; nil: none.
type Bodies struct {
	HTML, Text *Body
}

// Body is a body in pieces: text that all recipients share, and text of one recipient.
type Body struct {
	Pieces   []Piece
	NonASCII bool // most of the shared text is not ASCII
}

// Piece is a part of a body.
type Piece struct {
	Shared   *SharedText // nil: empty
	Personal string      // text of one recipient, after Shared
}

// SharedText is text that many mails have in common, so that it is encoded once. It is immutable
// and safe for concurrent use.
type SharedText struct {
	Text string
	once sync.Once
	wire []byte
}

// Encoded returns encode(Text). The result of the first call is kept, so every caller must pass
// the same function, and none may modify the result.
func (t *SharedText) Encoded(encode func(text string) []byte) []byte {
	t.once.Do(func() { t.wire = encode(t.Text) })
	return t.wire
}

// String joins the pieces. It returns "" for nil.
func (b *Body) String() string {
	var out strings.Builder
	out.Grow(int(b.size()))
	for piece := range b.texts() {
		out.WriteString(piece)
	}
	return out.String()
}

// texts iterates over the texts of all pieces in order.
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

// Size returns the bytes of both bodies, 0 for nil.
func (b *Bodies) Size() int {
	if b == nil {
		return 0
	}
	return int(b.HTML.size() + b.Text.size())
}

// HasBody reports whether the mail has HTML or text.
func (m *Mail) HasBody() bool {
	if m.Bodies != nil {
		return m.Bodies.HTML != nil || m.Bodies.Text != nil
	}
	return m.HTML != "" || m.Text != ""
}

// Flatten returns the mail with its bodies as strings. For mail that is not of a broadcast it
// returns m itself.
func (m *Mail) Flatten() *Mail {
	if m.Bodies == nil {
		return m
	}
	whole := *m
	whole.HTML, whole.Text, whole.Bodies = m.Bodies.HTML.String(), m.Bodies.Text.String(), nil
	return &whole
}
