package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/verdict"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// Verdict says what became of an email of a team, or of a recipient of one of its broadcasts, why,
// and what to do. Error: CodeNotFound.
func (s *Service) Verdict(ctx context.Context, key *app.Key, id string) (verdict.Verdict, error) {
	v, err := db.Get(ctx, s.DB, func(r *db.Reader) (verdict.Verdict, error) { return s.verdict(r, key.TeamID, id) })
	return v, base.Lookup("email", err)
}

// verdict is Verdict inside a read transaction. Error: db.ErrNotFound.
func (s *Service) verdict(r *db.Reader, team, id string) (v verdict.Verdict, err error) {
	c := &factReader{s: s, r: r, team: team, id: id, now: clock.Now()}
	email, err := r.EmailRow(team, id)
	switch {
	case errors.Is(err, db.ErrNotFound):
		err = c.readRecipient()
	case err == nil:
		err = c.readEmail(email)
	}
	if err != nil {
		return v, err
	}
	if c.facts.Events, err = ignoreDamaged(r.NewestEvents(id, maxFactEvents)); err != nil {
		return v, fmt.Errorf("read the timeline: %w", err)
	}
	if err := mail.NameReserves(r, c.region, c.facts.Events); err != nil {
		return v, err
	}
	if c.facts.Answers, err = audience.Answers(r, team, id); err != nil {
		return v, fmt.Errorf("read answers: %w", err)
	}
	if err := c.readSuppressions(); err != nil {
		return v, fmt.Errorf("look up suppressions: %w", err)
	}
	return verdict.Of(&c.facts), nil
}

// maxFactEvents is how many lines of a timeline a verdict uses: the newest, enough for the results
// of all recipients and their opens.
const maxFactEvents = 400

// factReader collects the facts for a verdict.
type factReader struct {
	s        *Service
	r        *db.Reader
	team, id string
	region   string
	now      time.Time
	facts    verdict.Facts
}

// ignoreDamaged treats rows that can't be read as absent: the email is held for the damage, or has
// ended.
func ignoreDamaged[T any](rows []T, err error) ([]T, error) {
	if errors.Is(err, db.ErrDamaged) {
		return nil, nil
	}
	return rows, err
}

func (c *factReader) readEmail(email *app.Email) error {
	c.region, c.facts.Relay, c.facts.FromDomain = email.Relay, email.Relay, email.From.Domain
	recipients, err := ignoreDamaged(c.r.Recipients(c.id))
	if err != nil {
		return fmt.Errorf("read the recipients: %w", err)
	}
	for _, v := range recipients {
		c.facts.Recipients = append(c.facts.Recipients, verdict.Recipient{Address: v.Address, State: v.State})
	}
	_, err = c.readUnit()
	return err
}

// readRecipient is readEmail for an email to a recipient of a broadcast, which may not have begun.
// Error: db.ErrNotFound.
func (c *factReader) readRecipient() error {
	b, rec, err := audience.RecipientOf(c.r, c.team, c.id)
	if err != nil {
		return err
	}
	c.region, c.facts.Relay, c.facts.FromDomain, c.facts.BroadcastID = b.Relay, b.Relay, b.From.Domain, b.ID
	to := verdict.Recipient{Address: rec.Email, State: app.Queued}
	if seen := b.SeenOf(&rec); seen&app.SeenEnded != 0 {
		to.State = seen.LastEvent()
	}
	c.facts.Recipients = []verdict.Recipient{to}
	begun, err := c.readUnit()
	if err != nil || begun || to.State != app.Queued {
		return err
	}
	return c.readUnbegun(&b)
}

// readUnit reads the open unit of the email, and reports whether there is one.
func (c *factReader) readUnit() (bool, error) {
	u, err := c.r.QueuedUnit(c.id)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read its unit: %w", err)
	}
	c.region, c.facts.Kept = app.QueueRegion(u.Relay), app.FixedRelay(u.Relay) != ""
	c.facts.Relay = c.s.Settings.RelayOf(u.Relay) // a single email of a broadcast may have been moved
	k := routeKey{u.Relay, u.TeamID, u.Domain}
	st, err := c.s.readSenderStatus(c.r, c.now, k)
	if err != nil {
		return false, err
	}
	c.facts.Work = st.work(&u)
	if c.facts.Work.Wait == verdict.WaitRetry {
		c.facts.Work.GivesUpAt, err = c.s.delivery.ExpiresAt(c.r, u.Unit, c.now)
	}
	return true, err
}

// work converts the status of a unit for the verdict rules.
func (st *queueStatus) work(u *db.QueuedUnit) *verdict.Work {
	w := &verdict.Work{Wait: verdict.WaitTurn, NextAt: u.NextAt, Attempts: u.Attempts, Held: u.Held, HeldAt: u.HeldAt}
	state, reason := st.unit(u)
	switch {
	case state == Held:
		w.Wait = verdict.WaitRelease
	case reason == reasonLeaving:
		w.Wait = verdict.WaitReply
	case state == Scheduled:
		w.Wait = verdict.WaitTime
	case state == Retry:
		w.Wait = verdict.WaitRetry
	case reason == reasonQuota:
		w.Wait = verdict.WaitQuota
	case state == Relay || state == Quota:
		w.Wait, w.Blocker = verdict.WaitBlocked, st.block(routeKey{u.Relay, u.TeamID, u.Domain}).blocker
	}
	return w
}

// readUnbegun adds the status of a broadcast's recipients that have not begun.
func (c *factReader) readUnbegun(b *app.Broadcast) error {
	if b.Status != app.QueuedBroadcast && b.Status != app.ScheduledBroadcast {
		return nil
	}
	k := routeKey{b.Relay, b.TeamID, b.From.Domain}
	st, err := c.s.readSenderStatus(c.r, c.now, k)
	if err != nil {
		return err
	}
	w := &verdict.Work{Wait: verdict.WaitPace, NextAt: b.ScheduledAt, Held: b.Held}
	if b.Held == "" && !b.PausedAt.IsZero() {
		w.Held, w.HeldAt = app.HoldPaused, b.PausedAt
	}
	switch state, _ := st.broadcast(b); {
	case state == Held:
		w.Wait = verdict.WaitRelease
	case state == Scheduled:
		w.Wait = verdict.WaitTime
	default:
		w.Blocker = st.block(k).blocker
		if w.Blocker.Kind == "" {
			w.Blocker.Kind, err = c.guardrail(b)
		}
		if w.Blocker.Kind != "" {
			w.Wait = verdict.WaitBlocked
		}
	}
	c.facts.Work = w
	return err
}

// guardrail returns which guardrail stops a broadcast; empty: none.
func (c *factReader) guardrail(b *app.Broadcast) (verdict.BlockerKind, error) {
	err := c.s.delivery.Guardrails.MayBroadcast(c.r, b.TeamID, b.Relay)
	switch app.CodeOf(err) {
	case app.CodeSendingPaused:
		return verdict.TeamGuardrail, nil
	case app.CodeBroadcastsPaused:
		return verdict.RelayGuardrail, nil
	}
	return "", err
}

// readSuppressions looks up which of the failed recipients are suppressed.
func (c *factReader) readSuppressions() error {
	var hashes []app.AddressHash
	at := map[app.AddressHash]int{}
	for i, v := range c.facts.Recipients {
		switch v.State {
		case app.Bounced, app.Complained, app.Suppressed:
			hash := c.s.Sealer.AddressHash(c.team, app.KeyOf(v.Address))
			hashes, at[hash] = append(hashes, hash), i
		}
	}
	rows, err := c.r.Suppressions(c.team, hashes)
	for _, row := range rows {
		if i, ok := at[row.Hash]; ok {
			c.facts.Recipients[i].Listed = verdict.Listing{Origin: row.Origin, Since: row.CreatedAt}
		}
	}
	return err
}
