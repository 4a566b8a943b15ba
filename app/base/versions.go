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

// ReadVersion returns a version by its number or id, and decodes its content into dest. findOwner
// returns the id of the broadcast or template. Errors: CodeNotFound; those of findOwner.
func ReadVersion(ctx context.Context, d *db.DB, teamID, name string, findOwner func(*db.Reader) (string, error), dest any) (Version, error) {
	id, _ := app.ParseID(name)
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 1 {
		n = 0
	}
	v, err := GetWithinBudget(ctx, d,
		func(r *db.Reader) (int64, error) {
			owner, err := findOwner(r)
			if err != nil {
				return 0, err
			}
			bytes, err := r.VersionSize(teamID, owner, n, id)
			return 2 * bytes, Lookup("version", err) // it is decoded
		},
		func(r *db.Reader) (v Version, err error) {
			owner, err := findOwner(r)
			if err == nil {
				v, err = r.Version(teamID, owner, n, id)
				err = Lookup("version", err)
			}
			return v, err
		})
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(v.Content), dest); err != nil {
		return v, fmt.Errorf("decode version %s: %w", v.ID, err)
	}
	return v, nil
}
