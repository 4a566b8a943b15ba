package db

import (
	"cmp"
	"slices"

	"mailer/app"
)

// The ends of all ids: firstID stands before each, lastID behind each.
const (
	firstID = ""
	lastID  = "~"
)

// listPage returns a page of a list that stands newest first, and whether there
// are more rows in the direction that was walked. older and newer read the rows
// below and above an id, away from it; their last two parameters are that id and
// how many rows. Error: what exists answers of the page's cursor.
func listPage[T any](r *Reader, page app.Page, exists func(cursor string) error, scan func(scanner) (T, error), older, newer string, args ...any) ([]T, bool, error) {
	return keyset(r, page, exists, func(limit int) ([]T, error) { return walk(r, scan, page, lastID, limit, older, newer, args...) })
}

// keyset reads one row more than the page to know whether there are more, and
// turns a page that was walked backwards into the order of the list.
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

// checkCursor returns what exists answers of a page's cursor, where it has one.
func checkCursor(page *app.Page, exists func(cursor string) error) error {
	if cursor := cmp.Or(page.After, page.Before); cursor != "" {
		return exists(cursor)
	}
	return nil
}

// walk returns at most limit rows behind a page's cursor, in the order in which
// the page is walked; without one, from start. after and before are the statements
// of the two directions, whose last two parameters are the cursor and the limit.
func walk[T any](r *Reader, scan func(scanner) (T, error), page app.Page, start string, limit int, after, before string, args ...any) ([]T, error) {
	if page.Before != "" {
		after = before
	}
	return list(r, scan, after, append(slices.Clip(args), cmp.Or(page.Before, page.After, start), limit)...)
}

// nextPage moves a page's cursor on in its direction.
func nextPage(page app.Page, id string) app.Page {
	if page.Before != "" {
		return app.Page{Before: id}
	}
	return app.Page{After: id}
}

// errorOf returns the error of a read whose value is not wanted.
func errorOf[T any](_ T, err error) error { return err }
