package db

import "fmt"

// Capped is a kind of object whose number in a team is limited.
type Capped int

// The kinds.
const (
	CappedKeys Capped = iota
	CappedSegments
	CappedTopics
	CappedTemplates
	CappedBroadcasts // scheduled or queued
	CappedBlocks
	CappedForms
)

// cappedCounts has a statement for each Capped. Parameters: team, limit.
var cappedCounts = [...]string{
	CappedKeys:      `SELECT count(*) FROM (SELECT 1 FROM keys WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedSegments:  `SELECT count(*) FROM (SELECT 1 FROM segments WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedTopics:    `SELECT count(*) FROM (SELECT 1 FROM topics WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedTemplates: `SELECT count(*) FROM (SELECT 1 FROM templates WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedBlocks:    `SELECT count(*) FROM (SELECT 1 FROM blocks WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedForms:     `SELECT count(*) FROM (SELECT 1 FROM forms WHERE team_id = ? LIMIT ?) AS rows_open`,
	CappedBroadcasts: `SELECT count(*) FROM (SELECT 1 FROM broadcasts WHERE team_id = ? AND status IN ('scheduled', 'queued')
		LIMIT ?) AS rows_open`,
}

// CountCapped returns the number of objects of a kind in a team, at most limit. The limit
// bounds the rows that are read.
func (r *Reader) CountCapped(kind Capped, teamID string, limit int) (n int, err error) {
	if err := r.Row(cappedCounts[kind], []any{teamID, limit}, &n); err != nil {
		return 0, fmt.Errorf("count capped objects: %w", err)
	}
	return n, nil
}
