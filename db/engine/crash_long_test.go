//go:build long

package engine

import "testing"

func TestLongCommittedWritesSurviveKills(t *testing.T) { survivesKills(t, 100) }
