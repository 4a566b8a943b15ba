//go:build race

package world

// raced says whether the race detector watches, which slows everything down.
const raced = true
