package smtpout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"mailer/app"
)

// built is a message ready for the wire.
type built struct {
	signature string // DKIM-Signature field with its CRLF; empty: unsigned
	message   []byte
	utf8      bool // a header field holds UTF-8 as it is (RFC 6532)
}

// size is what RFC 1870 counts: the message before dots are doubled.
func (b *built) size() int64 { return int64(len(b.signature) + len(b.message)) }

// builder composes and signs, a bounded number of messages at once: signing
// costs a millisecond of processor, and accepting mail must keep its share, so
// that while callers wait half as many are at it. Broadcasts come last.
type builder struct {
	slots   *slots
	sign    bool
	profile app.Profile
}

func newBuilder(opts Options, sign bool, profile app.Profile) *builder {
	n := opts.Builders
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	limit := func() int {
		if opts.Load.Busy() {
			return max(1, n/2)
		}
		return n
	}
	return &builder{slots: &slots{limit: limit}, sign: sign, profile: profile}
}

// build answers the message's bytes, or the result that ends the transaction.
func (b *builder) build(ctx context.Context, m *app.Outgoing) (*built, *app.Result) {
	if b.slots.take(ctx, m.Bulk) != nil {
		return nil, &app.Result{Kind: app.ResultTrouble, Stage: app.StageCompose, Reply: app.Reply{Text: "stopped before the message was composed"}}
	}
	defer b.slots.give()
	out, err := b.make(m)
	if err != nil {
		text := cleaner{}.words("could not compose the message: " + err.Error())
		return nil, &app.Result{Kind: app.ResultRefused, Stage: app.StageCompose, Reply: app.Reply{Enhanced: "5.6.0", Text: text}}
	}
	return out, nil
}

func (b *builder) make(m *app.Outgoing) (*built, error) {
	message, err := compose(m)
	if err != nil {
		return nil, err
	}
	out := &built{signature: m.Signature, message: message}
	if out.signature == "" && b.sign && m.DKIM != nil {
		if out.signature, err = sign(message, m.DKIM, b.profile); err != nil {
			return nil, err
		}
	}
	if !cleanLines(message) || !cleanLines([]byte(out.signature)) {
		return nil, errBareLine
	}
	head, _, _ := bytes.Cut(message, []byte("\r\n\r\n"))
	out.utf8 = !isASCII(head)
	return out, nil
}

var errBareLine = errors.New("a bare CR or LF in the message")

// cleanLines is the last guard against SMTP smuggling: servers differ on what a
// lone CR or LF before a dot means, so neither may ever reach the wire.
func cleanLines(b []byte) bool {
	n := bytes.Count(b, []byte("\r\n"))
	return bytes.Count(b, []byte("\n")) == n && bytes.Count(b, []byte("\r")) == n
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
