package delivery

import (
	"hash/fnv"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
	"mailer/db/engine"
)

// scan is one search of a dispatcher for due units.
type scan struct {
	dispatcher     *dispatcher
	unaffectedOnly bool   // see breakerStatus
	avoid          sender // sender to skip
	capacity       int
	prefetched     scanPrefetch
	needsSetDue    bool       // scheduled units must be made due first
	units          []app.Unit // claimed so far
	next           time.Duration
}

// read claims due units, unless scheduled units must be made due first.
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

// wakeBy makes the dispatcher scan again at a time or earlier.
func (l *scan) wakeBy(at time.Time) { l.next = min(l.next, max(0, clock.Until(at))) }

// claimable returns how many of a sender's units may be claimed, at most want.
func (l *scan) claimable(s sender, want int) int {
	if s == l.avoid || l.unaffectedOnly && !l.dispatcher.refusals.Unaffected(s) {
		return 0
	}
	n, again := l.dispatcher.claimable(s, want)
	if !again.IsZero() {
		l.wakeBy(again)
	}
	return n
}

// rotation remembers which team and domain were served last, so that the next scan continues with the
// following ones.
type rotation struct {
	lastTeam   string            // served last
	lastDomain map[string]string // by team: the domain served last
	recent     []sender          // senders whose units were claimed lately, the latest first
}

const (
	// teamsPerScan is how many teams one scan serves at most.
	teamsPerScan = 256
	// maxRotation bounds lastDomain.
	maxRotation = 10_000
	// extraRead is how many units are read beyond those wanted, because some may be claimed
	// already.
	extraRead = 8
)

// claimTeams claims an equal part of the capacity for each team that has due mail, beginning after
// the team that was served last, so that a long queue of one team does not delay the others.
func (sh *rotation) claimTeams(r *db.Reader, l *scan) error {
	n := l.dispatcher
	teams, err := l.teamsAfter(r, sh.lastTeam, teamsPerScan)
	if err != nil {
		return err
	}
	if len(teams) < teamsPerScan && sh.lastTeam != "" {
		wrapped, err := l.teamsAfter(r, "", teamsPerScan-len(teams))
		if err != nil {
			return err
		}
		for _, team := range wrapped {
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
	if len(teams) == teamsPerScan && len(l.units) < l.capacity { // there may be more teams
		l.wakeBy(clock.Now().Add(100 * time.Millisecond))
	}
	return nil
}

// claimTeam claims up to want units of a team, alternating between its domains.
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
		part := l.claimable(sender{Team: team, Domain: domain}, max(1, want/(len(domains)-i)))
		if part == 0 {
			continue
		}
		units, err := l.unitsOf(r, sender{Team: team, Domain: domain}, part)
		if err != nil {
			return err
		}
		if partition := n.s.DB.Cluster().Partition(); partition.Count > 1 {
			units = l.ownPartition(units, partition, clock.Now())
		}
		units = n.claims.take(units, part)
		l.units = append(l.units, units...)
		want -= len(units)
		sh.advance(team, domain, len(units) > 0)
	}
	return nil
}

// Servers on one database find the same due mail. Each server sends the mail that it accepted
// lately and its partition of the rest, and takes over the others' mail after a grace period.
const (
	// acceptorGrace is how long after its acceptance an email is left to the server that accepted
	// it and has it in memory.
	acceptorGrace = time.Second
	// ownerGrace is how long a due unit is left to the server to whose partition it belongs.
	ownerGrace = 3 * time.Second
)

// ownPartition returns the units that this server should send now, and schedules another scan for
// the others.
func (l *scan) ownPartition(units []app.Unit, partition engine.Partition, now time.Time) []app.Unit {
	return slices.DeleteFunc(units, func(u app.Unit) bool {
		until := time.Time{}
		switch {
		case l.dispatcher.s.mail.IsRecent(u.EmailID):
		case partitionOf(u.EmailID, partition.Count) != partition.Index:
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

// partitionOf returns the partition, of n, that an email belongs to.
func partitionOf(emailID string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(emailID)) // never fails
	return int(h.Sum32() % uint32(n))
}

// advance records that a domain was served, and whether units were claimed.
func (sh *rotation) advance(team, domain string, any bool) {
	if sh.lastDomain == nil || len(sh.lastDomain) >= maxRotation {
		sh.lastDomain = map[string]string{}
	}
	sh.lastDomain[team] = domain
	if s := (sender{Team: team, Domain: domain}); any && !slices.Contains(sh.recent, s) {
		sh.recent = append([]sender{s}, sh.recent[:min(len(sh.recent), maxRecentSenders-1)]...)
	}
}

// prune drops recent senders without due units, except the latest.
func (sh *rotation) prune(idle func(s sender) bool) {
	if len(sh.recent) > 1 {
		sh.recent = append(sh.recent[:1], slices.DeleteFunc(sh.recent[1:], idle)...)
	}
}

// scanPrefetch holds the answers of queries that a scan sent together.
type scanPrefetch struct {
	teams   map[string][]string // by cursor: the teams with due mail after it
	domains map[string][]string // by team
	units   map[sender][]app.Unit
}

// maxRecentSenders bounds the senders whose due units are queried in advance.
const maxRecentSenders = 4

// prefetch sends the queries that every scan needs in one round trip. With PostgreSQL it adds
// queries that are probably needed: the due units of the senders that had mail lately.
func (l *scan) prefetch(r *db.Reader) error {
	n := l.dispatcher
	var later time.Time
	var several bool
	asks := []func(r *db.Reader) error{
		func(r *db.Reader) (err error) {
			later, err = r.NextLater(n.name, n.bulk)
			return base.IgnoreNotFound(err)
		},
		func(r *db.Reader) (err error) {
			several, err = r.SeveralTeams()
			return err
		},
		func(r *db.Reader) (err error) {
			l.prefetched.teams[n.rotation.lastTeam], err = r.DueTeams(n.name, n.bulk, n.rotation.lastTeam, teamsPerScan)
			return err
		},
	}
	l.prefetched = scanPrefetch{map[string][]string{}, map[string][]string{}, map[sender][]app.Unit{}}
	if n.s.DB.Cluster().Shared() {
		asks = append(asks, l.guessQueries()...)
	}
	if err := r.Ask(asks...); err != nil {
		return err
	}
	n.manyTeams.Store(several)
	n.rotation.prune(func(s sender) bool { return len(l.prefetched.units[s]) == 0 })
	if l.needsSetDue = !later.IsZero() && !later.After(clock.Now()); !later.IsZero() && !l.needsSetDue {
		l.wakeBy(later)
	}
	return nil
}

// guessQueries returns queries for due units, guessed from earlier scans.
func (l *scan) guessQueries() []func(r *db.Reader) error {
	n := l.dispatcher
	asks := []func(r *db.Reader) error{func(r *db.Reader) (err error) {
		l.prefetched.teams[""], err = r.DueTeams(n.name, n.bulk, "", teamsPerScan)
		return err
	}}
	for _, s := range n.rotation.recent {
		asks = append(asks, func(r *db.Reader) (err error) {
			l.prefetched.domains[s.Team], err = r.DueSenders(n.name, n.bulk, s.Team)
			return err
		}, func(r *db.Reader) (err error) {
			l.prefetched.units[s], err = l.dueUnits(r, s, l.capacity)
			return err
		})
	}
	return asks
}

// teamsAfter returns up to limit teams with due mail after a team, in their order.
func (l *scan) teamsAfter(r *db.Reader, after string, limit int) ([]string, error) {
	if teams, ok := l.prefetched.teams[after]; ok {
		return teams[:min(len(teams), limit)], nil
	}
	return r.DueTeams(l.dispatcher.name, l.dispatcher.bulk, after, limit)
}

// domainsOf returns the domains of a team's due mail.
func (l *scan) domainsOf(r *db.Reader, team string) ([]string, error) {
	if domains, ok := l.prefetched.domains[team]; ok {
		return domains, nil
	}
	return r.DueSenders(l.dispatcher.name, l.dispatcher.bulk, team)
}

// unitsOf returns due units of a sender, of which at most want are to be claimed.
func (l *scan) unitsOf(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	if units, ok := l.prefetched.units[s]; ok {
		return slices.Clone(units[:min(len(units), l.readLimit(want))]), nil // cloned: the caller deletes from them
	}
	return l.dueUnits(r, s, want)
}

// readLimit is how many units are read if want are to be claimed: others may be claimed already, or
// belong to other servers.
func (l *scan) readLimit(want int) int {
	return want*l.dispatcher.s.DB.Cluster().Partition().Count + extraRead
}

// dueUnits reads due units of a sender, of which at most want are to be claimed.
func (l *scan) dueUnits(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	n := l.dispatcher
	return r.DueUnits(n.name, n.bulk, s.Team, s.Domain, n.claims.maxCrashes(), l.readLimit(want))
}
