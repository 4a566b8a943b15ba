//go:build long

package engine

import "testing"

func TestLongWhatWasAnsweredSurvivesManyKills(t *testing.T) { survivesKills(t, 100) }
