package accounts

import (
	"fmt"
	"testing"
	"time"
)

func TestFailureLogIsBounded(t *testing.T) {
	var n failureLog
	now, taken := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), 0
	for i := range 2 * maxFailures {
		if n.allow(failureKey{account: fmt.Sprint(i)}, now) {
			taken++
		}
	}
	if taken != maxFailures || len(n.last) > maxFailures {
		t.Errorf("%d notes, %d remembered", taken, len(n.last))
	}
	if !n.allow(failureKey{account: "0"}, now.Add(failureWindow)) {
		t.Error("an hour later there is still no room")
	}
}
