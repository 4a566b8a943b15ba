package mail_test

import (
	"slices"
	"testing/synctest"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Helpers of this package's tests.

// sendHTML sends an email with an HTML body and waits until the relay has accepted it, if a relay
// is due to.
func sendHTML(w *testserver.Server, html string, to ...string) string {
	w.T.Helper()
	in := testserver.Message(to...)
	in.HTML = html
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	synctest.Wait()
	return id
}

// wantNothing checks that no email and no unit exists.
func wantNothing(w *testserver.Server) {
	w.T.Helper()
	emails, _, err := w.Services.Mail.ListEmails(w.T.Context(), w.Key, app.Page{Limit: 100})
	testserver.Must(w.T, err)
	w.Read(func(r *db.Reader) error {
		relays, err := r.UnitRelays()
		if len(emails) != 0 || len(relays) != 0 {
			w.T.Errorf("%d emails, units at %v after a refusal", len(emails), relays)
		}
		return err
	})
}

func wantBatch(w *testserver.Server, k, payload string) *mail.BatchResult {
	w.T.Helper()
	result, err := w.Batch(k, payload)
	testserver.Must(w.T, err)
	return result
}

// blockWriter blocks all writes until the channel is closed.
func blockWriter(w *testserver.Server) chan struct{} {
	hang := make(chan struct{})
	go func() { _ = w.DB.Write(w.T.Context(), func(*db.Tx) error { <-hang; return nil }) }()
	synctest.Wait()
	return hang
}

func wantEvents(w *testserver.Server, hook webhook.Webhook, emailID string, want ...string) {
	w.T.Helper()
	var got []string
	for _, event := range w.EmailEvents(hook, emailID) {
		got = append(got, event.String())
	}
	if !slices.Equal(got, want) {
		w.T.Errorf("webhooks heard\n%q, want\n%q\n%s", got, want, w.Timeline(emailID))
	}
}
