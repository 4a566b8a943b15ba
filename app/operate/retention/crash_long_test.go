//go:build long

package retention_test

import "testing"

func TestLongACrashAtAnyStepLeavesNothingHalf(t *testing.T) { crashes(t, 1) }
