package mail_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// listUnsent returns the subjects that a search finds; an empty query lists all.
func listUnsent(w *testserver.Server, q mail.SearchQuery) string {
	w.T.Helper()
	var found db.FoundEmails
	var err error
	if q == (mail.SearchQuery{}) {
		found.Emails, found.More, err = w.Services.Mail.ListEmails(w.T.Context(), w.Key, app.Page{Limit: 100})
	} else {
		var some *mail.FoundEmails
		if some, err = w.Services.Search.Emails(w.T.Context(), w.Key, q, app.Page{Limit: 100}); err == nil {
			found = *some
		}
	}
	testserver.Must(w.T, err)
	var out []string
	for _, e := range found.Emails {
		out = append(out, e.Subject)
	}
	return strings.Join(out, " ")
}

// recordID returns the id that a refusal names.
func recordID(t *testing.T, text string) string {
	t.Helper()
	_, id, ok := strings.Cut(text, "All recipients are suppressed: see the email ")
	if _, isID := app.ParseID(id); !ok || !isID {
		t.Fatalf("%q names no email", text)
	}
	return id
}

func TestSuppressedSendLeavesRecord(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "gone@example.net"})
		testserver.Must(t, err)
		bad := testserver.Message("gone@example.net")
		bad.Subject, bad.Cc = "refused", []string{"in@example.net"}
		good := testserver.Message("in@example.net")
		good.Subject = "good"

		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, bad, mail.SendOptions{IdempotencyKey: "k", Payload: []byte("{}")})
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		id := recordID(t, err.Error())
		_, err = w.Services.Mail.SendBatch(t.Context(), w.Key, []mail.BatchItem{{Input: good}, {Input: bad}}, false, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		recordID(t, err.Error())
		some, err := w.Services.Mail.SendBatch(t.Context(), w.Key, []mail.BatchItem{{Input: good}, {Input: bad}}, true, mail.SendOptions{})
		testserver.Must(t, err)
		recordID(t, some.Errors[0].Message)
		_, err = submit(w, plainMessage(), "gone@example.net")
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		recordID(t, err.Error())
		synctest.Wait()

		email := w.Email(id)
		if email.State() != "suppressed" || email.Text != "" || email.ContentDeletedAt.IsZero() {
			t.Errorf("the record is %+v", email)
		}
		w.WantRecipientStates(id, "gone@example.net suppressed, in@example.net suppressed")
		v, err := w.Services.Queue.Verdict(t.Context(), w.Key, id)
		if testserver.Must(t, err); v.Code == "unknown" || !strings.Contains(v.Text, "gone@example.net") {
			t.Errorf("the verdict is %+v", v)
		}
		if got := listUnsent(w, mail.SearchQuery{}); got != "good" {
			t.Errorf("the list has %q", got)
		}
		if got := listUnsent(w, mail.SearchQuery{To: "gone@example.net"}); got != "" {
			t.Errorf("a search that asks for no state finds %q", got)
		}
		for _, q := range []mail.SearchQuery{{Status: "suppressed"}, {State: "suppressed"}} {
			if got := listUnsent(w, q); strings.Count(got, "refused") != 3 {
				t.Errorf("%+v finds %q", q, got)
			}
		}
		if got := w.Usage().Today; got != 1 {
			t.Errorf("%d recipients count today, want that of the mail that was accepted", got)
		}
		w.Elapse(mail.UnsentRetention)
		w.Send("in@example.net")
		testserver.Must(t, w.Services.Mail.Unsent.Purge(t.Context(), []string{w.Key.TeamID}))
		if got := listUnsent(w, mail.SearchQuery{Status: "suppressed"}); got != "" {
			t.Errorf("after 30 days there are %q", got)
		}
	})
}

func TestRefusedSendRecordsPerDay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "gone@example.net"})
		testserver.Must(t, err)
		w.WriteDB(func(tx *db.Tx) error {
			for i := range mail.UnsentPerDay {
				id := app.NewID()
				if err := tx.InsertUnsent(&app.Email{ID: id, TeamID: w.Key.TeamID, Relay: "r", MessageID: fmt.Sprint(i), CreatedAt: tx.Now, LastEvent: app.Suppressed,
					Mail: app.Mail{From: app.Address{Local: "a", Domain: "example.com"}}}, nil); err != nil {
					return err
				}
			}
			return nil
		})
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("gone@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		if err == nil || !strings.HasSuffix(err.Error(), "All recipients are suppressed") {
			t.Errorf("beyond the bound: %v", err)
		}
		w.Elapse(24 * time.Hour)
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("gone@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		recordID(t, err.Error())
	})
}
