package engine

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// The operations on broadcasts in the idempotency table.
const (
	routeBroadcasts    = "POST /broadcasts"
	routeBroadcastSend = "POST /broadcasts/{id}/send"
	routeBroadcastTest = "POST /broadcasts/{id}/test"
)

// keeper notes the answer to a call in the Write that makes it true.
type keeper[T any] func(tx *db.Tx, answer *T) error

// once has answer make the answer to a call, or, where the call repeats one with
// the same idempotency key, gives the first answer again. Errors: those of
// idempotency.
func once[T any](ctx context.Context, e *Engine, key *app.Key, route string, opts SendOptions, answer func(keep keeper[T]) (T, error)) (out T, err error) {
	claim, kept, err := e.claimIdempotency(ctx, key.TeamID, route, opts)
	if err != nil {
		return out, err
	}
	if kept != "" {
		if err := json.Unmarshal([]byte(kept), &out); err != nil {
			return out, fmt.Errorf("decode kept answer: %w", err)
		}
		return out, nil
	}
	defer claim.release()
	return answer(func(tx *db.Tx, answer *T) error {
		if claim.owner == nil {
			return nil
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		return claim.keep(tx, string(text))
	})
}

// keepView is what keep notes of a broadcast: answers to changes show no content.
func keepView(tx *db.Tx, keep keeper[BroadcastView], v *BroadcastView) error {
	head := *v
	head.BroadcastContent = app.BroadcastContent{}
	return keep(tx, &head)
}
