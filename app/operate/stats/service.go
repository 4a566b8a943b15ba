package stats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/counters"
	"mailer/db"
)

// Service answers queries for statistics.
type Service struct{ *base.Base }

// New returns a Service.
func New(base *base.Base) *Service { return &Service{base} }

// Row holds the metrics of one group. Fields that are not a dimension are empty.
type Row struct {
	Period                     string
	DomainID, DomainName       string // DomainID is empty for a deleted domain
	EmailID                    string
	BroadcastID, BroadcastName string // BroadcastName is empty for a deleted broadcast
	Values                     map[Metric]float64
}

// Answer is the answer to a query.
type Answer struct {
	*Question
	Totals map[Metric]float64
	Rows   []Row // nil without dimensions
}

// maxRead is how many counters one answer reads: more than a year of ten domains.
const maxRead = 100_000

// Metrics answers a query about a team's mail. Errors: CodeValidation, also if the answer would be
// too long.
func (s *Service) Metrics(ctx context.Context, key *app.Key, query *Query) (*Answer, error) {
	q, err := query.Read(clock.Now())
	if err != nil {
		return nil, err
	}
	var out *Answer
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		a := &aggregator{r: r, team: key.TeamID, q: q, rows: map[groupKey]*counters.Tally{}}
		if err := a.read(); err != nil {
			return err
		}
		out, err = a.answer()
		return err
	})
	if errors.Is(err, db.ErrLong) {
		err = app.Invalid("start_date", "must be later: too much was counted in this range")
	}
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return out, nil
}

// groupKey identifies a row of the answer.
type groupKey struct {
	period                   int64 // Unix seconds
	domain, email, broadcast string
}

// aggregator adds counters to an answer.
type aggregator struct {
	r       *db.Reader
	team    string
	q       *Question
	domains []string // names of the requested domains; nil: all
	total   counters.Tally
	rows    map[groupKey]*counters.Tally
}

func (a *aggregator) read() error {
	if len(a.q.domains) > 0 {
		a.domains = []string{}
	}
	for _, id := range a.q.domains {
		d, err := a.r.Domain(a.team, id)
		if err == nil {
			a.domains = append(a.domains, d.Name)
		} else if !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("read domain: %w", err)
		}
	}
	if len(a.q.emails) > 0 {
		return a.readEmails()
	}
	from, to := a.q.hours()
	counts, err := a.r.MailCounts(a.team, from, to, a.q.By(ByBroadcast) || len(a.q.broadcasts) > 0, maxRead)
	for i := range counts {
		c := &counts[i]
		if c.Tally == (counters.Tally{}) { // it has rates only
			continue
		}
		if len(a.q.broadcasts) == 0 || slices.Contains(a.q.broadcasts, c.BroadcastID) {
			a.add(c, "")
		}
	}
	return err
}

// readEmails counts the events of the requested emails, including those of broadcasts.
func (a *aggregator) readEmails() error {
	from, to := a.q.hours()
	for _, id := range a.q.emails {
		subject, err := a.r.Subject(id)
		if errors.Is(err, db.ErrNotFound) || err == nil && subject.TeamID != a.team {
			continue
		}
		if err != nil {
			return fmt.Errorf("read email: %w", err)
		}
		events, err := a.r.Events(id)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		slices.Reverse(events)
		if subject.BroadcastID == "" {
			events = slices.DeleteFunc(events, ofOtherTeam)
		}
		a.add(&db.MailCount{Hour: from, Domain: subject.Domain}, id)
		for hour, t := range counters.OfTimeline(events) {
			if hour >= from && hour < to {
				a.add(&db.MailCount{Hour: hour, Domain: subject.Domain, Tally: *t}, id)
			}
		}
	}
	return nil
}

// ofOtherTeam reports whether an event is a report about an address that is not a recipient of the
// email.
func ofOtherTeam(ev app.Event) bool {
	return ev.Detail.Source != "" && ev.Recipient == "" && !counters.IsHit(ev.Type)
}

// add adds a count to the total and to its row.
func (a *aggregator) add(c *db.MailCount, emailID string) {
	if a.domains != nil && !slices.Contains(a.domains, c.Domain) {
		return
	}
	a.total.Add(&c.Tally)
	if len(a.q.Dimensions) == 0 || a.q.By(ByBroadcast) && c.BroadcastID == "" {
		return
	}
	var p groupKey
	if a.q.By(ByPeriod) {
		p.period = a.q.periodOf(latest(time.Unix(c.Hour*3600, 0), a.q.Start)).Unix()
	}
	if a.q.By(ByDomain) {
		p.domain = c.Domain
	}
	if a.q.By(ByEmail) {
		p.email = emailID
	}
	if a.q.By(ByBroadcast) {
		p.broadcast = c.BroadcastID
	}
	if a.rows[p] == nil {
		a.rows[p] = &counters.Tally{}
	}
	a.rows[p].Add(&c.Tally)
}

// answer sorts the rows and adds names.
func (a *aggregator) answer() (*Answer, error) {
	out := &Answer{Question: a.q, Totals: valuesOf(&a.total, a.q.Metrics)}
	if len(a.q.Dimensions) == 0 {
		return out, nil
	}
	if len(a.q.Dimensions) == 1 && a.q.By(ByPeriod) {
		a.fillPeriods()
	}
	if len(a.rows) > MaxPeriods {
		return nil, app.Invalid("dimensions", "make more than %d rows here: ask for a shorter range or longer periods, or name domains or broadcasts", MaxPeriods)
	}
	out.Rows = make([]Row, 0, len(a.rows))
	names := nameLookup{r: a.r, team: a.team, domains: map[string]string{}, broadcasts: map[string]string{}}
	for _, p := range a.groups() {
		row := Row{EmailID: p.email, DomainName: p.domain, BroadcastID: p.broadcast, Values: valuesOf(a.rows[p], a.q.Metrics)}
		if a.q.By(ByPeriod) {
			row.Period = a.q.name(time.Unix(p.period, 0).In(a.q.zone))
		}
		var err error
		if row.DomainID, row.BroadcastName, err = names.of(p); err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// fillPeriods adds periods without events, so that charts have no gaps.
func (a *aggregator) fillPeriods() {
	for t := a.q.periodOf(a.q.Start); t.Before(a.q.End); t = a.q.after(t) {
		if p := (groupKey{period: t.Unix()}); a.rows[p] == nil {
			a.rows[p] = &counters.Tally{}
		}
	}
}

// groups returns the keys of the rows in order.
func (a *aggregator) groups() []groupKey {
	all := make([]groupKey, 0, len(a.rows))
	for p := range a.rows {
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(x, y groupKey) int {
		if x.period != y.period {
			return int(x.period - y.period)
		}
		return strings.Compare(x.domain+"\x00"+x.email+x.broadcast, y.domain+"\x00"+y.email+y.broadcast)
	})
	return all
}

// nameLookup caches names.
type nameLookup struct {
	r                   *db.Reader
	team                string
	domains, broadcasts map[string]string // ids by name, and names by id
}

// of returns the id of a row's domain and the name of its broadcast; empty if deleted.
func (n *nameLookup) of(p groupKey) (domainID, broadcast string, err error) {
	domainID, known := n.domains[p.domain]
	if p.domain != "" && !known {
		if domainID, err = n.r.DomainID(n.team, p.domain); err != nil && !errors.Is(err, db.ErrNotFound) {
			return "", "", fmt.Errorf("look up domain: %w", err)
		}
		n.domains[p.domain] = domainID
	}
	broadcast, known = n.broadcasts[p.broadcast]
	if p.broadcast != "" && !known {
		if broadcast, err = n.r.BroadcastName(n.team, p.broadcast); err != nil && !errors.Is(err, db.ErrNotFound) {
			return "", "", fmt.Errorf("look up broadcast: %w", err)
		}
		n.broadcasts[p.broadcast] = broadcast
	}
	return domainID, broadcast, nil
}
