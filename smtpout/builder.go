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

// built is a message ready for the wire.
type built struct {
	signature string // DKIM-Signature field with its CRLF; empty: unsigned
	head      []byte // the signature and the message behind it
	tail      []byte // what follows: the body of a message that was handed in whole, of which there is no copy
	utf8      bool   // a header field holds UTF-8 as it is (RFC 6532)
	eightBit  bool   // the tail holds more than ASCII (RFC 6152)
	adapted   bool   // for a relay that takes no 8-bit mail: the signature stands for no other attempt
	buffer    []byte // of which whole is the end
}

const (
	// signatureReserve is what a buffer leaves before the message. A signature that
	// is longer costs a copy.
	signatureReserve = 2 << 10
	// keptBuffer bounds the buffers that are kept for other messages, in bytes.
	keptBuffer = 128 << 10
)

// size is what RFC 1870 counts: the message before dots are doubled.
func (b *built) size() int64 { return int64(len(b.head) + len(b.tail)) }

// reusableSignature is the signature, for the next attempt to repeat the same bytes; empty: it would
// have to fit other bytes.
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

// builder composes and signs, a bounded number of messages at once: signing
// costs a millisecond of processor, and accepting mail must keep its share, so
// that while callers wait a quarter as many are at it. Broadcasts come last, and
// teams take turns.
type builder struct {
	slots   *slots
	sign    bool
	profile relayurl.Profile
	buffers sync.Pool // of *built, for their buffers
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

// build answers the message's bytes, or the result that ends the transaction.
// Whoever has sent the bytes, and not before, gives them back by release.
func (b *builder) build(ctx context.Context, m *app.Outgoing) (*built, *app.Result) {
	slot, err := b.slots.acquire(ctx, claimant{team: m.TeamID, bulk: m.Bulk})
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

// release takes back what build gave.
func (b *builder) release(out *built) {
	if cap(out.buffer) <= keptBuffer {
		*out = built{buffer: out.buffer}
		b.buffers.Put(out)
	}
}

var errBareLine = errors.New("a bare CR or LF in the message")

// cleanLines is the last guard against SMTP smuggling: servers differ on what a
// lone CR or LF before a dot means, so neither may ever reach the wire.
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

// checkPath refuses an address unfit to stand between angle brackets. What
// is stored was checked long before; this keeps a lapse there from becoming a
// command or a parameter on our authenticated session.
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
