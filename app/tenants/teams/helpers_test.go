package teams_test

import (
	"fmt"
	"strings"

	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// Helpers of this package's tests.

// wantToday checks what GET /usage says of the day.
func wantToday(w *testserver.Server, want int64) {
	w.T.Helper()
	if got := w.Usage().Today; got != want {
		w.T.Errorf("%d recipients counted today, want %d", got, want)
	}
}

// sendTo sends one email to each of persons [from, to) and returns the ids.
func sendTo(w *testserver.Server, from, to int) (ids []string) {
	w.T.Helper()
	for i := from; i < to; i++ {
		ids = append(ids, w.Send(testserver.SubscriberAddress(i)))
	}
	return ids
}

// trySend returns the error of a send to n addresses.
func trySend(w *testserver.Server, n int) error {
	w.T.Helper()
	var to []string
	for i := range n {
		to = append(to, fmt.Sprintf("t%d@example.net", i))
	}
	_, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, testserver.Message(to...), mail.SendOptions{})
	return err
}

// quotaEvents returns the quota events that webhooks received.
func quotaEvents(w *testserver.Server) []string {
	w.T.Helper()
	events := []string{}
	for _, event := range w.TeamWebhookEvents(w.Key.TeamID) {
		if strings.HasPrefix(string(event.Type), "quota") {
			events = append(events, fmt.Sprintf("%s %v %v/%v %v", event.Type, event.Data["period"], event.Data["emails_sent"], event.Data["limit"], event.Data["resets_at"]))
		}
	}
	return events
}
