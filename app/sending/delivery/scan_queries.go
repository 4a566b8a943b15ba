package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// seen is what a look asked at once.
type seen struct {
	teams   map[string][]string // those with due mail behind one
	domains map[string][]string // those of a team
	units   map[sender][]app.Unit
}

// maxRecentSenders is of how many senders is asked beforehand what is due.
const maxRecentSenders = 4

// see asks in one way what the look needs, of a database elsewhere also what it probably
// does: what is due of the senders that the last one found.
func (l *look) see(r *db.Reader) error {
	n := l.line
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
			l.seen.teams[n.shares.team], err = r.DueTeams(n.name, n.bulk, n.shares.team, teamsPerScan)
			return err
		},
	}
	l.seen = seen{map[string][]string{}, map[string][]string{}, map[sender][]app.Unit{}}
	if n.s.DB.Cluster().Shared() {
		asks = append(asks, l.guesses()...)
	}
	if err := r.Ask(asks...); err != nil {
		return err
	}
	n.several.Store(several)
	n.shares.forget(func(s sender) bool { return len(l.seen.units[s]) == 0 })
	if l.late = !later.IsZero() && !later.After(clock.Now()); !later.IsZero() && !l.late {
		l.until(later)
	}
	return nil
}

// guesses ask for what is due as it was at the last look.
func (l *look) guesses() []func(r *db.Reader) error {
	n := l.line
	asks := []func(r *db.Reader) error{func(r *db.Reader) (err error) {
		l.seen.teams[""], err = r.DueTeams(n.name, n.bulk, "", teamsPerScan)
		return err
	}}
	for _, s := range n.shares.found {
		asks = append(asks, func(r *db.Reader) (err error) {
			l.seen.domains[s.team], err = r.DueSenders(n.name, n.bulk, s.team)
			return err
		}, func(r *db.Reader) (err error) {
			l.seen.units[s], err = l.dueUnits(r, s, l.room)
			return err
		})
	}
	return asks
}

// teamsAfter returns teams with due mail behind one, at most limit.
func (l *look) teamsAfter(r *db.Reader, after string, limit int) ([]string, error) {
	if teams, ok := l.seen.teams[after]; ok {
		return teams[:min(len(teams), limit)], nil
	}
	return r.DueTeams(l.line.name, l.line.bulk, after, limit)
}

// domainsOf returns the domains of a team's due mail.
func (l *look) domainsOf(r *db.Reader, team string) ([]string, error) {
	if domains, ok := l.seen.domains[team]; ok {
		return domains, nil
	}
	return r.DueSenders(l.line.name, l.line.bulk, team)
}

// unitsOf returns what is due of a sender, of which want units at most are to be claimed.
func (l *look) unitsOf(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	if units, ok := l.seen.units[s]; ok {
		return slices.Clone(units[:min(len(units), l.reach(want))]), nil // who reads them may look again
	}
	return l.dueUnits(r, s, want)
}

// reach is how many units are read where want are to be claimed.
func (l *look) reach(want int) int { return want*l.line.s.DB.Cluster().Partition().Count + extraRead }

// dueUnits reads what is due of a sender, for want units to be claimed of it.
func (l *look) dueUnits(r *db.Reader, s sender, want int) ([]app.Unit, error) {
	n := l.line
	return r.DueUnits(n.name, n.bulk, s.team, s.domain, n.claims.crashes(), l.reach(want))
}
