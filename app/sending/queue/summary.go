package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Summary counts the waiting mail by reason.
type Summary struct {
	Waiting   int64         `json:"waiting"`    // emails, and recipients of broadcasts
	Oldest    *string       `json:"oldest"`     // when the oldest mail that is not scheduled was accepted; null: none waits
	By        []Count       `json:"by"`         // largest first
	ToDomains []DomainCount `json:"to_domains"` // the twenty largest, of begun units
}

// Count is how much mail of a team waits for a relay for one reason.
type Count struct {
	Relay  string `json:"relay"` // or the region, for mail that leaves through the relay that is active there
	Team   string `json:"team"`  // id
	Reason string `json:"reason"`
	Count  int64  `json:"count"`

	Queue    string    `json:"-"` // of the units
	State    State     `json:"-"`
	TeamName string    `json:"-"`
	Oldest   time.Time `json:"-"` // when the oldest was accepted
}

// DomainCount is how much mail waits for recipients at a domain.
type DomainCount struct {
	Domain string `json:"domain"`
	Count  int64  `json:"count"`
}

// maxToDomains is how many domains of recipients a Summary has; maxAddresses is how many
// recipients are read for them.
const (
	maxToDomains = 20
	maxAddresses = 500_000
)

// Summary counts the waiting mail of one team or, if team is empty, of all. The result of a slow
// count is reused for a while.
func (s *Service) Summary(ctx context.Context, team string) (Summary, error) {
	return s.summaries.get(team, func() (Summary, error) {
		c := newCounter()
		if err := s.count(ctx, team, c, true); err != nil {
			return Summary{}, err
		}
		out := Summary{By: c.counts(), ToDomains: c.domains}
		for _, row := range out.By {
			out.Waiting += row.Count
		}
		out.Oldest = app.FormatTimePtr(c.oldest)
		return out, nil
	})
}

// Counts is Summary without domains of recipients, for frequent callers.
func (s *Service) Counts(ctx context.Context) ([]Count, error) {
	c := newCounter()
	err := s.count(ctx, "", c, false)
	return c.counts(), err
}

// counter counts waiting mail.
type counter struct {
	rows    map[countKey]*Count
	domains []DomainCount
	oldest  time.Time
}

type countKey struct {
	queue, team, reason string
	state               State
}

func newCounter() *counter {
	return &counter{rows: map[countKey]*Count{}, domains: []DomainCount{}}
}

// count counts the open units of a team, or of all, in one read transaction.
func (s *Service) count(ctx context.Context, team string, c *counter, domains bool) error {
	p, err := s.prepare(ctx, Filter{Team: team})
	if err != nil {
		return err
	}
	if err := s.walks.Acquire(ctx, p.team, 1); err != nil {
		return err
	}
	defer s.walks.Release(p.team, 1)
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		*c = *newCounter()
		groups, err := r.QueuedGroups(p.team, p.now)
		if err != nil {
			return fmt.Errorf("count waiting mail: %w", err)
		}
		c.groups(p.queueStatus, groups)
		if domains {
			if c.domains, err = domainsOf(r, p.team); err != nil {
				return err
			}
		}
		open, err := openBroadcasts(r, p)
		for i := range open {
			c.broadcast(p.queueStatus, &open[i])
		}
		return err
	})
	if err != nil {
		return base.Unavailable(err)
	}
	return s.nameTeams(ctx, c)
}

// domainsOf returns the domains that most mail waits for.
func domainsOf(r *db.Reader, team string) ([]DomainCount, error) {
	rows, err := r.QueuedDomains(team, maxToDomains, maxAddresses)
	if err != nil {
		return nil, fmt.Errorf("count waiting recipients: %w", err)
	}
	out := make([]DomainCount, len(rows))
	for i, row := range rows {
		out[i] = DomainCount(row)
	}
	return out, nil
}

func (c *counter) add(k countKey, n int64, accepted time.Time) {
	row := c.rows[k]
	if row == nil {
		row = &Count{Relay: app.QueueName(k.queue), Queue: k.queue, Team: k.team, Reason: k.reason, State: k.state, Oldest: accepted}
		c.rows[k] = row
	}
	row.Count += n
	if accepted.Before(row.Oldest) {
		row.Oldest = accepted
	}
	if k.state != Scheduled && (c.oldest.IsZero() || accepted.Before(c.oldest)) {
		c.oldest = accepted
	}
}

func (c *counter) groups(st *queueStatus, groups []db.QueuedGroup) {
	for i := range groups {
		g := &groups[i]
		state, reason := st.unit(&g.QueuedUnit)
		c.add(countKey{g.Relay, g.TeamID, reason, state}, g.Count, timeOf(g.EmailID))
	}
}

func (c *counter) broadcast(st *queueStatus, b *app.Broadcast) {
	if n := b.Remaining(); n > 0 {
		state, reason := st.broadcast(b)
		c.add(countKey{b.Relay, b.TeamID, reason, state}, n, acceptedAt(b))
	}
}

func (c *counter) counts() []Count {
	out := make([]Count, 0, len(c.rows))
	for _, row := range c.rows {
		out = append(out, *row)
	}
	slices.SortStableFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Relay, b.Relay), strings.Compare(a.Team, b.Team), strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// nameTeams fills in the names of teams.
func (s *Service) nameTeams(ctx context.Context, c *counter) error {
	names := map[string]string{}
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		for k, row := range c.rows {
			name, known := names[k.team]
			if !known {
				var err error
				if name, err = r.TeamName(k.team); base.IgnoreNotFound(err) != nil {
					return fmt.Errorf("read the name of a team: %w", err)
				}
				names[k.team] = name
			}
			row.TeamName = name
		}
		return nil
	})
	return base.Unavailable(err)
}

// timeOf returns the time in an id (UUID version 7).
func timeOf(id string) time.Time {
	ms, err := millisOf(id)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
