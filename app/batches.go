package app

import (
	"errors"
	"fmt"
)

// BatchError says why an item of a permissive batch was not accepted.
type BatchError struct {
	Index   int    `json:"index"` // index of the item in the request, from 0
	Message string `json:"message"`
}

// RefuseItem returns what the error of item i means for a batch: item if a permissive batch
// continues without the item, or the error that ends the whole batch. In a strict batch every
// *Error ends the batch, and its message then begins with "{list}.{i}: ". In both modes internal
// errors and CodeSendingPaused end the batch. Both results are nil for a nil error.
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
