// Package shapes holds the shapes that several resources share in requests and answers: addresses,
// batches, idempotency, values of properties and variables. Only packages below web import it.
package shapes
