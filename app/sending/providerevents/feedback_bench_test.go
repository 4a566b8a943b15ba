package providerevents_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/sending/providerevents"
	"mailer/app/testing/testserver"
)

// BenchmarkTakeFeedback stores 500 reports about as many emails in one Write.
func BenchmarkTakeFeedback(b *testing.B) {
	w := testserver.New(b, testserver.NewRelay(nil))
	n := 0
	for b.Loop() {
		b.StopTimer()
		reports := make([]feedback.Report, providerevents.FeedbackPerWrite)
		for i := range reports {
			n++
			id := w.Send(fmt.Sprintf("u%d@example.net", n))
			reports[i] = feedback.Report{Source: "ses", ID: fmt.Sprint(n), EmailID: id, Kind: feedback.Bounced, Bounce: app.BouncePermanent, Enhanced: "5.1.1", Recipient: fmt.Sprintf("u%d@example.net", n)}
		}
		b.StartTimer()
		testserver.Must(b, w.Services.ProviderEvents.TakeFeedback(b.Context(), reports))
	}
}
