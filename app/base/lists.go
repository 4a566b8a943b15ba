package base

import (
	"cmp"
	"errors"
	"slices"

	"mailer/app"
	"mailer/db"
)

// Cursor returns an *app.Error of CodeValidation for db.ErrNotFound: the list does not contain the
// cursor of page. For other errors it returns Unavailable(err).
func Cursor(page app.Page, err error) error {
	if !errors.Is(err, db.ErrNotFound) {
		return Unavailable(err)
	}
	if page.Before != "" {
		return app.Invalid("before", "must be an id that this list returned")
	}
	return app.Invalid("after", "must be an id that this list returned")
}

// Paginate returns a page of a complete list, and whether there are more rows. id returns the id of
// a row. Errors: those of Cursor.
func Paginate[T any](rows []T, page app.Page, id func(*T) string) ([]T, bool, error) {
	from, to := 0, len(rows)
	if c := cmp.Or(page.After, page.Before); c != "" {
		at := slices.IndexFunc(rows, func(row T) bool { return id(&row) == c })
		if at < 0 {
			return nil, false, Cursor(page, db.ErrNotFound)
		}
		if page.After != "" {
			from = at + 1
		} else {
			to = at
			from = max(0, to-page.Limit)
			return rows[from:to], from > 0, nil
		}
	}
	more := to-from > page.Limit
	return rows[from:min(to, from+page.Limit)], more, nil
}
