package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/render"
	"mailer/app/schedule"
	"mailer/db"
)

// SendOptions are what a send carries beside its body.
type SendOptions struct {
	IdempotencyKey string // empty: none
	Payload        []byte // canonical form of the body, what idempotency compares
}

// Outlet is what accepting needs to know of delivery.
type Outlet interface {
	// Carries reports whether this process sends the mail of a region.
	Carries(region string) bool
	// Region returns the region whose relay carries the mail of domains in a
	// region: the default one where its own is no longer configured.
	Region(region string) string
	// Wake has the lane of a region look for due mail of every kind; WakeMail for
	// transactional mail alone. Neither blocks.
	Wake(region string)
	WakeMail(region string)
	// MayAccept refuses what a paused team sends. Errors: CodeSendingPaused.
	MayAccept(r *db.Reader, teamID string) error
}

// The operations in the idempotency table.
const (
	routeEmails = "POST /emails"
	routeBatch  = "POST /emails/batch"
)

// SendEmail accepts one email and answers its id once it is safe on disk. The
// checks come in the order of decisions.md 4. Errors: CodeValidation,
// CodeRestrictedAPIKey, CodeNotFound for topic or template, CodeSendingPaused, CodePayloadTooLarge,
// CodeAllRecipientsSuppressed, CodeDailyQuotaExceeded, CodeMonthlyQuotaExceeded,
// those of idempotency, and CodeServiceUnavailable.
func (e *Engine) SendEmail(ctx context.Context, key *app.Key, in *app.EmailInput, opts SendOptions) (string, error) {
	defer e.cfg.Load.Enter()()
	if err := e.Ready(); err != nil {
		return "", err
	}
	email, err := e.prepare(key, in)
	if err != nil {
		return "", err
	}
	claim, answer, err := e.claimIdempotency(ctx, key.TeamID, routeEmails, opts)
	if err != nil || answer != "" {
		return answer, err
	}
	defer claim.release()
	if in.Template != nil {
		r := e.newRenderer(key)
		defer r.close()
		if email, err = r.email(ctx, in); err != nil {
			return "", err
		}
	}
	err = e.db.Write(ctx, func(tx *db.Tx) error {
		if err := e.accept(tx, email); err != nil {
			return err
		}
		return claim.keep(tx, email.ID)
	})
	if err != nil {
		return "", unavailable(err)
	}
	return email.ID, nil
}

// prepare makes the email of a send, after the checks that come before
// idempotency. Of a send that names a template there is none yet: a renderer
// makes it.
func (e *Engine) prepare(key *app.Key, in *app.EmailInput) (*app.Email, error) {
	whole := in
	if in.Template != nil {
		var err error
		if whole, err = render.StandIn(in, key.DomainName); err != nil {
			return nil, err
		}
	}
	email, err := newEmail(key, whole)
	if err != nil || in.Template != nil {
		return nil, err
	}
	return email, e.linkToPage(email)
}

// newEmail makes an email of a send, after the checks that need no database:
// shape, then the key's domain.
func newEmail(key *app.Key, in *app.EmailInput) (*app.Email, error) {
	mail, err := in.Validate()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	id := app.NewID()
	email := &app.Email{
		ID: id, TeamID: key.TeamID, KeyID: key.ID, MessageID: app.EmailMessageID(id, mail.From.Domain),
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
	if key.DomainName != "" && mail.From.Domain != key.DomainName {
		return nil, app.Errorf(app.CodeRestrictedAPIKey, "This API key may send only from addresses of %s", key.DomainName)
	}
	return email, nil
}

// dueAt is when an email may leave.
func dueAt(email *app.Email) time.Time {
	if email.LastEvent == app.Scheduled {
		return email.ScheduledAt
	}
	return email.CreatedAt
}

// accept proves that an email may be sent and writes it with all that belongs
// to it. It runs inside Write; an *app.Error comes before anything is written.
func (e *Engine) accept(tx *db.Tx, email *app.Email) error {
	domain, err := e.admit(&tx.Reader, email)
	if err != nil {
		return err
	}
	recipients := email.Recipients()
	blocked, err := e.blockedAmong(&tx.Reader, email.TeamID, email.TopicID, recipients)
	if err != nil {
		return err
	}
	if blocked.Refuses(email.To) {
		return app.Errorf(app.CodeAllRecipientsSuppressed, "All recipients are suppressed")
	}
	open := blocked.Open(recipients)
	charged, err := e.charge(tx, email, int64(len(open)))
	if err != nil {
		return err
	}
	email.Tracking = e.trackingOf(email, &domain)
	if email.Insights != nil {
		email.Insights = email.Insights.SentBy(email.From.Domain, domain.NoDMARC, email.Tracking)
	}
	if err := tx.InsertEmail(email, recipients); err != nil {
		return err
	}
	unit := app.Unit{EmailID: email.ID, TeamID: email.TeamID, TopicID: email.TopicID, Relay: email.Relay, NextAt: charged.at, Size: email.Size(),
		Owed: charged.owed, Late: charged.late}
	if err := tx.InsertUnit(unit); err != nil {
		return fmt.Errorf("insert unit: %w", err)
	}
	if err := e.leaveOut(tx, unit, recipients, blocked); err != nil {
		return err
	}
	if unit.Late && unit.NextAt.After(tx.Now) {
		if err := tx.InsertEvent(quotaWait(tx, unit)); err != nil {
			return err
		}
	}
	if email.LastEvent == app.Scheduled {
		if err := e.announceEmail(tx, email.TeamID, app.EmailScheduled, email.ID, app.EmailExtra{}); err != nil {
			return err
		}
	}
	if e.outlet.Carries(email.Relay) {
		tx.AfterCommit(func() {
			if unit.Owed == 0 {
				e.fresh.put(email, open)
			}
			e.outlet.WakeMail(email.Relay)
		})
	}
	return nil
}

// admit proves that the team may send an email now, whoever its recipients are, and
// gives it its relay. It answers what DomainStatus tells of its domain.
func (e *Engine) admit(r *db.Reader, email *app.Email) (app.Domain, error) {
	if email.TopicID != "" {
		if err := r.TopicExists(email.TeamID, email.TopicID); err != nil {
			return app.Domain{}, lookup("topic", err)
		}
	}
	region, domain, err := e.sendingRegion(r, email.TeamID, email.From.Domain)
	if err != nil {
		return domain, err
	}
	if err := e.outlet.MayAccept(r, email.TeamID); err != nil {
		return domain, err
	}
	email.Relay = region
	return domain, e.attachmentsFit(r, email)
}

// sendingRegion proves that a team may send from a domain and gives the relay
// that its mail leaves through, and what DomainStatus tells of the domain.
func (e *Engine) sendingRegion(r *db.Reader, teamID, domain string) (string, app.Domain, error) {
	d, err := r.DomainStatus(teamID, domain)
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return "", d, err
	case e.server.Capture:
		return app.CaptureRegion, d, nil
	case err != nil:
		return "", d, app.Invalid("from", "uses the domain %s, which this team has not added; add it with `mailer domains add %s`", domain, domain)
	case d.Status != app.DomainVerified:
		return "", d, e.unverified(r, teamID, domain)
	}
	return e.outlet.Region(d.Region), d, nil
}

// unverified says why nothing may be sent from a domain yet.
func (e *Engine) unverified(r *db.Reader, teamID, name string) error {
	d, err := r.DomainByName(teamID, name)
	if err != nil {
		return err
	}
	return d.Unverified(e.DomainRecords(&d))
}

// ListEmails gives a page of the team's emails, newest first, without bodies
// and attachments, and whether there are more.
func (e *Engine) ListEmails(ctx context.Context, key *app.Key, page app.Page) (emails []app.Email, more bool, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		emails, more, err = r.ListEmails(key.TeamID, page)
		return err
	})
	return emails, more, cursor(page, err)
}

// cursor words a cursor that the list does not hold.
func cursor(page app.Page, err error) error {
	if !errors.Is(err, db.ErrNotFound) {
		return unavailable(err)
	}
	if page.Before != "" {
		return app.Invalid("before", "must be an id that this list returned")
	}
	return app.Invalid("after", "must be an id that this list returned")
}

// GetEmail gives one email with its bodies and the metadata of its attachments.
// An email to a recipient of a broadcast is as it leaves to that recipient.
func (e *Engine) GetEmail(ctx context.Context, key *app.Key, id string) (email *app.Email, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		email, err = r.Email(key.TeamID, id)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		email, err = e.broadcastEmail(ctx, key.TeamID, id)
	}
	return email, lookup("email", err)
}

// ListAttachments gives a page of the metadata of an email's attachments.
func (e *Engine) ListAttachments(ctx context.Context, key *app.Key, emailID string, page app.Page) (rows []app.Attachment, more bool, err error) {
	email, err := e.GetEmail(ctx, key, emailID)
	if err != nil {
		return nil, false, err
	}
	if email.BroadcastID != "" {
		return cut(rows, page, func(a *app.Attachment) string { return a.ID })
	}
	err = e.db.Read(ctx, func(r *db.Reader) error {
		rows, more, err = r.ListAttachments(key.TeamID, emailID, page)
		return err
	})
	return rows, more, cursor(page, err)
}

// GetAttachment gives the metadata of one attachment.
func (e *Engine) GetAttachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error) {
	return e.attachment(ctx, key.TeamID, emailID, id, false)
}

func (e *Engine) attachment(ctx context.Context, teamID, emailID, id string, content bool) (a *app.Attachment, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		a, err = r.Attachment(teamID, emailID, id, content)
		return err
	})
	return a, lookup("attachment", err)
}

// downloadTTL is how long a download address works.
const downloadTTL = time.Hour

const downloadPurpose = "attachment v1"

// AttachmentToken makes the signed part of a download address and says when it
// ends. It holds ids and a time, and its MAC.
func (e *Engine) AttachmentToken(key *app.Key, emailID, id string) (token string, expires time.Time) {
	expires = time.Now().Add(downloadTTL).Truncate(time.Second)
	message := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	message = append(message, key.TeamID+emailID+id...)
	return base64.RawURLEncoding.EncodeToString(append(message, e.cfg.Sealer.MAC(downloadPurpose, message)...)), expires
}

// OpenAttachment gives the attachment that a download token names, with its
// content. Errors: CodeNotFound for a forged or ended token.
func (e *Engine) OpenAttachment(ctx context.Context, token string) (*app.Attachment, error) {
	const idLen, macLen = 36, 16
	raw, err := app.DecodeToken(token)
	if err != nil || len(raw) != 8+3*idLen+macLen {
		return nil, app.NotFound("attachment")
	}
	message, mac := raw[:len(raw)-macLen], raw[len(raw)-macLen:]
	if !e.cfg.Sealer.VerifyMAC(downloadPurpose, message, mac) || time.Now().Unix() > int64(binary.BigEndian.Uint64(message)) {
		return nil, app.NotFound("attachment")
	}
	ids := string(message[8:])
	return e.attachment(ctx, ids[:idLen], ids[idLen:2*idLen], ids[2*idLen:], true)
}

// GetCaptured gives the whole message as the capture transport kept it. Errors:
// CodeNotFound where nothing was captured.
func (e *Engine) GetCaptured(ctx context.Context, key *app.Key, emailID string) (message []byte, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		if message, err = r.Capture(key.TeamID, emailID); errors.Is(err, db.ErrNotFound) {
			message, err = r.BroadcastCapture(key.TeamID, emailID)
		}
		return err
	})
	return message, lookup("captured message", err)
}
