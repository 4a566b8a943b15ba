//go:build long

package retention_test

import "testing"

func TestLongDeletionSurvivesCrashAtAnyStep(t *testing.T) { crashes(t, 1) }
