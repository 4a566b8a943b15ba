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

// scan is one look of a dispatcher at what is due.
type scan struct {
	dispatcher  *dispatcher
	state       breakerState
	avoid       sender // is left out
	capacity    int
	prefetched  scanPrefetch
	needsSetDue bool       // units wait still whose time has come
	units       []app.Unit // what was claimed
	next        time.Duration
}

// read claims what is due, unless there are units first to be made due.
func (l *scan) read(r *db.Reader) error {
	if err := l.prefetch(r); err != nil || l.needsSetDue {
		return err
	}
	shares := &l.dispatcher.rotation
	if err := shares.claimTeams(r, l); err != nil || len(l.units) > 0 || l.avoid == (sender{}) {
		return err
	}
	l.avoid = sender{}
	return shares.claimTeams(r, l)
}

// wakeBy has the dispatcher look again at a time, or sooner.
func (l *scan) wakeBy(at time.Time) { l.next = min(l.next, max(0, clock.Until(at))) }

// claimable says how many of a sender's units may be claimed, want at most.
func (l *scan) claimable(s sender, want int) int {
	if s == l.avoid || l.state == halfOpenUnaffected && !l.dispatcher.refusals.unaffected(s) {
		return 0
	}
	n, again := l.dispatcher.claimable(s, want)
	if !again.IsZero() {
		l.wakeBy(again)
	}
	return n
}

// rotation remember whose turn it is.
type rotation struct {
	lastTeam   string            // that the last round ended with
	lastDomain map[string]string // team -> the domain that its last share ended with
	recent     []sender          // of whom mail was claimed lately, the latest first
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

// claimTeams claims for each team that has due mail an equal part of the room, beginning
// after the one that the last round ended with, so that a long queue of one does not
// delay the others.
func (sh *rotation) claimTeams(r *db.Reader, l *scan) error {
	n := l.dispatcher
	teams, err := l.teamsAfter(r, sh.lastTeam, teamsPerScan)
	if err != nil {
		return err
	}
	if len(teams) < teamsPerScan && sh.lastTeam != "" {
		first, err := l.teamsAfter(r, "", teamsPerScan-len(teams))
		if err != nil {
			return err
		}
		for _, team := range first {
			if team <= sh.lastTeam {
				teams = append(teams, team)
			}
		}
	}
	for i, team := range teams {
		left := l.capacity - len(l.units)
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
		sh.lastTeam = team
	}
	if len(teams) == teamsPerScan && len(l.units) < l.capacity { // there may be others
		l.wakeBy(clock.Now().Add(100 * time.Millisecond))
	}
	return nil
}

// claimTeam claims up to want units of a team, of each of its domains in turn.
func (sh *rotation) claimTeam(r *db.Reader, l *scan, team string, want int) error {
	n := l.dispatcher
	domains, err := l.domainsOf(r, team)
	if err != nil {
		return err
	}
	first := max(0, slices.IndexFunc(domains, func(d string) bool { return d > sh.lastDomain[team] }))
	for i := range domains {
		if want <= 0 {
			break
		}
		domain := domains[(first+i)%len(domains)]
		part := l.claimable(sender{team, domain}, max(1, want/(len(domains)-i)))
		if part == 0 {
			continue
		}
		units, err := l.unitsOf(r, sender{team, domain}, part)
		if err != nil {
			return err
		}
		if share := n.s.DB.Cluster().Partition(); share.Count > 1 {
			units = l.ownPartition(units, share, clock.Now())
		}
		units = n.claims.take(units, part)
		l.units = append(l.units, units...)
		want -= len(units)
		sh.advance(team, domain, len(units) > 0)
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

// ownPartition are those of some units that this server is to send. For others it looks again.
func (l *scan) ownPartition(units []app.Unit, share engine.Partition, now time.Time) []app.Unit {
	return slices.DeleteFunc(units, func(u app.Unit) bool {
		until := time.Time{}
		switch {
		case l.dispatcher.s.mail.IsRecent(u.EmailID):
		case partitionOf(u.EmailID, share.Count) != share.Index:
			until = u.NextAt.Add(ownerGrace)
		case u.Attempts == 0 && u.EmailID >= app.FirstID(now.Add(-acceptorGrace)):
			until = now.Add(acceptorGrace)
		}
		if !until.After(now) {
			return false
		}
		l.wakeBy(until)
		return true
	})
}

// partitionOf is whose of n servers an email is.
func partitionOf(emailID string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(emailID)) // which does not fail
	return int(h.Sum32() % uint32(n))
}

// advance notes whose share ended a turn, and whether there was anything.
func (sh *rotation) advance(team, domain string, any bool) {
	if sh.lastDomain == nil || len(sh.lastDomain) >= maxRotation {
		sh.lastDomain = map[string]string{}
	}
	sh.lastDomain[team] = domain
	if s := (sender{team, domain}); any && !slices.Contains(sh.recent, s) {
		sh.recent = append([]sender{s}, sh.recent[:min(len(sh.recent), maxRecentSenders-1)]...)
	}
}

// prune drops those of whom nothing is due, but for the latest.
func (sh *rotation) prune(none func(s sender) bool) {
	if len(sh.recent) > 1 {
		sh.recent = append(sh.recent[:1], slices.DeleteFunc(sh.recent[1:], none)...)
	}
}
