//go:build long

package jobs_test

import "testing"

func TestLongAnErasureGoesOnAfterACrashAtAnyStep(t *testing.T) { erasureCrashes(t, 1) }
