package db

import (
	"database/sql"
	"errors"
	"time"

	"mailer/app"
)

const feedColumns = `f.id, f.team_id, f.url, f.definition, f.state, f.held, f.next_at, f.position, f.last_error, f.last_broadcast_id, f.checked_at, f.created_at, f.updated_at`

func scanFeed(s scanner) (app.Feed, error) {
	var f app.Feed
	var definition, position, held, lastError, broadcast sql.NullString
	var next, created, updated int64
	var checked sql.NullInt64
	err := s.Scan(&f.ID, &f.TeamID, &f.URL, &definition, &f.State, &held, &next, &position, &lastError, &broadcast, &checked, &created, &updated)
	if err == nil {
		err = errors.Join(fromJSON(definition, &f.FeedDefinition), fromJSON(position, &f.Position))
	}
	f.Held, f.LastError, f.LastBroadcastID = held.String, lastError.String, broadcast.String
	f.NextAt, f.CheckedAt, f.CreatedAt, f.UpdatedAt = fromMilli(next), fromMilli(checked.Int64), fromMilli(created), fromMilli(updated)
	return f, err
}

// InsertFeed adds a feed.
func (tx *Tx) InsertFeed(f *app.Feed) error {
	definition, err := jsonText(&f.FeedDefinition)
	if err != nil {
		return err
	}
	position, err := jsonText(&f.Position)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO feeds (id, team_id, url, definition, state, held, next_at, position, last_broadcast_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, f.TeamID, f.URL, definition, string(f.State), nullText(f.Held), milli(f.NextAt), position, nullText(f.LastBroadcastID), milli(f.CreatedAt), milli(f.UpdatedAt))
}

// UpdateFeed stores what a team decides about a feed, when it is next due and its position. Error:
// ErrNotFound.
func (tx *Tx) UpdateFeed(f *app.Feed) error {
	definition, err := jsonText(&f.FeedDefinition)
	if err != nil {
		return err
	}
	position, err := jsonText(&f.Position)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE feeds SET url = ?, definition = ?, state = ?, held = ?, next_at = ?, position = ?, updated_at = ? WHERE team_id = ? AND id = ?`,
		f.URL, definition, string(f.State), nullText(f.Held), milli(f.NextAt), position, milli(f.UpdatedAt), f.TeamID, f.ID)
}

// AdvanceFeed stores the outcome of a feed that was due at a time: NextAt, Position, LastError and
// LastBroadcastID. Error: ErrNotFound if the feed is not due then any more, since another server
// advanced it or it was changed.
func (tx *Tx) AdvanceFeed(f *app.Feed, due time.Time) error {
	position, err := jsonText(&f.Position)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE feeds SET next_at = ?, position = ?, last_error = ?, last_broadcast_id = ?, checked_at = ?
		WHERE team_id = ? AND id = ? AND next_at = ? AND state = 'active' AND updated_at = ?`,
		milli(f.NextAt), position, nullText(f.LastError), nullText(f.LastBroadcastID), milli(tx.Now), f.TeamID, f.ID, milli(due), milli(f.UpdatedAt))
}

// DeleteFeed deletes a feed. Error: ErrNotFound.
func (tx *Tx) DeleteFeed(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM feeds WHERE team_id = ? AND id = ?`, teamID, id)
}

// Feed returns a feed of a team. Error: ErrNotFound.
func (r *Reader) Feed(teamID, id string) (app.Feed, error) {
	return one(r, scanFeed, `SELECT `+feedColumns+` FROM feeds AS f WHERE f.team_id = ? AND f.id = ?`, teamID, id)
}

// ListFeeds returns a page of a team's feeds, newest first. Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListFeeds(teamID string, page app.Page) ([]app.Feed, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Feed(teamID, cursor)) }, scanFeed,
		`SELECT `+feedColumns+` FROM feeds AS f WHERE f.team_id = ? AND f.id < ? ORDER BY f.id DESC LIMIT ?`,
		`SELECT `+feedColumns+` FROM feeds AS f WHERE f.team_id = ? AND f.id > ? ORDER BY f.id LIMIT ?`, teamID)
}

// FeedsAfter returns at most limit feeds of a team after an id, in id order.
func (r *Reader) FeedsAfter(teamID, after string, limit int) ([]app.Feed, error) {
	return list(r, scanFeed, `SELECT `+feedColumns+` FROM feeds AS f WHERE f.team_id = ? AND f.id > ? ORDER BY f.id LIMIT ?`, teamID, after, limit)
}

// DueFeeds returns at most limit active feeds of all teams that are due, the longest due first.
func (r *Reader) DueFeeds(now time.Time, limit int) ([]app.Feed, error) {
	return list(r, scanFeed, `SELECT `+feedColumns+` FROM feeds AS f WHERE f.state = 'active' AND f.next_at <= ? ORDER BY f.next_at LIMIT ?`, milli(now), limit)
}

// HeldFeeds returns at most limit feeds of a team, or of all teams for "", that are held for a reason,
// after an id in id order.
func (r *Reader) HeldFeeds(teamID string, why app.HoldReason, after string, limit int) ([]app.Feed, error) {
	return list(r, scanFeed, `SELECT `+feedColumns+` FROM feeds AS f WHERE f.id > ?1 AND f.state = 'held' AND f.held = ?2 AND (CAST(?3 AS text) IS NULL OR f.team_id = ?3) ORDER BY f.id LIMIT ?4`,
		after, string(why), nullText(teamID), limit)
}

// HoldFeeds holds all active feeds, and returns how many.
func (tx *Tx) HoldFeeds(why app.HoldReason) (int64, error) {
	return tx.Exec(`UPDATE feeds SET state = 'held', held = ? WHERE state = 'active'`, string(why))
}
