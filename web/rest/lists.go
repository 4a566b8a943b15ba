package rest

import (
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
)

// PageParams are the query parameters of every list. They are strings, so that
// a bad one is refused in our words; unknown ones are ignored.
type PageParams struct {
	Limit  PageLimit `query:"limit" doc:"Rows per page"`
	After  string    `query:"after" doc:"The id of the last row of the previous page" format:"uuid"`
	Before string    `query:"before" doc:"The id of the first row of the next page, to read the list backwards" format:"uuid"`
}

// PageLimit is a number that is described as one and read as text.
type PageLimit string

// Schema implements huma.SchemaProvider.
func (PageLimit) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(app.MaxLimit)
	return &huma.Schema{Type: "integer", Minimum: &least, Maximum: &most, Default: app.DefaultLimit}
}

// Page checks the parameters. Errors: CodeValidation.
func (p PageParams) Page() (app.Page, error) {
	page := app.Page{Limit: app.DefaultLimit, After: p.After, Before: p.Before}
	if p.Limit != "" {
		// What is no number becomes 0, which Validate refuses with the right words.
		page.Limit, _ = strconv.Atoi(string(p.Limit))
	}
	if err := page.Validate(); err != nil {
		return app.Page{}, err
	}
	return page, nil
}

// list is the answer of every list.
type list[T any] struct {
	Object  string `json:"object" enum:"list"`
	HasMore bool   `json:"has_more" doc:"Whether rows follow in the direction of the page"`
	Total   *int   `json:"total,omitempty" doc:"How many rows the whole list has; only in lists for which the number is kept"`
	Data    []T    `json:"data"`
}

// WithTotal adds how many rows the whole list has; nil: the number is not kept.
func (l *ListOutput[T]) WithTotal(total *int) *ListOutput[T] {
	l.Body.Total = total
	return l
}

// ListOutput is a list as an operation answers it.
type ListOutput[T any] struct{ Body list[T] }

// NewList makes the answer of a page: each row converted, and whether more follow.
func NewList[F, T any](rows []F, more bool, convert func(*F) T) *ListOutput[T] {
	data := make([]T, len(rows))
	for i := range rows {
		data[i] = convert(&rows[i])
	}
	return &ListOutput[T]{list[T]{Object: "list", HasMore: more, Data: data}}
}

// SearchedTo is a cursor that is null where a search came to the end.
type SearchedTo struct{ ID string }

// MarshalJSON implements json.Marshaler.
func (s SearchedTo) MarshalJSON() ([]byte, error) {
	if s.ID == "" {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, s.ID), nil
}

// Schema implements huma.SchemaProvider.
func (SearchedTo) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Nullable: true,
		Description: "With a filter: the last row that was looked at, from where `after` (or `before`) goes on, also where `data` is empty; null: there are no others"}
}

// searchList is the answer of a list that can be searched.
type searchList[T any] struct {
	Object     string      `json:"object" enum:"list"`
	HasMore    bool        `json:"has_more" doc:"Whether rows follow in the direction of the page, or may, where a search has looked at enough"`
	SearchedTo *SearchedTo `json:"searched_to,omitzero"`
	Total      *int        `json:"total,omitempty" doc:"How many rows the whole list has; only in lists for which the number is kept"`
	Data       []T         `json:"data"`
}

// SearchOutput is a list that can be searched, as an operation answers it.
type SearchOutput[T any] struct{ Body searchList[T] }

// NewSearch makes the answer of a page as NewList does; searched is nil where nothing
// was searched for.
func NewSearch[F, T any](rows []F, more bool, searched *SearchedTo, convert func(*F) T) *SearchOutput[T] {
	out := Unsearched(NewList(rows, more, convert))
	out.Body.SearchedTo = searched
	return out
}

// Unsearched is a list in which nothing was searched for.
func Unsearched[T any](l *ListOutput[T]) *SearchOutput[T] {
	return &SearchOutput[T]{searchList[T]{Object: l.Body.Object, HasMore: l.Body.HasMore, Total: l.Body.Total, Data: l.Body.Data}}
}

// CheckID puts an id of the path into its canonical form. Whatever is no id names
// nothing: a not_found of that kind.
func CheckID(kind string, id *string) error {
	canonical, ok := app.ParseID(*id)
	if !ok {
		return app.NotFound(kind)
	}
	*id = canonical
	return nil
}
