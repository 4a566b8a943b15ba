//go:build long

package render

import "testing"

// TestLongHostileProperties is TestHostileProperties with a million sets of values.
func TestLongHostileProperties(t *testing.T) { hostileValues(t, 2, 1_000_000) }
