package base

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// maxTarget is the largest target of an audit entry, in bytes. Targets are indexed, and an index
// entry has less space than a path or a file name may need.
const maxTarget = 1000

// Audit appends an entry to the audit log inside the Write that makes the change. The actor comes
// from ctx. team is empty for a change of the server itself. before and after are encoded as JSON;
// nil stands for none. They must hold no secrets.
func Audit(ctx context.Context, tx *db.Tx, team, action, target string, before, after any) error {
	e := &app.AuditEntry{ID: app.NewID(), TeamID: team, Actor: app.ActorOf(ctx), Action: action, Target: app.CutText(target, maxTarget)}
	for _, side := range []struct {
		text *string
		v    any
	}{{&e.Before, before}, {&e.After, after}} {
		if side.v == nil {
			continue
		}
		b, err := json.Marshal(side.v, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode for the audit log: %w", err)
		}
		*side.text = string(b)
	}
	if err := tx.InsertAudit(e); err != nil {
		return fmt.Errorf("append to the audit log: %w", err)
	}
	return nil
}
