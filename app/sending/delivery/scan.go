package delivery

import (
	"hash/fnv"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
	"mailer/db/engine"
)

// look is one look of a dispatcher at what is due.
type look struct {
	line    *line
	opening opening
	avoid   sender // is left out
	room    int
	seen    seen
	late    bool       // units wait still whose time has come
	units   []app.Unit // what was claimed
	next    time.Duration
}

// read claims what is due, unless there are units first to be made due.
func (l *look) read(r *db.Reader) error {
	if err := l.see(r); err != nil || l.late {
		return err
	}
	shares := &l.line.shares
	if err := shares.take(r, l); err != nil || len(l.units) > 0 || l.avoid == (sender{}) {
		return err
	}
	l.avoid = sender{}
	return shares.take(r, l)
}

// until has the dispatcher look again at a time, or sooner.
func (l *look) until(at time.Time) { l.next = min(l.next, max(0, clock.Until(at))) }

// may says how many of a sender's units may be claimed, want at most.
func (l *look) may(s sender, want int) int {
	if s == l.avoid || l.opening == innocents && !l.line.breaker.innocent(s) {
		return 0
	}
	n, again := l.line.may(s, want)
	if !again.IsZero() {
		l.until(again)
	}
	return n
}

// shares remember whose turn it is.
type shares struct {
	team   string            // that the last round ended with
	domain map[string]string // team -> the domain that its last share ended with
	found  []sender          // of whom mail was claimed lately, the latest first
}

const (
	// teamsPerScan is how many teams one look asks for their mail at most.
	teamsPerScan = 256
	// maxRotation bounds the memory of whose turn it is.
	maxRotation = 10_000
	// extraRead is how many units are read beyond what is wanted: those that somebody
	// works on still are passed over.
	extraRead = 8
)

// take claims for each team that has due mail an equal part of the room, beginning
// after the one that the last round ended with, so that a long queue of one does not
// delay the others.
func (sh *shares) take(r *db.Reader, l *look) error {
	n := l.line
	teams, err := l.teamsAfter(r, sh.team, teamsPerScan)
	if err != nil {
		return err
	}
	if len(teams) < teamsPerScan && sh.team != "" {
		first, err := l.teamsAfter(r, "", teamsPerScan-len(teams))
		if err != nil {
			return err
		}
		for _, team := range first {
			if team <= sh.team {
				teams = append(teams, team)
			}
		}
	}
	for i, team := range teams {
		left := l.room - len(l.units)
		if left <= 0 {
			return nil
		}
		want := n.jobs.FreeFor(team, max(1, left/(len(teams)-i)), len(l.units))
		if n.bulk && n.s.Guardrails.BroadcastsPaused(team, n.name) {
			want = 0
		}
		if want > 0 {
			if err := sh.claimTeam(r, l, team, want); err != nil {
				return err
			}
		}
		sh.team = team
	}
	if len(teams) == teamsPerScan && len(l.units) < l.room { // there may be others
		l.until(clock.Now().Add(100 * time.Millisecond))
	}
	return nil
}

// claimTeam claims up to want units of a team, of each of its domains in turn.
func (sh *shares) claimTeam(r *db.Reader, l *look, team string, want int) error {
	n := l.line
	domains, err := l.domainsOf(r, team)
	if err != nil {
		return err
	}
	first := max(0, slices.IndexFunc(domains, func(d string) bool { return d > sh.domain[team] }))
	for i := range domains {
		if want <= 0 {
			break
		}
		domain := domains[(first+i)%len(domains)]
		part := l.may(sender{team, domain}, max(1, want/(len(domains)-i)))
		if part == 0 {
			continue
		}
		units, err := l.unitsOf(r, sender{team, domain}, part)
		if err != nil {
			return err
		}
		if share := n.s.DB.Cluster().Partition(); share.Count > 1 {
			units = l.own(units, share, clock.Now())
		}
		units = n.claims.take(units, part)
		l.units = append(l.units, units...)
		want -= len(units)
		sh.note(team, domain, len(units) > 0)
	}
	return nil
}

// Several servers on one database find the same mail due. Each leaves to the others what they
// have at hand, and their part of the rest, unless they do not come to it.
const (
	// acceptorGrace is how long after its acceptance an email is left to the server that accepted it,
	// which has it in memory.
	acceptorGrace = time.Second
	// ownerGrace is how long what is due is left to the server whose part it is.
	ownerGrace = 3 * time.Second
)

// own are those of some units that this server is to send. For others it looks again.
func (l *look) own(units []app.Unit, share engine.Partition, now time.Time) []app.Unit {
	return slices.DeleteFunc(units, func(u app.Unit) bool {
		until := time.Time{}
		switch {
		case l.line.s.mail.IsRecent(u.EmailID):
		case partitionOf(u.EmailID, share.Count) != share.Index:
			until = u.NextAt.Add(ownerGrace)
		case u.Attempts == 0 && u.EmailID >= app.FirstID(now.Add(-acceptorGrace)):
			until = now.Add(acceptorGrace)
		}
		if !until.After(now) {
			return false
		}
		l.until(until)
		return true
	})
}

// partitionOf is whose of n servers an email is.
func partitionOf(emailID string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(emailID)) // which does not fail
	return int(h.Sum32() % uint32(n))
}

// note notes whose share ended a turn, and whether there was anything.
func (sh *shares) note(team, domain string, any bool) {
	if sh.domain == nil || len(sh.domain) >= maxRotation {
		sh.domain = map[string]string{}
	}
	sh.domain[team] = domain
	if s := (sender{team, domain}); any && !slices.Contains(sh.found, s) {
		sh.found = append([]sender{s}, sh.found[:min(len(sh.found), maxRecentSenders-1)]...)
	}
}

// forget drops those of whom nothing is due, but for the latest.
func (sh *shares) forget(none func(s sender) bool) {
	if len(sh.found) > 1 {
		sh.found = append(sh.found[:1], slices.DeleteFunc(sh.found[1:], none)...)
	}
}
