package engine

import "cmp"

// Cached is a kind of data that servers keep in memory from one transaction to the next. A write
// that changes such data calls Tx.Changed.
type Cached int

const (
	// Suppressions is which addresses must not be sent to: suppressions, unsubscribed contacts,
	// choices, and topics with their defaults.
	Suppressions Cached = iota
	// Counts are the numbers of contacts in teams and segments (Tx.ChangedCounts).
	Counts
	// Control is what servers act on: teams and their plans, keys, domains, relays and their
	// pauses, settings.
	Control
	// Webhooks are the subscriptions to events.
	Webhooks
	// Erasures are the steps of erasures, which change addresses of stored emails.
	Erasures

	cachedKinds
)

// changeCounts counts the calls of Tx.Changed in a session, by Cached.
type changeCounts [cachedKinds]uint64

// rules returns the number of changes of what servers cache, except addresses of emails.
func (c *changeCounts) rules() uint64 {
	return c[Suppressions] + c[Counts] + c[Control] + c[Webhooks]
}

// Changed notes that the transaction changes data that servers cache. Other servers read it again
// before their next group of writes. A rollback does not undo the note.
func (tx *Tx) Changed(what ...Cached) {
	for _, w := range what {
		tx.changes[w]++
	}
}

// SuppressionVersion returns a number that identifies the state of suppressions, contacts,
// choices and topics, as this transaction has seen it so far. While later transactions of the
// same DB return the same number, what was read from these tables is still current, whichever
// process writes. It is never 0.
func (tx *Tx) SuppressionVersion() uint64 { return cmp.Or(tx.asOf, tx.Reader.SuppressionVersion()) }

// SuppressionVersion is Tx.SuppressionVersion for the functions of Prefetch.
func (r *Reader) SuppressionVersion() uint64 { return 1 + r.changes[Suppressions] }
