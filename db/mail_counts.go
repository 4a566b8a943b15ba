package db

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/reputation"
)

// mailCount is what CountSent, CountOutcome and InsertEvent add to a counter.
type mailCount struct {
	key     counters.Key
	tally   counters.Tally
	outcome reputation.Outcome
}

// CountSent counts recipients of a team's mail that a relay accepted or refused
// individually, in the hour of this transaction. The closures of one commit share a
// statement for each key, so counting a message costs a look-up in memory.
func (tx *Tx) CountSent(key counters.Key, n int64) {
	if n > 0 {
		key.Hour = counters.Hour(tx.Now)
		tx.increments.countOf(key).tally.Sent += n
	}
}

// CountOutcome adds to the rates of a team and its region in the hour of this transaction,
// in the same batched way as CountSent.
func (tx *Tx) CountOutcome(key counters.Key, o reputation.Outcome) {
	key.Hour = counters.Hour(tx.Now)
	tx.increments.countOf(key).outcome.Add(o)
}

// countOf returns the count of a key. It is valid until the next call.
func (a *increments) countOf(key counters.Key) *mailCount {
	for i := range a.counts {
		if a.counts[i].key == key {
			return &a.counts[i]
		}
	}
	a.counts = append(a.counts, mailCount{key: key})
	return &a.counts[len(a.counts)-1]
}

// countEvent counts an event before it is inserted.
func (tx *Tx) countEvent(ev *app.Event) error {
	if ev.Domain == "" || counters.Of(ev, true) == (counters.Tally{}) {
		return nil
	}
	first, err := tx.isFirst(ev)
	if err != nil {
		return fmt.Errorf("look for an event like this: %w", err)
	}
	if n := counters.Of(ev, first); n != (counters.Tally{}) {
		key := counters.Key{TeamID: ev.TeamID, Hour: counters.Hour(ev.CreatedAt), Domain: ev.Domain, BroadcastID: ev.BroadcastID, Region: ev.Relay}
		tx.increments.countOf(key).tally.Add(&n)
	}
	return nil
}

// isFirst reports whether an event is the first of its kind for its recipient; for opens
// and clicks, for its email. Outcomes recorded by this server always are, because a
// recipient is settled once; reports may repeat.
func (tx *Tx) isFirst(ev *app.Event) (bool, error) {
	var err error
	switch {
	case counters.IsHit(ev.Type):
		err = tx.Exists(`SELECT 1 FROM events WHERE email_id = ? AND type = ? LIMIT 1`, ev.EmailID, string(ev.Type))
	case ev.Detail.Source != "":
		err = tx.Exists(`SELECT 1 FROM events WHERE email_id = ?1 AND type = ?2 AND (recipient IS NULL OR recipient = ?3) LIMIT 1`, ev.EmailID, string(ev.Type), ev.Recipient)
	default:
		return true, nil
	}
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// storeCounts writes the counts of a commit. All commits use the same order, so that two of
// them do not deadlock.
func (tx *Tx) storeCounts(group []*increments) error {
	var sums increments
	for _, added := range group {
		for i := range added.counts {
			c := &added.counts[i]
			sum := sums.countOf(c.key)
			sum.tally.Add(&c.tally)
			sum.outcome.Add(c.outcome)
			if o := (reputation.Outcome{Sent: c.outcome.Sent, HardBounced: c.outcome.HardBounced, Complained: c.outcome.Complained}); o != (reputation.Outcome{}) {
				sums.countOf(counters.Key{Hour: c.key.Hour, Region: c.key.Region}).outcome.Add(o)
			}
		}
	}
	slices.SortFunc(sums.counts, func(a, b mailCount) int {
		return cmp.Or(cmp.Compare(a.key.TeamID, b.key.TeamID), cmp.Compare(a.key.Hour, b.key.Hour), cmp.Compare(a.key.Domain, b.key.Domain),
			cmp.Compare(a.key.BroadcastID, b.key.BroadcastID), cmp.Compare(a.key.Region, b.key.Region))
	})
	for i := range sums.counts {
		c := &sums.counts[i]
		if err := tx.storeCount(&c.key, &c.tally, &c.outcome); err != nil {
			return fmt.Errorf("count mail: %w", err)
		}
	}
	return nil
}

func (tx *Tx) storeCount(key *counters.Key, n *counters.Tally, o *reputation.Outcome) error {
	if *n == (counters.Tally{Sent: n.Sent}) && o.HardBounced == 0 && o.Complained == 0 { // the usual case
		return tx.Write(`INSERT INTO mail_counts (team_id, hour, domain, broadcast_id, region, sent, rated, scored, points) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (team_id, hour, domain, broadcast_id, region) DO UPDATE SET sent = mail_counts.sent + excluded.sent, rated = mail_counts.rated + excluded.rated,
				scored = mail_counts.scored + excluded.scored, points = mail_counts.points + excluded.points`,
			key.TeamID, key.Hour, key.Domain, key.BroadcastID, key.Region, n.Sent, o.Sent, o.Scored, o.Points)
	}
	return tx.Write(`INSERT INTO mail_counts (team_id, hour, domain, broadcast_id, region, sent, delivered, opened, unique_opened, clicked, unique_clicked,
			bounced_transient, bounced_permanent, bounced_undetermined, complained, suppressed, delivery_delayed, failed, unsubscribed,
			rated, rated_bounced, rated_complained, scored, points)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, hour, domain, broadcast_id, region) DO UPDATE SET sent = mail_counts.sent + excluded.sent, delivered = mail_counts.delivered + excluded.delivered,
			opened = mail_counts.opened + excluded.opened, unique_opened = mail_counts.unique_opened + excluded.unique_opened,
			clicked = mail_counts.clicked + excluded.clicked, unique_clicked = mail_counts.unique_clicked + excluded.unique_clicked,
			bounced_transient = mail_counts.bounced_transient + excluded.bounced_transient, bounced_permanent = mail_counts.bounced_permanent + excluded.bounced_permanent,
			bounced_undetermined = mail_counts.bounced_undetermined + excluded.bounced_undetermined, complained = mail_counts.complained + excluded.complained,
			suppressed = mail_counts.suppressed + excluded.suppressed, delivery_delayed = mail_counts.delivery_delayed + excluded.delivery_delayed,
			failed = mail_counts.failed + excluded.failed, unsubscribed = mail_counts.unsubscribed + excluded.unsubscribed,
			rated = mail_counts.rated + excluded.rated, rated_bounced = mail_counts.rated_bounced + excluded.rated_bounced,
			rated_complained = mail_counts.rated_complained + excluded.rated_complained, scored = mail_counts.scored + excluded.scored,
			points = mail_counts.points + excluded.points`,
		key.TeamID, key.Hour, key.Domain, key.BroadcastID, key.Region, n.Sent, n.Delivered, n.Opened, n.UniqueOpened, n.Clicked, n.UniqueClicked,
		n.BouncedTransient, n.BouncedPermanent, n.BouncedUndetermined, n.Complained, n.Suppressed, n.DeliveryDelayed, n.Failed, n.Unsubscribed,
		o.Sent, o.HardBounced, o.Complained, o.Scored, o.Points)
}

// MailCount is the counts of one hour.
type MailCount struct {
	Hour                int64
	Domain, BroadcastID string
	counters.Tally
}

// mailCounts selects the sums of the columns of mail_counts.
const mailCounts = `sum(sent), sum(delivered), sum(opened), sum(unique_opened), sum(clicked), sum(unique_clicked), sum(bounced_transient), sum(bounced_permanent),
	sum(bounced_undetermined), sum(complained), sum(suppressed), sum(delivery_delayed), sum(failed), sum(unsubscribed)`

// MailCounts returns a team's counts from one Unix hour up to another, excluded, by hour
// and domain, and by broadcast if byBroadcast is set. Error: ErrLong for more than limit
// rows.
func (r *Reader) MailCounts(teamID string, from, to int64, byBroadcast bool, limit int) (rows []MailCount, err error) {
	if byBroadcast {
		rows, err = list(r, scanMailCount, `SELECT hour, domain, broadcast_id, `+mailCounts+` FROM mail_counts
			WHERE team_id = ? AND hour >= ? AND hour < ? GROUP BY hour, domain, broadcast_id ORDER BY hour, domain, broadcast_id LIMIT ?`, teamID, from, to, limit+1)
	} else {
		rows, err = list(r, scanMailCount, `SELECT hour, domain, '', `+mailCounts+` FROM mail_counts
			WHERE team_id = ? AND hour >= ? AND hour < ? GROUP BY hour, domain ORDER BY hour, domain LIMIT ?`, teamID, from, to, limit+1)
	}
	if err == nil && len(rows) > limit {
		return nil, ErrLong
	}
	return rows, err
}

func scanMailCount(s scanner) (MailCount, error) {
	var c MailCount
	err := s.Scan(&c.Hour, &c.Domain, &c.BroadcastID, &c.Sent, &c.Delivered, &c.Opened, &c.UniqueOpened, &c.Clicked, &c.UniqueClicked,
		&c.BouncedTransient, &c.BouncedPermanent, &c.BouncedUndetermined, &c.Complained, &c.Suppressed, &c.DeliveryDelayed, &c.Failed, &c.Unsubscribed)
	return c, err
}

// PurgeMailCounts deletes the counts before a time of a team, or of all teams together for
// "".
func (tx *Tx) PurgeMailCounts(teamID string, before time.Time) error {
	err := tx.Write(`DELETE FROM mail_counts WHERE team_id = ? AND hour < ?`, teamID, counters.Hour(before))
	return err
}

// DomainID returns the id of a team's domain. Error: ErrNotFound.
func (r *Reader) DomainID(teamID, name string) (id string, err error) {
	err = r.Row(`SELECT id FROM domains WHERE team_id = ? AND name = ?`, []any{teamID, name}, &id)
	return id, err
}

// BroadcastName returns the name of a team's broadcast. Error: ErrNotFound.
func (r *Reader) BroadcastName(teamID, id string) (name string, err error) {
	err = r.Row(`SELECT name FROM broadcasts WHERE id = ? AND team_id = ?`, []any{id, teamID}, &name)
	return name, err
}
