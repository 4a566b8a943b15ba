package app

import (
	"errors"
	"fmt"
)

// BatchError says why an item of a permissive batch was not accepted.
type BatchError struct {
	Index   int    `json:"index"` // of the item in the request, from 0 on
	Message string `json:"message"`
}

// RefuseItem returns what an error of item i means for its batch: item, where the
// others of a permissive batch go on without it, or the error that ends the whole
// batch. That is any *Error in a strict batch, whose message then begins with
// "{list}.{i}: "; and in every batch a fault of ours, and CodeSendingPaused, which
// no item can help. A nil error means nothing.
func RefuseItem(list string, i int, permissive bool, err error) (item *BatchError, whole error) {
	var refusal *Error
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &refusal), refusal.Code == CodeSendingPaused:
		return nil, err
	case permissive:
		return &BatchError{Index: i, Message: refusal.Message}, nil
	}
	return nil, &Error{Code: refusal.Code, Message: fmt.Sprintf("%s.%d: %s", list, i, refusal.Message), Err: refusal.Err}
}
