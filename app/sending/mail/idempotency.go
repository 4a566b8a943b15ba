package mail

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// IdempotencyTTL is how long the answer of a send is stored for its key.
const IdempotencyTTL = 24 * time.Hour

// inflight holds the keys of sends in progress. They are in memory, so a crash releases them.
type inflight struct {
	mu   sync.Mutex
	keys map[db.IdempotencyKey]bool
}

// idempotencyClaim is the right to answer a key. The zero value is that of a send without a key.
type idempotencyClaim struct {
	owner    *inflight
	key      db.IdempotencyKey
	hash     [sha256.Size]byte
	deferred bool // the stored answer is to be read inside the Write (storedAnswer)
}

// claimIdempotency returns the stored answer of a repeated send, or a claim to make one. Errors:
// CodeInvalidIdempotencyKey, CodeConcurrentIdempotent, CodeInvalidIdempotent.
func (s *Service) claimIdempotency(ctx context.Context, key *app.Key, route string, opts SendOptions) (*idempotencyClaim, string, error) {
	c, err := s.beginClaim(key, route, opts)
	if err != nil || c.owner == nil {
		return c, "", err
	}
	answer, err := s.keptAnswer(ctx, c)
	if err != nil || answer != "" {
		c.release()
		return nil, answer, err
	}
	return c, "", nil
}

// claimInWrite is claimIdempotency for a send that reads nothing before its Write. With a shared
// database the Write reads the stored answer (storedAnswer), which saves a round trip.
func (s *Service) claimInWrite(ctx context.Context, key *app.Key, route string, opts SendOptions) (*idempotencyClaim, string, error) {
	if !s.DB.Cluster().Shared() {
		return s.claimIdempotency(ctx, key, route, opts)
	}
	c, err := s.beginClaim(key, route, opts)
	if err == nil {
		c.deferred = c.owner != nil
	}
	return c, "", err
}

// beginClaim claims a key that no other send has at this moment.
func (s *Service) beginClaim(key *app.Key, route string, opts SendOptions) (*idempotencyClaim, error) {
	if opts.IdempotencyKey == "" {
		return &idempotencyClaim{}, nil
	}
	if err := app.CheckIdempotencyKey(opts.IdempotencyKey); err != nil {
		return nil, err
	}
	c := &idempotencyClaim{owner: &s.inflight, hash: sha256.Sum256(opts.Payload),
		key: db.IdempotencyKey{TeamID: key.TeamID, Scope: key.IdempotencyScope(), Route: route, Key: opts.IdempotencyKey}}
	if !c.owner.take(c.key) {
		return nil, app.Errorf(app.CodeConcurrentIdempotent, "There is another request in progress with the same idempotency key")
	}
	return c, nil
}

func (s *Service) keptAnswer(ctx context.Context, c *idempotencyClaim) (answer string, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		answer, err = c.answerIn(r, clock.Now())
		return err
	})
	return answer, base.Unavailable(err)
}

// storedAnswer returns the stored answer of a repeated send, if it was not read before; empty:
// none.
func (c *idempotencyClaim) storedAnswer(r *db.Reader, now time.Time) (answer string, err error) {
	if !c.deferred {
		return "", nil
	}
	return c.answerIn(r, now)
}

// answerIn returns the stored answer; empty: none. Error: CodeInvalidIdempotent.
func (c *idempotencyClaim) answerIn(r *db.Reader, now time.Time) (string, error) {
	hash, answer, err := r.IdempotentAnswer(c.key, now.Add(-IdempotencyTTL))
	switch {
	case errors.Is(err, db.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case !bytes.Equal(hash, c.hash[:]):
		return "", app.Errorf(app.CodeInvalidIdempotent, "This idempotency key was used within the last 24 hours with another request body")
	}
	return answer, nil
}

func (f *inflight) take(k db.IdempotencyKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys[k] {
		return false
	}
	if f.keys == nil {
		f.keys = map[db.IdempotencyKey]bool{}
	}
	f.keys[k] = true
	return true
}

// release releases the key, if there is one.
func (c *idempotencyClaim) release() {
	if c.owner == nil {
		return
	}
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	delete(c.owner.keys, c.key)
}

// keep stores the answer inside the Write of the send.
func (c *idempotencyClaim) keep(tx *db.Tx, answer string) error {
	if c.owner == nil {
		return nil
	}
	return tx.KeepAnswer(c.key, c.hash[:], answer, tx.Now.Add(-IdempotencyTTL))
}

// resolveFailure returns the result of a send that failed. If another server has answered the same
// key meanwhile, it is that answer.
func (c *idempotencyClaim) resolveFailure(ctx context.Context, s *Service, failed error) (answer string, err error) {
	if c.owner == nil {
		return "", failed
	}
	answer, err = s.keptAnswer(ctx, c)
	var refusal *app.Error
	if answer != "" || errors.As(err, &refusal) && refusal.Code == app.CodeInvalidIdempotent {
		return answer, err
	}
	return "", failed
}

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
