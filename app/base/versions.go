package base

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// Version is a stored version of a broadcast or a template.
type Version = db.KeptVersion

const (
	// versionInterval is the least time between two versions of one series of edits.
	versionInterval = time.Minute
	// VersionRetention is how long versions are stored.
	VersionRetention = 90 * 24 * time.Hour
)

// SaveVersion stores content, which is about to be replaced, as a version of a broadcast or
// template. It runs inside the Write of the change. It stores nothing if the last version is
// younger than versionInterval, unless always is set.
func SaveVersion(ctx context.Context, tx *db.Tx, teamID, ownerID string, content any, always bool) error {
	kept, err := tx.Versions(teamID, ownerID)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	if !always && len(kept) > 0 && tx.Now.Sub(kept[0].CreatedAt).Abs() < versionInterval {
		return nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode a version: %w", err)
	}
	return tx.InsertVersion(teamID, ownerID, &Version{ID: app.NewID(), Actor: app.ActorOf(ctx), Content: string(text)})
}

// FindVersion returns a version by its number or id, and decodes its content into dest. Errors:
// CodeNotFound.
func FindVersion(r *db.Reader, teamID, ownerID, name string, dest any) (Version, error) {
	id, _ := app.ParseID(name)
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 1 {
		n = 0
	}
	v, err := r.Version(teamID, ownerID, n, id)
	if err != nil {
		return v, Lookup("version", err)
	}
	if err := json.Unmarshal([]byte(v.Content), dest); err != nil {
		return v, fmt.Errorf("decode version %s: %w", v.ID, err)
	}
	return v, nil
}
