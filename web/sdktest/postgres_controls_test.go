package sdktest

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// The following tests break, between server and PostgreSQL, what prevents lost and doubled mail,
// and pass if the judge reports it.

// replacing has a part of statements be another one.
func replacing(old, with string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(old), []byte(with)) }
}

// TestPostgresControlOfCommitTakenAsFailed reports a commit as failed although it succeeded. For
// some groups that does not matter: it repeats until a problem shows.
func TestPostgresControlOfCommitTakenAsFailed(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p, way := throughProxy(t)
	p.ledger.wrong = &atomic.Int64{}
	way.rewrite(replacing("FROM writes WHERE n > ", "FROM writes WHERE n < 0 AND n > "))
	p.behind = nil // mail that is stuck must not have clients wait
	p.loseAnswers(t, []*pgProxy{way}, 60, func() bool { return p.ledger.wrong.Load() > 0 }, cutAfter)
	found := p.ledger.judge(p.gather(t, 10*time.Second))
	t.Logf("%d wrong answers; the judge found %v", p.ledger.wrong.Load(), found)
	if p.ledger.wrong.Load() == 0 && len(found) == 0 {
		t.Error("nobody saw that what was committed was done again")
	}
}

// TestPostgresControlOfCommitTakenAsDone reports a commit as done although it failed.
func TestPostgresControlOfCommitTakenAsDone(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p, way := throughProxy(t)
	p.ledger.wrong = &atomic.Int64{}
	way.rewrite(replacing("FROM writes WHERE n > ", "FROM writes WHERE n = (SELECT max(n) FROM writes) OR n > "))
	p.loseAnswers(t, []*pgProxy{way}, 8, nil, cutBefore)
	p.ledger.wantProblem(t, p.gather(t, 20*time.Second), lost, miscounted, stuck, doubled, phantom, altered, unheeded) // a lost signature is created again
}

// raceOptOuts lets one of two servers mark n emails before their final dot, each time with a
// delayed COMMIT, while their recipients opt out at the other. It continues once the opt-out is
// answered and a dot can no longer be under way, or after a while.
func (p *pair) raceOptOuts(t *testing.T, ways [2]*pgProxy, n int) (answered int) {
	t.Helper()
	for i := range n {
		mark, at := fmt.Sprint("leaves-", i), i%2
		stop := ways[at].stopMark()
		here := *p.load
		here.api = p.at(at)
		here.single(t, leaving(mark), nil)
		select {
		case <-stop.held:
		case <-time.After(startTimeout):
			t.Fatal("no dot is marked by the server that accepted the email")
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			p.leave(t, p.at(1-at), mark)
		}()
		select {
		case <-left:
			answered++
			after(t, 3*dotUnderWay/2)
		case <-time.After(dotUnderWay):
		}
		close(stop.over)
		<-left
	}
	return answered
}

// TestPostgresOptOutWaitsForDot: an opt-out is confirmed after all dots that were marked without
// it.
func TestPostgresOptOutWaitsForDot(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true}
	ways := onOne(t, p, "")
	if n := p.raceOptOuts(t, ways, 4); n > 0 {
		t.Errorf("%d were answered before", n)
	}
	p.wantNoProblems(t)
}

// TestPostgresControlWithoutLock has groups of writes of two servers not wait for each
// other.
func TestPostgresControlWithoutLock(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true}
	ways := onOne(t, p, "")
	for _, way := range ways {
		unlocked := replacing("SELECT 1 FROM changes WHERE id = 1 FOR UPDATE", "SELECT 1 FROM changes WHERE id = 1")
		// The key of writes would have one wait for the other too.
		uncounted := replacing("SELECT n + 1, $1", "SELECT n + 1 + (random() * 1000000)::bigint, $1")
		way.rewrite(func(text []byte) []byte { return uncounted(unlocked(text)) })
	}
	for _, in := range p.nodes { // what they have prepared is as it was
		in.stop(t)
		in.serve(t)
	}
	n := p.raceOptOuts(t, ways, 4)
	t.Logf("%d opt-outs were answered while dots were being marked", n)
	p.ledger.wantProblem(t, p.gather(t, 20*time.Second), unheeded)
}

// TestPostgresControlWithoutFence: a server does not learn that its work was taken over and keeps
// sending, and both use up a daily limit. The mark before the final dot still prevents doubles.
func TestPostgresControlWithoutFence(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	const limit = 60
	p := &pair{shares: true}
	ways := onOne(t, p, fmt.Sprintf("&daily=%d", limit))
	ways[0].rewrite(replacing("WHERE id = $1 AND dead IS NULL", "WHERE id = $1"))
	p.nodes[0].stop(t) // its prepared statements are unchanged
	p.waitTakeOver(t, 1, time.Now())
	p.again(t, 0)
	after(t, 3*time.Second) // until then it sends nothing anyway
	ways[0].silence()
	p.waitMissed(t, 1)
	taken := time.Now()
	ways[0].heal()
	p.nodes[0].waitReady(t)
	p.flood(t, 2*limit)
	eventually(t, startTimeout, "more leaves than a day has", func() (bool, string) { return p.arrived() > limit, fmt.Sprint(p.arrived()) })
	if len(p.relays[0].matching(func(m *message) bool { return m.At.After(taken) })) == 0 {
		t.Error("nothing left from the server whose work was taken over")
	}
	for _, in := range p.nodes {
		in.kill(t)
	}
}
