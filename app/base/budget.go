package base

import (
	"context"

	"mailer/app/kit/membudget"
	"mailer/db"
)

// GetWithinBudget is db.Get for content that may be megabytes: the answer's room for it, whose
// bytes size tells, is taken before read reads it. Errors: also the refusal of the room.
func GetWithinBudget[T any](ctx context.Context, d *db.DB, size func(*db.Reader) (int64, error), read func(*db.Reader) (T, error)) (none T, err error) {
	if membudget.FromContext(ctx) != nil {
		bytes, err := db.Get(ctx, d, size)
		if err != nil {
			return none, err
		}
		if err := membudget.Reserve(ctx, bytes); err != nil {
			return none, err
		}
	}
	return db.Get(ctx, d, read)
}
