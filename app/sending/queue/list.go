package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/verdict"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// Item is a row of the queue: an email, an email to a recipient of a broadcast, or a broadcast with
// its recipients that have not begun.
type Item struct {
	ID        string   `json:"id"`
	Team      string   `json:"team"` // id
	Relay     string   `json:"relay"`
	From      string   `json:"from"`
	To        []string `json:"to"` // open recipients
	State     State    `json:"state"`
	Reason    string   `json:"reason"`
	CreatedAt string   `json:"created_at"`
	NextAt    *string  `json:"next_at"` // null: unknown, because something else must happen first
	Attempts  int      `json:"attempts"`
	Broadcast string   `json:"broadcast,omitzero"`
	Count     int64    `json:"count,omitzero"` // of a broadcast: recipients
}

// MaxRows is how many rows List returns at most.
const MaxRows = 1000

// List returns up to limit rows of the queue that match a filter, oldest first, after the row with
// an id, and whether there are more. Broadcasts come first, one row each: it stands for their
// recipients that have not begun and their held units.
func (s *Service) List(ctx context.Context, f Filter, after string, limit int) (items []Item, more bool, err error) {
	err = s.list(ctx, f, "after", after, limit, func(l *itemReader) error {
		if err := l.broadcasts(after); err != nil {
			return err
		}
		from := after
		if l.afterBroadcast { // the cursor is a broadcast
			from = ""
		}
		err := s.walk(l.r, l.p, from, l.units)
		items = l.items
		return err
	})
	if more = len(items) > limit; more {
		items = items[:limit]
	}
	return items, more, err
}

// ListBefore returns up to limit rows of List directly before the row with an id, in the same
// order, and whether there are more before those.
func (s *Service) ListBefore(ctx context.Context, f Filter, before string, limit int) (items []Item, more bool, err error) {
	err = s.list(ctx, f, "before", before, limit, func(l *itemReader) error {
		if err := l.broadcasts(""); err != nil {
			return err
		}
		items = l.items
		if at := slices.IndexFunc(items, func(it Item) bool { return it.ID == before }); at >= 0 {
			items = items[:at]
			return nil
		}
		l.items = nil
		err := walkBack(l.r, l.p, before, l.units)
		slices.Reverse(l.items)
		items = append(items, l.items...)
		return err
	})
	if more = len(items) > limit; more {
		items = items[len(items)-limit:]
	}
	return items, more, err
}

// list checks the arguments of a list, waits for the team's turn to scan, and calls read with an
// itemReader that accepts one row more than limit. name is the name of the cursor parameter.
func (s *Service) list(ctx context.Context, f Filter, name, cursor string, limit int, read func(l *itemReader) error) error {
	if limit < 1 || limit > MaxRows {
		return app.Invalid("limit", "must be a number between 1 and %d", MaxRows)
	}
	p, err := s.prepare(ctx, f)
	if err != nil {
		return err
	}
	if err := s.walks.Acquire(ctx, p.team, 1); err != nil {
		return err
	}
	defer s.walks.Release(p.team, 1)
	return base.Unavailable(s.DB.Read(ctx, func(r *db.Reader) error {
		if err := p.checkCursor(r, name, cursor); err != nil {
			return err
		}
		return read(&itemReader{r: r, p: p, limit: limit + 1, stopped: map[string]bool{}})
	}))
}

// checkCursor refuses a cursor that is unknown or belongs to another team, with the same error.
func (p *preparedFilter) checkCursor(r *db.Reader, name, cursor string) error {
	if cursor == "" {
		return nil
	}
	team, err := r.TeamOfMail(cursor)
	if errors.Is(err, db.ErrNotFound) {
		team, err = r.TeamOfBroadcast(cursor)
	}
	if errors.Is(err, db.ErrNotFound) || err == nil && p.team != "" && team != p.team {
		return app.Invalid(name, "must be an id that this list returned")
	}
	return err
}

// itemReader collects the rows of a list.
type itemReader struct {
	r              *db.Reader
	p              *preparedFilter
	limit          int
	items          []Item
	stopped        map[string]bool // broadcasts whose row includes their held units
	afterBroadcast bool            // the cursor is the row of a broadcast
}

// broadcasts adds the rows of broadcasts if the list begins among them.
func (l *itemReader) broadcasts(after string) error {
	open, err := openBroadcasts(l.r, l.p)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(open, func(b app.Broadcast) bool { return b.ID == after })
	l.afterBroadcast = at >= 0
	for i := range open {
		b := &open[i]
		l.stopped[b.ID] = isStopped(b)
		if after != "" && (!l.afterBroadcast || i <= at) {
			continue
		}
		item, err := l.broadcastItem(b)
		if err != nil {
			return err
		}
		l.items = append(l.items, item)
	}
	return nil
}

// isStopped reports whether a broadcast is held or paused.
func isStopped(b *app.Broadcast) bool { return b.Held != "" || !b.PausedAt.IsZero() }

func (l *itemReader) broadcastItem(b *app.Broadcast) (Item, error) {
	state, reason := l.p.broadcast(b)
	item := Item{ID: b.ID, Team: b.TeamID, Relay: b.Relay, From: b.From.Mailbox(), To: []string{}, State: state, Reason: reason,
		CreatedAt: app.FormatTime(b.CreatedAt), Broadcast: b.ID, Count: b.Remaining()}
	if state == Scheduled {
		item.NextAt = app.FormatTimePtr(b.ScheduledAt)
	}
	if !isStopped(b) {
		return item, nil
	}
	n, err := l.r.CountHeldUnits(b.ID)
	item.Count += n
	return item, err
}

// units adds the rows of units until there are enough.
func (l *itemReader) units(units []db.QueuedUnit) (more bool, err error) {
	for i := range units {
		u := &units[i]
		if u.Held != "" && l.stopped[u.BroadcastID] {
			continue
		}
		if len(l.items) >= l.limit {
			return false, nil
		}
		item, err := itemOf(l.r, l.p.queueStatus, u)
		if err != nil {
			return false, err
		}
		l.items = append(l.items, item)
	}
	return true, nil
}

// itemOf returns the row of a unit. Damaged data is left out, because the unit is held for it.
func itemOf(r *db.Reader, st *queueStatus, u *db.QueuedUnit) (Item, error) {
	state, reason := st.unit(u)
	item := Item{ID: u.EmailID, Team: u.TeamID, Relay: app.QueueName(u.Relay), To: []string{}, State: state, Reason: reason,
		CreatedAt: app.FormatTime(timeOf(u.EmailID)), Attempts: u.Attempts, Broadcast: u.BroadcastID}
	if state == Retry || state == Scheduled || state == Quota && u.NextAt.After(st.now) {
		item.NextAt = app.FormatTimePtr(u.NextAt)
	}
	to, err := r.OpenRecipients(u.Unit)
	if err == nil {
		item.To = append(item.To, to...)
	} else if !errors.Is(err, db.ErrDamaged) {
		return item, fmt.Errorf("read the recipients of %s: %w", u.EmailID, err)
	}
	if err := item.sender(r, u); err != nil && !errors.Is(err, db.ErrDamaged) && !errors.Is(err, db.ErrNotFound) {
		return item, fmt.Errorf("read %s: %w", u.EmailID, err)
	}
	if state == Retry {
		return item, item.lastReply(r)
	}
	return item, nil
}

func (i *Item) sender(r *db.Reader, u *db.QueuedUnit) error {
	if u.BroadcastID != "" {
		b, err := r.BroadcastHead(u.TeamID, u.BroadcastID)
		i.From = b.From.Mailbox()
		return err
	}
	email, err := r.EmailRow(u.TeamID, u.EmailID)
	if err == nil {
		i.From, i.CreatedAt = email.From.Mailbox(), app.FormatTime(email.CreatedAt)
	}
	return err
}

// lastReply sets the reason of a row to the relay's last reply.
func (i *Item) lastReply(r *db.Reader) error {
	events, err := r.Events(i.ID)
	if errors.Is(err, db.ErrDamaged) {
		return nil
	}
	at := slices.IndexFunc(events, func(ev app.Event) bool {
		return ev.Type == app.EventDeferred || ev.Type == app.EventInDoubt || ev.Type == app.EventInterrupted
	})
	if at >= 0 {
		i.Reason = events[at].Detail.Message
	}
	return err
}

// Shown is one email, queued or not, with its timeline.
type Shown struct {
	Verdict *verdict.Verdict `json:"verdict,omitzero"` // nil: a broadcast
	Item
	State     app.State     `json:"state"`                // the state in the API
	Waits     State         `json:"queue_state,omitzero"` // state of Item; empty: not queued
	LastEvent app.LastEvent `json:"last_event"`
	Subject   string        `json:"subject"`
	Events    []ShownEvent  `json:"events"` // oldest first
}

// ShownEvent is a line of a timeline.
type ShownEvent struct {
	At        string        `json:"at"`
	Type      app.EventType `json:"type"`
	Recipient string        `json:"recipient,omitzero"`
	app.EventDetail
}

// maxShownEvents is how many lines of a timeline are shown: the newest.
const maxShownEvents = 1000

// Show returns one email with its attempts and the relay's replies. team is as in a Filter. Errors:
// CodeNotFound, CodeValidation for an invalid id.
func (s *Service) Show(ctx context.Context, team, id string) (*Shown, error) {
	p, err := s.prepare(ctx, Filter{Team: team, IDs: []string{id}})
	if err != nil {
		return nil, err
	}
	if len(p.IDs) == 0 {
		return s.showBroadcast(ctx, p)
	}
	id = p.IDs[0]
	out := &Shown{}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		owner, err := r.TeamOfMail(id)
		if errors.Is(err, db.ErrNotFound) || err == nil && p.team != "" && owner != p.team {
			return app.NotFound("email")
		}
		if err != nil {
			return err
		}
		v, err := s.verdict(r, owner, id)
		if err != nil {
			return base.Lookup("email", err)
		}
		out.Verdict = &v
		return s.show(r, p, owner, id, out)
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	key := &app.Key{TeamID: out.Team, Permission: app.FullAccess, Role: app.RoleOwner}
	events, _, err := s.mail.ListEvents(ctx, key, id, app.Page{Limit: maxShownEvents})
	for _, ev := range slices.Backward(events) {
		out.Events = append(out.Events, ShownEvent{At: app.FormatTime(ev.CreatedAt), Type: ev.Type, Recipient: ev.Recipient, EventDetail: ev.Detail})
	}
	return out, err
}

// showBroadcast is Show for a broadcast: its row of the queue, without events.
func (s *Service) showBroadcast(ctx context.Context, p *preparedFilter) (*Shown, error) {
	b, err := db.Get(ctx, s.DB, func(r *db.Reader) (b app.Broadcast, err error) {
		owner, err := r.TeamOfBroadcast(p.Broadcast)
		if err != nil {
			return b, err
		}
		return r.BroadcastHead(owner, p.Broadcast)
	})
	if err != nil {
		return nil, base.Lookup("broadcast", err)
	}
	out := &Shown{Subject: b.Subject, LastEvent: app.LastEvent(b.Status), Item: Item{ID: b.ID, Team: b.TeamID, Relay: b.Relay, From: b.From.Mailbox(), To: []string{},
		CreatedAt: app.FormatTime(b.CreatedAt), Reason: "it does not wait", Broadcast: b.ID}}
	rows, _, err := s.List(ctx, Filter{Team: b.TeamID, Broadcast: b.ID}, "", maxShownEvents)
	for _, row := range rows {
		if row.ID == b.ID {
			out.Item = row
		}
	}
	if out.State, out.Waits = app.State(b.Status), out.Item.State; out.Waits == Held {
		out.State = app.Held
	}
	return out, err
}

// show fills in an email without its events.
func (s *Service) show(r *db.Reader, p *preparedFilter, team, id string, out *Shown) error {
	u, err := r.QueuedUnit(id)
	open := err == nil
	if base.IgnoreNotFound(err) != nil {
		return err
	}
	if open {
		if out.Item, err = itemOf(r, p.queueStatus, &u); err != nil {
			return err
		}
		out.Waits = out.Item.State
	}
	email, err := r.EmailRow(team, id)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return s.showRecipient(r, team, id, open, out)
	case err != nil:
		return err
	case !open:
		out.Item = Item{ID: id, Team: team, Relay: email.Relay, From: email.From.Mailbox(), To: []string{}, CreatedAt: app.FormatTime(email.CreatedAt), Reason: "it does not wait"}
	}
	out.State, out.LastEvent, out.Subject = email.State(), email.LastEvent, email.Subject
	return nil
}

// showRecipient is show for an email to a recipient of a broadcast.
func (s *Service) showRecipient(r *db.Reader, team, id string, open bool, out *Shown) error {
	b, err := r.BroadcastOfMail(team, id)
	if err != nil {
		return base.Lookup("email", err)
	}
	to, err := r.BroadcastRecipient(id)
	if err != nil {
		return base.Lookup("email", err)
	}
	if !open {
		out.Item = Item{ID: id, Team: team, Relay: b.Relay, From: b.From.Mailbox(), To: []string{}, CreatedAt: app.FormatTime(acceptedAt(&b)), Reason: "it does not wait", Broadcast: b.ID}
	}
	now, err := audience.Situations(r, &b, to)
	if err != nil {
		return err
	}
	out.Subject, out.LastEvent = b.Subject, to.Seen.LastEvent()
	out.State = app.StateOf(out.LastEvent, now[0])
	return nil
}

// millisOf returns the time in an id, in milliseconds.
func millisOf(id string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(id[:min(len(id), 13)], "-", ""), 16, 64)
}
