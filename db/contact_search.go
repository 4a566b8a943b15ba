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

// ContactSearch says which contacts of a team are looked for.
type ContactSearch struct {
	TeamID  string
	Text    string           // a part of address or name; empty: any
	Segment *app.Segment     // that they are in; nil: any
	TopicID string           // to which they are subscribed; empty: any
	Default app.Subscription // of those who chose nothing about the topic
	State   string           // subscribed, unsubscribed or suppressed; empty: any
}

// contactStates are conditions on contacts by their state.
var contactStates = map[string]string{
	"subscribed":   `c.unsubscribed = 0`,
	"unsubscribed": `c.unsubscribed = 1`,
	"suppressed":   `EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = c.team_id AND s.address = c.address)`,
}

// condition writes the search as SQL. What is quickly told stands first.
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

// spellings are the texts that lower() of SQLite, which knows the letters of ASCII
// alone, may have made of what is looked for: the other letters small, capital at the
// beginning of words, or capital.
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

// SearchContacts returns a page of the contacts that a search finds behind page's
// cursor, newest first. searchedTo is the last contact that was looked at; empty: the
// search came to its end. Errors: ErrNotFound for a cursor that is no contact of the
// team, that of ctx.
func (r *Reader) SearchContacts(ctx context.Context, e Effort, s *ContactSearch, page app.Page) (rows []app.Contact, searchedTo string, err error) {
	from := cmp.Or(page.After, lastID)
	if page.After != "" {
		if err := r.Exists(`SELECT 1 FROM contacts WHERE team_id = ? AND id = ?`, s.TeamID, page.After); err != nil {
			return nil, "", err
		}
	}
	return r.searchBetween(ctx, e, s, from, firstID, page.Limit)
}

// SearchContact is SearchContacts for one contact alone.
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
