package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

const issueColumns = `i.id, i.team_id, i.topic_id, i.broadcast_id, i.subject, i.preview, i.language, i.sent_at`

func scanIssueAnd(s scanner, more ...any) (app.Issue, error) {
	var i app.Issue
	var language sql.NullString
	var sent int64
	err := s.Scan(append([]any{&i.ID, &i.TeamID, &i.TopicID, &i.BroadcastID, &i.Subject, &i.Preview, &language, &sent}, more...)...)
	i.Language, i.SentAt = language.String, fromMilli(sent)
	return i, err
}

func scanIssue(s scanner) (app.Issue, error) { return scanIssueAnd(s) }

func scanWholeIssue(s scanner) (app.Issue, error) {
	var html string
	var sum int64
	i, err := scanIssueAnd(s, &html, &sum)
	if err == nil && sum != contentChecksum(html) {
		return i, engine.ErrChecksum
	}
	i.HTML = html
	return i, err
}

// InsertIssue adds an issue to the archive of a topic, and reports whether it did: not if the topic has
// no archive, or the broadcast is in it already.
func (tx *Tx) InsertIssue(i *app.Issue) (added bool, err error) {
	n, err := tx.Exec(`INSERT INTO issues (id, team_id, topic_id, broadcast_id, subject, preview, language, html, sum, sent_at)
		SELECT ?1, t.team_id, t.id, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM topics AS t WHERE t.team_id = ?2 AND t.id = ?3 AND t.topic_archive IS NOT NULL
		ON CONFLICT (topic_id, broadcast_id) DO NOTHING`,
		i.ID, i.TeamID, i.TopicID, i.BroadcastID, i.Subject, i.Preview, nullText(i.Language), i.HTML, contentChecksum(i.HTML), milli(i.SentAt))
	if err != nil {
		return false, fmt.Errorf("insert an issue: %w", err)
	}
	return n > 0, nil
}

// InsertMovedIssue adds an issue that was moved to this server to a topic, which gets its archive
// afterwards. It reports whether it did: not if the broadcast is in the archive already.
func (tx *Tx) InsertMovedIssue(i *app.Issue) (added bool, err error) {
	n, err := tx.Exec(`INSERT INTO issues (id, team_id, topic_id, broadcast_id, subject, preview, language, html, sum, sent_at)
		SELECT ?1, t.team_id, t.id, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM topics AS t WHERE t.team_id = ?2 AND t.id = ?3
		ON CONFLICT (topic_id, broadcast_id) DO NOTHING`,
		i.ID, i.TeamID, i.TopicID, i.BroadcastID, i.Subject, i.Preview, nullText(i.Language), i.HTML, contentChecksum(i.HTML), milli(i.SentAt))
	if err != nil {
		return false, fmt.Errorf("insert an issue: %w", err)
	}
	return n > 0, nil
}

// HasIssue reports whether a broadcast is in the archive of a topic.
func (r *Reader) HasIssue(teamID, topicID, broadcastID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM issues WHERE topic_id = ?1 AND broadcast_id = ?2 AND team_id = ?3)`, []any{topicID, broadcastID, teamID}, &has)
	return has, err
}

// ArchiveSince returns from when on broadcasts are added to the archive of a topic; zero: it has none.
// Error: ErrNotFound.
func (r *Reader) ArchiveSince(teamID, topicID string) (time.Time, error) {
	return one(r, func(s scanner) (time.Time, error) {
		var since sql.NullInt64
		err := s.Scan(&since)
		return fromMilli(since.Int64), err
	}, `SELECT archive_since FROM topics WHERE team_id = ? AND id = ?`, teamID, topicID)
}

// SetMovedArchive sets the archive of a topic that was moved to this server. Error: ErrNotFound.
func (tx *Tx) SetMovedArchive(teamID, topicID string, archive app.TopicArchive, since time.Time) error {
	tx.Changed(engine.Suppressions)
	return tx.WriteOne(`UPDATE topics SET topic_archive = ?, archive_since = ? WHERE team_id = ? AND id = ?`, string(archive), milli(since), teamID, topicID)
}

// DeleteIssue deletes an issue. Error: ErrNotFound.
func (tx *Tx) DeleteIssue(teamID, topicID, id string) error {
	return tx.WriteOne(`DELETE FROM issues WHERE team_id = ? AND topic_id = ? AND id = ?`, teamID, topicID, id)
}

// SetBroadcastArchive stores whether a broadcast is in the archive of its topic. Nothing happens if the
// broadcast was deleted.
func (tx *Tx) SetBroadcastArchive(teamID, id string, in bool) error {
	tx.publishBroadcast(teamID, id)
	return tx.Write(`UPDATE broadcasts SET in_archive = ? WHERE team_id = ? AND id = ?`, nullBool(&in), teamID, id)
}

// Issue returns an issue of a topic of a team with its HTML. Error: ErrNotFound.
func (r *Reader) Issue(teamID, topicID, id string) (app.Issue, error) {
	i, err := one(r, scanWholeIssue, `SELECT `+issueColumns+`, i.html, i.sum FROM issues AS i WHERE i.team_id = ? AND i.topic_id = ? AND i.id = ?`, teamID, topicID, id)
	if errors.Is(err, engine.ErrChecksum) {
		err = engine.DamagedRow("issues", err)
	}
	return i, err
}

// Issues returns at most limit issues of a topic without HTML, the last sent first, after the one with an
// id; empty: from the first. An unknown id returns none.
func (r *Reader) Issues(teamID, topicID, after string, limit int) ([]app.Issue, error) {
	if after == "" {
		return list(r, scanIssue, `SELECT `+issueColumns+` FROM issues AS i WHERE i.topic_id = ? AND i.team_id = ? ORDER BY i.sent_at DESC, i.id DESC LIMIT ?`, topicID, teamID, limit)
	}
	return list(r, scanIssue, `SELECT `+issueColumns+` FROM issues AS i WHERE i.topic_id = ?1 AND i.team_id = ?2
		AND (i.sent_at, i.id) < (SELECT c.sent_at, c.id FROM issues AS c WHERE c.id = ?3 AND c.topic_id = ?1) ORDER BY i.sent_at DESC, i.id DESC LIMIT ?4`, topicID, teamID, after, limit)
}

// IssuesAfter returns at most limit issues of a team without HTML after an id, in id order.
func (r *Reader) IssuesAfter(teamID, after string, limit int) ([]app.Issue, error) {
	return list(r, scanIssue, `SELECT `+issueColumns+` FROM issues AS i WHERE i.team_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`, teamID, after, limit)
}

// ArchivedTopics returns the topics of a team that have a public archive, oldest first.
func (r *Reader) ArchivedTopics(teamID string) ([]app.Topic, error) {
	return list(r, scanTopic, `SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? AND t.topic_archive = 'public' ORDER BY t.id`, teamID)
}

// PublicTopic returns a topic of any team that has an archive. Error: ErrNotFound.
func (r *Reader) PublicTopic(id string) (app.Topic, error) {
	return one(r, scanTopic, `SELECT `+topicColumns+` FROM topics AS t WHERE t.id = ? AND t.topic_archive IS NOT NULL`, id)
}

// DueIssue is a broadcast that belongs into the archive of its topic and is not in it.
type DueIssue struct{ TeamID, TopicID, BroadcastID string }

// DueIssues returns at most limit broadcasts that were queued since a time and since the archive of their
// topic began, and that belong into it and are not in it.
func (r *Reader) DueIssues(since time.Time, limit int) ([]DueIssue, error) {
	return list(r, func(s scanner) (d DueIssue, err error) { return d, s.Scan(&d.TeamID, &d.TopicID, &d.BroadcastID) },
		`SELECT b.team_id, b.topic_id, b.id FROM topics AS t CROSS JOIN broadcasts AS b ON b.topic_id = t.id AND b.team_id = t.team_id
		WHERE t.topic_archive IS NOT NULL AND b.queued_at >= ?1 AND b.queued_at >= t.archive_since AND b.status IN ('queued', 'sent')
		AND (b.in_archive = 1 OR b.in_archive IS NULL AND b.segment_id IS NULL)
		AND NOT EXISTS (SELECT 1 FROM issues AS i WHERE i.topic_id = t.id AND i.broadcast_id = b.id) LIMIT ?2`, milli(since), limit)
}

// ArchiveCandidates returns at most limit broadcasts of a topic, without content, that were queued and are
// not in its archive, the last first.
func (r *Reader) ArchiveCandidates(teamID, topicID string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.topic_id = ?1 AND b.team_id = ?2 AND b.queued_at IS NOT NULL AND b.status IN ('queued', 'sent')
		AND NOT EXISTS (SELECT 1 FROM issues AS i WHERE i.topic_id = ?1 AND i.broadcast_id = b.id) ORDER BY b.queued_at DESC LIMIT ?3`, topicID, teamID, limit)
}

// IssueHead is Issue without HTML.
func (r *Reader) IssueHead(teamID, topicID, id string) (app.Issue, error) {
	return one(r, scanIssue, `SELECT `+issueColumns+` FROM issues AS i WHERE i.team_id = ? AND i.topic_id = ? AND i.id = ?`, teamID, topicID, id)
}
