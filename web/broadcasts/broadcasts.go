package broadcasts

import (
	"context"
	"fmt"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/pacing"
	"mailer/app/sending/broadcasts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// BroadcastItem is a broadcast without its content.
type BroadcastItem struct {
	ID          string              `json:"id" format:"uuid"`
	Name        string              `json:"name"`
	SegmentID   *string             `json:"segment_id" format:"uuid" doc:"null: all contacts"`
	AudienceID  *string             `json:"audience_id" format:"uuid" doc:"segment_id under its old name"`
	TopicID     *string             `json:"topic_id" format:"uuid"`
	Status      app.BroadcastStatus `json:"status" enum:"draft,scheduled,queued,sent,canceled"`
	CreatedAt   string              `json:"created_at" format:"date-time"`
	ScheduledAt *string             `json:"scheduled_at" format:"date-time"`
	PausedAt    *string             `json:"paused_at" format:"date-time" doc:"Since when a queued broadcast is paused; null: it is not"`
	SentAt      *string             `json:"sent_at" format:"date-time" doc:"When nothing was left to send"`
	SentCount   int64               `json:"sent_count" doc:"Recipients whose mail the relay accepted"`
	FinishesAt  *string             `json:"finishes_at" format:"date-time" doc:"A live estimate of when the last mail leaves; null where none is left to send, while it is paused, or while its relay takes nothing"`
}

// BroadcastRow is a broadcast in a list, with its progress.
type BroadcastRow struct {
	BroadcastItem
	Counts broadcastCounts `json:"counts" doc:"Numbers of recipients, each counted once in each"`
}

// broadcastHead is the answer to changes.
type broadcastHead struct {
	Object string `json:"object" enum:"broadcast"`
	BroadcastItem
	Revision  string              `json:"revision,omitempty" doc:"Names what it says now, for the next change; of what a change of a draft answers alone"`
	Estimated bool                `json:"estimated" enum:"true" doc:"finishes_at is an estimate"`
	Warning   *pacing.PlanWarning `json:"warning,omitempty" doc:"The audience exceeds the capacity available now: a part leaves now (paced), or nothing does (queued_behind)"`
}

type broadcastRecord struct {
	Object string `json:"object" enum:"broadcast"`
	BroadcastItem
	From        string                  `json:"from"`
	Subject     string                  `json:"subject"`
	ReplyTo     []string                `json:"reply_to"`
	PreviewText *string                 `json:"preview_text"`
	HTML        *string                 `json:"html"`
	Text        *string                 `json:"text" doc:"null: made from html when it is sent; an empty string: none"`
	Design      *string                 `json:"design" doc:"JSON text that the visual editor made html of; null: nothing did"`
	Syntax      string                  `json:"syntax" enum:"plain,liquid"`
	Variants    shapes.Variants         `json:"variants" doc:"The broadcast in other languages, by language"`
	Attachments []shapes.AttachmentMeta `json:"attachments" doc:"Without their content"`
	Archive     *bool                   `json:"archive" doc:"In the archive of its topic; null: if it has no segment"`
	Revision    string                  `json:"revision" doc:"Names what it says now, for PATCH"`
	Counts      broadcastCounts         `json:"counts" doc:"Numbers of recipients, each counted once in each"`
	Languages   []languageCounts        `json:"languages" doc:"Numbers of recipients by language; empty without variants, and before it is sent"`
}

// languageCounts are the numbers of recipients in one language.
type languageCounts struct {
	Language        *string `json:"language" doc:"null: the broadcast itself, which recipients without a variant for their language get"`
	Recipients      int64   `json:"recipients"`
	Sent            int64   `json:"sent"`
	DeliveryDelayed int64   `json:"delivery_delayed"`
	Delivered       int64   `json:"delivered"`
	Opened          int64   `json:"opened"`
	Clicked         int64   `json:"clicked"`
	Bounced         int64   `json:"bounced"`
	Complained      int64   `json:"complained"`
	Suppressed      int64   `json:"suppressed"`
	Failed          int64   `json:"failed"`
	Canceled        int64   `json:"canceled"`
	Unsubscribed    int64   `json:"unsubscribed"`
}

func newLanguageCounts(all []app.LanguageCounts) []languageCounts {
	out := make([]languageCounts, len(all))
	for i, l := range all {
		out[i] = languageCounts{
			Language: base.TextOrNull(l.Language), Recipients: l.Recipients, Sent: l.Sent, DeliveryDelayed: l.DeliveryDelayed, Delivered: l.Delivered,
			Opened: l.Opened, Clicked: l.Clicked, Bounced: l.Bounced, Complained: l.Complained, Suppressed: l.Suppressed, Failed: l.Failed,
			Canceled: l.Canceled, Unsubscribed: l.Unsubscribed,
		}
	}
	return out
}

type broadcastCounts struct {
	Recipients      int64 `json:"recipients" doc:"The audience, as counted when the broadcast was sent"`
	Remaining       int64 `json:"remaining" doc:"Of them, those whose turn has not come"`
	Sent            int64 `json:"sent"`
	DeliveryDelayed int64 `json:"delivery_delayed"`
	Delivered       int64 `json:"delivered"`
	Opened          int64 `json:"opened"`
	Clicked         int64 `json:"clicked"`
	Bounced         int64 `json:"bounced"`
	Complained      int64 `json:"complained"`
	Suppressed      int64 `json:"suppressed"`
	Failed          int64 `json:"failed"`
	Canceled        int64 `json:"canceled"`
	Unsubscribed    int64 `json:"unsubscribed"`
}

type removedBroadcast struct {
	Object  string `json:"object" enum:"broadcast"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type canceledBroadcast struct {
	Object            string              `json:"object" enum:"broadcast"`
	ID                string              `json:"id" format:"uuid"`
	Status            app.BroadcastStatus `json:"status" enum:"canceled"`
	CanceledRemaining int64               `json:"canceled_remaining" doc:"Recipients who will not get it"`
}

type testedBroadcast struct {
	Object string                `json:"object" enum:"broadcast"`
	ID     string                `json:"id" format:"uuid"`
	Data   []shapes.CreatedEmail `json:"data" doc:"The emails, in the order of the addresses"`
}

// BroadcastPath is the path parameter of one broadcast.
type BroadcastPath struct {
	ID string `path:"id" doc:"The id of the broadcast" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *BroadcastPath) Resource() (kind string, id *string) { return "broadcast", &p.ID }

type (
	sendBroadcastInput struct {
		BroadcastPath
		shapes.IdempotencyHeader
	}
	broadcastOutput         struct{ Body broadcastHead }
	broadcastRecordOutput   struct{ Body broadcastRecord }
	canceledBroadcastOutput struct{ Body canceledBroadcast }
	testedBroadcastOutput   struct{ Body testedBroadcast }
)

var broadcastTags = []string{"Broadcasts"}

// Routes are the routes of broadcasts.
type Routes struct{ Service *broadcasts.Service }

// Add adds the routes to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-broadcast", Method: http.MethodPost, Path: "/broadcasts", DefaultStatus: http.StatusCreated,
		Summary: "Create a broadcast: one email to many contacts. It is a draft unless send is true", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.createBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-broadcasts", Method: http.MethodGet, Path: "/broadcasts",
		Summary: "List broadcasts, newest first", Tags: broadcastTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListBroadcasts, newBroadcastRow))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-broadcast", Method: http.MethodGet, Path: "/broadcasts/{id}",
		Summary: "Get a broadcast with its content and its counts", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound},
	}, r.getBroadcast)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-broadcast", Method: http.MethodPatch, Path: "/broadcasts/{id}",
		Summary: "Change a draft broadcast", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-broadcast", Method: http.MethodDelete, Path: "/broadcasts/{id}",
		Summary: "Delete a draft broadcast", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*BroadcastPath](r.Service.DeleteBroadcast, func(id string) removedBroadcast { return removedBroadcast{Object: "broadcast", ID: id, Deleted: true} }))
	r.addActions(h)
}

func (r Routes) addActions(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Optional: true}, openapi.Operation{
		OperationID: "send-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/send",
		Summary: "Send a draft broadcast, now or at scheduled_at", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.sendBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "cancel-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/cancel",
		Summary: "Cancel a scheduled or queued broadcast. Recipients whose mail has not been sent get none", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.cancelBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "pause-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/pause",
		Summary: "Pause a queued broadcast. Nothing more of it leaves until it is resumed", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.pauseBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "resume-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/resume",
		Summary: "Resume a paused broadcast. Sending continues where it stopped", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.resumeBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "unschedule-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/unschedule",
		Summary: "Make a scheduled broadcast a draft again", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.unscheduleBroadcast)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "duplicate-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/duplicate", DefaultStatus: http.StatusCreated,
		Summary: "Copy a broadcast into a new draft", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.duplicateBroadcast)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "test-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/test",
		Summary: fmt.Sprintf("Send the content of a broadcast to up to %d addresses, as ordinary emails", app.MaxBroadcastTests), Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.testBroadcast)
}

func (r Routes) createBroadcast(ctx context.Context, key *app.Key, in *shapes.IdempotencyHeader, request *createBroadcastRequest) (*broadcastOutput, error) {
	input := request.input()
	opts, err := in.Options(&input)
	if err != nil {
		return nil, err
	}
	return newBroadcastOutput(r.Service.CreateBroadcast(ctx, key, input, opts))
}

func (r Routes) getBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastRecordOutput, error) {
	v, err := r.Service.GetBroadcast(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	revision, err := broadcasts.Revision(&v.Broadcast)
	if err != nil {
		return nil, err
	}
	return &broadcastRecordOutput{newBroadcastRecord(&v, revision)}, nil
}

func (r Routes) updateBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath, request *updateBroadcastRequest) (*broadcastOutput, error) {
	return newDraftOutput(r.Service.UpdateBroadcast(ctx, key, in.ID, request.patch()))
}

func (r Routes) sendBroadcast(ctx context.Context, key *app.Key, in *sendBroadcastInput, request *sendBroadcastRequest) (*broadcastOutput, error) {
	opts, err := in.Options([]string{in.ID, request.ScheduledAt})
	if err != nil {
		return nil, err
	}
	return newBroadcastOutput(r.Service.SendBroadcast(ctx, key, in.ID, request.ScheduledAt, opts))
}

func (r Routes) cancelBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*canceledBroadcastOutput, error) {
	b, remaining, err := r.Service.CancelBroadcast(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &canceledBroadcastOutput{canceledBroadcast{Object: "broadcast", ID: in.ID, Status: b.Status, CanceledRemaining: remaining}}, nil
}

func (r Routes) pauseBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastOutput, error) {
	return newBroadcastOutput(r.Service.PauseBroadcast(ctx, key, in.ID))
}

func (r Routes) resumeBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastOutput, error) {
	return newBroadcastOutput(r.Service.ResumeBroadcast(ctx, key, in.ID))
}

func (r Routes) unscheduleBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastOutput, error) {
	return newBroadcastOutput(r.Service.UnscheduleBroadcast(ctx, key, in.ID))
}

func (r Routes) duplicateBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastOutput, error) {
	return newBroadcastOutput(r.Service.DuplicateBroadcast(ctx, key, in.ID))
}

func (r Routes) testBroadcast(ctx context.Context, key *app.Key, in *sendBroadcastInput, request *testBroadcastRequest) (*testedBroadcastOutput, error) {
	asked := append([]string{in.ID}, request.To...)
	if request.Language != "" {
		asked = append(asked, request.Language)
	}
	opts, err := in.Options(asked)
	if err != nil {
		return nil, err
	}
	emails, err := r.Service.TestBroadcast(ctx, key, in.ID, request.To, request.Language, opts)
	if err != nil {
		return nil, err
	}
	out := testedBroadcast{Object: "broadcast", ID: in.ID, Data: make([]shapes.CreatedEmail, len(emails))}
	for i, email := range emails {
		out.Data[i] = shapes.CreatedEmail{ID: email}
	}
	return &testedBroadcastOutput{out}, nil
}

func newBroadcastOutput(v broadcasts.BroadcastView, err error) (*broadcastOutput, error) {
	if err != nil {
		return nil, err
	}
	return &broadcastOutput{broadcastHead{Object: "broadcast", BroadcastItem: newBroadcastItem(&v), Estimated: true, Warning: v.Warning}}, nil
}

func newBroadcastItem(v *broadcasts.BroadcastView) BroadcastItem {
	return BroadcastItem{
		ID: v.ID, Name: v.Name, SegmentID: base.TextOrNull(v.SegmentID), AudienceID: base.TextOrNull(v.SegmentID), TopicID: base.TextOrNull(v.TopicID),
		Status: v.Status, CreatedAt: app.FormatTime(v.CreatedAt), ScheduledAt: app.FormatTimePtr(v.ScheduledAt),
		PausedAt: app.FormatTimePtr(v.PausedAt), SentAt: app.FormatTimePtr(v.SentAt), SentCount: v.Counts.Sent, FinishesAt: app.FormatTimePtr(v.FinishesAt),
	}
}

func newBroadcastRow(v *broadcasts.BroadcastView) BroadcastRow {
	return BroadcastRow{newBroadcastItem(v), newBroadcastCounts(&v.Broadcast)}
}

// newDraftOutput is newBroadcastOutput for a draft, with its revision.
func newDraftOutput(v broadcasts.BroadcastView, err error) (*broadcastOutput, error) {
	out, err := newBroadcastOutput(v, err)
	if err != nil {
		return nil, err
	}
	out.Body.Revision, err = broadcasts.Revision(&v.Broadcast)
	return out, err
}

func newBroadcastRecord(v *broadcasts.BroadcastView, revision string) broadcastRecord {
	return broadcastRecord{
		Object: "broadcast", BroadcastItem: newBroadcastItem(v), From: v.From.String(), Subject: v.Subject,
		ReplyTo: shapes.FormatAddresses(v.ReplyTo), PreviewText: base.TextOrNull(v.Preview), HTML: base.TextOrNull(v.HTML), Text: v.Text, Design: base.TextOrNull(v.Design),
		Syntax: v.Syntax.String(), Variants: shapes.NewVariants(v.Variants), Attachments: shapes.NewAttachmentMetas(v.Attachments), Archive: v.Archive, Revision: revision, Counts: newBroadcastCounts(&v.Broadcast), Languages: newLanguageCounts(v.Languages),
	}
}

// newBroadcastCounts counts recipients that a canceled broadcast did not reach as canceled.
func newBroadcastCounts(b *app.Broadcast) broadcastCounts {
	c := b.Counts
	out := broadcastCounts{
		Recipients: b.Audience, Remaining: b.Remaining(), Sent: c.Sent, DeliveryDelayed: c.DeliveryDelayed, Delivered: c.Delivered,
		Opened: c.Opened, Clicked: c.Clicked, Bounced: c.Bounced, Complained: c.Complained, Suppressed: c.Suppressed, Failed: c.Failed,
		Canceled: c.Canceled, Unsubscribed: c.Unsubscribed,
	}
	if b.Status == app.CanceledBroadcast {
		out.Canceled, out.Remaining = out.Canceled+out.Remaining, 0
	}
	return out
}
