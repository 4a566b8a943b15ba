//go:build race

package testserver

// raced says whether the race detector watches, which slows everything down.
const raced = true
