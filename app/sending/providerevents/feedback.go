package providerevents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/feedback"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// feedbackPerWrite is how many reports one Write takes: others wait behind it.
const feedbackPerWrite = 500

// TakeFeedback takes what the outside reports of emails, from a door that has
// proved where it comes from. Once it answers nil, all of it is stored; after an
// error it may be given all of it again, since each report counts once. Reports
// of emails that nobody knows are forgotten. Error: CodeServiceUnavailable.
func (s *Service) TakeFeedback(ctx context.Context, reports []feedback.Report) error {
	for part := range slices.Chunk(reports, feedbackPerWrite) {
		var unknown []feedback.Report
		write := s.DB.Write
		if slices.ContainsFunc(part, grave) {
			write = s.DB.WriteCritical
		}
		err := write(ctx, func(tx *db.Tx) error {
			unknown = nil
			for _, f := range part {
				known, err := s.takeReport(tx, f)
				if err != nil {
					return fmt.Errorf("take feedback of %s: %w", f.Source, err)
				}
				if !known {
					unknown = append(unknown, f)
				}
			}
			return nil
		})
		if err != nil {
			return base.Unavailable(err)
		}
		for _, f := range unknown {
			s.Log.Info("a report of an email that is not known here", "source", f.Source, "kind", f.Kind, "email", f.EmailID, "provider_id", f.ProviderID)
		}
	}
	return nil
}

// grave tells reports that are stored on a full disk too: what follows from them
// keeps mail from leaving. The provider tries again with all others.
func grave(f feedback.Report) bool {
	return f.Kind == feedback.Bounced || f.Kind == feedback.Complained || f.Kind == feedback.Failed
}

// takeReport records one report; a repeated one changes nothing. It reports whether
// the email is known.
func (s *Service) takeReport(tx *db.Tx, f feedback.Report) (known bool, err error) {
	f = f.Bound(time.Time{}, tx.Now)
	err = tx.InsertFeedback(f.Source, s.Sealer.Hash(delivery.FeedbackPurpose, []byte(f.Source+"\x00"+f.ID)))
	if errors.Is(err, db.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	subject, err := findSubject(&tx.Reader, f)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r := report{Report: f.Bound(subject.AcceptedAt, tx.Now), subject: subject}
	r.address()
	return true, s.applyReport(tx, &r)
}

// findSubject finds the email that a report is about: by our id in it, by the id
// that the relay gave the message, by its Message-ID, which begins with our id or,
// rewritten by the provider, with its own. No index is needed for our Message-IDs.
// Error: db.ErrNotFound.
func findSubject(r *db.Reader, f feedback.Report) (*db.Subject, error) {
	if s, err := subject(r, f.EmailID); !errors.Is(err, db.ErrNotFound) {
		return s, err
	}
	local, _ := app.CutEmailMessageID(f.MessageID)
	for _, id := range []string{f.ProviderID, local} {
		emailID, err := emailOfProvider(r, id)
		if err == nil {
			return subject(r, emailID)
		}
		if !errors.Is(err, db.ErrNotFound) {
			return nil, err
		}
	}
	s, err := subject(r, local)
	if err == nil && !strings.EqualFold(s.MessageID, f.MessageID) {
		return nil, db.ErrNotFound
	}
	return s, err
}

func emailOfProvider(r *db.Reader, id string) (string, error) {
	if id == "" {
		return "", db.ErrNotFound
	}
	return r.EmailOfProvider(id)
}

// subject returns what feedback can be about by the id that its message carries: an
// email, or that of a broadcast's recipient. Error: db.ErrNotFound.
func subject(r *db.Reader, id string) (*db.Subject, error) {
	id, ok := app.ParseID(id)
	if !ok {
		return nil, db.ErrNotFound
	}
	return r.Subject(id)
}

// report is a report and what it is about.
type report struct {
	feedback.Report
	subject *db.Subject
	of      *db.Recipient // whom it is about; nil: nobody by name, or a stranger
	gone    bool          // that one's address was erased: what the report says of it is not kept
}

// address finds the recipient that the report is about. One without a recipient
// is about the only one. A name that is not in the envelope may be that of a
// recipient who was erased; else it is somebody to whom the mail was passed on,
// which says nothing about our recipients.
func (r *report) address() {
	all := r.subject.Recipients
	key := app.KeyOf(r.Recipient)
	at := slices.IndexFunc(all, func(v db.Recipient) bool { return app.KeyOf(v.Address) == key })
	erased := func(v db.Recipient) bool { return v.Address == app.Erased }
	switch {
	case at >= 0:
	case key.IsZero() && len(all) == 1:
		at = 0
	case !key.IsZero() && slices.ContainsFunc(all, erased):
		r.gone = true
		if at = slices.IndexFunc(all, erased); slices.ContainsFunc(all[at+1:], erased) {
			at = -1
		}
	}
	if at >= 0 {
		r.of = &all[at]
	}
	r.Recipient = key.String()
	if slices.ContainsFunc(all, erased) {
		r.Diagnostic = "" // a server's words often repeat the address
	}
}

// applyReport records the event and what follows from it.
func (s *Service) applyReport(tx *db.Tx, r *report) error {
	ev, shown, err := r.event(tx)
	if err != nil {
		return err
	}
	if shown {
		if err := tx.InsertEvent(ev); err != nil {
			return fmt.Errorf("insert event: %w", err)
		}
		if err := s.announceReport(tx, &ev); err != nil {
			return fmt.Errorf("announce report: %w", err)
		}
	}
	happened := lastEventOf(ev.Type)
	if r.subject.BroadcastID == "" {
		if err := tx.SetLastEvent(ev.EmailID, happened); err != nil {
			return fmt.Errorf("move last_event: %w", err)
		}
		if r.of != nil {
			tx.NoteActivity(r.subject.TeamID, s.delivery.Sealer.AddressHash(r.subject.TeamID, app.KeyOf(r.of.Address)), ev.Type, ev.CreatedAt)
		}
	}
	waited, err := r.moveRecipients(tx, happened, feedback.RecipientState(ev.Type))
	if err != nil {
		return fmt.Errorf("move recipients: %w", err)
	}
	if err := s.countReport(tx, r, waited); err != nil {
		return fmt.Errorf("count outcome: %w", err)
	}
	if waited > 0 {
		if err := settleByReport(tx, r.subject); err != nil {
			return fmt.Errorf("settle by report: %w", err)
		}
	}
	return s.suppressReported(tx, r)
}

// lastEventOf is the value of last_event that an event leads to. A prefetch
// proves that the relay took the mail, and no more.
func lastEventOf(t app.EventType) app.LastEvent {
	if t == app.EventPrefetched {
		return app.Sent
	}
	return app.LastEvent(t)
}

// moveRecipients moves those that the report is about up by rank, and tells
// how many of them waited until now. A message that the provider dropped is
// dropped for all.
func (r *report) moveRecipients(tx *db.Tx, happened app.LastEvent, state app.LastEvent) (waited int, err error) {
	about := []*db.Recipient{r.of}
	if r.of == nil {
		about = nil
		if r.Kind == feedback.Failed && r.Recipient == "" {
			for i := range r.subject.Recipients {
				about = append(about, &r.subject.Recipients[i])
			}
		}
	}
	for _, v := range about {
		if err := tx.MoveRecipient(r.subject, v, happened, app.NextLastEvent(v.State, state)); err != nil {
			return 0, err
		}
		if v.State == app.Queued {
			waited++
		}
	}
	return waited, nil
}

// settleByReport ends what the reported recipients need no more: a unit that
// waits for nobody else, and its doubts. One that waits for others, or that is
// being tried at this moment, is tried without them. A unit whose dot is on its
// way is left to its result.
func settleByReport(tx *db.Tx, s *db.Subject) error {
	u, dotted, err := tx.OpenUnit(s.TeamID, s.EmailID)
	if errors.Is(err, db.ErrNotFound) || dotted {
		return nil
	}
	if err != nil {
		return err
	}
	u.BroadcastID = s.BroadcastID
	open, err := tx.OpenRecipients(u)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return tx.OutdateAttempt(u.EmailID)
	}
	if err := tx.SettleDoubts(u.EmailID, "settled by the provider's report"); err != nil {
		return err
	}
	return tx.DeleteUnit(u)
}

// suppressReported takes the recipient off further mail where the report says
// that it must. Only recipients of the email are: nobody's report about a
// stranger counts.
func (s *Service) suppressReported(tx *db.Tx, r *report) error {
	if !feedback.Suppresses(r.Report) {
		return nil
	}
	address, listed := app.KeyOf(r.Recipient), ""
	switch {
	case r.gone: // it goes on to be unlisted
	case r.of == nil || r.of.Address == app.Erased:
		return nil
	default:
		address, listed = app.KeyOf(r.of.Address), strings.ToLower(r.of.Address)
	}
	return s.audience.SuppressForEmail(tx, r.subject.TeamID, r.subject.EmailID, address, listed, r.Kind.SuppressionOrigin())
}

// PurgeFeedback forgets old reports and providers' ids.
func (s *Service) PurgeFeedback(ctx context.Context) error {
	err := s.InChunks(ctx, "old feedback", func(tx *db.Tx) (bool, error) {
		return tx.PurgeFeedback(tx.Now.Add(-feedback.ReportRetention), base.PurgeChunk)
	})
	if err != nil {
		return err
	}
	return s.InChunks(ctx, "old provider ids", func(tx *db.Tx) (bool, error) {
		return tx.PurgeProviderIDs(tx.Now.Add(-feedback.ProviderIDRetention), base.PurgeChunk)
	})
}
