package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/db/engine"
)

// ListRecipients returns a page of the recipients that match a query, highest number
// first, and whether there are more. Any recipient of the broadcast is a valid cursor,
// because a recipient may stop matching while a client pages through the list. Errors:
// ErrNotFound for another cursor, ErrLong, ctx.Err().
func (r *Reader) ListRecipients(ctx context.Context, e Effort, b *app.Broadcast, q *app.RecipientQuery, page app.Page) ([]app.BroadcastRecipient, bool, error) {
	return keyset(r, page, func(cursor string) error {
		n, ok := app.BroadcastEmailNumber(cursor)
		if !ok || app.EmailIDPrefixOf(cursor) != b.EmailIDPrefix || n > b.Stored {
			return ErrNotFound
		}
		return nil
	}, func(limit int) ([]app.BroadcastRecipient, error) {
		if b.EmailIDPrefix == "" {
			return nil, nil
		}
		p := pickerOf(b, q)
		return r.pickedRecipients(ctx, e, &p, page, limit)
	})
}

// recipientPicker is an app.RecipientQuery in the form that statements use.
type recipientPicker struct {
	mails    string
	last     int64    // highest number that can match
	with     app.Seen // bits of which one must be set; 0: any
	canceled string   // recipients after this id match with
	without  app.Seen // bits that must not be set
	email    string
	bounce   string
}

func pickerOf(b *app.Broadcast, q *app.RecipientQuery) recipientPicker {
	p := recipientPicker{mails: b.EmailIDPrefix, last: b.Stored, canceled: lastID, email: lowerASCII(q.Email), bounce: string(q.Bounce)}
	p.with, p.without = q.Bits()
	begun, canceled := b.CanceledFrom()
	if canceled && p.with == app.SeenCanceled {
		p.canceled = app.BroadcastEmailID(b.EmailIDPrefix, begun)
	}
	if q.Waiting() && canceled {
		p.last = min(p.last, begun)
	}
	return p
}

// lowerASCII lowers ASCII letters only, like lower() of SQLite.
func lowerASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

func (p *recipientPicker) args(from, to string, limit int) []any {
	return []any{from, to, int64(p.with), p.canceled, int64(p.without), p.email, p.bounce, limit}
}

// recipientPicked is the condition on a matching recipient. Its parameters are args from
// the third on.
const recipientPicked = `(CAST(?3 AS bigint) = 0 OR r.seen & ?3 <> 0 OR r.id > ?4) AND r.seen & ?5 = 0 AND instr(lower(r.email), ?6) > 0
	AND (?7 = '' OR coalesce((SELECT v.detail ->> 'bounce_type' FROM events AS v WHERE v.email_id = r.id AND v.type = 'bounced' ORDER BY v.id DESC LIMIT 1), 'Permanent') = ?7)`

// pickedRecipients returns the first limit matching recipients after a page's cursor, in
// page order.
func (r *Reader) pickedRecipients(ctx context.Context, e Effort, p *recipientPicker, page app.Page, limit int) (out []app.BroadcastRecipient, err error) {
	top := app.BroadcastEmailID(p.mails, p.last+1)
	from, last, step := min(cmp.Or(page.After, top), top), app.BroadcastEmailID(p.mails, 1), int64(-scanRange)
	query := `SELECT r.id, r.contact_id, r.email, NULL, r.seen, r.recipient_language FROM broadcast_recipients AS r WHERE r.id < ?1 AND r.id >= ?2 AND ` + recipientPicked + ` ORDER BY r.id DESC LIMIT ?8`
	if page.Before != "" {
		from, last, step = page.Before, app.BroadcastEmailID(p.mails, p.last), scanRange
		query = `SELECT r.id, r.contact_id, r.email, NULL, r.seen, r.recipient_language FROM broadcast_recipients AS r WHERE r.id > ?1 AND r.id <= ?2 AND ` + recipientPicked + ` ORDER BY r.id LIMIT ?8`
	}
	stmt, err := r.Statement(query)
	if err != nil {
		return nil, err
	}
	end := func(from string) (string, error) { return p.move(from, step) }
	err = e.ranges(ctx, from, last, end, func(from, to string) (bool, error) {
		rows, err := engine.Collect(ctx, stmt, scanRecipient, p.args(from, to, limit-len(out))...)
		out = append(out, rows...)
		return len(out) < limit, engine.ReadFault(query, err)
	})
	return out, err
}

// move returns the id whose number differs by by. Numbers have no gaps, so it needs no
// query. Error: ErrNotFound outside the range of recipients.
func (p *recipientPicker) move(id string, by int64) (string, error) {
	n, ok := app.BroadcastEmailNumber(id)
	if n += by; !ok || n < 1 || n > p.last {
		return "", ErrNotFound
	}
	return app.BroadcastEmailID(p.mails, n), nil
}

// CountOpens returns the number of opens in the timeline of a recipient's email.
func (r *Reader) CountOpens(emailID string) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM events WHERE email_id = ? AND type = 'opened'`, []any{emailID}, &n)
	return n, err
}

// BounceOf returns the type of a recipient's last bounce. A refusal by the relay has no
// type and counts as permanent. Error: ErrNotFound without a bounce.
func (r *Reader) BounceOf(emailID string) (t app.BounceType, err error) {
	err = r.Row(`SELECT coalesce(detail ->> 'bounce_type', 'Permanent') FROM events WHERE email_id = ? AND type = 'bounced' ORDER BY id DESC LIMIT 1`,
		[]any{emailID}, &t)
	return t, err
}

// ClicksOf returns the links of a broadcast that one recipient clicked, in content order.
func (r *Reader) ClicksOf(broadcastID, emailID string) ([]app.LinkClicks, error) {
	return list(r, func(s scanner) (app.LinkClicks, error) {
		var c app.LinkClicks
		err := s.Scan(&c.URL, &c.Clicks)
		return c, err
	}, `SELECT l.url, c.clicks FROM broadcast_clicks AS c CROSS JOIN broadcast_links AS l ON l.broadcast_id = ? AND l.n = c.n
		WHERE c.recipient_id = ? ORDER BY c.n`, broadcastID, emailID)
}

// InsertBroadcastLinks stores the links of a queued broadcast. The number of a link is its
// index in urls. Stored links do not change.
func (tx *Tx) InsertBroadcastLinks(broadcastID string, urls []string) error {
	for n, url := range urls {
		err := tx.Write(`INSERT INTO broadcast_links (broadcast_id, n, id, url, clicks, people) VALUES (?, ?, ?, ?, 0, 0)
			ON CONFLICT (broadcast_id, n) DO NOTHING`,
			broadcastID, n, app.NewID(), url)
		if err != nil {
			return err
		}
	}
	return nil
}

// ClickedLinks returns the clicked links of a broadcast, most clicked first. The caller
// checks that the broadcast belongs to the team.
func (r *Reader) ClickedLinks(broadcastID string) ([]app.BroadcastLink, error) {
	rows, err := list(r, func(s scanner) (app.BroadcastLink, error) {
		var l app.BroadcastLink
		err := s.Scan(&l.ID, &l.URL, &l.Clicks, &l.People)
		return l, err
	}, `SELECT id, url, clicks, people FROM broadcast_links WHERE broadcast_id = ? AND clicks > 0 ORDER BY n LIMIT ?`, broadcastID, tracking.MaxLinks)
	slices.SortStableFunc(rows, func(a, b app.BroadcastLink) int { return cmp.Compare(b.Clicks, a.Clicks) })
	return rows, err
}

// CountClick counts a click of a recipient on the n-th link of a broadcast. It ignores a
// link that is not stored.
func (tx *Tx) CountClick(broadcastID, emailID string, n int) error {
	var first bool // a comparison is 1 or 0 in SQLite and true or false in PostgreSQL
	err := tx.Row(`INSERT INTO broadcast_clicks (recipient_id, n, clicks) SELECT ?1, ?2, 1
		WHERE EXISTS (SELECT 1 FROM broadcast_links WHERE broadcast_id = ?3 AND n = ?2)
		ON CONFLICT (recipient_id, n) DO UPDATE SET clicks = broadcast_clicks.clicks + 1 RETURNING clicks = 1`,
		[]any{emailID, n, broadcastID}, &first)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = tx.Write(`UPDATE broadcast_links SET clicks = clicks + 1, people = people + ? WHERE broadcast_id = ? AND n = ?`, first, broadcastID, n)
	return err
}
