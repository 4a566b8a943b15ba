package web

import (
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// PageParams are the query parameters of every list. They are strings, so that
// a bad one is refused in our words; unknown ones are ignored.
type PageParams struct {
	Limit  pageLimit `query:"limit" doc:"How many rows to answer"`
	After  string    `query:"after" doc:"The id of the last row of the page before: older rows follow" format:"uuid"`
	Before string    `query:"before" doc:"The id of the first row of the page after: newer rows come" format:"uuid"`
}

// pageLimit is a number that is described as one and read as text.
type pageLimit string

// Schema implements huma.SchemaProvider.
func (pageLimit) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(app.MaxLimit)
	return &huma.Schema{Type: "integer", Minimum: &least, Maximum: &most, Default: app.DefaultLimit}
}

// page checks the parameters. Errors: CodeValidation.
func (p PageParams) page() (app.Page, error) {
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
	Data    []T    `json:"data"`
}

type listOutput[T any] struct{ Body list[T] }

func newList[F, T any](rows []F, more bool, convert func(*F) T) *listOutput[T] {
	data := make([]T, len(rows))
	for i := range rows {
		data[i] = convert(&rows[i])
	}
	return &listOutput[T]{list[T]{Object: "list", HasMore: more, Data: data}}
}

// checkID puts an id of the path into its canonical form. Whatever is no id names
// nothing: a not_found of that kind.
func checkID(kind string, id *string) error {
	canonical, ok := app.ParseID(*id)
	if !ok {
		return app.NotFound(kind)
	}
	*id = canonical
	return nil
}
