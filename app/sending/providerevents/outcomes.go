package providerevents

import (
	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/feedback"
	"mailer/app/rules/reputation"
	"mailer/db"
)

// countReport counts a report: waited recipients that had no result until now, and a bounce or
// complaint of one of the email's recipients.
func (s *Service) countReport(tx *db.Tx, r *report, waited int) (err error) {
	if r.subject.Hidden {
		return nil
	}
	if r.subject.ForwardID != "" {
		tx.CountSent(r.countKey(), int64(waited))
		return nil
	}
	o := reputation.Outcome{Sent: int64(waited)}
	if feedback.Suppresses(r.Report) && !r.notRecipient() {
		who := app.KeyOf(r.Recipient)
		if r.recipient != nil && r.recipient.Address != app.Erased {
			who = app.KeyOf(r.recipient.Address)
		}
		n, err := s.delivery.CountOnce(tx, r.Kind, r.subject.EmailID, who)
		if err != nil {
			return err
		}
		if r.Kind == feedback.Complained {
			o.Complained = n
		} else {
			o.HardBounced = n
		}
	}
	key := r.countKey()
	s.delivery.CountOutcome(tx, key, o)
	tx.CountSent(key, int64(waited))
	return nil
}

// countKey returns the key of the counters of the email.
func (r *report) countKey() counters.Key {
	return counters.Key{TeamID: r.subject.TeamID, Domain: r.subject.Domain, BroadcastID: r.subject.BroadcastID, Region: r.subject.Relay}
}

// notRecipient reports whether the report names an address that is not a recipient of the email.
func (r *report) notRecipient() bool { return r.recipient == nil && !r.erased && r.Recipient != "" }
