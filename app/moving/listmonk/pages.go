package listmonk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app/rules/archive"
)

// Items requested in a page. Some versions return at most 50 and say so.
const (
	perPage     = 500
	fewPerPage  = 20 // if each item is a whole mail
	fullestPage = 10_000
	maxChanges  = 10 // of the page size while one kind is read
)

var (
	errNoPage   = errors.New("the answer is no page of results: is this the URL of a listmonk?")
	errEndless  = errors.New("the server answers the same page again and again")
	errPageSize = errors.New("the answer does not say how many items a page has")
)

// check distinguishes an invalid page from an empty one.
func (p *page) check() error {
	if p.Data.Results == nil && p.Data.Total == nil {
		return errNoPage
	}
	if n := len(p.items()); n > 0 && (p.Data.PerPage < 1 || n > p.Data.PerPage || n > fullestPage) {
		return errPageSize
	}
	return nil
}

func (p *page) items() []jsontext.Value {
	if p.Data.Results == nil {
		return nil
	}
	return *p.Data.Results
}

func pageQuery(number, size int) url.Values {
	return url.Values{"page": {strconv.Itoa(number)}, "per_page": {strconv.Itoa(size)}}
}

// paged is a list with pages.
type paged struct {
	kind  archive.Kind // for progress
	path  string
	query url.Values // without the page: filter and order
	size  int
	take  func(raw jsontext.Value, at int) error // at is its position, from 1
}

func (r *reader) get(ctx context.Context, what *paged, number int) (*page, error) {
	query := pageQuery(number, what.size)
	for name, values := range what.query {
		query[name] = values
	}
	p := &page{}
	if err := r.api.Get(ctx, what.path, query, p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("GET %s: %w", what.path, err)
	}
	return p, nil
}

// readByID reads all pages from the last to the first and stores the position after each. The
// order must put new items last: then deletions only move items to pages that are still to be
// read. An item may be read twice.
func (r *reader) readByID(ctx context.Context, what *paged) error {
	for sure, tried := r.s.Page > 0, 0; !sure; tried++ {
		if tried > maxChanges {
			return fmt.Errorf("GET %s: %w", what.path, errPageSize)
		}
		var err error
		if sure, err = r.findLast(ctx, what); err != nil {
			return err
		}
	}
	for changes := 0; r.s.Page > 0; {
		p, size, err := r.pageSized(ctx, what, r.s.Page)
		if err != nil {
			return err
		}
		if size != r.s.Size {
			if changes++; changes > maxChanges {
				return fmt.Errorf("GET %s: %w", what.path, errPageSize)
			}
			r.s.Page, r.s.Size = (r.s.Page*r.s.Size+size-1)/size, size
			continue
		}
		for i, raw := range p.items() {
			if err := what.take(raw, (r.s.Page-1)*r.s.Size+i+1); err != nil {
				return err
			}
		}
		if r.s.Page--; r.s.Page == 0 {
			break // the caller stores that it is done
		}
		if err := r.mark(); err != nil {
			return err
		}
		r.progress(what.kind, r.s.Page)
	}
	return nil
}

// pageSized requests a page and returns the current page size: a server that is updated meanwhile
// may use another size. A page without items does not contain it.
func (r *reader) pageSized(ctx context.Context, what *paged, number int) (p *page, size int, err error) {
	if p, err = r.get(ctx, what, number); err != nil {
		return nil, 0, err
	}
	first := p
	if len(p.items()) == 0 && number > 1 {
		if first, err = r.get(ctx, what, 1); err != nil {
			return nil, 0, err
		}
	}
	if len(first.items()) > 0 {
		return p, first.Data.PerPage, nil
	}
	return p, max(1, r.s.Size), nil
}

// findLast searches for the last page and reports whether it is certain: items may change between
// two answers. The total is only a hint: some versions return one that is hours old.
func (r *reader) findLast(ctx context.Context, what *paged) (sure bool, err error) {
	p, size, err := r.pageSized(ctx, what, 1)
	if err != nil || len(p.items()) == 0 {
		return true, err
	}
	number := 1
	if total := p.Data.Total; total != nil && *total > size && len(p.items()) == size {
		number = (*total-1)/size + 1
	}
	for step := 1; number > 1; step *= 2 { // down to an existing page
		at, err := r.get(ctx, what, number)
		if err != nil {
			return false, err
		}
		if len(at.items()) > 0 {
			p = at
			break
		}
		number = max(1, number-step)
	}
	for ; ; number++ { // up to the last
		next, now, err := r.pageSized(ctx, what, number+1)
		switch {
		case err != nil:
			return false, err
		case now != size:
			return false, nil
		case len(next.items()) == 0:
			r.s.Page, r.s.Size = number, size
			return true, nil
		case len(p.items()) < size:
			return false, nil // fewer than announced, or new items
		case bytes.Equal(p.items()[0], next.items()[0]):
			return false, fmt.Errorf("GET %s: %w", what.path, errEndless)
		}
		p = next
	}
}

func (r *reader) progress(kind archive.Kind, left int) {
	if r.Progress != nil {
		r.Progress(kind, left)
	}
}
