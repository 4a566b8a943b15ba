package testserver

import (
	"strings"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/feedback"
	"mailer/app/rules/reputation"
	"mailer/db"
)

// Report passes reports to the server. The default source is SES.
func (w *Server) Report(reports ...feedback.Report) {
	w.T.Helper()
	for i := range reports {
		if reports[i].Source == "" {
			reports[i].Source = "ses"
		}
	}
	Must(w.T, w.Services.ProviderEvents.TakeFeedback(w.T.Context(), reports))
}

// RecipientStates returns the recipients of an email with their states.
func (w *Server) RecipientStates(id string) string {
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

// WantRecipientStates checks the states of an email's recipients.
func (w *Server) WantRecipientStates(id, want string) {
	w.T.Helper()
	if got := w.RecipientStates(id); got != want {
		w.T.Errorf("recipients are %q, want %q; timeline:\n%s", got, want, w.Timeline(id))
	}
}

// Suppression returns the suppression of an address as the API shows it; empty: none.
func (w *Server) Suppression(address string) app.Suppression {
	s, err := w.Services.Suppressions.GetSuppression(w.T.Context(), w.Key, address)
	if err != nil {
		WantCode(w.T, err, app.CodeNotFound)
		return app.Suppression{}
	}
	return s
}

// SendTaken sends an email that the relay accepts.
func (w *Server) SendTaken(to ...string) string {
	w.T.Helper()
	id := w.Send(to...)
	synctest.Wait()
	w.WantLastEvent(id, app.Sent)
	return id
}

// HardBounce returns a report of a hard bounce with an enhanced status code.
func HardBounce(id, recipient, code string) feedback.Report {
	return feedback.Report{EmailID: id, Recipient: recipient, Kind: feedback.Bounced, Bounce: app.BouncePermanent, SubType: "General", Enhanced: code,
		Diagnostic: "smtp; 550 " + code + " sorry"}
}

// BroadcastRecipients returns the stored recipients of a broadcast in order.
func (w *Server) BroadcastRecipients(b app.Broadcast) (all []app.BroadcastRecipient) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		for n := range b.Stored {
			v, err := r.BroadcastRecipient(app.BroadcastEmailID(b.EmailIDPrefix, n+1))
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return nil
	})
	return all
}

// TeamOutcome returns the outcome counters of the team.
func (w *Server) TeamOutcome() (o reputation.Outcome) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		o, err = r.TeamOutcome(w.Key.TeamID, 0)
		return err
	})
	return o
}

// AddOutcome adds to the outcome counters of a team.
func (w *Server) AddOutcome(teamID string, o reputation.Outcome) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		w.Services.Delivery.CountOutcome(tx, counters.Key{TeamID: teamID, Region: app.DefaultRegion, Domain: TestDomain}, o)
		return nil
	}))
}

// AgeCounters moves all counters back by hours, which is faster than waiting.
func (w *Server) AgeCounters(hours int) {
	w.T.Helper()
	pool := w.openDirect()
	_, err := pool.ExecContext(w.T.Context(), forEngine(`UPDATE mail_counts SET hour = hour - ?`), hours)
	Must(w.T, err)
}

// AgeEmails moves the acceptance of all emails back.
func (w *Server) AgeEmails(by time.Duration) {
	w.T.Helper()
	pool := w.openDirect()
	_, err := pool.ExecContext(w.T.Context(), forEngine(`UPDATE emails SET created_at = created_at - ?`), by.Milliseconds())
	Must(w.T, err)
}

// ReceiveBounce delivers a message to the return path of an email's n-th transaction.
func (w *Server) ReceiveBounce(mailbox, raw string) error {
	w.T.Helper()
	path, ok := w.Services.ProviderEvents.ReadReturnPath(mailbox)
	if !ok {
		w.T.Fatalf("%s is no return path", mailbox)
	}
	return w.Services.ProviderEvents.TakeBounce(w.T.Context(), path, feedback.ReadBounce([]byte(raw), true))
}
