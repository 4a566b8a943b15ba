package engine

import "slices"

// Ask runs functions that only read. On PostgreSQL their queries share round trips
// (Concurrently). After the first failure no further function is started. Error: that of the
// first function in the list that failed.
func (r *Reader) Ask(asks ...func(r *Reader) error) error {
	return askAll(asks, func(fn func(r *Reader, i int)) { r.Concurrently(len(asks), fn) })
}

// Ask is Reader.Ask for a transaction. Only a pipelined closure shares round trips.
func (tx *Tx) Ask(asks ...func(r *Reader) error) error {
	return askAll(asks, func(fn func(r *Reader, i int)) {
		tx.Concurrently(len(asks), func(tx *Tx, i int) { fn(&tx.Reader, i) })
	})
}

// askAll has call run each of asks by its index.
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
