// Package shapes is what the requests and answers of several resources have in common:
// lists of addresses, batches, idempotency, values of properties and variables. The
// rooms of the API may import it, and nothing else does.
package shapes
