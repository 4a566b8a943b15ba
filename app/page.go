package app

// MaxLimit is the largest page.
const MaxLimit = 100

// Page is a window on a list that stands newest first.
type Page struct {
	Limit  int    // 1 to 100
	After  string // id; rows older than it
	Before string // id; rows newer than it
}

// DefaultLimit is the page size where none is asked for.
const DefaultLimit = 20

// Validate checks limit 1 to 100, and at most one cursor, which must be an id.
func (p *Page) Validate() error {
	if p.Limit < 1 || p.Limit > MaxLimit {
		return Invalid("limit", "must be a number between 1 and 100")
	}
	if p.After != "" && p.Before != "" {
		return Invalid("after", "and `before` can't be used together")
	}
	if err := checkCursor("after", &p.After); err != nil {
		return err
	}
	return checkCursor("before", &p.Before)
}

// checkCursor wants a cursor that is there to be an id, which it writes in lower
// case.
func checkCursor(name string, cursor *string) error {
	if *cursor == "" {
		return nil
	}
	id, ok := ParseID(*cursor)
	if !ok {
		return Invalid(name, "must be an id that this list returned")
	}
	*cursor = id
	return nil
}

// TextOrNull returns a text as JSON has it, with null for an empty one.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
