package sdktest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// onSmallDisk creates a database whose tables are on their own disk.
func (pg *postgres) onSmallDisk(t *testing.T, name string) *disk {
	t.Helper()
	d := &disk{image: filepath.Join(t.TempDir(), "image"), mount: filepath.Join(pg.dir, "small")}
	must(t, os.Mkdir(d.mount, 0o700))
	d.format(t, "ext4")
	d.power(t)
	t.Cleanup(func() {
		pg.kill(t)
		d.unmount(t)
	})
	if pg.who != nil {
		must(t, os.Chown(d.mount, int(pg.who.Uid), int(pg.who.Gid)))
	}
	must(t, os.Chmod(d.mount, 0o700))
	pg.ask(t, "postgres", "CREATE TABLESPACE small LOCATION '"+d.mount+"'")
	pg.ask(t, "postgres", "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TABLESPACE small")
	return d
}

// TestPostgresFullDisk fills the database's disk while replies of the relay are pending. Once there
// is space, everything continues automatically.
func TestPostgresFullDisk(t *testing.T) {
	part(t, "disk")
	t.Parallel()
	pg := newPostgres(t)
	d := pg.onSmallDisk(t, "mailer")
	p := newPair(t, urlOf("mailer", pg.addr))
	in, relay := p.nodes[0], p.relays[0]
	s := &loadTest{load: p.load, in: in, relay: relay}
	scheduled := s.scheduled(t, "scheduled")
	replies := make(chan struct{})
	relay.set(behaviour{afterDot: func(*smtp.Conn) error {
		select {
		case <-replies:
		case <-relay.closed:
		}
		return nil
	}})
	var held []string
	for _, mark := range []string{"held-0", "held-1", "held-2", "held-3"} {
		held = append(held, s.post(t, mark, nil))
	}
	relay.wait(t, len(held), time.Minute, func(m *message) bool { return strings.HasPrefix(m.header("Subject"), "held") })
	ballast := d.fill(t, 1<<20)
	s.crowd(t, "crowd")
	s.wantReady(t, http.StatusServiceUnavailable)
	close(replies)
	after(t, 2*time.Second) // the results find no space, or its rest
	s.wantReady(t, http.StatusServiceUnavailable)
	must(t, os.Remove(ballast))
	s.wantReady(t, http.StatusOK)
	for _, id := range held {
		s.api.waitLast(t, id, time.Minute, "sent")
	}
	s.cancel(t, scheduled)
	s.post(t, "room-again", nil)
	p.wantNoProblems(t)
}
