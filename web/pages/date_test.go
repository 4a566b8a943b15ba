package pages

import (
	"strings"
	"testing"
	"time"
)

// TestDates: in each language a day, its month and the hour, and no
// parts of a layout that are left over.
func TestDates(t *testing.T) {
	at := time.Date(2026, time.November, 9, 21, 38, 5, 0, time.UTC)
	seen := map[string]bool{}
	for _, text := range pageTexts() {
		shown := at.Format(text.dateForm)
		if !strings.Contains(shown, "2026") || !strings.Contains(shown, "21:38 UTC") || !strings.Contains(shown, "9") || !strings.Contains(shown, "11") && !strings.Contains(shown, "November") {
			t.Errorf("%q is no date", shown)
		}
		seen[shown] = true
	}
	if !seen["9 November 2026, 21:38 UTC"] || len(seen) < 5 {
		t.Errorf("the languages write %v", seen)
	}
}
