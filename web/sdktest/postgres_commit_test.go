package sdktest

import (
	"cmp"
	"fmt"
	"testing"
	"time"
)

// throughProxy returns a server whose connections to PostgreSQL pass a proxy.
func throughProxy(t *testing.T) (*pair, *pgProxy) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	way := newPgProxy(t, pg.addr)
	return newPair(t, urlOf("mailer", way.addr)), way
}

// loseAnswers loses the answers to n COMMITs, at each server and in every way in turn, under a mix
// of mail; fewer once enough returns true, if it is set.
func (p *pair) loseAnswers(t *testing.T, ways []*pgProxy, n int, enough func() bool, hows ...pgCut) {
	t.Helper()
	stop := p.mix(t)
	for i := range n {
		if enough != nil && enough() {
			break
		}
		p.waitAccepted(t, 2)
		way := ways[i%len(ways)]
		before := way.cutNext(hows[i/len(ways)%len(hows)])
		eventually(t, startTimeout, "the answer to a COMMIT is lost", func() (bool, string) { return way.lost() > before, fmt.Sprint(before) })
	}
	p.waitAccepted(t, 20)
	stop()
	for _, way := range ways {
		t.Logf("%d answers to COMMIT lost", way.lost())
	}
}

// TestPostgresLostCommitAnswer cuts a server's connection at a COMMIT: before PostgreSQL gets it,
// while it is being sent, and before the answer arrives. Every email is accepted once, and clients
// get the true result.
func TestPostgresLostCommitAnswer(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true, underWay: lateDot}
	ways := onOne(t, p, "")
	p.loseAnswers(t, ways[:], cmp.Or(*pgCommits, 20), nil, cutBefore, cutAfter, cutAt)
	p.wantNoProblems(t)
	if e := p.gather(t, time.Minute); len(e.doubts) > 0 {
		t.Errorf("%d emails are doubts of a server that did not end", len(e.doubts))
	}
}
