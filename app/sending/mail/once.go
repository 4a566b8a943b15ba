package mail

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// Operations on broadcasts in the idempotency table.
const (
	RouteBroadcasts    = "POST /broadcasts"
	RouteBroadcastSend = "POST /broadcasts/{id}/send"
	RouteBroadcastTest = "POST /broadcasts/{id}/test"
)

// Keeper stores the answer to a call inside its Write.
type Keeper[T any] func(tx *db.Tx, answer *T) error

// Once makes the answer to a call with answer, or returns the stored answer if the call repeats one
// with the same idempotency key. Errors: those of idempotency.
func Once[T any](ctx context.Context, s *Service, key *app.Key, route string, opts SendOptions, answer func(keep Keeper[T]) (T, error)) (out T, err error) {
	claim, kept, err := s.claimIdempotency(ctx, key, route, opts)
	if err != nil {
		return out, err
	}
	if kept != "" {
		return decodeAnswer[T](kept)
	}
	defer claim.release()
	out, err = answer(func(tx *db.Tx, answer *T) error {
		if claim.owner == nil {
			return nil
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		return claim.keep(tx, string(text))
	})
	if err == nil {
		return out, nil
	}
	if kept, err = claim.resolveFailure(ctx, s, err); err != nil {
		return out, err
	}
	return decodeAnswer[T](kept)
}

func decodeAnswer[T any](kept string) (out T, err error) {
	if err := json.Unmarshal([]byte(kept), &out); err != nil {
		return out, fmt.Errorf("decode stored answer: %w", err)
	}
	return out, nil
}
