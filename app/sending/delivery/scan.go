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
	needsSetDue    bool       // scheduled units must be made due first
	units          []app.Unit // claimed so far
	next           time.Duration
}

// read claims due units, unless scheduled units must be made due first.
func (l *scan) read(r *db.Reader) error {
	if err := l.begin(r); err != nil || l.needsSetDue {
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
	teams, err := l.teamsAfter(r, sh.lastTeam)
	if err != nil {
		return err
	}
	if len(teams) < teamsPerScan && sh.lastTeam != "" {
		wrapped, err := l.teamsAfter(r, "")
		if err != nil {
			return err
		}
		for _, team := range wrapped[:min(len(wrapped), teamsPerScan-len(teams))] {
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
		if n.bulk && n.s.Guardrails.BroadcastsPaused(team, app.QueueRegion(n.key)) {
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
	domains, err := r.DueSenders(n.key, n.bulk, team)
	if err != nil {
		return err
	}
	first := max(0, slices.IndexFunc(domains, func(d string) bool { return d > sh.lastDomain[team] }))
	for i := range domains {
		if want <= 0 {
			break
		}
		domain := domains[(first+i)%len(domains)]
		if waits, err := n.mustWait(r, sender{Team: team, Domain: domain}); err != nil {
			return err
		} else if waits {
			l.wakeBy(clock.Now().Add(alignmentTTL))
			continue
		}
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
		case u.Attempts == 0 && justAccepted(u.EmailID, now):
			until = now.Add(acceptorGrace)
		}
		if !until.After(now) {
			return false
		}
		l.wakeBy(until)
		return true
	})
}

// justAccepted reports whether an email was accepted within acceptorGrace, by its id. An id of the
// future is none that was just made: it is from a time before the clock was set back.
func justAccepted(emailID string, now time.Time) bool {
	return emailID >= app.FirstID(now.Add(-acceptorGrace)) && emailID < app.FirstID(now.Add(acceptorGrace))
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

// maxRecentSenders bounds the senders whose due units are prefetched.
const maxRecentSenders = 4

// begin reads what every scan needs. On PostgreSQL the same round trip brings what is probably
// needed next: the due units of the senders that had mail lately.
func (l *scan) begin(r *db.Reader) error {
	n := l.dispatcher
	err := r.Prefetch(func(r *db.Reader) {
		_, _ = r.NextLater(n.key, n.bulk)
		_, _ = r.SeveralTeams()
		_, _ = l.teamsAfter(r, n.rotation.lastTeam)
		_, _ = l.teamsAfter(r, "")
		for _, s := range n.rotation.recent {
			_, _ = r.DueSenders(n.key, n.bulk, s.Team)
			_, _ = l.unitsOf(r, s, l.capacity)
		}
	})
	if err != nil {
		return err
	}
	later, err := r.NextLater(n.key, n.bulk)
	if base.IgnoreNotFound(err) != nil {
		return err
	}
	several, err := r.SeveralTeams()
	if err != nil {
		return err
	}
	n.manyTeams.Store(several)
	if l.needsSetDue = !later.IsZero() && !later.After(clock.Now()); !later.IsZero() && !l.needsSetDue {
		l.wakeBy(later)
	}
	return l.pruneRecent(r)
}

// pruneRecent drops recent senders without due units, except the latest.
func (l *scan) pruneRecent(r *db.Reader) error {
	sh := &l.dispatcher.rotation
	if !l.dispatcher.s.DB.Cluster().Shared() { // nothing is prefetched
		sh.recent = nil
		return nil
	}
	var recent []sender
	for i, s := range sh.recent {
		units, err := l.unitsOf(r, s, l.capacity)
		if err != nil {
			return err
		}
		if i == 0 || len(units) > 0 {
			recent = append(recent, s)
		}
	}
	sh.recent = recent
	return nil
}

// teamsAfter returns teams with due mail after a team, in their order, at most teamsPerScan.
func (l *scan) teamsAfter(r *db.Reader, after string) ([]string, error) {
	return r.DueTeams(l.dispatcher.key, l.dispatcher.bulk, after, teamsPerScan)
}

// unitsOf returns due units of a sender, of which at most want are to be claimed.
func (l *scan) unitsOf(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	n := l.dispatcher
	limit := l.readLimit(want)
	if slices.Contains(n.rotation.recent, s) { // as it was prefetched
		want = l.capacity
	}
	units, err := r.DueUnits(n.key, n.bulk, s.Team, s.Domain, n.claims.maxCrashes(), l.readLimit(want))
	return units[:min(len(units), limit)], err
}

// readLimit is how many units are read if want are to be claimed: others may be claimed already, or
// belong to other servers.
func (l *scan) readLimit(want int) int {
	return want*l.dispatcher.s.DB.Cluster().Partition().Count + extraRead
}
