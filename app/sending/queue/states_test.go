package queue_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
)

// wantState checks that the email's page, the list of emails and the state filter agree.
func wantState(w *testserver.Server, id string, want app.State) {
	w.T.Helper()
	if got := w.Email(id).State(); got != want {
		w.T.Errorf("the page says %s, want %s; timeline:\n%s", got, want, w.Timeline(id))
	}
	all, _, err := w.Services.Mail.ListEmails(w.T.Context(), w.Key, app.Page{Limit: 100})
	testserver.Must(w.T, err)
	at := slices.IndexFunc(all, func(e app.Email) bool { return e.ID == id })
	if at < 0 || all[at].State() != want {
		w.T.Errorf("the list does not say %s", want)
	}
	shown, err := w.Services.Queue.Show(w.T.Context(), "", id)
	testserver.Must(w.T, err)
	if shown.State != want {
		w.T.Errorf("mailer queue show says %s, want %s", shown.State, want)
	}
	for _, state := range app.States() {
		found, err := w.Services.Search.Emails(w.T.Context(), w.Key, mail.SearchQuery{State: string(state)}, app.Page{Limit: 100})
		testserver.Must(w.T, err)
		if got := slices.ContainsFunc(found.Emails, func(e app.Email) bool { return e.ID == id }); got != (state == want) {
			w.T.Errorf("the filter %s finds it: %v, though it is %s", state, got, want)
		}
	}
}

func TestStatesAgree(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageRcpt, 451, "later"), testserver.Accept, testserver.ReplyWith(app.StageRcpt, 450, "greylisted")))
		w := testserver.Start(t, relay)
		id := w.Send("ann@example.net")
		synctest.Wait()
		wantState(w, id, "deferred")
		if got := w.Email(id).LastEvent; got != app.Queued {
			t.Errorf("last_event of a mail that the relay put off is %s", got)
		}
		_, err := w.Services.Queue.Hold(t.Context(), queue.Filter{IDs: []string{id}})
		testserver.Must(t, err)
		wantState(w, id, "held")
		_, err = w.Services.Queue.Release(t.Context(), queue.Filter{IDs: []string{id}})
		testserver.Must(t, err)
		wantState(w, id, "deferred")
		time.Sleep(10 * time.Minute)
		wantState(w, id, "sent")

		later := w.SendAt(app.FormatTime(time.Now().Add(time.Hour)))
		wantState(w, later, "scheduled")
		time.Sleep(time.Hour + time.Second)
		wantState(w, later, "deferred")
		testserver.Must(t, w.Reschedule(later, app.FormatTime(time.Now().Add(time.Hour))))
		wantState(w, later, "scheduled")
		testserver.Must(t, w.Cancel(later))
		wantState(w, later, "canceled")
	})
}
