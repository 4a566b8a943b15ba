package smtpout

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mailer/app/rules/relayurl"
)

// Messages of all sizes share buffers and must not influence each other.
func TestBuffersAreNotMixedUp(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}})
	cfg := configFor(f.listener)
	cfg.DKIM = true
	r := newRelay(t, cfg)
	key := scriptKey()
	expected := map[string]int{}
	var mu sync.Mutex
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for k := range 10 {
				m := testMessage("a@example.net")
				m.Mail.Text = strings.Repeat(fmt.Sprintf(".line of %d.%d\n", i, k), 1+(7*k*k*k)%700)
				if m.DKIM = key; k%3 == 0 {
					m.DKIM = nil
				}
				message, err := compose(m)
				if err != nil {
					t.Error(err)
				}
				want(t, r.Send(t.Context(), m, authorizeAll), "done/dot/250 a=accepted/250")
				mu.Lock()
				expected[string(message)]++
				mu.Unlock()
			}
		})
	}
	work.Wait()
	for _, body := range f.bodies() {
		if at := strings.Index(body, "\r\nDate: "); strings.HasPrefix(body, "DKIM-Signature:") {
			body = body[at+2:]
		}
		if expected[body]--; expected[body] < 0 {
			t.Errorf("arrived, but was not sent: %.300q", body)
		}
	}
	if n := len(f.bodies()); n != 40 {
		t.Errorf("%d messages arrived", n)
	}
}

func TestSignatureOfAnyLength(t *testing.T) {
	b := newBuilder(Options{}, true, relayurl.ProfileGeneric)
	m := testMessage("a@example.net")
	message, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, signatureReserve - 1, signatureReserve, signatureReserve + 1, 3 * signatureReserve} {
		m.Signature = strings.Repeat("s", n)
		got, bad := b.build(t.Context(), m)
		if bad != nil {
			t.Fatal(summary(*bad))
		}
		if string(got.head) != m.Signature+string(message) || got.size() != int64(len(got.head)) || got.signature != m.Signature {
			t.Errorf("with a signature of %d: %.100q", n, got.head)
		}
		b.release(got)
	}
}

// The buffer of a long message must not be kept.
func TestLargeBuffersAreNotKept(t *testing.T) {
	b := newBuilder(Options{}, false, relayurl.ProfileGeneric)
	m := testMessage("a@example.net")
	m.Mail.Text = strings.Repeat("a line of text\n", keptBuffer/15)
	got, bad := b.build(t.Context(), m)
	if bad != nil {
		t.Fatal(summary(*bad))
	}
	large := got.buffer
	b.release(got)
	if kept, _ := b.buffers.Get().(*built); kept != nil {
		t.Errorf("a buffer of %d bytes was kept", cap(kept.buffer))
	}
	if !bytes.HasSuffix(large, []byte("a line of text\r\n")) {
		t.Error("the buffer is not the message's")
	}
}
