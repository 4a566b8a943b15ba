package apptest

import "testing"

// Serial skips a long test that makes one request after the other under go test -short, which is how
// the race detector runs within minutes: the test starts no goroutines, and what the program does
// concurrently for each request is raced by shorter tests. Without -short, all tests are raced.
func Serial(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one request after the other: nothing for the race detector")
	}
}
