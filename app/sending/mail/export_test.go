package mail

import (
	"context"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// Exports for the external tests of this package.

const (
	JudgeEvery   = judgeEvery
	LargeRenders = largeRenders
	RouteEmails  = routeEmails
	TrackQueue   = trackQueue
)

// NewIdempotencyClaim returns a claim that no other send can hold.
func NewIdempotencyClaim(team, route, key string, hash [32]byte) *idempotencyClaim {
	return &idempotencyClaim{owner: &inflight{}, key: db.IdempotencyKey{TeamID: team, Route: route, Key: key}, hash: hash}
}

func (c *idempotencyClaim) Keep(tx *db.Tx, answer string) error { return c.keep(tx, answer) }

func (r *renderer) Content(ctx context.Context, name string) (*app.TemplateContent, error) {
	return r.content(ctx, name)
}

func (r *renderer) Fill(ctx context.Context, in *app.EmailInput, c *app.TemplateContent) (*app.EmailInput, error) {
	return r.fill(ctx, in, c)
}

// Attachment returns an attachment with its content.
func (s *Service) Attachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error) {
	token, _ := s.AttachmentToken(key, emailID, id)
	d, err := s.OpenAttachment(ctx, token)
	if err != nil {
		return nil, err
	}
	a := d.Attachment
	for a.Content = []byte{}; ; {
		piece, err := d.Next(ctx)
		if err != nil || piece == nil {
			return &a, err
		}
		a.Content = append(a.Content, piece...)
	}
}

func (s *Service) EmailData(tx *db.Tx, teamID, emailID string) (webhook.EmailData, error) {
	return s.emailData(tx, teamID, emailID)
}

// ForgetMails drops the cache of compiled broadcasts.
func (s *Service) ForgetMails() { s.mails = broadcastMails{} }

func (s *Service) RecordHit(tx *db.Tx, hit *tracking.Hit, email db.TrackedEmail, kind app.EventType, reason string) error {
	return s.recordHit(tx, hit, email, kind, reason)
}

func (s *Service) Renders() renders { return s.renders }

func (s *Service) Track() { s.track() }
