package sdktest

import (
	"cmp"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// shareOne is two servers that answer, each with its own way to one PostgreSQL that stays well.
func shareOne(t *testing.T, query string) (*pair, [2]*pgProxy) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	ways := [2]*pgProxy{newPgProxy(t, pg.addr), newPgProxy(t, pg.addr)}
	return newShare(t, query, urlOf("mailer", ways[0].addr), urlOf("mailer", ways[1].addr)), ways
}

// TestPostgresServersThatShareADatabaseLoseNothing has two servers answer, of which one
// is killed, stands still, or is cut off.
func TestPostgresServersThatShareADatabaseLoseNothing(t *testing.T) {
	t.Parallel()
	p, ways := shareOne(t, "")
	stop := p.mix(t)
	works := 0
	for n := range cmp.Or(*takeovers, 4) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		began := time.Now()
		switch n % 4 {
		case 0:
			p.nodes[works].kill(t)
		case 1: // who answers is no matter to who works
			p.nodes[1-works].kill(t)
			p.again(t, 1-works)
			p.waitAccepted(t, 20)
			if got := p.working(); got != works {
				t.Errorf("after a kill of the server beside it %d works, not %d", got, works)
			}
			continue
		case 2:
			must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGSTOP))
			p.waitTakeOver(t, 1-works, began)
			must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGCONT))
			p.waitFenced(t, works, 10*time.Second)
		case 3:
			ways[works].silence()
			p.waitTakeOver(t, 1-works, began)
			ways[works].heal()
			p.waitFenced(t, works, 10*time.Second)
		}
		if n%4 == 0 {
			p.waitTakeOver(t, 1-works, began)
		}
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresServersThatShareADatabaseKeepToOneDailyLimit hands mail to two servers, for a
// relay that takes so much a day, and kills the one that works in the midst of it.
func TestPostgresServersThatShareADatabaseKeepToOneDailyLimit(t *testing.T) {
	t.Parallel()
	const limit, emails = 40, 100
	p, _ := shareOne(t, fmt.Sprintf("&daily=%d&rate=20", limit))
	for n := range emails {
		api := client{"http://" + p.nodes[n%2].addr, p.api.key}
		api.do(t, "POST", "/emails", map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": fmt.Sprint(n), "text": "x"})
	}
	arrived := func() (n int) {
		for _, relay := range p.relays {
			n += len(relay.messages())
		}
		return n
	}
	eventually(t, startTimeout, "some leave", func() (bool, string) { return arrived() > limit/4, fmt.Sprint(arrived()) })
	killed := time.Now()
	p.nodes[0].kill(t)
	p.waitTakeOver(t, 1, killed)
	p.again(t, 0)
	eventually(t, startTimeout, "the day is used up", func() (bool, string) { return arrived() >= limit-killConnections, fmt.Sprint(arrived()) })
	after(t, 3*time.Second)
	if n := arrived(); n > limit {
		t.Errorf("%d emails arrived at a relay that takes %d a day", n, limit)
	}
}
