//go:build long

package web

// hostileValues is how many values TestHostileValues puts into each field.
const hostileValues = 140
