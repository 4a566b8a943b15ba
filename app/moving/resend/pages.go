package resend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app/net/remote"
	"mailer/app/rules/archive"
)

// tail is how many ids of a page are stored to continue after.
const tail = 10

// list is one page, newest first.
type list struct {
	HasMore *bool            `json:"has_more"` // nil: the list has no pages
	Data    []jsontext.Value `json:"data"`
}

// take processes an item of a list.
type take func(ctx context.Context, id string, item jsontext.Value) error

// walk reads a list from its current position to its end and stores the position after each page.
func (r *reader) walk(ctx context.Context, kind archive.Kind, path string, query url.Values, each take) error {
	for {
		more, err := r.step(ctx, path, query, each)
		if err != nil {
			return err
		}
		r.progressAt(kind)
		if !more {
			return nil
		}
		if err := r.mark(); err != nil {
			return err
		}
	}
}

// step reads the next page of a list. more reports whether there are others.
func (r *reader) step(ctx context.Context, path string, query url.Values, each take) (more bool, err error) {
	page, err := r.ask(ctx, path, query)
	if err != nil {
		return false, err
	}
	ids, err := r.takeAll(ctx, path, page, each)
	if err != nil || len(page.Data) == 0 {
		return false, err
	}
	if page.HasMore == nil {
		more = len(page.Data) == r.page && len(ids) > 0
	} else {
		more = *page.HasMore
	}
	if !more {
		return false, nil
	}
	r.at.Pages++
	if len(ids) == 0 || r.at.Pages >= r.pages {
		return false, endless(path)
	}
	if r.at.Pages&(r.at.Pages-1) == 0 { // Brent's algorithm detects a cycle with one stored item
		r.at.Anchor = ids[0]
	}
	r.at.Tail = append(r.at.Tail, ids...)
	r.at.Tail = slices.Clone(r.at.Tail[max(0, len(r.at.Tail)-tail):])
	return true, nil
}

func endless(path string) error {
	return fmt.Errorf("the list %s does not end: its pages repeat themselves or are too many", path)
}

// takeAll processes the items of a page that were not read before, and returns their ids.
func (r *reader) takeAll(ctx context.Context, path string, page *list, each take) ([]string, error) {
	var ids []string
	for _, item := range page.Data {
		var head struct {
			ID string `json:"id"`
		}
		if err := decode(item, &head); err != nil || head.ID == "" {
			return nil, fmt.Errorf("the list %s has an item without an id", path)
		}
		if slices.Contains(r.at.Tail, head.ID) {
			continue
		}
		if head.ID == r.at.Anchor {
			if page.HasMore == nil { // complete, whatever the query
				return nil, nil
			}
			return nil, endless(path)
		}
		if err := each(ctx, head.ID, item); err != nil {
			return nil, fmt.Errorf("item %q of %s: %w", head.ID, path, err)
		}
		ids = append(ids, head.ID)
	}
	return ids, nil
}

// ask requests the next page. The last item may have been deleted meanwhile, and then nothing
// follows it, so earlier items are tried too.
func (r *reader) ask(ctx context.Context, path string, query url.Values) (*list, error) {
	q := url.Values{"limit": {strconv.Itoa(r.page)}}
	for name, values := range query {
		q[name] = values
	}
	for n := len(r.at.Tail); ; n-- {
		if n > 0 {
			q.Set("after", r.at.Tail[n-1])
		}
		page := &list{}
		err := r.c.Get(ctx, path, q, page)
		if n <= 1 || err == nil && len(page.Data) > 0 || err != nil && !isGone(err) {
			return page, err
		}
	}
}

// isGone reports whether an error may mean that an object was deleted.
func isGone(err error) bool {
	status := remote.StatusOf(err)
	return status == http.StatusNotFound || status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusGone
}

// isAbsent reports whether an error means that the API has no such route or object.
func isAbsent(err error) bool {
	status := remote.StatusOf(err)
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone
}

// one reads a single object; there reports whether it still exists.
func (r *reader) one(ctx context.Context, path, id string, into any) (there bool, err error) {
	err = r.c.Get(ctx, path+"/"+url.PathEscape(id), nil, into)
	if remote.StatusOf(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// decode decodes an item.
func decode(item jsontext.Value, into any) error {
	err := json.Unmarshal(item, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return nil
	}
	if where, ok := errors.AsType[*json.SemanticError](err); ok && where.JSONPointer != "" {
		return fmt.Errorf("%s of an item is not of the kind that Resend's documents name", strconv.Quote(string(where.JSONPointer)))
	}
	return errors.New("an item is not what Resend's documents name")
}

// stamp is a time in Resend's formats: as PostgreSQL writes it, or RFC 3339. Any other text is the
// zero time.
type stamp struct{ time.Time }

// UnmarshalJSON implements the interface of encoding/json.
func (s *stamp) UnmarshalJSON(text []byte) error {
	word := strings.Trim(string(text), `"`)
	for _, layout := range []string{"2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", time.RFC3339, "2006-01-02T15:04:05Z07"} {
		if at, err := time.Parse(layout, word); err == nil {
			s.Time = at.UTC()
			return nil
		}
	}
	return nil
}
