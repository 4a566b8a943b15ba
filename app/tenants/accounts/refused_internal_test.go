package accounts

import (
	"fmt"
	"testing"
	"time"
)

func TestNotesOfSignInsThatFailedAreBounded(t *testing.T) {
	var n noted
	now, taken := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), 0
	for i := range 2 * maxNotes {
		if n.take(noteOf{account: fmt.Sprint(i)}, now) {
			taken++
		}
	}
	if taken != maxNotes || len(n.last) > maxNotes {
		t.Errorf("%d notes, %d remembered", taken, len(n.last))
	}
	if !n.take(noteOf{account: "0"}, now.Add(noteHour)) {
		t.Error("an hour later there is still no room")
	}
}
