package db

import (
	"cmp"
	"slices"

	"mailer/app"
)

// firstID sorts before and lastID after every id.
const (
	firstID = ""
	lastID  = "~"
)

// listPage returns a page of a list, newest first, and whether there are more rows in the
// direction of the page. older and newer are statements for the rows below and above an
// id; their last two parameters are the id and a limit. Error: that of exists for the
// page's cursor.
func listPage[T any](r *Reader, page app.Page, exists func(cursor string) error, scan func(scanner) (T, error), older, newer string, args ...any) ([]T, bool, error) {
	return keyset(r, page, exists, func(limit int) ([]T, error) { return walk(r, scan, page, lastID, limit, older, newer, args...) })
}

// keyset reads one row more than the page to know whether there are more. It reverses a
// page that was read from old to new.
func keyset[T any](r *Reader, page app.Page, exists func(cursor string) error, read func(limit int) ([]T, error)) (rows []T, more bool, err error) {
	if err = checkCursor(&page, exists); err == nil {
		rows, err = read(page.Limit + 1)
	}
	if err != nil {
		return nil, false, err
	}
	if more = len(rows) > page.Limit; more {
		rows = rows[:page.Limit]
	}
	if page.Before != "" {
		slices.Reverse(rows)
	}
	return rows, more, nil
}

// checkCursor returns the result of exists for the page's cursor, if there is one.
func checkCursor(page *app.Page, exists func(cursor string) error) error {
	if cursor := cmp.Or(page.After, page.Before); cursor != "" {
		return exists(cursor)
	}
	return nil
}

// walk returns at most limit rows after a page's cursor, or after start without one, in
// page order. after and before are statements for the two directions; their last two
// parameters are the cursor and the limit.
func walk[T any](r *Reader, scan func(scanner) (T, error), page app.Page, start string, limit int, after, before string, args ...any) ([]T, error) {
	if page.Before != "" {
		after = before
	}
	return list(r, scan, after, append(slices.Clip(args), cmp.Or(page.Before, page.After, start), limit)...)
}

// nextPage returns a page in the same direction whose cursor is id.
func nextPage(page app.Page, id string) app.Page {
	if page.Before != "" {
		return app.Page{Before: id}
	}
	return app.Page{After: id}
}

// errorOf returns the error of a read whose value is not needed.
func errorOf[T any](_ T, err error) error { return err }
