package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// BenchmarkErase erases one address from 100,000 emails of 5 kB, 100 of which were sent to it, and
// reports the longest time that a send of another team waits meanwhile.
func BenchmarkErase(b *testing.B) {
	w := testserver.Start(b)
	html := strings.Repeat("<p style='width:100%'>Hello there &amp; welcome to the shop</p>\n", 80)
	w.AddEmails(w.Key, 100_000, func(i int, in *app.EmailInput) {
		in.To, in.HTML = []string{fmt.Sprintf("u%d@example.net", i)}, html
		if i%1000 == 0 {
			in.To = []string{testserver.ErasedAddress}
		}
	})
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		c := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
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
				_, _ = w.Services.Mail.SendEmail(b.Context(), w.Key, testserver.Message("x@example.net"), mail.SendOptions{})
				slowest = max(slowest, time.Since(start))
			}
		}()
		testserver.Must(b, w.Services.Audience.EraseContacts(b.Context(), w.Key.TeamID, []app.Contact{c}))
		close(done)
		b.ReportMetric(float64((<-worst).Milliseconds()), "ms/slowest-send")
		if n := w.OpenErasures(); n != 0 {
			b.Fatalf("%d erasures are open", n)
		}
	}
}
