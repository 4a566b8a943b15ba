package rest

import (
	"strconv"

	"mailer/app"
	"mailer/web/rest/openapi"
)

// PageParams are the query parameters of every list. They are strings, so that invalid values get
// the API's own error texts. Unknown parameters are ignored.
type PageParams struct {
	Limit  PageLimit `query:"limit" doc:"Rows per page"`
	After  string    `query:"after" doc:"The last id of the previous page" format:"uuid"`
	Before string    `query:"before" doc:"The id of the first row of the next page, to read the list backwards" format:"uuid"`
}

// PageLimit is documented as a number and read as a string.
type PageLimit string

// Schema implements openapi.SchemaProvider.
func (PageLimit) Schema(*openapi.Registry) *openapi.Schema {
	least, most := 1.0, float64(app.MaxLimit)
	return &openapi.Schema{Type: "integer", Minimum: &least, Maximum: &most, Default: app.DefaultLimit}
}

// Page checks the parameters. Errors: CodeValidation.
func (p PageParams) Page() (app.Page, error) {
	page := app.Page{Limit: app.DefaultLimit, After: p.After, Before: p.Before}
	if p.Limit != "" {
		// Atoi returns 0 for what is no number, which Validate refuses with the right text.
		page.Limit, _ = strconv.Atoi(string(p.Limit))
	}
	if err := page.Validate(); err != nil {
		return app.Page{}, err
	}
	return page, nil
}

// list is the body of every list.
type list[T any] struct {
	Object  string `json:"object" enum:"list"`
	HasMore bool   `json:"has_more" doc:"Whether rows follow in the direction of the page"`
	Total   *int   `json:"total,omitempty" doc:"How many rows the whole list has; only in lists for which the number is kept"`
	Data    []T    `json:"data"`
}

// WithTotal adds the number of rows of the whole list; nil: not known.
func (l *ListOutput[T]) WithTotal(total *int) *ListOutput[T] {
	l.Body.Total = total
	return l
}

// ListOutput is the output of an operation that answers a list.
type ListOutput[T any] struct{ Body list[T] }

// NewList converts the rows of a page; more tells whether rows follow.
func NewList[F, T any](rows []F, more bool, convert func(*F) T) *ListOutput[T] {
	data := make([]T, len(rows))
	for i := range rows {
		data[i] = convert(&rows[i])
	}
	return &ListOutput[T]{list[T]{Object: "list", HasMore: more, Data: data}}
}

// SearchedTo is a cursor that is null at the end of a search.
type SearchedTo struct{ ID string }

// MarshalJSON implements json.Marshaler.
func (s SearchedTo) MarshalJSON() ([]byte, error) {
	if s.ID == "" {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, s.ID), nil
}

// Schema implements openapi.SchemaProvider.
func (SearchedTo) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: openapi.TypeString, Format: "uuid", Nullable: true,
		Description: "With a filter: the last row searched, from which `after` (or `before`) continues, even if `data` is empty; null: no more rows"}
}

// searchList is the body of a list that can be searched.
type searchList[T any] struct {
	Object     string      `json:"object" enum:"list"`
	HasMore    bool        `json:"has_more" doc:"Whether rows follow in the direction of the page, or may, where a search has looked at enough"`
	SearchedTo *SearchedTo `json:"searched_to,omitzero"`
	Total      *int        `json:"total,omitempty" doc:"How many rows the whole list has; only in lists for which the number is kept"`
	Data       []T         `json:"data"`
}

// SearchOutput is the output of an operation that answers a searched list.
type SearchOutput[T any] struct{ Body searchList[T] }

// NewSearch is NewList for a search; searched is nil without a filter.
func NewSearch[F, T any](rows []F, more bool, searched *SearchedTo, convert func(*F) T) *SearchOutput[T] {
	out := Unsearched(NewList(rows, more, convert))
	out.Body.SearchedTo = searched
	return out
}

// Unsearched is a list without a filter.
func Unsearched[T any](l *ListOutput[T]) *SearchOutput[T] {
	return &SearchOutput[T]{searchList[T]{Object: l.Body.Object, HasMore: l.Body.HasMore, Total: l.Body.Total, Data: l.Body.Data}}
}

// CheckID puts an id into its canonical form. An invalid id is a CodeNotFound of that kind.
func CheckID(kind string, id *string) error {
	canonical, ok := app.ParseID(*id)
	if !ok {
		return app.NotFound(kind)
	}
	*id = canonical
	return nil
}
