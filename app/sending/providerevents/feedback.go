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

// feedbackPerWrite is how many reports one Write stores, so that other writers wait only briefly.
const feedbackPerWrite = 500

// TakeFeedback stores reports about emails from an endpoint that has authenticated its sender. If
// it returns nil, all reports are stored; after an error, all may be given again, because each
// report counts once. Reports of unknown emails are logged and dropped. Error:
// CodeServiceUnavailable.
func (s *Service) TakeFeedback(ctx context.Context, reports []feedback.Report) error {
	for part := range slices.Chunk(reports, feedbackPerWrite) {
		var unknown []feedback.Report
		write := s.DB.Write
		if slices.ContainsFunc(part, isCritical) {
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

// isCritical reports whether a report is stored even on a full disk, because it may suppress an
// address. The provider sends other reports again.
func isCritical(f feedback.Report) bool {
	return f.Kind == feedback.Bounced || f.Kind == feedback.Complained || f.Kind == feedback.Failed
}

// takeReport stores one report; a repeated one changes nothing. known reports whether the email is
// known.
func (s *Service) takeReport(tx *db.Tx, f feedback.Report) (known bool, err error) {
	f = f.Bound(time.Time{}, tx.Now)
	err = tx.InsertFeedback(f.Source, s.Sealer.Hash(delivery.FeedbackPurpose, []byte(f.Source+"\x00"+f.ID)))
	if errors.Is(err, db.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if err := s.noteSource(tx, f.Source); err != nil {
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
	r.findRecipient()
	return true, s.applyReport(tx, &r)
}

// noteSource stores that a provider has reported events, once for each run of the server.
func (s *Service) noteSource(tx *db.Tx, source string) error {
	if _, known := s.reporting.Load(source); known {
		return nil
	}
	if err := tx.SetSetting(base.FeedbackSetting(source), []byte(app.FormatTime(tx.Now))); err != nil {
		return fmt.Errorf("note that %s reports: %w", source, err)
	}
	tx.AfterCommit(func() { s.reporting.Store(source, true) })
	return nil
}

// findSubject finds the email of a report: by our id in it, by the id that the relay gave the
// message, or by its Message-ID, which begins with our id or, if the provider rewrote it, with the
// provider's. Error: db.ErrNotFound.
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

// subject returns what a report can be about: an email or the email of a broadcast's recipient, by
// the id in its message. Error: db.ErrNotFound.
func subject(r *db.Reader, id string) (*db.Subject, error) {
	id, ok := app.ParseID(id)
	if !ok {
		return nil, db.ErrNotFound
	}
	return r.Subject(id)
}

// report is a report and its email.
type report struct {
	feedback.Report
	subject   *db.Subject
	recipient *db.Recipient // recipient that it names; nil: none, or not a recipient of the email
	erased    bool          // the address was erased: the report's text is not kept
}

// findRecipient finds the recipient of the report. A report without a recipient is about the only
// one. An address that is not in the envelope may be that of an erased recipient; else the mail was
// forwarded, and the report says nothing of our recipients.
func (r *report) findRecipient() {
	all := r.subject.Recipients
	key := app.KeyOf(r.Recipient)
	at := slices.IndexFunc(all, func(v db.Recipient) bool { return app.KeyOf(v.Address) == key })
	erased := func(v db.Recipient) bool { return v.Address == app.Erased }
	switch {
	case at >= 0:
	case key.IsZero() && len(all) == 1:
		at = 0
	case !key.IsZero() && slices.ContainsFunc(all, erased):
		r.erased = true
		if at = slices.IndexFunc(all, erased); slices.ContainsFunc(all[at+1:], erased) {
			at = -1
		}
	}
	if at >= 0 {
		r.recipient = &all[at]
	}
	r.Recipient = key.String()
	if slices.ContainsFunc(all, erased) {
		r.Diagnostic = "" // the server's text often repeats the address
	}
}

// applyReport records the event and its consequences.
func (s *Service) applyReport(tx *db.Tx, r *report) error {
	ev, shown, err := r.event(tx)
	if err != nil {
		return err
	}
	if ev.Hidden = r.subject.Hidden; ev.Hidden {
		ev.Domain = "" // not counted
	}
	if shown {
		if err := tx.InsertEvent(ev); err != nil {
			return fmt.Errorf("insert event: %w", err)
		}
		if err := s.announceReport(tx, &ev); err != nil {
			return fmt.Errorf("announce report: %w", err)
		}
	}
	lastEvent := lastEventOf(ev.Type)
	if r.subject.BroadcastID == "" {
		if err := tx.SetLastEvent(ev.EmailID, lastEvent); err != nil {
			return fmt.Errorf("move last_event: %w", err)
		}
		if r.recipient != nil && !r.subject.Hidden {
			tx.NoteActivity(r.subject.TeamID, s.delivery.Sealer.AddressHash(r.subject.TeamID, app.KeyOf(r.recipient.Address)), ev.Type, ev.CreatedAt)
		}
	}
	waited, err := r.moveRecipients(tx, lastEvent, feedback.RecipientState(ev.Type))
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
	if r.subject.ForwardID != "" {
		return s.noteForward(tx, r, lastEvent)
	}
	return s.suppressReported(tx, r)
}

// noteForward tells what a report says about the destination of a forwarded mail. Such reports suppress nobody: what is
// refused, or called spam, is what a stranger wrote.
func (s *Service) noteForward(tx *db.Tx, r *report, result app.LastEvent) error {
	switch {
	case r.notRecipient(), r.Kind == feedback.Bounced && r.Bounce != app.BouncePermanent, r.Unauthenticated:
		return nil
	case r.Kind == feedback.Delivered, r.Kind == feedback.Bounced, r.Kind == feedback.Complained:
		return s.mail.OnForward(tx, r.subject.TeamID, r.subject.ForwardID, result)
	}
	return nil
}

// lastEventOf returns the last_event that an event leads to. A prefetch only proves that the relay
// accepted the mail.
func lastEventOf(t app.EventType) app.LastEvent {
	if t == app.EventPrefetched {
		return app.Sent
	}
	return app.LastEvent(t)
}

// moveRecipients moves the reported recipients to the new state, unless theirs has a higher rank,
// and returns how many of them had no result until now. A message that the provider dropped is
// dropped for all recipients.
func (r *report) moveRecipients(tx *db.Tx, lastEvent app.LastEvent, state app.LastEvent) (waited int, err error) {
	about := []*db.Recipient{r.recipient}
	if r.recipient == nil {
		about = nil
		if r.Kind == feedback.Failed && r.Recipient == "" {
			for i := range r.subject.Recipients {
				about = append(about, &r.subject.Recipients[i])
			}
		}
	}
	for _, v := range about {
		if err := tx.MoveRecipient(r.subject, v, lastEvent, app.NextLastEvent(v.State, state)); err != nil {
			return 0, err
		}
		if v.State == app.Queued {
			waited++
		}
	}
	return waited, nil
}

// settleByReport ends the open work on the reported recipients: it deletes a unit without other
// open recipients, with its doubts, and outdates a running attempt otherwise. A committed unit is
// left to its result.
func settleByReport(tx *db.Tx, s *db.Subject) error {
	u, committed, err := tx.OpenUnit(s.TeamID, s.EmailID)
	if errors.Is(err, db.ErrNotFound) || committed {
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

// suppressReported suppresses the recipient if the report requires it. Only recipients of the email
// are suppressed.
func (s *Service) suppressReported(tx *db.Tx, r *report) error {
	if !feedback.Suppresses(r.Report) {
		return nil
	}
	address, listed := app.KeyOf(r.Recipient), ""
	switch {
	case r.erased: // suppressed by hash, without its address
	case r.recipient == nil || r.recipient.Address == app.Erased:
		return nil
	default:
		address, listed = app.KeyOf(r.recipient.Address), strings.ToLower(r.recipient.Address)
	}
	if r.subject.Hidden {
		return s.audience.SuppressUnseen(tx, r.subject.TeamID, r.subject.EmailID, address, r.Kind.SuppressionOrigin())
	}
	return s.audience.SuppressForEmail(tx, r.subject.TeamID, r.subject.EmailID, address, listed, r.Kind.SuppressionOrigin())
}

// PurgeFeedback deletes old reports and provider ids.
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
