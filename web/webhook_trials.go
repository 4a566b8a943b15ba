package web

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// testWebhookRequest is the optional body of POST /webhooks/{id}/test.
type testWebhookRequest struct {
	Event webhook.EventName `json:"event,omitempty" doc:"The name of the event; the first that the webhook wants where absent"`
}

type webhookTrial struct {
	Object   string `json:"object" enum:"webhook_test"`
	ID       string `json:"id" doc:"msg_ and a uuid: the event, as GET /webhooks/{id}/events lists it"`
	OK       bool   `json:"ok" doc:"Whether the endpoint took it"`
	Status   int    `json:"status" doc:"The HTTP status of the answer; zero: none came"`
	MS       int    `json:"ms" doc:"Milliseconds until the answer"`
	Response string `json:"response" doc:"How the answer began, or why none came"`
}

// messageIDs is an array of ids whose length is checked while it is decoded.
type messageIDs []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *messageIDs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]string)(l), webhook.MaxReplayIDs, "an array of strings")
}

// replayWebhookRequest is the body of POST /webhooks/{id}/replay.
type replayWebhookRequest struct {
	MessageIDs messageIDs `json:"message_ids,omitempty" maxItems:"100" doc:"These events: msg_ and a uuid"`
	Failed     bool       `json:"failed,omitempty" doc:"All that were given up; with since, those from then on"`
	Since      string     `json:"since,omitempty" format:"date-time" doc:"All events from this time on, whatever their result"`
	Until      string     `json:"until,omitempty" format:"date-time" doc:"With since: that came before then"`
	After      string     `json:"after,omitempty" doc:"The searched_to of an answer that has_more"`
}

type webhookReplay struct {
	Object     string  `json:"object" enum:"webhook_replay"`
	Matched    int     `json:"matched" doc:"Events that were asked for"`
	Queued     int     `json:"queued" doc:"Events that are delivered again; the others are queued for an attempt anyway"`
	HasMore    bool    `json:"has_more" doc:"Only a part was searched, because the set is large"`
	SearchedTo *string `json:"searched_to" doc:"With has_more: the last event searched, a value for after"`
}

type (
	webhookTrialOutput  struct{ Body webhookTrial }
	webhookReplayOutput struct{ Body webhookReplay }
)

func (r webhookRoutes) addTrials(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true, Optional: true}, openapi.Operation{
		OperationID: "test-webhook", Method: http.MethodPost, Path: "/webhooks/{id}/test",
		Summary: "Deliver a made-up event to a webhook now, and show its answer", Tags: webhookTags,
		Errors: []int{http.StatusNotFound},
	}, r.testWebhook)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "replay-webhook", Method: http.MethodPost, Path: "/webhooks/{id}/replay",
		Summary: "Deliver events to a webhook again: the named ones, all that failed, or all since a given time", Tags: webhookTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.replayWebhook)
}

func (r webhookRoutes) testWebhook(ctx context.Context, key *app.Key, in *WebhookPath, request *testWebhookRequest) (*webhookTrialOutput, error) {
	t, err := r.service.TestWebhook(ctx, key, in.ID, request.Event)
	if err != nil {
		return nil, err
	}
	return &webhookTrialOutput{webhookTrial{Object: "webhook_test", ID: webhook.MessageID(t.EventID), OK: t.Success(), Status: t.HTTPStatus,
		MS: int(t.Took.Milliseconds()), Response: t.Response}}, nil
}

func (r webhookRoutes) replayWebhook(ctx context.Context, key *app.Key, in *WebhookPath, request *replayWebhookRequest) (*webhookReplayOutput, error) {
	set := webhook.Replay{IDs: request.MessageIDs, Failed: request.Failed, After: request.After}
	for _, given := range []struct {
		field, text string
		at          *time.Time
	}{{"since", request.Since, &set.Since}, {"until", request.Until, &set.Until}} {
		if given.text == "" {
			continue
		}
		at, err := (&app.Condition{Value: given.text}).TimeValue()
		if err != nil {
			return nil, app.Invalid(given.field, "must be a time in ISO 8601")
		}
		*given.at = at
	}
	done, err := r.service.ReplayWebhook(ctx, key, in.ID, set)
	if err != nil {
		return nil, err
	}
	out := webhookReplay{Object: "webhook_replay", Matched: done.Matched, Queued: done.Queued, HasMore: done.More}
	if done.More {
		to := webhook.MessageID(done.SearchedTo)
		out.SearchedTo = &to
	}
	return &webhookReplayOutput{out}, nil
}
