//go:build perf

package erase

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfScrubTakesLinearTime(t *testing.T) {
	e := NewSet(erasedSet)
	for _, unit := range []string{"@", "a", "=@bar.com", "%40", "=%40bar.com", "foo@bar.com", "é", "用", "-@bar.com", "例@", "bar.com"} {
		apptest.Linear(t, unit, 1<<14, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { e.Scrub(text) }
		})
	}
}
