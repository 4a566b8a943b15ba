//go:build long

package db

import "testing"

func TestLongWhatWasAnsweredSurvivesManyKills(t *testing.T) { survivesKills(t, 100) }
