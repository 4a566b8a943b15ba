package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// fill leaves about that many bytes free on a disk, until the path that it gives is
// removed.
func (d *disk) fill(t *testing.T, free uint64) (ballast string) {
	t.Helper()
	ballast = filepath.Join(d.mount, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	defer f.Close()
	chunk := make([]byte, 256<<10)
	for d.free(t) > free {
		if _, err := f.Write(chunk); err != nil {
			return ballast
		}
		must(t, f.Sync()) // unallocated space counts as free
	}
	return ballast
}

func (d *disk) free(t *testing.T) uint64 {
	t.Helper()
	var fs syscall.Statfs_t
	must(t, syscall.Statfs(d.mount, &fs))
	return fs.Bfree * uint64(fs.Bsize) // root may use them all
}

// offer sends one email once; a 503 counts as refused.
func (s *loadTest) offer(t *testing.T, o order) (status int) {
	t.Helper()
	s.ledger.ask(o)
	status, b, err := s.api.try("POST", "/emails", o.body(nil))
	if status == http.StatusServiceUnavailable && err == nil {
		s.ledger.refuse(o.mark)
		var refusal apiError
		if err := json.Unmarshal(b, &refusal); err != nil || refusal.Name != "service_unavailable" {
			t.Errorf("%s: %d %s", o.mark, status, b)
		}
		return status
	}
	s.took(t, status, b, err, o.mark)
	return status
}

// heavy returns an email that needs disk space.
func heavy(mark string) order {
	o := orderTo(mark)
	o.key, o.text = "", strings.Repeat(mark+" fills the disk. ", 6000)
	return o
}

// crowd offers emails until three in a row are refused.
func (s *loadTest) crowd(t *testing.T, name string) {
	t.Helper()
	for n, refused := 0, 0; refused < 3; n++ {
		if n == 2000 {
			t.Fatal("the disk does not get full")
		}
		refused++
		if s.offer(t, heavy(fmt.Sprintf("%s-%d", name, n))) != http.StatusServiceUnavailable {
			refused = 0
		}
	}
}

// wantReady waits for a status of GET /readyz.
func (s *loadTest) wantReady(t *testing.T, want int) {
	t.Helper()
	eventually(t, startTimeout, fmt.Sprintf("GET /readyz is %d", want), func() (bool, string) {
		status, b, err := s.api.try("GET", "/readyz", nil)
		if s.in.ended() {
			t.Fatalf("serve ended: %v\n%s", s.in.err, tail(s.in.log(t), 4000))
		}
		return err == nil && status == want, fmt.Sprintf("%d %s %v", status, b, err)
	})
}

// scheduled has an email accepted that is to be canceled.
func (s *loadTest) scheduled(t *testing.T, mark string) (id string) {
	t.Helper()
	o := orderTo(mark)
	o.end = "canceled"
	s.single(t, o, map[string]any{"scheduled_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	return s.ledger.idOf(mark)
}

func (s *loadTest) cancel(t *testing.T, id string) {
	t.Helper()
	if status, b := s.api.do(t, "POST", "/emails/"+id+"/cancel", nil); status != http.StatusOK {
		t.Errorf("cancel: %d %s", status, b)
	}
}

// subscriber creates a contact that gets a broadcast, and returns its unsubscribe link.
func (s *loadTest) subscriber(t *testing.T, address string) (link string) {
	t.Helper()
	if status, b := s.api.do(t, "POST", "/contacts", map[string]any{"email": address}); status != http.StatusCreated {
		t.Fatalf("POST /contacts: %d %s", status, b)
	}
	mark := "news for " + address
	status, b := s.api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "subject": mark,
		"html": `<p>News. <a href="{{{UNSUBSCRIBE_URL}}}">no more</a></p>`, "send": true})
	if status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s", status, b)
	}
	s.ledger.ask(order{mark: mark, to: []string{address}})
	s.ledger.accept(mark, "")
	m := s.relay.wait(t, 1, time.Minute, subjectIs(mark))[0]
	return strings.Trim(m.header("List-Unsubscribe"), "<>")
}

func (s *loadTest) optOut(t *testing.T, link, address string) {
	t.Helper()
	res, err := plainHTTP.Post(link, "application/x-www-form-urlencoded", strings.NewReader("List-Unsubscribe=One-Click"))
	must(t, err)
	res.Body.Close()
	var contact struct{ Unsubscribed bool }
	s.api.get(t, "/contacts/"+address, &contact)
	if res.StatusCode != http.StatusOK || !contact.Unsubscribed {
		t.Errorf("an opt-out: %s, unsubscribed %v", res.Status, contact.Unsubscribed)
	}
}

// TestFullDisk fills the disk of a server that waits for replies of its relay. New mail is refused;
// results, cancels and opt-outs are stored, also after a kill and a start on the full disk. Once
// there is space, everything continues automatically.
func TestFullDisk(t *testing.T) {
	part(t, "disk", shortForm)
	t.Parallel()
	d := newDisk(t, "ext4")
	relay := newSink(t, sinkOptions{})
	in := newInstanceOn(t, d, killArgs(relay)...)
	in.serve(t)
	s := newLoadTest(t, in, relay)
	link, first, second := s.subscriber(t, "carl@example.com"), s.scheduled(t, "first"), s.scheduled(t, "second")
	replies := make(chan struct{})
	relay.set(behaviour{afterDot: func(*smtp.Conn) error {
		select {
		case <-replies:
		case <-relay.closed:
		}
		return nil
	}})
	var held []string
	for i := range killConnections {
		held = append(held, s.post(t, fmt.Sprintf("held-%d", i), nil))
	}
	relay.wait(t, killConnections, time.Minute, func(m *message) bool { return strings.HasPrefix(m.header("Subject"), "held") })
	ballast := d.fill(t, 12<<20)
	s.crowd(t, "crowd")
	s.wantReady(t, http.StatusServiceUnavailable)
	close(replies)
	for _, id := range held {
		s.api.waitLast(t, id, time.Minute, "sent")
	}
	s.cancel(t, first)
	s.optOut(t, link, "carl@example.com")

	in.kill(t)
	in.launch(t)
	s.wantReady(t, http.StatusServiceUnavailable)
	s.cancel(t, second)
	for i := range 5 {
		if status := s.offer(t, heavy(fmt.Sprintf("again-%d", i))); status != http.StatusServiceUnavailable {
			t.Errorf("on the full disk: %d", status)
		}
	}

	must(t, os.Remove(ballast))
	s.wantReady(t, http.StatusOK)
	s.post(t, "room-again", nil)
	e := s.ledger.gather(t, in, s.api, relay, time.Minute, killConnections)
	e.counts[0].said++ // of the broadcast, which no list of emails shows
	s.ledger.wantNoProblems(t, e)
	in.stop(t)
}

// TestControlOfFullDisk: space is made by replacing the database by an older and smaller copy.
func TestControlOfFullDisk(t *testing.T) {
	part(t, "disk", shortForm)
	t.Parallel()
	d := newDisk(t, "ext4")
	relay := newSink(t, sinkOptions{})
	in := newInstanceOn(t, d, killArgs(relay)...)
	s := newLoadTest(t, in, relay)
	old := filepath.Join(t.TempDir(), "mailer.db")
	copyFiles(t, in.db, old)
	relay.set(scripted("", "421 4.3.2 closed for now"))
	in.serve(t)
	ballast := d.fill(t, 12<<20)
	s.crowd(t, "crowd")
	in.kill(t)
	removeFiles(t, in.db)
	copyFiles(t, old, in.db)
	must(t, os.Remove(ballast))
	relay.set(behaviour{})
	in.serve(t)
	e := s.ledger.gather(t, in, s.api, relay, time.Minute, 0)
	s.ledger.wantProblem(t, e, lost, miscounted)
	in.stop(t)
}

// TestFailedSyncStopsServer answers every sync with EIO from one on that is
// made under load: the server refuses, ends with exit code 2, and the next one, on a
// disk that works, has lost nothing.
func TestFailedSyncStopsServer(t *testing.T) {
	part(t, "disk")
	t.Parallel()
	needStrace(t)
	for _, from := range []int{15, 60} {
		t.Run(fmt.Sprintf("sync %d", from), func(t *testing.T) {
			t.Parallel()
			relay := newSink(t, sinkOptions{})
			in := newInstance(t, killArgs(relay)...)
			in.addDomain(t, "example.test")
			key := in.newKey(t)
			in.wrap = in.strace("fsync,fdatasync", fmt.Sprintf("error=EIO:when=%d+", from), os.DevNull)
			in.serve(t)
			l := newLoad(client{in.url, key})
			stop := l.start(t)
			wantEnd(t, in, 2)
			in.wrap = nil
			in.serve(t)
			l.waitAccepted(t, 20)
			stop()
			l.ledger.wantNoProblems(t, l.ledger.gather(t, in, l.api, relay, time.Minute, killConnections))
		})
	}
}

// wantEnd waits until the server exits by itself, with a code.
func wantEnd(t *testing.T, in *instance, code int) {
	t.Helper()
	select {
	case <-in.done:
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
	if got := in.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("it ended with exit code %d (%v), want %d", got, in.err, code)
	}
	in.cmd = nil
}
