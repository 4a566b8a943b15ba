//go:build !race

package testserver

// raced reports whether the race detector is enabled, which slows everything down.
const raced = false
