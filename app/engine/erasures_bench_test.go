package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// BenchmarkErase erases one address from 100,000 emails of 5 kB, 100 of which
// went to it, and tells how long another's send waits meanwhile at most.
func BenchmarkErase(b *testing.B) {
	w := serving(b)
	html := strings.Repeat("<p style='width:100%'>Hello there &amp; welcome to the shop</p>\n", 80)
	w.crowd(w.key, 100_000, func(i int, in *app.EmailInput) {
		in.To, in.HTML = []string{fmt.Sprintf("u%d@example.net", i)}, html
		if i%1000 == 0 {
			in.To = []string{victim}
		}
	})
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		c := w.person(w.key.TeamID, victim)
		b.StartTimer()
		done := make(chan struct{})
		worst := make(chan time.Duration)
		go func() {
			var slowest time.Duration
			for {
				select {
				case <-done:
					worst <- slowest
					return
				default:
				}
				start := time.Now()
				_, _ = w.e.SendEmail(b.Context(), w.key, letter("x@example.net"), SendOptions{})
				slowest = max(slowest, time.Since(start))
			}
		}()
		must(b, w.e.eraseContacts(b.Context(), w.key.TeamID, []app.Contact{c}))
		close(done)
		b.ReportMetric(float64((<-worst).Milliseconds()), "ms/slowest-send")
		if n := w.openErasures(); n != 0 {
			b.Fatalf("%d erasures are open", n)
		}
	}
}
