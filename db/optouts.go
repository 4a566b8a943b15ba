package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

// Subscription returns the subscription of an address to a team's topic. Error:
// ErrNotFound if the team has no such topic.
func (r *Reader) Subscription(teamID, topicID string, address app.AddressHash) (app.AddressSubscription, error) {
	var s app.AddressSubscription
	err := r.Row(`SELECT t.name, coalesce(ch.subscription, t.subscription), ch.subscription IS NOT NULL, EXISTS (
			SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = ?3 AND c.unsubscribed = 1)
		FROM topics AS t LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ?3 WHERE t.team_id = ?1 AND t.id = ?2`,
		[]any{teamID, topicID, address[:]}, &s.Topic, &s.Subscription, &s.Explicit, &s.Unsubscribed)
	return s, err
}

// maxShownTopics is the most topics on one preferences page.
const maxShownTopics = 1000

// ShownTopics returns the topics on the preferences page of an address with its
// subscriptions: the public topics of the team and the topic own, if not empty. It returns
// at most maxShownTopics, in name order.
func (r *Reader) ShownTopics(teamID, own string, address app.AddressHash) ([]app.ContactTopic, error) {
	return list(r, scanContactTopic, `SELECT `+contactTopicColumns+` FROM topics AS t
		LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ?
		WHERE t.team_id = ? AND (t.visibility = 'public' OR t.id = ?) ORDER BY t.name LIMIT ?`, address[:], teamID, own, maxShownTopics)
}

// InsertOptOut adds an address to its team's suppressions if it is not there, and reports
// whether it was new. A suppression without Email blocks but is not listed.
func (tx *Tx) InsertOptOut(s *app.Suppression) (added bool, err error) {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`INSERT INTO suppressions (id, team_id, email, address, origin, source_id, created_at) VALUES (?, ?, ?, ?, 'unsubscribe', ?, ?)
		ON CONFLICT (team_id, address) DO NOTHING`, s.ID, s.TeamID, nullText(s.Email), s.Hash[:], nullText(s.SourceID), milli(s.CreatedAt))
	if err != nil {
		return false, fmt.Errorf("insert opt-out: %w", err)
	}
	tx.countListed(s, int(n))
	return n > 0, nil
}

// BulkSubscription decides whether a broadcast may be sent to an address.
type BulkSubscription struct {
	Suppression  *app.Suppression        // nil: none; origin and time alone
	Subscription app.AddressSubscription // about the topic; without one: whether it is unsubscribed
	Known        bool                    // the topic exists
}

// BlockedInBulk returns the addresses that a broadcast must not be sent to, judged by
// suppressions, contacts and, for a topic, choices: the same rule as BulkSubscription for
// many addresses.
func (r *Reader) BlockedInBulk(teamID, topicID string, addresses []app.AddressHash) (map[app.AddressHash]bool, error) {
	blocked := map[app.AddressHash]bool{}
	return blocked, inSets(len(addresses), func(from, to int) error {
		args := append(padded(teamID, addresses[from:to], setKeys)[1:], teamID, nullText(topicID))
		return r.Each(`WITH a (address) AS (VALUES `+keyRows+`)
			SELECT a.address FROM a LEFT JOIN topics AS t ON t.team_id = ?51 AND t.id = ?52 LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = a.address
			WHERE coalesce(ch.subscription, t.subscription, 'opt_in') <> 'opt_in'
			OR EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = ?51 AND s.address = a.address)
			OR EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?51 AND c.address = a.address AND c.unsubscribed = 1)`, args, func(s scanner) error {
			var address hashColumn
			err := s.Scan(&address)
			blocked[app.AddressHash(address)] = true
			return err
		})
	})
}

// BulkSubscription returns the suppression of a team's address and its subscription to
// broadcasts, or to a topic if topicID is not empty.
func (r *Reader) BulkSubscription(teamID, topicID string, address app.AddressHash) (b BulkSubscription, err error) {
	var origin, topic, subscription sql.NullString
	var suppressed sql.NullInt64
	s := &b.Subscription
	err = r.Row(`SELECT s.origin, s.created_at, t.name, coalesce(ch.subscription, t.subscription), ch.subscription IS NOT NULL, EXISTS (
			SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = ?2 AND c.unsubscribed = 1)
		FROM (SELECT 1) AS one_open LEFT JOIN suppressions AS s ON s.team_id = ?1 AND s.address = ?2
		LEFT JOIN topics AS t ON t.team_id = ?1 AND t.id = ?3 LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ?2`,
		[]any{teamID, address[:], nullText(topicID)}, &origin, &suppressed, &topic, &subscription, &s.Explicit, &s.Unsubscribed)
	if err != nil {
		return b, err
	}
	if origin.Valid {
		b.Suppression = &app.Suppression{TeamID: teamID, Hash: address, Origin: app.SuppressionOrigin(origin.String), CreatedAt: fromMilli(suppressed.Int64)}
	}
	s.Topic, s.Subscription, b.Known = topic.String, app.OptIn, topic.Valid
	if topic.Valid {
		s.Subscription = app.Subscription(subscription.String)
	}
	return b, nil
}
