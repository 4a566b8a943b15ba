package base

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// maxTarget bounds what is named as changed, in bytes: it is looked for by an index, which has
// room for less than a path or a file's name may have.
const maxTarget = 1000

// Audit appends to the audit log, within the Write that changes something, what is
// changed and by whom: ctx tells. team is empty for what is about the server; before and
// after are encoded as JSON, must hold no secrets, and are nil where there is nothing to
// say.
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
