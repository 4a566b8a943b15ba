package engine

import "slices"

// Ask calls functions that read: of a database elsewhere what they ask leaves together. It
// returns the error of the first of them that failed, and calls no more once it knows of one.
func (r *Reader) Ask(asks ...func(r *Reader) error) error {
	return askAll(asks, func(fn func(r *Reader, i int)) { r.Concurrently(len(asks), fn) })
}

// Ask is that of Reader; together leaves what is asked by a closure that stands apart.
func (tx *Tx) Ask(asks ...func(r *Reader) error) error {
	return askAll(asks, func(fn func(r *Reader, i int)) {
		tx.Concurrently(len(asks), func(tx *Tx, i int) { fn(&tx.Reader, i) })
	})
}

// askAll has beside call each of asks by its number.
func askAll(asks []func(r *Reader) error, call func(fn func(r *Reader, i int))) error {
	errs := make([]error, len(asks))
	call(func(r *Reader, i int) {
		if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			errs[i] = asks[i](r)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
