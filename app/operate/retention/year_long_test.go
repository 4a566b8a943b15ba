//go:build long

package retention_test

import (
	"flag"
	"testing"
)

var perDay = flag.Int("per-day", 50, "emails a day of the year that is simulated")

func TestLongFileSizeLevelsOff(t *testing.T) { levelsOff(t, 12, *perDay) }
