package sdktest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	soakParts = 12  // parts of the time, each measured separately
	soakRows  = 500 // of each import
)

// soakPause is the pause of each client after an order: in the short form so long that other tests
// are not affected.
func soakPause() time.Duration {
	if *soak > 0 {
		return 8 * time.Millisecond
	}
	return 200 * time.Millisecond
}

// soakTime is the duration of the soak.
func soakTime() time.Duration {
	if *soak > 0 {
		return *soak
	}
	return 6 * time.Second
}

// soakPart holds the measurements of one part.
type soakPart struct {
	memory int // MiB at its end
	waits  waits
}

// soakSeen has one more client send at an even pace, and notes how long it waits for its
// answers and what memory the server has, one part of the time after the other.
func soakSeen(t *testing.T, s *loadTest, each time.Duration) (parts []soakPart) {
	t.Helper()
	tick := time.NewTicker(max(20*time.Millisecond, soakPause()))
	defer tick.Stop()
	n := 0
	for range soakParts {
		var part soakPart
		for over := time.Now().Add(each); time.Now().Before(over); n++ {
			asked := time.Now()
			s.post(t, fmt.Sprintf("even-%d", n), nil)
			part.waits = append(part.waits, time.Since(asked))
			<-tick.C
		}
		part.memory = s.in.memory(t)
		parts = append(parts, part)
		t.Logf("part %d: %d MiB, %s", len(parts), part.memory, part.waits)
	}
	return parts
}

// soakWork runs imports, backups, and mail of a team whose content is deleted after an hour,
// repeatedly until done is closed.
func soakWork(t *testing.T, s *loadTest, other client, done <-chan struct{}) {
	for n := 0; ; n++ {
		id := s.api.importFile(t, soakPeople(n))
		copied := filepath.Join(s.in.dir, fmt.Sprintf("soak-%d.db", n))
		s.in.run(t, "backup", copied)
		must(t, os.Remove(copied))
		for i := range 20 {
			other.send(t, map[string]any{"from": "b@other.test", "to": fmt.Sprintf("o%d-%d@example.com", n, i), "subject": "other", "text": "soon deleted"})
		}
		eventually(t, time.Minute, "the import ends", func() (bool, string) {
			status := s.api.importStatus(t, id)
			return status == "completed", status
		})
		select {
		case <-done:
			return
		case <-time.After(soakTime() / 40):
		}
	}
}

// soakPeople returns a file of contacts, a tenth of whom opted out.
func soakPeople(n int) string {
	text := "email,first_name,unsubscribed\n"
	for i := range soakRows {
		text += fmt.Sprintf("soak-%d-%d@people.example,Ann,%t\n", n, i, i%10 == 0)
	}
	return text
}

// TestSoak runs the server for long (-soak) while it imports, backs up and deletes: memory and
// latency do not grow, nothing is lost.
func TestSoak(t *testing.T) {
	part(t, judged)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&dkim=off&connections=8&timeout=30s", relay.addr), "--rate-limit", "0", "--log-format", "json")
	s := newLoadTest(t, in, relay)
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "other.test", "--trust", "--team", "Other")
	in.run(t, "teams", "set-retention", "Other", "--keep-content", "1h")
	s.pause = soakPause()
	other := client{in.url, in.newKey(t, "--team", "Other")}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { soakWork(t, s, other, done) })
	stop := s.start(t)
	parts := soakSeen(t, s, soakTime()/soakParts)
	close(done)
	work.Wait()
	stop()
	early, late := parts[soakParts/4], parts[soakParts-1]
	if late.memory > early.memory*3/2+16 {
		t.Errorf("memory grew from %d to %d MiB", early.memory, late.memory)
	}
	if late.waits.at(99) > 3*early.waits.at(99)+50*time.Millisecond {
		t.Errorf("the slowest of a hundred answers took %s, in the end %s", early.waits.at(99), late.waits.at(99))
	}
	e := s.ledger.gather(t, in, s.api, relay, time.Minute+soakTime()/20, 0)
	kept := e.arrived[:0]
	for _, m := range e.arrived {
		if m.header("Subject") != "other" {
			kept = append(kept, m)
		}
	}
	e.arrived = kept
	t.Logf("%d messages", len(kept))
	s.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
}
