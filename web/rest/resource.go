package rest

import (
	"context"

	"mailer/app"
)

// ResourcePath is an input whose path names one resource. The id is checked and made canonical
// before the body is decoded.
type ResourcePath interface {
	// Resource returns the id, and its kind for the error about an invalid one. Without a kind the
	// service looks the resource up by that text.
	Resource() (kind string, id *string)
}

// pagedPath is the input of a list of what belongs to one resource.
type pagedPath interface {
	ResourcePath
	Page() (app.Page, error)
}

// Output is an output with a body only.
type Output[T any] struct{ Body T }

// Get returns the handler of an operation on one resource that answers with its record.
func Get[P ResourcePath, Row, Record any](read func(ctx context.Context, key *app.Key, id string) (Row, error), convert func(*Row) Record) func(context.Context, *app.Key, P) (*Output[Record], error) {
	answer := Answer(convert)
	return func(ctx context.Context, key *app.Key, in P) (*Output[Record], error) {
		_, id := in.Resource()
		return answer(read(ctx, key, *id))
	}
}

// Do returns the handler of an operation on one resource that answers with the id only, like a
// deletion.
func Do[P ResourcePath, Record any](act func(ctx context.Context, key *app.Key, id string) error, record func(id string) Record) func(context.Context, *app.Key, P) (*Output[Record], error) {
	return func(ctx context.Context, key *app.Key, in P) (*Output[Record], error) {
		_, id := in.Resource()
		if err := act(ctx, key, *id); err != nil {
			return nil, err
		}
		return &Output[Record]{record(*id)}, nil
	}
}

// Answer returns a function that answers with the record of a row, or with an error.
func Answer[Row, Record any](convert func(*Row) Record) func(Row, error) (*Output[Record], error) {
	return func(row Row, err error) (*Output[Record], error) {
		if err != nil {
			return nil, err
		}
		return &Output[Record]{convert(&row)}, nil
	}
}

// List returns the handler of a list.
func List[Row, Item any](read func(context.Context, *app.Key, app.Page) ([]Row, bool, error), convert func(*Row) Item) func(context.Context, *app.Key, *PageParams) (*ListOutput[Item], error) {
	return func(ctx context.Context, key *app.Key, in *PageParams) (*ListOutput[Item], error) {
		page, err := in.Page()
		if err != nil {
			return nil, err
		}
		rows, more, err := read(ctx, key, page)
		if err != nil {
			return nil, err
		}
		return NewList(rows, more, convert), nil
	}
}

// ListOf returns the handler of a list of what belongs to one resource.
func ListOf[P pagedPath, Row, Item any](read func(ctx context.Context, key *app.Key, id string, page app.Page) ([]Row, bool, error), convert func(*Row) Item) func(context.Context, *app.Key, P) (*ListOutput[Item], error) {
	return func(ctx context.Context, key *app.Key, in P) (*ListOutput[Item], error) {
		_, id := in.Resource()
		page, err := in.Page()
		if err != nil {
			return nil, err
		}
		rows, more, err := read(ctx, key, *id, page)
		if err != nil {
			return nil, err
		}
		return NewList(rows, more, convert), nil
	}
}
