package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// scanPrefetch is what a look asked at once.
type scanPrefetch struct {
	teams   map[string][]string // those with due mail behind one
	domains map[string][]string // those of a team
	units   map[sender][]app.Unit
}

// maxRecentSenders is of how many senders is asked beforehand what is due.
const maxRecentSenders = 4

// prefetch asks in one way what the look needs, of a database elsewhere also what it probably
// does: what is due of the senders that the last one found.
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

// guessQueries ask for what is due as it was at the last look.
func (l *scan) guessQueries() []func(r *db.Reader) error {
	n := l.dispatcher
	asks := []func(r *db.Reader) error{func(r *db.Reader) (err error) {
		l.prefetched.teams[""], err = r.DueTeams(n.name, n.bulk, "", teamsPerScan)
		return err
	}}
	for _, s := range n.rotation.recent {
		asks = append(asks, func(r *db.Reader) (err error) {
			l.prefetched.domains[s.team], err = r.DueSenders(n.name, n.bulk, s.team)
			return err
		}, func(r *db.Reader) (err error) {
			l.prefetched.units[s], err = l.dueUnits(r, s, l.capacity)
			return err
		})
	}
	return asks
}

// teamsAfter returns teams with due mail behind one, at most limit.
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

// unitsOf returns what is due of a sender, of which want units at most are to be claimed.
func (l *scan) unitsOf(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	if units, ok := l.prefetched.units[s]; ok {
		return slices.Clone(units[:min(len(units), l.readLimit(want))]), nil // who reads them may look again
	}
	return l.dueUnits(r, s, want)
}

// readLimit is how many units are read where want are to be claimed.
func (l *scan) readLimit(want int) int {
	return want*l.dispatcher.s.DB.Cluster().Partition().Count + extraRead
}

// dueUnits reads what is due of a sender, for want units to be claimed of it.
func (l *scan) dueUnits(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	n := l.dispatcher
	return r.DueUnits(n.name, n.bulk, s.team, s.domain, n.claims.maxCrashes(), l.readLimit(want))
}
