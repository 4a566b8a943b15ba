package db

import (
	"fmt"
	"time"

	"mailer/app"
)

// KeptVersion is the content of a broadcast or template before a change.
type KeptVersion struct {
	ID        string
	N         int64     // number within the owner
	Actor     app.Actor // who changed it
	CreatedAt time.Time // time of the change
	Size      int64     // bytes of its content
	Content   string    // JSON; empty in lists
}

// Limits of the stored versions of one owner: number and total bytes.
const (
	maxVersions     = 50
	maxVersionBytes = 20 << 20
)

const versionColumns = `v.id, v.n, v.actor_type, v.actor, v.created_at, octet_length(v.content)`

func scanVersionAnd(s scanner, more ...any) (KeptVersion, error) {
	var v KeptVersion
	var created int64
	err := s.Scan(append([]any{&v.ID, &v.N, &v.Actor.Type, &v.Actor.Name, &created, &v.Size}, more...)...)
	v.CreatedAt = fromMilli(created)
	return v, err
}

func scanVersion(s scanner) (KeptVersion, error) { return scanVersionAnd(s) }

// Versions returns the stored versions of an owner in a team, newest first, without content.
func (r *Reader) Versions(teamID, ownerID string) ([]KeptVersion, error) {
	return list(r, scanVersion, `SELECT `+versionColumns+` FROM versions AS v WHERE v.team_id = ? AND v.owner_id = ? ORDER BY v.n DESC`, teamID, ownerID)
}

// Version returns a version of an owner with its content, by number or id.
func (r *Reader) Version(teamID, ownerID string, n int64, id string) (KeptVersion, error) {
	return one(r, func(s scanner) (KeptVersion, error) {
		var content string
		v, err := scanVersionAnd(s, &content)
		v.Content = content
		return v, err
	}, `SELECT `+versionColumns+`, v.content FROM versions AS v WHERE v.team_id = ? AND v.owner_id = ? AND (v.n = ? OR v.id = ?)`, teamID, ownerID, n, id)
}

// VersionSize returns the bytes of a version's content without reading it.
func (r *Reader) VersionSize(teamID, ownerID string, n int64, id string) (bytes int64, err error) {
	err = r.Row(`SELECT octet_length(v.content) FROM versions AS v WHERE v.team_id = ? AND v.owner_id = ? AND (v.n = ? OR v.id = ?)`, []any{teamID, ownerID, n, id}, &bytes)
	return bytes, err
}

// InsertVersion stores the current content of an owner and deletes the oldest versions
// above the limits.
func (tx *Tx) InsertVersion(teamID, ownerID string, v *KeptVersion) error {
	err := tx.Write(`INSERT INTO versions (id, team_id, owner_id, n, actor_type, actor, content, created_at)
		SELECT ?1, ?2, ?3, coalesce((SELECT max(n) FROM versions WHERE owner_id = ?3), 0) + 1, ?4, ?5, ?6, ?7`,
		v.ID, teamID, ownerID, string(v.Actor.Type), v.Actor.Name, v.Content, milli(tx.Now))
	if err != nil {
		return fmt.Errorf("keep a version: %w", err)
	}
	kept, err := tx.Versions(teamID, ownerID)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for i, old := range kept {
		bytes += old.Size
		if i == 0 || i < maxVersions && bytes <= maxVersionBytes {
			continue
		}
		if err := tx.Write(`DELETE FROM versions WHERE owner_id = ? AND n <= ?`, ownerID, old.N); err != nil {
			return fmt.Errorf("delete old versions: %w", err)
		}
		return nil
	}
	return nil
}

// deleteVersions deletes the versions of a deleted owner.
func (tx *Tx) deleteVersions(ownerID string) error {
	if err := tx.Write(`DELETE FROM versions WHERE owner_id = ?`, ownerID); err != nil {
		return fmt.Errorf("delete versions: %w", err)
	}
	return nil
}

// PurgeVersions deletes at most limit versions stored before a time, and reports whether
// there may be more.
func (tx *Tx) PurgeVersions(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM versions WHERE id IN (SELECT id FROM versions WHERE created_at < ? ORDER BY created_at LIMIT ?)`, milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge versions: %w", err)
	}
	return n == int64(limit), nil
}
