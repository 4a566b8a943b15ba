//go:build long

package jobs_test

import "testing"

func TestLongErasureSurvivesCrashAtAnyStep(t *testing.T) { erasureCrashes(t, 1) }
