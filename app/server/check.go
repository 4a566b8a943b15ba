package server

import (
	"context"

	"mailer/db"
)

// Check is what one check of a database came to.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix"` // empty: nothing is to be done
}

// CheckDatabase looks for damage in a database, beside a server or alone, and changes
// nothing.
func CheckDatabase(ctx context.Context, path string) (checks []Check, err error) {
	found, err := db.Check(ctx, path)
	for _, f := range found {
		checks = append(checks, Check(f))
	}
	return checks, err
}
