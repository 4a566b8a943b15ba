package base

import (
	"context"

	"mailer/app/kit/membudget"
	"mailer/db"
)

// GetWithinBudget is db.Get for content of possibly megabytes. It reserves the bytes that size
// returns in the memory budget of the request before it calls read. Errors: also those of
// membudget.Reserve.
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
