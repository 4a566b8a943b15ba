package retention_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// paced sends an email every 5 milliseconds for a duration and returns the sorted durations of the
// calls.
func paced(b *testing.B, w *testserver.Server, d time.Duration) (took []time.Duration) {
	b.Helper()
	html := strings.Repeat("<p style='width:100%'>Hello there &amp; welcome to the shop</p>\n", 80)
	for end := time.Now().Add(d); time.Now().Before(end); base.Sleep(b.Context(), 5*time.Millisecond, nil) {
		in := testserver.Message("x@example.net")
		in.HTML = html
		start := time.Now()
		_, err := w.Services.Mail.SendEmail(b.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(b, err)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took
}

// BenchmarkAcceptDuringDeletion measures accepts while 40,000 old emails of 5 KB are deleted and
// their pages released, and without deletion.
func BenchmarkAcceptDuringDeletion(b *testing.B) {
	for range b.N {
		w := testserver.NewWithConfig(b, server.Config{Load: &app.Load{}}, testserver.NewRelay(nil))
		w.AddEmails(w.Key, 40_000, func(i int, in *app.EmailInput) {
			in.To, in.HTML = []string{fmt.Sprintf("u%d@example.net", i)}, strings.Repeat("<p style='width:100%'>Hello there &amp; welcome to the shop</p>\n", 80)
		})
		w.SQL(`DELETE FROM units`)
		alone := paced(b, w, 10*time.Second)
		base.Sleep(b.Context(), 2*time.Second, nil)
		before := size(w)
		w.Services.Settings.Keep = app.Retention{Emails: time.Second}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		start := time.Now()
		go func() {
			err := w.Services.Retention.Run(ctx)
			b.ReportMetric(time.Since(start).Seconds(), "s/delete-40000")
			done <- err
		}()
		during := paced(b, w, 15*time.Second)
		left := w.SQL(`SELECT count(*) FROM emails`)[0]
		cancel()
		if err := <-done; err != nil && ctx.Err() == nil {
			b.Fatal(err)
		}
		for name, took := range map[string][]time.Duration{"alone": alone, "beside": during} {
			b.Logf("%s: %d accepts, p50 %v, p90 %v, p99 %v, worst %v", name, len(took), took[len(took)/2], took[len(took)*9/10], took[len(took)*99/100], took[len(took)-1])
		}
		b.Logf("%s emails are left; the file took %d MB, takes %d", left, before>>20, size(w)>>20)
	}
}
