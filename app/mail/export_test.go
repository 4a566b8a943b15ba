package mail

import (
	"context"

	"mailer/app"
	"mailer/app/tracking"
	"mailer/app/webhook"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Attachment(a0 context.Context, a1 string, a2 string, a3 string, a4 bool) (a *app.Attachment, err error) {
	return x.attachment(a0, a1, a2, a3, a4)
}

func (x *Service) EmailData(a0 *db.Tx, a1 string, a2 string) (webhook.EmailData, error) {
	return x.emailData(a0, a1, a2)
}

// ForgetMails drops the compiled contents of broadcasts.
func (x *Service) ForgetMails() { x.mails = broadcastMails{} }

func (x *Service) RecordFetch(a0 *db.Tx, a1 *tracking.Hit, a2 db.TrackedEmail, a3 app.EventType, a4 string) error {
	return x.recordFetch(a0, a1, a2, a3, a4)
}

func (x *Service) Renders() renders { return x.renders }

func (x *Service) Track() { x.track() }

var BounceSubType = bounceSubType

type IdempotencyClaim = idempotencyClaim

func (x *idempotencyClaim) Keep(a0 *db.Tx, a1 string) error { return x.keep(a0, a1) }

type Inflight = inflight

const JudgeEvery = judgeEvery

const LargeRenders = largeRenders

func (x *renderer) Content(a0 context.Context, a1 string) (*app.TemplateContent, error) {
	return x.content(a0, a1)
}

func (x *renderer) Fill(a0 context.Context, a1 *app.EmailInput, a2 *app.TemplateContent) (*app.EmailInput, error) {
	return x.fill(a0, a1, a2)
}

const RouteEmails = routeEmails

const TrackQueue = trackQueue

// NewIdempotencyClaim is a claim that nobody else can hold.
func NewIdempotencyClaim(team, route, key string, hash [32]byte) *idempotencyClaim {
	return &idempotencyClaim{owner: &inflight{}, team: team, route: route, key: key, hash: hash}
}
