package smtpout

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// built is a message in its final bytes.
type built struct {
	signature string // DKIM-Signature field with CRLF; empty: unsigned
	head      []byte // signature and message, without tail
	tail      []byte // body of a raw message, which is not copied
	utf8      bool   // a header field contains UTF-8 (RFC 6532)
	eightBit  bool   // tail contains more than ASCII (RFC 6152)
	adapted   bool   // encoded for a relay without 8BITMIME: the signature is valid for this form only
	buffer    []byte // buffer that ends with head
}

const (
	// signatureReserve is the space for the signature at the start of a buffer. A longer signature
	// costs a copy.
	signatureReserve = 2 << 10
	// keptBuffer bounds the buffers that are reused, in bytes.
	keptBuffer = 128 << 10
)

// size is the size for RFC 1870: the message before dots are doubled.
func (b *built) size() int64 { return int64(len(b.head) + len(b.tail)) }

// reusableSignature returns the signature with which the next attempt repeats the same bytes;
// empty: the message was adapted.
func (b *built) reusableSignature() string {
	if b.adapted {
		return ""
	}
	return b.signature
}

// prepend puts the signature before the message in buf.
func (b *built) prepend(buf []byte) {
	b.buffer, b.head = buf, buf[signatureReserve:]
	if start := signatureReserve - len(b.signature); start >= 0 {
		copy(buf[start:], b.signature)
		b.head = buf[start:]
		return
	}
	b.head = append([]byte(b.signature), b.head...)
}

// builder composes and signs messages, a bounded number concurrently: signing costs a millisecond
// of CPU, and API requests must not be starved, so only a quarter of the slots is used while
// callers wait. Broadcasts come last, and teams alternate.
type builder struct {
	slots   *slots
	sign    bool
	profile relayurl.Profile
	buffers sync.Pool // *built values, for their buffers
}

func newBuilder(opts Options, sign bool, profile relayurl.Profile) *builder {
	n := cmp.Or(max(opts.Builders, 0), app.ComposeWorkers())
	limit := func() int {
		if opts.Load.Busy() {
			return max(1, n/4)
		}
		return n
	}
	return &builder{slots: &slots{limit: limit}, sign: sign, profile: profile}
}

// build returns the message's bytes, or the result that ends the transaction. The caller must call
// release after the bytes were sent.
func (b *builder) build(ctx context.Context, m *app.Outgoing) (*built, *app.Result) {
	slot, err := b.slots.acquire(ctx, slotRequest{team: m.TeamID, bulk: m.Bulk})
	if err != nil {
		return nil, &app.Result{Kind: app.ResultTrouble, Stage: app.StageCompose, Reply: app.Reply{Text: "stopped before the message was composed"}}
	}
	defer b.slots.release(slot)
	out, err := b.compose(m)
	if err != nil {
		text := replySanitizer{}.text("could not compose the message: " + err.Error())
		return nil, &app.Result{Kind: app.ResultRefused, Stage: app.StageCompose, Reply: app.Reply{Enhanced: "5.6.0", Text: text}}
	}
	return out, nil
}

func (b *builder) compose(m *app.Outgoing) (*built, error) {
	out, _ := b.buffers.Get().(*built)
	if out == nil {
		out = &built{buffer: make([]byte, signatureReserve)}
	}
	if m.Mail != nil && m.Mail.Raw != nil {
		return out, b.composeRaw(out, m)
	}
	buf, err := appendMessage(out.buffer[:signatureReserve], m)
	if err != nil {
		return nil, err
	}
	message := buf[signatureReserve:]
	if out.signature = m.Signature; out.signature == "" && b.sign && m.DKIM != nil {
		if out.signature, err = sign(message, m.DKIM, b.profile); err != nil {
			return nil, err
		}
	}
	if out.prepend(buf); !cleanLines(out.head) {
		return nil, errBareLine
	}
	head, _, _ := bytes.Cut(message, []byte("\r\n\r\n"))
	out.utf8 = !isASCII(head)
	return out, nil
}

// release reuses the buffer of a message.
func (b *builder) release(out *built) {
	if cap(out.buffer) <= keptBuffer {
		*out = built{buffer: out.buffer}
		b.buffers.Put(out)
	}
}

var errBareLine = errors.New("a bare CR or LF in the message")

// cleanLines reports whether b has no bare CR or LF. It is the last guard against SMTP smuggling:
// servers differ on a lone CR or LF before a dot, so neither must be sent.
func cleanLines(b []byte) bool {
	crs := bytes.Count(b, []byte{'\r'})
	for ; len(b) > 0; crs-- {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		if end == 0 || b[end-1] != '\r' {
			return false
		}
		b = b[end+1:]
	}
	return crs == 0
}

func isASCII[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// checkPath refuses an address that can't be written between angle brackets. Stored addresses were
// validated; this check keeps a missed validation from becoming a command or parameter in our
// session.
func checkPath(address string) error {
	quoted, escaped := false, false
	for i := range len(address) {
		switch ch := address[i]; {
		case ch < ' ' || ch == 0x7f:
			return fmt.Errorf("a control character in the address %q", address)
		case escaped:
			escaped = false
		case quoted && ch == '\\':
			escaped = true
		case ch == '"':
			quoted = !quoted
		case !quoted && (ch == ' ' || ch == '<' || ch == '>'):
			return fmt.Errorf("not an address: %q", address)
		}
	}
	if quoted {
		return fmt.Errorf("an open quote in the address %q", address)
	}
	return nil
}
