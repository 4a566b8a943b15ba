package audience

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// maxSearch is the longest search text, in characters.
const maxSearch = 255

// ContactQuery selects contacts; empty fields select all.
type ContactQuery struct {
	Search    string // a complete address, else a part of address or name
	SegmentID string
	TopicID   string // subscribed to it, by choice or by default
	State     string // subscribed, unsubscribed or suppressed
}

// FoundContactPage is a page of a search.
type FoundContactPage struct {
	Contacts   []app.Contact
	More       bool   // there are more contacts to search
	SearchedTo string // the last contact that was searched; empty: the end was reached
}

// SearchContacts returns the contacts of a team that match a query, newest first: a page of them,
// or those found within previewTimeout. Errors: CodeValidation, CodeNotFound for an unknown segment
// or topic.
func (s *Previews) SearchContacts(ctx context.Context, key *app.Key, q ContactQuery, include app.Include, page app.Page) (out FoundContactPage, err error) {
	if page.Before != "" {
		return out, app.Invalid("before", "can't be used with `search`, `state` or `topic_id`; use `after`")
	}
	if utf8.RuneCountInString(q.Search) > maxSearch || app.HasControl(q.Search) {
		return out, app.Invalid("search", "must be at most %d characters without line breaks", maxSearch)
	}
	if q.State != "" && !slices.Contains([]string{"subscribed", "unsubscribed", "suppressed"}, q.State) {
		return out, app.Invalid("state", "must be subscribed, unsubscribed or suppressed")
	}
	search := &db.ContactSearch{TeamID: key.TeamID, Text: q.Search, TopicID: q.TopicID, State: q.State}
	var known string // id of the contact with that address
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		if err := s.resolveQuery(r, &q, search); err != nil {
			return err
		}
		known, err = s.contactByAddress(r, key.TeamID, q.Search)
		return err
	})
	if err != nil {
		return out, base.Unavailable(err)
	}
	if known != "" && page.After == "" {
		err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
			out.Contacts, err = r.SearchContact(ctx, search, known)
			return err
		})
	} else {
		err = s.boundedRead(ctx, key.TeamID, func(r *db.Reader, e db.Effort) (err error) {
			out.Contacts, out.SearchedTo, err = r.SearchContacts(ctx, e, search, page)
			if err == nil && out.SearchedTo != "" && len(out.Contacts) < page.Limit {
				return db.ErrLong
			}
			return err
		})
	}
	if err != nil {
		return FoundContactPage{}, base.Cursor(page, err)
	}
	out.More = out.SearchedTo != ""
	return out, s.service.includeTopics(ctx, key.TeamID, include, out.Contacts)
}

// resolveQuery reads the segment and the topic of a query. Errors: CodeNotFound.
func (s *Previews) resolveQuery(r *db.Reader, q *ContactQuery, search *db.ContactSearch) error {
	if q.SegmentID != "" {
		segment, err := r.Segment(search.TeamID, q.SegmentID)
		if err != nil {
			return base.Lookup("segment", err)
		}
		search.Segment = &segment
	}
	return readTopicDefault(r, search.TeamID, q.TopicID, &search.Default)
}

// contactByAddress returns the id of the contact with an address; empty: none, or the text is no
// address.
func (s *Previews) contactByAddress(r *db.Reader, teamID, address string) (string, error) {
	_, key, err := app.ParseBareAddress(address)
	if err != nil {
		return "", nil
	}
	c, err := r.ContactByAddress(teamID, s.service.Sealer.AddressHash(teamID, key))
	if errors.Is(err, db.ErrNotFound) {
		return "", nil
	}
	return c.ID, err
}
