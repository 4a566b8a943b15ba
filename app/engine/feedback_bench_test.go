package engine

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/feedback"
)

// BenchmarkTakeFeedback takes 500 reports about as many emails, in one Write.
func BenchmarkTakeFeedback(b *testing.B) {
	w := idle(b, newRelay(nil))
	n := 0
	for b.Loop() {
		b.StopTimer()
		reports := make([]feedback.Feedback, feedbackAtOnce)
		for i := range reports {
			n++
			id := w.send(fmt.Sprintf("u%d@example.net", n))
			reports[i] = feedback.Feedback{Source: "ses", ID: fmt.Sprint(n), EmailID: id, Kind: feedback.FeedbackBounced, Bounce: app.BouncePermanent, Enhanced: "5.1.1", Recipient: fmt.Sprintf("u%d@example.net", n)}
		}
		b.StartTimer()
		must(b, w.e.TakeFeedback(b.Context(), reports))
	}
}
