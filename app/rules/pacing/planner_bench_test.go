package pacing

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkPlan forecasts 20 queues over 24 days; the aim is less than 5 ms.
func BenchmarkPlan(b *testing.B) {
	start := time.Date(2026, 8, 17, 12, 0, 30, 0, time.UTC)
	usage := make([]UsageMinute, 0, DayMinutes)
	for m := start.Unix()/60 - 1440; m <= start.Unix()/60; m++ {
		usage = append(usage, UsageMinute{Minute: m, Sent: 20 + m%7, Bulk: m % 5})
	}
	for _, teams := range []int{1, 4, 20} {
		queues := func(each int64) (out []PlannedQueue) {
			for i := range 20 {
				out = append(out, PlannedQueue{BulkQueue: BulkQueue{ID: fmt.Sprint(i), TeamID: fmt.Sprint(i % teams), Remaining: each + int64(i)}})
			}
			return out
		}
		for name, f := range map[string]Forecast{
			"rate":  {Now: start, Speed: 10, Queues: queues(24 * 86400 * 10 / 20)},
			"daily": {Now: start, Speed: 10, Daily: 200_000, Share: 140_000, Usage: usage, Queues: queues(24 * 140_000 / 20)},
			"scant": {Now: start, Speed: 1, Daily: 120_000, Share: 84_000, Usage: usage, Queues: queues(24 * 84_000 / 20)},
			"burst": {Now: start, Speed: 1000, Daily: 100_000, Share: 70_000, Usage: usage, Queues: queues(24 * 70_000 / 20)},
		} {
			b.Run(fmt.Sprintf("%s/%d teams", name, teams), func(b *testing.B) {
				b.ReportAllocs()
				var days float64
				for b.Loop() {
					days = 0
					for _, at := range f.Finishes() { // zero: later than 24 days
						days = max(days, at.Sub(start).Hours()/24)
					}
				}
				b.ReportMetric(days, "days")
			})
		}
	}
}
