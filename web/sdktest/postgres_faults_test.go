package sdktest

import (
	"cmp"
	"syscall"
	"testing"
	"time"
)

// onOne is two servers, each with its own way to one PostgreSQL that stays well.
func onOne(t *testing.T) (*pair, [2]*pgProxy) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	ways := [2]*pgProxy{newPgProxy(t, pg.addr), newPgProxy(t, pg.addr)}
	return newPair(t, urlOf("mailer", ways[0].addr), urlOf("mailer", ways[1].addr)), ways
}

// TestPostgresStandbyTakesOverFromOneThatIsKilled kills the server that works, again and
// again, under a mix of mail; the other one takes over, and the killed one stands by.
func TestPostgresStandbyTakesOverFromOneThatIsKilled(t *testing.T) {
	t.Parallel()
	p, _ := onOne(t)
	stop := p.mix(t)
	works := 0
	rounds := cmp.Or(*takeovers, 3)
	for range rounds {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		killed := time.Now()
		p.nodes[works].kill(t)
		p.waitTakeOver(t, 1-works, killed)
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills", rounds)
	p.acquit(t)
}

// TestPostgresServerThatStoodStillIsDone stops the server that works for so long that the
// other one takes over. Once it goes on it sends nothing more.
func TestPostgresServerThatStoodStillIsDone(t *testing.T) {
	t.Parallel()
	p, _ := onOne(t)
	stop := p.mix(t)
	works := 0
	for range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		stopped := time.Now()
		must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGSTOP))
		p.waitTakeOver(t, 1-works, stopped)
		after(t, 10*time.Second-time.Since(stopped))
		goesOn := time.Now()
		must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGCONT))
		p.waitFenced(t, works, 10*time.Second)
		for _, m := range p.relays[works].matching(func(m *message) bool { return m.At.After(goesOn) }) {
			t.Errorf("%s left from the server whose work was taken over, %v after it went on", m.header("Subject"), m.At.Sub(goesOn))
		}
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresShortCutIsWaitedOut cuts the way between a server and its database for two
// seconds. Nobody takes over; who asks meanwhile waits, or hears when to ask again.
func TestPostgresShortCutIsWaitedOut(t *testing.T) {
	t.Parallel()
	p, ways := onOne(t)
	stop := p.mix(t)
	for n := range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		began := time.Now()
		ways[0].silence()
		if n%2 == 0 {
			ways[0].reset()
		}
		after(t, 2*time.Second-time.Since(began))
		ways[0].heal()
		p.waitAccepted(t, 20)
		if works := p.working(); works != 0 || p.nodes[0].ended() {
			t.Fatalf("after a cut of two seconds server %d works", works)
		}
	}
	stop()
	p.acquit(t)
}

// TestPostgresLongCutHasTheOtherOneTakeOver cuts it for ten seconds, silently, and then
// breaks all connections or has go through what waited.
func TestPostgresLongCutHasTheOtherOneTakeOver(t *testing.T) {
	t.Parallel()
	p, ways := onOne(t)
	stop := p.mix(t)
	works := 0
	for n := range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		began := time.Now()
		ways[works].silence()
		p.refused(t, works)
		p.waitTakeOver(t, 1-works, began)
		taken := time.Now()
		after(t, 10*time.Second-time.Since(began))
		if n%2 == 1 {
			ways[works].reset()
		}
		ways[works].heal()
		p.waitFenced(t, works, 10*time.Second)
		for _, m := range p.relays[works].matching(func(m *message) bool { return m.At.After(taken) }) {
			t.Errorf("%s left from the server whose work was taken over, %v after that", m.header("Subject"), m.At.Sub(taken))
		}
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresThatIsKilledComesBack kills the database itself and starts it again.
func TestPostgresThatIsKilledComesBack(t *testing.T) {
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	p := newPair(t, urlOf("mailer", pg.addr), urlOf("mailer", pg.addr))
	stop := p.mix(t)
	for range cmp.Or(*pgKills, 2) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		pg.kill(t)
		pg.start(t)
		began := time.Now()
		p.tend(t)
		t.Logf("there is one that works %v after the database came back", time.Since(began).Round(time.Millisecond))
		p.doubts += killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresFailOverLosesNothing kills the database and promotes its synchronous standby.
func TestPostgresFailOverLosesNothing(t *testing.T) {
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	for range cmp.Or(*pgFailovers, 1) {
		next := pg.follower(t)
		p := newPair(t, urlOf("mailer", pg.addr, next.addr), urlOf("mailer", next.addr, pg.addr))
		stop := p.mix(t)
		p.waitAccepted(t, 40)
		afterRandom(80 * time.Millisecond)
		pg.kill(t)
		next.promote(t)
		began := time.Now()
		p.tend(t)
		t.Logf("there is one that works %v after the standby of PostgreSQL was promoted", time.Since(began).Round(time.Millisecond))
		p.doubts += killConnections
		p.waitAccepted(t, 20)
		stop()
		p.acquit(t)
		p.nodes[0].stop(t)
		p.nodes[1].stop(t)
		next.ask(t, "postgres", "DROP DATABASE mailer")
		next.database(t, "mailer")
		pg = next
	}
}
