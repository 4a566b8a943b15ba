package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"mailer/app"
)

// ContactSearch selects contacts of a team.
type ContactSearch struct {
	TeamID  string
	Text    string           // substring of address or name; empty: any
	Segment *app.Segment     // nil: any
	TopicID string           // subscribed to this topic; empty: any
	Default app.Subscription // of the topic, for contacts without a choice
	State   string           // subscribed, unsubscribed or suppressed; empty: any
}

// contactStates are the conditions on contacts by state.
var contactStates = map[string]string{
	"subscribed":   `c.unsubscribed = 0`,
	"unsubscribed": `c.unsubscribed = 1`,
	"suppressed":   `EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = c.team_id AND s.address = c.address)`,
}

// condition returns the search as SQL, cheapest conditions first.
func (s *ContactSearch) condition(dialect filterDialect) (condition, error) {
	texts := []string{`TRUE`}
	var args []any
	add := func(text string, more ...any) { texts, args = append(texts, text), append(args, more...) }
	if text, ok := contactStates[s.State]; ok {
		add(text)
	}
	if s.Text != "" {
		var either []string
		var spelled []any
		for _, spelling := range spellings(s.Text) {
			either = append(either, `instr(lower(c.email), ?) > 0 OR instr(lower(coalesce(c.first_name, '') || ' ' || coalesce(c.last_name, '')), ?) > 0`)
			spelled = append(spelled, spelling, spelling)
		}
		add(`(`+strings.Join(either, ` OR `)+`)`, spelled...)
	}
	if s.Segment != nil {
		member := `EXISTS (SELECT 1 FROM members AS m WHERE m.segment_id = ? AND m.contact_id = c.id)`
		if s.Segment.Filter == nil {
			add(member, s.Segment.ID)
		} else {
			picked, err := where(s.Segment.Filter, dialect)
			if err != nil {
				return condition{}, err
			}
			add(`(`+picked.text+` OR `+member+`)`, append(slices.Clone(picked.args), s.Segment.ID)...)
		}
	}
	if s.TopicID != "" {
		add(`coalesce((SELECT ch.subscription FROM choices AS ch WHERE ch.topic_id = ? AND ch.address = c.address), ?) = 'opt_in'`,
			s.TopicID, string(cmp.Or(s.Default, app.OptIn)))
	}
	return condition{`(` + strings.Join(texts, ` AND `) + `)`, args}, nil
}

// spellings returns the spellings of a text that are searched for, because lower() of
// SQLite handles ASCII letters only: other letters in lower case, title case and upper
// case.
func spellings(text string) []string {
	begins := true
	title := strings.Map(func(r rune) rune {
		first := begins
		begins = unicode.IsSpace(r) || r == '-' || r == '.'
		if first && r > unicode.MaxASCII {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
	upper := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
	out := []string{strings.ToLower(text), title, upper}
	slices.Sort(out)
	return slices.Compact(out)
}

// SearchContacts returns a page of matching contacts after page's cursor, newest first.
// searchedTo is the last contact examined; empty if the search reached the end. Errors:
// ErrNotFound for an unknown cursor, ctx.Err().
func (r *Reader) SearchContacts(ctx context.Context, e Effort, s *ContactSearch, page app.Page) (rows []app.Contact, searchedTo string, err error) {
	from := cmp.Or(page.After, lastID)
	if page.After != "" {
		if err := r.Exists(`SELECT 1 FROM contacts WHERE team_id = ? AND id = ?`, s.TeamID, page.After); err != nil {
			return nil, "", err
		}
	}
	return r.searchBetween(ctx, e, s, from, firstID, page.Limit)
}

// SearchContact is SearchContacts for a single contact.
func (r *Reader) SearchContact(ctx context.Context, s *ContactSearch, id string) ([]app.Contact, error) {
	rows, _, err := r.searchBetween(ctx, Effort{}, s, id+lastID, id, 1)
	return rows, err
}

func (r *Reader) searchBetween(ctx context.Context, e Effort, s *ContactSearch, from, last string, limit int) (rows []app.Contact, searchedTo string, err error) {
	c, err := s.condition(r.filterDialect())
	if err != nil {
		return nil, "", err
	}
	rows, searchedTo, err = r.pickedDown(ctx, e, s.TeamID, c, from, last, limit+1)
	switch {
	case err != nil && !errors.Is(err, ErrLong):
		return nil, "", err
	case len(rows) > limit:
		return rows[:limit], rows[limit-1].ID, nil
	case err == nil:
		return rows, "", nil
	}
	return rows, searchedTo, nil
}
