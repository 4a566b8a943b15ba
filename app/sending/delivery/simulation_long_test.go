//go:build long

package delivery

import "testing"

func TestLongForecastsOfAYear(t *testing.T) { simulateForecasts(t, 365, 0.95) }
