package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
)

// TrackedEmail is the data of an email that decides about a request for its pixel (an
// open) or one of its links (a click).
type TrackedEmail struct {
	TeamID    string
	Domain    string // of the sender
	Relay     string
	Recipient string    // the only recipient of the envelope; empty: several
	Taken     time.Time // last time up to the request that a relay accepted it, or may have; zero: none
	// Broadcast is the id of its broadcast; empty: none. Pending: its recipient has no outcome
	// yet.
	Broadcast string
	Pending   bool
	// Events is the number of opens, clicks and prefetches in its timeline, Prefetched the
	// number of prefetches among them.
	Events, Prefetched int
	// AutomationRun and AutomationStep are the run of an automation that sent it and the key of the
	// step; empty: none. Of such an email Opened and Clicked report whether the timeline has an
	// event of that type.
	AutomationRun, AutomationStep string
	Opened, Clicked               bool
}

// TrackedEmail returns the data for an open or a click at a time. The token that names the
// email was signed by this server, so it may belong to any team. Error: ErrNotFound if it
// was deleted.
func (r *Reader) TrackedEmail(emailID string, at time.Time) (TrackedEmail, error) {
	var t TrackedEmail
	var recipient, sender, run, step sql.NullString
	var taken sql.NullInt64
	var message string
	var opened, clicked int
	err := r.Row(`SELECT e.team_id, e.message_id, e.sender, e.relay,
			(SELECT CASE WHEN count(*) = 1 THEN max(p.address) END FROM recipients AS p WHERE p.email_id = e.id),
			(SELECT max(v.created_at) FROM events AS v WHERE v.email_id = e.id AND v.type IN ('sent', 'in_doubt') AND v.created_at <= ?),
			(SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type IN ('opened', 'clicked', 'prefetched')),
			(SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type = 'prefetched'),
			e.automation_run, e.automation_step,
			CASE WHEN e.automation_run IS NULL THEN 0 ELSE (SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type = 'opened') END,
			CASE WHEN e.automation_run IS NULL THEN 0 ELSE (SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type = 'clicked') END
		FROM emails AS e WHERE e.id = ?`, []any{milli(at), emailID}, &t.TeamID, &message, &sender, &t.Relay, &recipient, &taken, &t.Events, &t.Prefetched, &run, &step, &opened, &clicked)
	if errors.Is(err, ErrNotFound) {
		return r.trackedRecipient(emailID, at)
	}
	if err != nil {
		return t, err
	}
	t.Recipient, t.Taken = recipient.String, fromMilli(taken.Int64)
	t.AutomationRun, t.AutomationStep, t.Opened, t.Clicked = run.String, step.String, opened > 0, clicked > 0
	t.Domain, err = senderDomain(emailID, message, sender)
	return t, err
}

// trackedRecipient is TrackedEmail for a broadcast email.
func (r *Reader) trackedRecipient(emailID string, at time.Time) (TrackedEmail, error) {
	var t TrackedEmail
	var seen app.Seen
	var taken, queued sql.NullInt64
	var sender sql.NullString
	err := r.Row(`SELECT b.team_id, b.id, b.sender, b.relay, p.email, p.seen, b.queued_at,
			(SELECT max(v.created_at) FROM events AS v WHERE v.email_id = p.id AND v.type IN ('sent', 'in_doubt') AND v.created_at <= ?),
			(SELECT count(*) FROM events AS v WHERE v.email_id = p.id AND v.type IN ('opened', 'clicked', 'prefetched')),
			(SELECT count(*) FROM events AS v WHERE v.email_id = p.id AND v.type = 'prefetched')
		FROM broadcasts AS b CROSS JOIN broadcast_recipients AS p ON b.mails = ? AND p.id = ?`, []any{milli(at), app.EmailIDPrefixOf(emailID), emailID},
		&t.TeamID, &t.Broadcast, &sender, &t.Relay, &t.Recipient, &seen, &queued, &taken, &t.Events, &t.Prefetched)
	if err == nil && !taken.Valid && seen&(app.SeenSent|app.SeenDelivered) != 0 { // the timeline has no time for it
		taken = queued
	}
	if err != nil {
		return t, err
	}
	t.Pending, t.Taken = seen&app.SeenEnded == 0, fromMilli(taken.Int64)
	t.Domain, err = domainOfSender(sender)
	return t, err
}

// domainOfSender returns the domain of a sender column.
func domainOfSender(sender sql.NullString) (string, error) {
	var from []app.Address
	if err := fromJSON(sender, &from); err != nil || len(from) == 0 {
		return "", err
	}
	return from[0].Domain, nil
}

// HasSender reports whether an email or the broadcast of a broadcast email exists, and its
// sender's domain too. An email deleted by retention counts as existing.
func (r *Reader) HasSender(teamID, emailID string) (bool, error) {
	var sender sql.NullString
	err := r.Row(`SELECT sender FROM emails WHERE id = ? AND team_id = ?`, []any{emailID, teamID}, &sender)
	if errors.Is(err, ErrNotFound) {
		err = r.Row(`SELECT sender FROM broadcasts WHERE mails = ? AND team_id = ?`, []any{app.EmailIDPrefixOf(emailID), teamID}, &sender)
	}
	if errors.Is(err, ErrNotFound) {
		return r.AgedOut(teamID, emailID)
	}
	if err != nil {
		return false, fmt.Errorf("look up the sender of a link: %w", err)
	}
	domain, err := domainOfSender(sender)
	if err != nil || domain == "" {
		return false, err
	}
	err = r.Exists(`SELECT 1 FROM domains WHERE team_id = ? AND name = ?`, teamID, domain)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
