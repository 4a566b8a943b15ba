package testserver

import (
	"strings"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/rules/reputation"
	"mailer/db"
)

// Take has the server take reports; they come from SES unless they say more.
func (w *World) Take(reports ...feedback.Report) {
	w.T.Helper()
	for i := range reports {
		if reports[i].Source == "" {
			reports[i].Source = "ses"
		}
	}
	Must(w.T, w.Server.Reports.TakeFeedback(w.T.Context(), reports))
}

// States are the recipients of an email with what became of them.
func (w *World) States(id string) string {
	w.T.Helper()
	var out []string
	w.Read(func(r *db.Reader) error {
		s, err := r.Subject(id)
		if err != nil {
			return err
		}
		for _, v := range s.Recipients {
			out = append(out, v.Address+" "+string(v.State))
		}
		return nil
	})
	return strings.Join(out, ", ")
}

// WantStates checks the states of an email's recipients.
func (w *World) WantStates(id, want string) {
	w.T.Helper()
	if got := w.States(id); got != want {
		w.T.Errorf("recipients are %q, want %q; timeline:\n%s", got, want, w.Story(id))
	}
}

// Suppressed is an address's suppression as the API shows it; empty: there is none.
func (w *World) Suppressed(address string) app.Suppression {
	s, err := w.Server.Suppressions.GetSuppression(w.T.Context(), w.Key, address)
	if err != nil {
		WantCode(w.T, err, app.CodeNotFound)
		return app.Suppression{}
	}
	return s
}

// SentTo returns an email that the relay took.
func (w *World) SentTo(to ...string) string {
	w.T.Helper()
	id := w.Send(to...)
	synctest.Wait()
	w.WantLast(id, app.Sent)
	return id
}

// Bounce is a report of a hard bounce with an enhanced status code.
func Bounce(id, recipient, code string) feedback.Report {
	return feedback.Report{EmailID: id, Recipient: recipient, Kind: feedback.Bounced, Bounce: app.BouncePermanent, SubType: "General", Enhanced: code,
		Diagnostic: "smtp; 550 " + code + " sorry"}
}

// BroadcastRecipients returns the recipients of a broadcast as the database has
// them, in their order.
func (w *World) BroadcastRecipients(b app.Broadcast) (all []app.BroadcastRecipient) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		for n := range b.Written {
			v, err := r.BroadcastRecipient(app.MailID(b.Mails, n+1))
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return nil
	})
	return all
}

// Outcome is what the counters of the world's team say.
func (w *World) Outcome() (o reputation.Outcome) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		o, err = r.TeamOutcome(w.Key.TeamID, 0)
		return err
	})
	return o
}

// SufferedBy counts outcomes of a team.
func (w *World) SufferedBy(teamID string, o reputation.Outcome) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		w.Server.Delivery.CountOutcome(tx, reputation.OutcomeKey{TeamID: teamID, Region: app.DefaultRegion, Domain: TestDomain}, o)
		return nil
	}))
}

// Age moves everything that was counted some hours back, which is faster than to
// wait for it.
func (w *World) Age(hours int) {
	w.T.Helper()
	pool, done := w.beside()
	defer done()
	for _, table := range []string{"outcomes", "region_outcomes"} {
		_, err := pool.ExecContext(w.T.Context(), words(`UPDATE `+table+` SET hour = hour - ?`), hours)
		Must(w.T, err)
	}
}

// AgeEmails moves the acceptance of all emails back.
func (w *World) AgeEmails(by time.Duration) {
	w.T.Helper()
	pool, done := w.beside()
	defer done()
	_, err := pool.ExecContext(w.T.Context(), words(`UPDATE emails SET created_at = created_at - ?`), by.Milliseconds())
	Must(w.T, err)
}

// Came has a message come to the return path of an email's n-th transaction.
func (w *World) Came(mailbox, raw string) error {
	w.T.Helper()
	path, ok := w.Server.Reports.ReadReturnPath(mailbox)
	if !ok {
		w.T.Fatalf("%s is no return path", mailbox)
	}
	return w.Server.Reports.TakeBounce(w.T.Context(), path, feedback.ReadBounce([]byte(raw), true))
}
