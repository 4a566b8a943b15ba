package sdktest

import (
	"bytes"
	"cmp"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// throughProxy is one server whose way to its PostgreSQL is read along.
func throughProxy(t *testing.T) (*pair, *pgProxy) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	way := newPgProxy(t, pg.addr)
	return newPair(t, urlOf("mailer", way.addr)), way
}

// loseAnswers has the answers to n COMMITs get lost, in every way in turn, under a mix of
// mail.
func (p *pair) loseAnswers(t *testing.T, way *pgProxy, n int, hows ...pgCut) {
	t.Helper()
	stop := p.mix(t)
	for i := range n {
		p.waitAccepted(t, 2)
		before := way.cutNext(hows[i%len(hows)])
		eventually(t, startTimeout, "the answer to a COMMIT is lost", func() (bool, string) { return way.lost() > before, fmt.Sprint(before) })
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d answers to COMMIT lost", way.lost())
}

// TestPostgresAnswerToCommitThatIsLost cuts the connection at a COMMIT: before PostgreSQL has
// it, while it is on its way, and before its answer comes. Every email is accepted once, and
// what clients are told is so.
func TestPostgresAnswerToCommitThatIsLost(t *testing.T) {
	t.Parallel()
	p, way := throughProxy(t)
	p.loseAnswers(t, way, cmp.Or(*pgCommits, 20), cutBefore, cutAfter, cutAt)
	p.acquit(t)
	if e := p.gather(t, time.Minute); len(e.doubts) > 0 {
		t.Errorf("%d emails are doubts of a server that did not end", len(e.doubts))
	}
}

// The tests from here on break what keeps mail from being lost and doubled, on its way to
// PostgreSQL, and pass when the judge says so.

// replacing has a part of statements be another one.
func replacing(old, with string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(old), []byte(with)) }
}

// TestPostgresControlOfACommitThatIsTakenForNone has the server hear that what was
// committed was not.
func TestPostgresControlOfACommitThatIsTakenForNone(t *testing.T) {
	t.Parallel()
	p, way := throughProxy(t)
	p.ledger.wrong = &atomic.Int64{}
	way.rewrite(replacing("SELECT count(*) FROM writers", "SELECT 0 FROM writers"))
	p.loseAnswers(t, way, 8, cutAfter)
	found := p.ledger.judge(p.gather(t, 10*time.Second))
	t.Logf("%d wrong answers; the judge found %v", p.ledger.wrong.Load(), found)
	if p.ledger.wrong.Load() == 0 && len(found) == 0 {
		t.Error("nobody saw that what was committed was done again")
	}
}

// TestPostgresControlOfACommitThatIsTakenForOne has it hear that what was not committed was.
func TestPostgresControlOfACommitThatIsTakenForOne(t *testing.T) {
	t.Parallel()
	p, way := throughProxy(t)
	p.ledger.wrong = &atomic.Int64{}
	way.rewrite(replacing("SELECT count(*) FROM writers", "SELECT 1 FROM changes; SELECT 1 FROM writers"))
	p.loseAnswers(t, way, 8, cutBefore)
	p.ledger.convict(t, p.gather(t, 20*time.Second), lost, miscounted, stuck, doubled, phantom, altered) // a lost signature is made anew
}

// TestPostgresControlOfAFenceThatIsOff has the server whose work was taken over not hear of
// that: it goes on sending, and both use up a day of their own. What marks an email before its
// dot has none leave twice all the same.
func TestPostgresControlOfAFenceThatIsOff(t *testing.T) {
	t.Parallel()
	const limit = 60
	p, ways := shareOne(t, fmt.Sprintf("&daily=%d", limit))
	ways[0].rewrite(replacing("AND dead IS NULL", ""))
	accepted := make(chan struct{}) // until then, a day is not used up
	for _, relay := range p.relays {
		relay.set(behaviour{dotDelay: 200 * time.Millisecond, afterDot: func(*smtp.Conn) error { <-accepted; return nil }})
	}
	p.sendSome(t, 3*limit)
	began := time.Now()
	ways[0].silence()
	close(accepted)
	p.waitTakeOver(t, 1, began)
	taken := time.Now()
	ways[0].heal()
	arrived := func() int { return len(p.relays[0].messages()) + len(p.relays[1].messages()) }
	eventually(t, startTimeout, "more leaves than a day has", func() (bool, string) { return arrived() > limit, fmt.Sprint(arrived()) })
	if len(p.relays[0].matching(func(m *message) bool { return m.At.After(taken.Add(time.Second)) })) == 0 {
		t.Error("nothing left from the server whose work was taken over")
	}
	for _, in := range p.nodes {
		in.kill(t)
	}
}
