package broadcasts_test

import (
	"strings"

	"mailer/app"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// Helpers of this package's tests.

// pageOf returns the token of the unsubscribe page that an email of a broadcast links to.
func pageOf(w *testserver.Server, id string) string {
	w.T.Helper()
	for _, h := range w.Email(id).Headers {
		if _, token, ok := strings.Cut(h.Value, "/unsubscribe/"); ok {
			return strings.TrimSuffix(token, ">")
		}
	}
	w.T.Fatalf("email %s leads to no page", id)
	return ""
}

func sendBroadcast(w *testserver.Server, in app.BroadcastInput, scheduledAt string) broadcasts.BroadcastView {
	w.T.Helper()
	in.Send, in.ScheduledAt = true, scheduledAt
	v, err := w.Services.Broadcasts.CreateBroadcast(w.T.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return v
}
