package db

import (
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

const topicColumns = `t.id, t.team_id, t.name, coalesce(t.description, ''), t.subscription, t.visibility, coalesce(t.topic_archive, ''), t.created_at, t.updated_at`

func topicDest(t *app.Topic, created, updated *int64) []any {
	return []any{&t.ID, &t.TeamID, &t.Name, &t.Description, &t.Default, &t.Visibility, &t.Archive, created, updated}
}

func scanTopic(s scanner) (app.Topic, error) {
	var t app.Topic
	var created, updated int64
	err := s.Scan(topicDest(&t, &created, &updated)...)
	t.CreatedAt, t.UpdatedAt = fromMilli(created), fromMilli(updated)
	return t, err
}

// InsertTopic adds a topic. Error: ErrConflict if the team has a topic with the name.
func (tx *Tx) InsertTopic(t *app.Topic) error {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`INSERT INTO topics (id, team_id, name, description, subscription, visibility, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
		t.ID, t.TeamID, t.Name, nullText(t.Description), string(t.Default), string(t.Visibility), milli(t.CreatedAt), milli(t.UpdatedAt))
	return oneRow(n, err, ErrConflict)
}

// UpdateTopic stores name, description, visibility and archive. An archive that begins holds what is sent
// from now on; one that ends is deleted. Errors: ErrNotFound; ErrConflict if
// another topic has the name.
func (tx *Tx) UpdateTopic(t *app.Topic) error {
	tx.Changed(engine.Suppressions)
	var taken bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM topics WHERE team_id = ? AND name = ? AND id <> ?)`, []any{t.TeamID, t.Name, t.ID}, &taken)
	if err != nil {
		return err
	}
	if taken {
		return ErrConflict
	}
	err = tx.WriteOne(`UPDATE topics SET name = ?, description = ?, visibility = ?, updated_at = ?, topic_archive = ? WHERE team_id = ? AND id = ?`,
		t.Name, nullText(t.Description), string(t.Visibility), milli(t.UpdatedAt), nullText(string(t.Archive)), t.TeamID, t.ID)
	switch {
	case err != nil:
		return err
	case t.Archive != "":
		return tx.Write(`UPDATE topics SET archive_since = ? WHERE team_id = ? AND id = ? AND archive_since IS NULL`, milli(tx.Now), t.TeamID, t.ID)
	}
	if err = tx.Write(`UPDATE topics SET archive_since = NULL WHERE team_id = ? AND id = ?`, t.TeamID, t.ID); err != nil {
		return err
	}
	return tx.Write(`DELETE FROM issues WHERE topic_id = ? AND team_id = ?`, t.ID, t.TeamID)
}

// DeleteTopic deletes a topic. PurgeLeftovers deletes its choices.
func (tx *Tx) DeleteTopic(teamID, id string) error {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`DELETE FROM topics WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.addLeftover(teamID, id, "")
}

// HasTopicUnits reports whether mail of a topic waits to be sent.
func (r *Reader) HasTopicUnits(id string) (waits bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM units WHERE topic_id = ?)`, []any{id}, &waits)
	return waits, err
}

// Topic returns one topic of a team.
func (r *Reader) Topic(teamID, id string) (app.Topic, error) {
	return one(r, scanTopic, `SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? AND t.id = ?`, teamID, id)
}

// TopicExists returns nil for a topic of the team, else ErrNotFound.
func (r *Reader) TopicExists(teamID, id string) error {
	return r.Exists(`SELECT 1 FROM topics WHERE team_id = ? AND id = ?`, teamID, id)
}

// ListTopics returns a page of a team's topics, newest first. Error: ErrNotFound for an
// unknown cursor.
func (r *Reader) ListTopics(teamID string, page app.Page) ([]app.Topic, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Topic(teamID, cursor)) }, scanTopic,
		`SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
		`SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`, teamID)
}

const contactTopicColumns = `t.id, t.team_id, t.name, coalesce(t.description, ''), t.subscription, t.visibility, coalesce(t.topic_archive, ''), t.created_at, t.updated_at,
	coalesce(ch.subscription, t.subscription), ch.subscription IS NOT NULL`

func scanContactTopic(s scanner) (app.ContactTopic, error) {
	var t app.ContactTopic
	var created, updated int64
	err := s.Scan(append(topicDest(&t.Topic, &created, &updated), &t.Subscription, &t.Explicit)...)
	t.CreatedAt, t.UpdatedAt = fromMilli(created), fromMilli(updated)
	return t, err
}

// TopicFor returns one topic of a team with the subscription of an address.
func (r *Reader) TopicFor(teamID, id string, address app.AddressHash) (app.ContactTopic, error) {
	return one(r, scanContactTopic, `SELECT `+contactTopicColumns+` FROM topics AS t
		LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ? WHERE t.team_id = ? AND t.id = ?`, address[:], teamID, id)
}

// ListTopicsFor returns a page of a team's topics with the subscriptions of an address,
// newest first. Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListTopicsFor(teamID string, address app.AddressHash, page app.Page) ([]app.ContactTopic, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Topic(teamID, cursor)) }, scanContactTopic,
		`SELECT `+contactTopicColumns+` FROM topics AS t
			LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ?
			WHERE t.team_id = ? AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
		`SELECT `+contactTopicColumns+` FROM topics AS t
			LEFT JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ?
			WHERE t.team_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`, address[:], teamID)
}

// SetChoice stores the choice of an address about a topic and reports whether it changed.
// The caller checks the team. An opt-out also applies to former addresses of the contact
// that no other contact has now.
func (tx *Tx) SetChoice(topicID string, address app.AddressHash, s app.Subscription) (changed bool, err error) {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`INSERT INTO choices (topic_id, address, subscription, chosen_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (topic_id, address) DO UPDATE SET subscription = excluded.subscription, chosen_at = excluded.chosen_at
		WHERE choices.subscription <> excluded.subscription`, topicID, address[:], string(s), milli(tx.Now))
	if err != nil {
		return false, fmt.Errorf("set choice: %w", err)
	}
	if s == app.OptOut {
		err = tx.optOutFormer(topicID, address)
	}
	return n > 0, err
}

func (tx *Tx) optOutFormer(topicID string, address app.AddressHash) error {
	tx.Changed(engine.Suppressions)
	err := tx.Write(`INSERT INTO choices (topic_id, address, subscription, chosen_at)
		SELECT t.id, f.address, 'opt_out', ? FROM topics AS t
		CROSS JOIN contacts AS c ON c.team_id = t.team_id AND c.address = ?
		CROSS JOIN former_addresses AS f ON f.team_id = t.team_id AND f.contact_id = c.id
		WHERE t.id = ? AND NOT EXISTS (SELECT 1 FROM contacts AS o WHERE o.team_id = t.team_id AND o.address = f.address)
		ON CONFLICT (topic_id, address) DO UPDATE SET subscription = excluded.subscription, chosen_at = excluded.chosen_at
		WHERE choices.subscription <> excluded.subscription`, milli(tx.Now), address[:], topicID)
	if err != nil {
		return fmt.Errorf("opt former addresses out: %w", err)
	}
	return nil
}
