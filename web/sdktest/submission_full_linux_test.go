package sdktest

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// crowdBySMTP sends mail over kept connections until six in a row are refused for lack of space.
func (s *loadTest) crowdBySMTP(t *testing.T, h *submissionFixture, name string) {
	t.Helper()
	c := h.signedIn(t, h.api.key)
	for n, refused := 0, 0; refused < 6; n++ {
		if n == 2000 {
			t.Fatal("the disk does not get full")
		}
		o := orderTo(fmt.Sprintf("%s-%d", name, n))
		o.key, o.text = "", "small"
		if n%2 == 0 {
			o.text = strings.TrimSpace(strings.Repeat(o.mark+" fills the disk.\n", 6000))
		}
		if n%90 == 89 { // a connection has a hundred messages
			c.Close()
			c = h.signedIn(t, h.api.key)
		}
		s.ledger.ask(o)
		message := "From: a@example.test\r\nTo: x@example.com\r\nSubject: " + o.mark + "\r\nContent-Type: text/plain\r\n\r\n" + strings.ReplaceAll(o.text, "\n", "\r\n") + "\r\n"
		a, err := c.handIn(message, "", o.to...)
		switch {
		case err == nil && a.id() != "":
			s.ledger.accept(o.mark, a.id())
			refused = 0
		case err == nil && a.is("452 4.3.1"):
			s.ledger.refuse(o.mark)
			refused++
			_, _ = c.cmd("RSET")
		default:
			t.Fatalf("%s: %s, %v", o.mark, a, err)
		}
	}
	c.Close()
}

// TestFullDiskBySMTP: 452 4.3.1, also after a kill; mail with 250 arrives, nothing else does, and
// once there is space mail is accepted again.
func TestFullDiskBySMTP(t *testing.T) {
	part(t, "disk")
	t.Parallel()
	d := newDisk(t, "ext4")
	relay, addr := newSink(t, sinkOptions{}), freeAddr(t)
	in := newInstanceOn(t, d, append(killArgs(relay), "--smtp-listen", addr)...)
	in.serve(t)
	s := newLoadTest(t, in, relay)
	h := &submissionFixture{instance: in, relay: relay, api: s.api, smtp: addr}
	ballast := d.fill(t, 12<<20)
	s.crowdBySMTP(t, h, "crowd")
	in.kill(t)
	in.launch(t)
	s.wantReady(t, http.StatusServiceUnavailable)
	s.crowdBySMTP(t, h, "again")
	must(t, os.Remove(ballast))
	s.wantReady(t, http.StatusOK)
	a := h.signedIn(t, h.api.key).want(t, "250 2.0.0", note("a@example.test", "room again"), "r@example.com")
	s.ledger.ask(order{mark: "room again", to: []string{"r@example.com"}})
	s.ledger.accept("room again", a.id())
	s.ledger.wantNoProblems(t, s.ledger.gather(t, in, s.api, relay, time.Minute, killConnections))
	in.stop(t)
}
