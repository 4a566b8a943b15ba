//go:build !long

package web

// hostileValues is how many values TestHostileValues puts into each field: each known one, and some
// pairs.
const hostileValues = 60
