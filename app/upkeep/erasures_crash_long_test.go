//go:build long

package upkeep_test

import "testing"

func TestLongAnErasureGoesOnAfterACrashAtAnyStep(t *testing.T) { erasureCrashes(t, 1) }
