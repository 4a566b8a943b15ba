package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/app/rules/render"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// SendOptions are the options of a send besides its body.
type SendOptions struct {
	IdempotencyKey string // empty: none
	Payload        []byte // canonical form of the body, which idempotency compares
}

// Delivery is what acceptance needs of package delivery.
type Delivery interface {
	// SendsRegion reports whether this process sends the mail of a region.
	SendsRegion(region string) bool
	// MarkUnroutable records for timelines that accepted mail waits for a region without a relay.
	// It runs inside Write.
	MarkUnroutable(tx *db.Tx, region string) error
	// Wake makes the queues of a region look for due mail of every kind, and WakeMail one queue for
	// transactional mail only. Neither blocks.
	Wake(region string)
	WakeMail(queue string)
}

// Operations in the idempotency table.
const (
	routeEmails = "POST /emails"
	routeBatch  = "POST /emails/batch"
)

// SendEmail accepts one email and returns its id once the email is safe on disk. Errors, in the
// order of the checks: CodeServiceUnavailable, CodeValidation, CodeRestrictedAPIKey, those of
// idempotency, CodeNotFound for topic or template, CodeValidation for the from-domain,
// CodeSendingPaused, CodePayloadTooLarge, CodeAllRecipientsSuppressed, CodeDailyQuotaExceeded,
// CodeMonthlyQuotaExceeded.
func (s *Service) SendEmail(ctx context.Context, key *app.Key, in *app.EmailInput, opts SendOptions) (string, error) {
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return "", err
	}
	in = s.withCompat(in)
	email, err := s.prepare(key, in)
	if err != nil {
		return "", err
	}
	begin := s.claimInWrite
	if in.Template != nil || email.FetchesAttachments() {
		begin = s.claimIdempotency
	}
	claim, answer, err := begin(ctx, key, routeEmails, opts)
	if err != nil || answer != "" {
		return answer, err
	}
	defer claim.release()
	if in.Template != nil {
		r := s.NewRenderer(key)
		defer r.Close()
		if email, err = r.email(ctx, in); err != nil {
			return "", err
		}
	}
	if email.FetchesAttachments() {
		release, err := s.fetchAttachments(ctx, email)
		if err != nil {
			return "", err
		}
		defer release()
	}
	return s.acceptOne(ctx, claim, email, nil)
}

// acceptOne accepts one email in a Write of its own, with events (nil: no more than those of
// Accept), and returns its id, or the stored answer of its idempotency key.
func (s *Service) acceptOne(ctx context.Context, claim *idempotencyClaim, email *app.Email, events func(tx *db.Tx) error) (id string, err error) {
	answer := ""
	queries := func(r *db.Reader) {
		_, _ = claim.storedAnswer(r, time.Time{})
		s.nameQueries(r, email)
	}
	err = s.DB.Write(db.Prefetch(ctx, queries), func(tx *db.Tx) (err error) {
		if answer, err = claim.storedAnswer(&tx.Reader, tx.Now); err != nil || answer != "" {
			return err
		}
		if err := s.Accept(tx, email); err != nil {
			return err
		}
		if events != nil {
			if err := events(tx); err != nil {
				return err
			}
		}
		return claim.keep(tx, email.ID)
	})
	if err != nil {
		return claim.resolveFailure(ctx, s, s.refusal(ctx, email, err))
	}
	return cmp.Or(answer, email.ID), nil
}

// withCompat returns an input with the compatibility mode of this server, and whether it fetches
// attachments.
func (s *Service) withCompat(in *app.EmailInput) *app.EmailInput {
	out := *in
	rules := s.AttachmentRules()
	out.Compat, out.FetchAttachments = rules.Compat, rules.Fetch
	return &out
}

// AttachmentRules returns the rules of this server for files.
func (s *Service) AttachmentRules() app.AttachmentRules {
	return app.AttachmentRules{Compat: s.Compat(), Fetch: s.FetchFiles != nil}
}

// prepare makes the email of a send, after the checks that come before idempotency. For a send with
// a template it returns nil: a renderer makes the email.
func (s *Service) prepare(key *app.Key, in *app.EmailInput) (*app.Email, error) {
	complete := in
	if in.Template != nil {
		var err error
		if complete, err = render.SampleValue(in, key.DomainName); err != nil {
			return nil, err
		}
	}
	email, err := NewEmail(key, complete)
	if err != nil || in.Template != nil {
		return nil, err
	}
	return email, s.addPageLink(email)
}

// NewEmail makes the email of a send, after the checks that need no database: shape, then the key's
// domain.
func NewEmail(key *app.Key, in *app.EmailInput) (*app.Email, error) {
	mail, err := in.Validate()
	if err != nil {
		return nil, err
	}
	return newEmail(key, in, mail)
}

// newEmail makes the email of a validated mail. It uses only the schedule and the expiry of in.
func newEmail(key *app.Key, in *app.EmailInput, mail *app.Mail) (email *app.Email, err error) {
	now := clock.Now()
	id := app.NewID()
	email = &app.Email{
		ID: id, TeamID: key.TeamID, KeyID: key.ID, Source: sourceOf(key), MessageID: app.EmailMessageID(id, mail.From.Domain),
		CreatedAt: now, LastEvent: app.Queued, Mail: *mail,
	}
	if in.ScheduledAt != "" {
		if email.ScheduledAt, err = schedule.Parse(in.ScheduledAt, now); err != nil {
			return nil, app.Invalid("scheduled_at", "%s", err)
		}
		if email.ScheduledAt.After(now) {
			email.LastEvent = app.Scheduled
		}
	}
	if email.ExpiresIn, err = expiresIn(in.ExpiresIn); err != nil {
		return nil, err
	}
	if key.DomainName != "" && mail.From.Domain != key.DomainName {
		return nil, app.Errorf(app.CodeRestrictedAPIKey, "This API key may send only from addresses of %s", key.DomainName)
	}
	return email, nil
}

// expiresIn parses how long an email is tried; an empty text selects the default of the relay.
func expiresIn(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := schedule.ParseSpan(text)
	if err != nil {
		return 0, app.Invalid("expires_in", "%s", err)
	}
	if d < app.MinExpiresIn || d > app.MaxExpiresIn {
		return 0, app.Invalid("expires_in", "must be %dm to %dd", app.MinExpiresIn/time.Minute, app.MaxExpiresIn/(24*time.Hour))
	}
	return d, nil
}

// Accept checks that an email may be sent, and writes it with its unit and events. It runs inside
// Write. An *app.Error is returned before anything is written.
func (s *Service) Accept(tx *db.Tx, email *app.Email) error {
	recipients := envelopeOf(email)
	domain, blocked, err := s.checkSendable(&tx.Reader, email, recipients)
	if err != nil {
		return err
	}
	open, asOf := blocked.Allowed(recipients), tx.SuppressionVersion()
	if blocked.BlocksAll(email.To) && email.Raw == nil || len(open) == 0 {
		return app.Errorf(app.CodeAllRecipientsSuppressed, "All recipients are suppressed")
	}
	charge := s.teams.Charge
	if email.ForOptIn != "" {
		charge = s.teams.CheckUncounted
	}
	charged, err := charge(tx, email, int64(len(open)))
	if err != nil {
		return err
	}
	email.Tracking = s.trackingOf(email, &domain)
	if domain.ReplyAddresses && len(email.ReplyTo) == 0 && email.ForOptIn == "" && email.ReplyAddress.Domain != "" {
		email.ReplyTo = []app.Address{email.ReplyAddress}
	}
	if email.Insights != nil {
		email.Insights = email.Insights.ForDomain(email.From.Domain, domain.NoDMARC, email.Tracking)
	}
	unit := app.Unit{EmailID: email.ID, TeamID: email.TeamID, TopicID: email.TopicID, Relay: email.Relay, Domain: email.From.Domain, NextAt: charged.At, Size: composedSize(email),
		QuotaOwed: charged.Owed, QuotaDelayed: charged.Late, ExpiresIn: email.ExpiresIn, Automated: email.Automated}
	routes := s.route(unit, email.KeyID, open)
	email.Routed = routes.words()
	if err := tx.InsertEmail(email, recipients); err != nil {
		return err
	}
	routes.set(&unit)
	if err := routes.insertUnit(tx, unit); err != nil {
		return fmt.Errorf("insert unit: %w", err)
	}
	if err := s.LeaveOut(tx, unit, recipients, blocked); err != nil {
		return err
	}
	if unit.QuotaDelayed && unit.NextAt.After(tx.Now) {
		if err := tx.InsertEvent(QuotaWait(tx, unit)); err != nil {
			return err
		}
	}
	if email.LastEvent == app.Scheduled {
		if err := s.AnnounceEmail(tx, email.TeamID, webhook.EmailScheduled, email.ID, webhook.EmailExtra{}); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() { s.Metrics.Accepted(1) })
	return s.handToDelivery(tx, email, unit, AcceptedState{open, asOf})
}

// composedSize returns the memory that an email needs while it is sent. A tracked raw message is in
// memory twice.
func composedSize(email *app.Email) int64 {
	n := email.Size()
	if email.Tracking != nil {
		n += int64(len(email.Raw))
	}
	return n
}

// handToDelivery wakes the queue of a new unit. Without a relay it marks the unit as unroutable in
// the timeline.
func (s *Service) handToDelivery(tx *db.Tx, email *app.Email, unit app.Unit, state AcceptedState) error {
	if !s.Delivery.SendsRegion(unit.Relay) {
		return s.Delivery.MarkUnroutable(tx, unit.Relay)
	}
	tx.AfterCommit(func() {
		if unit.QuotaOwed == 0 && unit.Part == "" {
			s.recent.put(email, state)
		}
		s.Delivery.WakeMail(unit.Relay)
	})
	return nil
}

// checkSendable checks that the team may send an email now, and sets its relay. It returns the
// domain (as DomainStatus does) and the blocked recipients.
func (s *Service) checkSendable(r *db.Reader, email *app.Email, recipients []string) (domain app.Domain, blocked app.Blocked, err error) {
	if email.TopicID != "" {
		if err := base.Lookup("topic", r.TopicExists(email.TeamID, email.TopicID)); err != nil {
			return domain, nil, err
		}
	}
	if email.Relay, domain, err = s.SendingRegion(r, email.TeamID, email.From.Domain); err != nil {
		return domain, nil, err
	}
	if err := s.MayAccept(r, email.TeamID); err != nil {
		return domain, nil, err
	}
	if err := s.teams.CheckAttachments(r, email.TeamID, email.Attachments); err != nil {
		return domain, nil, err
	}
	if email.Source != SourceAccount {
		blocked, err = s.blockedRecipients(r, email, recipients)
	}
	return domain, blocked, err
}

// nameQueries runs the queries of checkSendable, for db.Prefetch.
func (s *Service) nameQueries(r *db.Reader, email *app.Email) {
	if email.TopicID != "" {
		_ = r.TopicExists(email.TeamID, email.TopicID)
	}
	_, _ = r.DomainStatus(email.TeamID, email.From.Domain)
	_ = s.MayAccept(r, email.TeamID)
	if email.Source != SourceAccount {
		_, _ = s.blockedRecipients(r, email, envelopeOf(email))
	}
}

// SendingRegion checks that a team may send from a domain. It returns the relay of the domain's
// mail, and the domain as DomainStatus does.
func (s *Service) SendingRegion(r *db.Reader, teamID, domain string) (string, app.Domain, error) {
	d, err := r.DomainStatus(teamID, domain)
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return "", d, err
	case s.Settings.Capture:
		return app.CaptureRegion, d, nil
	case err != nil:
		refusal := app.Invalid("from", "uses the domain %s, which this team has not added; add it with `mailer domains add %s`", domain, domain)
		refusal.Err = &app.UnverifiedDomain{TeamID: teamID, Name: domain}
		return "", d, refusal
	case d.Status != app.DomainVerified:
		return "", d, d.Unverified()
	}
	return s.Settings.RegionOf(d.Region), d, nil
}

// refusal returns the error of a send whose Write failed, as the client sees it.
func (s *Service) refusal(ctx context.Context, email *app.Email, failed error) error {
	return s.Unsent.recordRefusal(ctx, email, s.Explain(ctx, base.Unavailable(failed)))
}

// Explain adds the next step to the error for an unverified domain, and returns other errors as they
// are. It is called after the Write that failed.
func (s *Service) Explain(ctx context.Context, failed error) error {
	var cause *app.UnverifiedDomain
	if !errors.As(failed, &cause) {
		return failed
	}
	explained := failed
	// Without the next step the error still says what is wrong.
	_ = s.DB.Read(ctx, func(r *db.Reader) error {
		explained = s.explain(r, failed)
		return nil
	})
	return explained
}

// explain is Explain inside a Read or Write.
func (s *Service) explain(r *db.Reader, failed error) error {
	var refusal *app.Error
	var cause *app.UnverifiedDomain
	if !errors.As(failed, &refusal) || !errors.As(refusal.Err, &cause) {
		return failed
	}
	d, err := r.DomainByName(cause.TeamID, cause.Name)
	if err != nil { // deleted meanwhile
		return failed
	}
	return &app.Error{Code: refusal.Code, Message: refusal.Message + ": " + d.VerifySteps(s.domains.DomainRecords(&d))}
}

// ListEmails returns a page of the team's emails, newest first, without content, and whether there
// are more.
func (s *Service) ListEmails(ctx context.Context, key *app.Key, page app.Page) (emails []app.Email, more bool, err error) {
	emails, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Email, bool, error) { return r.ListEmails(key.TeamID, page) })
	return emails, more, base.Cursor(page, err)
}

// GetEmail returns one email with its bodies and the metadata of its attachments. An email of a
// broadcast is rendered for its recipient. Errors: CodeNotFound.
func (s *Service) GetEmail(ctx context.Context, key *app.Key, id string) (email *app.Email, err error) {
	email, err = base.GetWithinBudget(ctx, s.DB,
		func(r *db.Reader) (int64, error) { return r.EmailSize(key.TeamID, id) },
		func(r *db.Reader) (*app.Email, error) { return r.Email(key.TeamID, id) })
	if errors.Is(err, db.ErrNotFound) {
		email, err = s.broadcastEmail(ctx, key.TeamID, id)
	}
	return email, base.Lookup("email", err)
}

// GetCaptured returns the complete message that capture mode stored, or a submitted message as it
// is sent, without signature and tracking. Errors: CodeNotFound without either.
func (s *Service) GetCaptured(ctx context.Context, key *app.Key, emailID string) ([]byte, error) {
	message, err := base.GetWithinBudget(ctx, s.DB,
		func(r *db.Reader) (int64, error) { return r.CaptureSize(key.TeamID, emailID) },
		func(r *db.Reader) ([]byte, error) {
			message, err := r.Capture(key.TeamID, emailID)
			if errors.Is(err, db.ErrNotFound) {
				message, err = r.BroadcastCapture(key.TeamID, emailID)
			}
			return message, err
		})
	if errors.Is(err, db.ErrNotFound) {
		message, err = s.Submissions.raw(ctx, key.TeamID, emailID)
	}
	return message, s.lookupContent(ctx, key.TeamID, emailID, "captured message", err)
}

// lookupContent is base.Lookup for a part of an email's content. If the content was deleted, the
// error says why.
func (s *Service) lookupContent(ctx context.Context, teamID, emailID, kind string, err error) error {
	if !errors.Is(err, db.ErrNotFound) {
		return base.Lookup(kind, err)
	}
	email, rowErr := db.Get(ctx, s.DB, func(r *db.Reader) (*app.Email, error) { return r.EmailRow(teamID, emailID) })
	if rowErr != nil || email.ContentDeletedAt.IsZero() {
		return base.Lookup(kind, err)
	}
	return errContentDeleted(email)
}

// addPageLink sets the unsubscribe URL of an email that needs one. It is the same for all attempts.
// With one recipient the link applies to that address, with several to each of them. Then the email
// is complete, and addPageLink sets its reply address and its insights. Errors: CodeValidation if the base URL is
// unknown, since no server has run yet.
func (s *Service) addPageLink(email *app.Email) error {
	s.setReplyAddress(email)
	if !email.NeedsUnsubscribePage() {
		s.Inspect(email)
		return nil
	}
	return s.setPageLink(email)
}

// setReplyAddress sets the reply address of an email that has no Reply-To. Whether the email gets it is known when it is
// accepted. Submitted messages never do.
func (s *Service) setReplyAddress(email *app.Email) {
	if email.Raw != nil || email.Source == SourceSMTP || email.Source == SourceAccount || len(email.ReplyTo) > 0 {
		return
	}
	path := app.ReturnPath{EmailID: email.ID, Recipient: app.AllRecipients}
	if len(envelopeOf(email)) == 1 {
		path.Recipient = 0
	}
	email.ReplyAddress = s.Sealer.ReplyAddress(email.From.Domain, path)
}

// setPageLink is addPageLink for an email that needs the URL.
func (s *Service) setPageLink(email *app.Email) error {
	base := s.Settings.BaseURL
	if base == "" {
		return app.Errorf(app.CodeValidation, "This email needs an unsubscribe link, and where the pages of this server are reached is not known before `mailer serve` ran on its database")
	}
	link := app.PageLink{TeamID: email.TeamID, TopicID: email.TopicID, Source: email.ID}
	if recipients := envelopeOf(email); len(recipients) == 1 {
		link.Address = s.Sealer.AddressHash(email.TeamID, app.KeyOf(recipients[0]))
	}
	email.Unsubscribe = s.Sealer.UnsubscribeURL(base, link)
	s.Inspect(email)
	return nil
}
