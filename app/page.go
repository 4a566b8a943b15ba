package app

// Page selects a page of a list that is sorted newest first.
type Page struct {
	Limit  int    // 1 to 100
	After  string // id; select older rows
	Before string // id; select newer rows
}

// Validate checks that the limit is 1 to MaxLimit and that at most one cursor is given, which must
// be an id.
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

// checkCursor checks that a cursor is empty or an id, and converts it to lower case.
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

// TextOrNull returns s for JSON: nil, which becomes null, if it is empty.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
