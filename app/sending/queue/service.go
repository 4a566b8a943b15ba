package queue

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
	"mailer/app/kit/nearest"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// Service lists the queue and acts on it.
type Service struct {
	*base.Base
	teams      *teams.Service
	audience   *audience.Service
	mail       *mail.Service
	delivery   *delivery.Service
	broadcasts *broadcasts.Service
	walks      *base.TeamSemaphore
	summaries  summaryCache
	// ReleaseAutomation lets an automation whose starts a restore held start runs by date and schedule again, from
	// now on.
	ReleaseAutomation func(tx *db.Tx, teamID, id string) error
}

// maxWaitingWalks is how many scans of the queue may wait for each team; one runs at a time.
const maxWaitingWalks = 10

// New makes a Service.
func New(b *base.Base, t *teams.Service, a *audience.Service, m *mail.Service, d *delivery.Service, broadcastService *broadcasts.Service) *Service {
	return &Service{Base: b, teams: t, audience: a, mail: m, delivery: d, broadcasts: broadcastService, walks: base.NewTeamSemaphore(1, maxWaitingWalks)}
}

// preparedFilter is a checked filter with the database scope and the queue status.
type preparedFilter struct {
	Filter
	team    string // id; empty: all
	scope   db.QueueScope
	inDoubt map[string]bool // ids of the emails, for a filter with Doubts
	*queueStatus
}

// prepare checks a filter and resolves the names in it. Errors: CodeValidation, CodeNotFound.
func (s *Service) prepare(ctx context.Context, f Filter) (*preparedFilter, error) {
	f.IDs = slices.Clone(f.IDs)
	if err := f.Validate(); err != nil {
		return nil, err
	}
	p := &preparedFilter{Filter: f}
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if p.team, err = findTeam(r, f.Team); err != nil {
			return err
		}
		if p.queueStatus, err = s.readStatus(r, clock.Now()); err != nil {
			return err
		}
		if err := s.checkRelay(r, f.Relay); err != nil {
			return err
		}
		if err := p.resolveBroadcast(r); err != nil {
			return err
		}
		if p.Doubts {
			if p.inDoubt, err = r.EmailsInDoubt(); err != nil {
				return fmt.Errorf("read doubts: %w", err)
			}
		}
		p.scope, err = p.scopeOf(r)
		return err
	})
	return p, base.Unavailable(err)
}

// resolveBroadcast turns a filter with the id of a single broadcast into one for all of its mail.
func (p *preparedFilter) resolveBroadcast(r *db.Reader) error {
	if !p.IsSingle() || p.Broadcast != "" {
		return nil
	}
	_, err := r.TeamOfBroadcast(p.IDs[0])
	if err == nil {
		p.Broadcast, p.IDs = p.IDs[0], nil
	}
	return base.IgnoreNotFound(err)
}

// findTeam returns the id of a team by its name or id; "" for "".
func findTeam(r *db.Reader, nameOrID string) (string, error) {
	if nameOrID == "" {
		return "", nil
	}
	team, err := r.FindTeam(nameOrID)
	if !errors.Is(err, db.ErrNotFound) {
		return team.ID, err
	}
	all, err := r.ListTeams()
	if err != nil {
		return "", fmt.Errorf("list teams: %w", err)
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return "", app.Errorf(app.CodeNotFound, "There is no team %q; the nearest is %s", nameOrID, nearest.Of(nameOrID, names))
}

// checkRelay refuses a relay that is not configured and that no mail waits for.
func (s *Service) checkRelay(r *db.Reader, relay string) error {
	if relay == "" {
		return nil
	}
	names, err := s.relayNames(r)
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return ofRelay(name, relay) }) {
		return err
	}
	for i, name := range names {
		names[i] = app.QueueName(name)
	}
	return app.Errorf(app.CodeNotFound, "There is no relay %q, and no mail is queued for it%s", relay, nearestHint(relay, names))
}

func nearestHint(word string, names []string) string {
	if name := nearest.Of(word, names); name != "" {
		return "; the nearest is " + name
	}
	return ""
}

// relayNames returns the relays that are configured or that mail waits for.
func (s *Service) relayNames(r *db.Reader) ([]string, error) {
	names, err := r.UnitRelays()
	if err != nil {
		return nil, fmt.Errorf("read the relays of waiting mail: %w", err)
	}
	bulk, err := r.BroadcastRelays()
	if err != nil {
		return nil, fmt.Errorf("read the relays of broadcasts: %w", err)
	}
	names = append(names, bulk...)
	for _, region := range s.Settings.Relays().Regions {
		names = append(append(names, region.Name), region.Relays...)
	}
	return append(names, app.CaptureRegion), nil
}

// scopeOf returns the part of a filter that the database evaluates.
func (p *preparedFilter) scopeOf(r *db.Reader) (db.QueueScope, error) {
	scope := db.QueueScope{TeamID: p.team, Relay: p.Filter.Relay, Domain: p.FromDomain, ToDomain: p.ToDomain, Broadcasts: true, Visible: p.Visible}
	if p.Restored {
		scope.Held = app.HoldRestored
	}
	if p.OlderThan > 0 {
		scope.To = app.FirstID(p.now.Add(-time.Duration(p.OlderThan)))
	}
	if !p.After.IsZero() {
		scope.From = app.FirstID(p.After)
	}
	if p.Broadcast == "" {
		return scope, nil
	}
	team, err := r.TeamOfBroadcast(p.Broadcast)
	if errors.Is(err, db.ErrNotFound) || err == nil && p.team != "" && p.team != team {
		return scope, app.NotFound("broadcast")
	}
	if err != nil {
		return scope, err
	}
	b, err := r.BroadcastHead(team, p.Broadcast)
	if err != nil {
		return scope, err
	}
	mails := b.EmailIDPrefix
	if mails == "" { // no recipient has begun
		mails = "~"
	}
	scope.From = max(scope.From, mails)
	if end := mails + "~"; scope.To == "" || scope.To > end {
		scope.To = end
	}
	return scope, nil
}

// ofRelay reports whether a queue is one of a region, or fixed for a relay.
func ofRelay(queue, name string) bool {
	return app.QueueRegion(queue) == name || app.QueueRelay(queue) == name
}

// onRelay reports whether the units of a queue match the filter's relay, which is the one that may
// have sent them in a filter with Doubts, else a region too.
func (p *preparedFilter) onRelay(queue string) bool {
	if p.Doubts && app.QueueRelay(queue) != "" {
		return app.QueueRelay(queue) == p.Filter.Relay
	}
	return ofRelay(queue, p.Filter.Relay)
}

// matches reports whether a unit matches the part of the filter that the database does not
// evaluate, and the fields that an action depends on, which may have changed meanwhile.
func (p *preparedFilter) matches(u *db.QueuedUnit) bool {
	if p.State != "" {
		if state, _ := p.unit(u); state != p.State {
			return false
		}
	}
	if p.Doubts && !p.inDoubt[u.EmailID] || p.Filter.Relay != "" && !p.onRelay(u.Relay) {
		return false
	}
	return (p.team == "" || u.TeamID == p.team) && (!p.Restored || u.Held == app.HoldRestored)
}

// inScope evaluates the scope for a unit that was found by its id.
func (p *preparedFilter) inScope(u *db.QueuedUnit) bool {
	c := &p.scope
	return (c.Domain == "" || u.Domain == c.Domain) && (c.To == "" || u.EmailID < c.To) && u.EmailID >= c.From
}

// readBatch is how many units a walk reads with one query.
const readBatch = 2000

// walk passes the matching units to take in batches, in the order of their ids, after an id. take
// reports whether it wants more.
func (s *Service) walk(r *db.Reader, p *preparedFilter, after string, take func([]db.QueuedUnit) (bool, error)) error {
	if len(p.IDs) > 0 {
		units, err := named(r, p, after)
		if err != nil || len(units) == 0 {
			return err
		}
		_, err = take(units)
		return err
	}
	for {
		units, err := r.QueuedUnits(&p.scope, after, readBatch)
		if err != nil || len(units) == 0 {
			return err
		}
		after = units[len(units)-1].EmailID
		last := len(units) < readBatch
		continues, err := take(slices.DeleteFunc(units, func(u db.QueuedUnit) bool { return !p.matches(&u) }))
		if err != nil || last || !continues {
			return err
		}
	}
}

// walkBack is walk in descending order, from the unit before an id on.
func walkBack(r *db.Reader, p *preparedFilter, before string, take func([]db.QueuedUnit) (bool, error)) error {
	if len(p.IDs) > 0 {
		units, err := named(r, p, "")
		if err != nil {
			return err
		}
		units = slices.DeleteFunc(units, func(u db.QueuedUnit) bool { return u.EmailID >= before })
		slices.Reverse(units)
		_, err = take(units)
		return err
	}
	for {
		units, err := r.QueuedUnitsBefore(&p.scope, before, readBatch)
		if err != nil || len(units) == 0 {
			return err
		}
		before = units[len(units)-1].EmailID
		last := len(units) < readBatch
		more, err := take(slices.DeleteFunc(units, func(u db.QueuedUnit) bool { return !p.matches(&u) }))
		if err != nil || last || !more {
			return err
		}
	}
}

// named returns the matching units among the ids of a filter.
func named(r *db.Reader, p *preparedFilter, after string) ([]db.QueuedUnit, error) {
	ids := slices.Clone(p.IDs)
	slices.Sort(ids)
	var units []db.QueuedUnit
	for _, id := range slices.Compact(ids) {
		if id <= after {
			continue
		}
		u, err := r.QueuedUnit(id)
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		to := p.ToDomain == ""
		if !to {
			open, err := r.OpenRecipients(u.Unit)
			if err != nil {
				return nil, err
			}
			to = slices.ContainsFunc(open, func(address string) bool { return domainOfAddress(address) == p.ToDomain })
		}
		if to && p.inScope(&u) && p.matches(&u) {
			units = append(units, u)
		}
	}
	return units, nil
}

// domainOfAddress returns the domain of a recipient, in lower-case A-labels.
func domainOfAddress(address string) string {
	_, domain, _ := strings.Cut(app.KeyOf(address).String(), "@")
	return domain
}

// openBroadcasts returns the scheduled and queued broadcasts that match the filter and that have
// recipients left to begin, or are held or paused.
func openBroadcasts(r *db.Reader, p *preparedFilter) ([]app.Broadcast, error) {
	if p.ToDomain != "" {
		return nil, nil
	}
	queued, err := r.OpenBroadcasts(app.QueuedBroadcast)
	if err != nil {
		return nil, fmt.Errorf("read queued broadcasts: %w", err)
	}
	scheduled, err := r.OpenBroadcasts(app.ScheduledBroadcast)
	if err != nil {
		return nil, fmt.Errorf("read scheduled broadcasts: %w", err)
	}
	return slices.DeleteFunc(append(queued, scheduled...), func(b app.Broadcast) bool { return !p.matchesBroadcast(&b) }), nil
}

func (p *preparedFilter) matchesBroadcast(b *app.Broadcast) bool {
	if b.Remaining() == 0 && !isStopped(b) {
		return false
	}
	if len(p.IDs) > 0 && !slices.Contains(p.IDs, b.ID) || p.Broadcast != "" && p.Broadcast != b.ID {
		return false
	}
	if p.team != "" && b.TeamID != p.team || p.Doubts || p.Filter.Relay != "" && !ofRelay(b.Relay, p.Filter.Relay) || p.FromDomain != "" && b.From.Domain != p.FromDomain {
		return false
	}
	if p.Restored && b.Held != app.HoldRestored {
		return false
	}
	if state, _ := p.broadcast(b); p.State != "" && p.State != state {
		return false
	}
	at := acceptedAt(b)
	return (p.OlderThan == 0 || at.Before(p.now.Add(-time.Duration(p.OlderThan)))) && !at.Before(p.After)
}

// acceptedAt is when a broadcast was queued, or created if it is not queued yet.
func acceptedAt(b *app.Broadcast) time.Time {
	if b.QueuedAt.IsZero() {
		return b.CreatedAt
	}
	return b.QueuedAt
}
