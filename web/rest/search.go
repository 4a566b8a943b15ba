package rest

// SearchOutput is a list that was searched for, as an operation answers it.
type SearchOutput[T any] struct{ Body searchList[T] }

// searchList is a list of which one request may look at a part alone.
type searchList[T any] struct {
	Object     string  `json:"object" enum:"list"`
	HasMore    bool    `json:"has_more"`
	SearchedTo *string `json:"searched_to,omitempty" format:"uuid" doc:"Of a search that goes on: the last one that was looked at, which after takes"`
	Data       []T     `json:"data"`
}

// AsSearch is a list that was read as it stands.
func AsSearch[T any](l *ListOutput[T]) *SearchOutput[T] {
	return &SearchOutput[T]{searchList[T]{Object: l.Body.Object, HasMore: l.Body.HasMore, Data: l.Body.Data}}
}

// NewSearch makes the answer of a search: each row converted, whether there is more to
// look at, and behind which id.
func NewSearch[F, T any](rows []F, more bool, searchedTo string, convert func(*F) T) *SearchOutput[T] {
	out := AsSearch(NewList(rows, more, convert))
	if more {
		out.Body.SearchedTo = &searchedTo
	}
	return out
}
