package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/feeds"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// FeedItem is a feed in a list.
type FeedItem struct {
	ID              string        `json:"id" format:"uuid"`
	URL             string        `json:"url"`
	TopicID         string        `json:"topic_id" format:"uuid"`
	TemplateID      string        `json:"template_id" format:"uuid"`
	From            *string       `json:"from" doc:"null: the sender of the template"`
	Schedule        string        `json:"schedule" example:"weekly friday 09:00"`
	Zone            string        `json:"zone" example:"Europe/Berlin"`
	Mode            string        `json:"mode" enum:"draft,send"`
	SkipEmpty       bool          `json:"skip_empty" doc:"Nothing is made without new items"`
	State           app.FeedState `json:"state" enum:"active,paused,held" doc:"held: after a restore or an import; set it to active"`
	NextAt          string        `json:"next_at" format:"date-time"`
	LastError       *string       `json:"last_error" doc:"Why the last time made no broadcast; null: it did, or nothing was new"`
	LastBroadcastID *string       `json:"last_broadcast_id" format:"uuid"`
	CheckedAt       *string       `json:"checked_at" format:"date-time" doc:"When the feed was last read; null: never"`
	CreatedAt       string        `json:"created_at" format:"date-time"`
}

type feedRecord struct {
	Object string `json:"object" enum:"feed"`
	FeedItem
}

type removedFeed struct {
	Object  string `json:"object" enum:"feed"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createFeedRequest struct {
	URL        string `json:"url" maxLength:"2000" doc:"RSS, Atom or JSON Feed, at a public address"`
	TopicID    string `json:"topic_id" format:"uuid" doc:"The broadcasts go to this topic"`
	TemplateID string `json:"template_id" doc:"Id or alias of a published template in Liquid with the variable items, a list"`
	From       string `json:"from,omitempty" doc:"Default: the sender of the template"`
	Schedule   string `json:"schedule" doc:"daily HH:MM, weekly DAY HH:MM or monthly N HH:MM" example:"weekly friday 09:00"`
	Zone       string `json:"zone,omitempty" default:"UTC" doc:"The time zone of schedule" example:"Europe/Berlin"`
	Mode       string `json:"mode,omitempty" enum:"draft,send" default:"draft" doc:"draft: a person sends what is made"`
	SkipEmpty  *bool  `json:"skip_empty,omitempty" default:"true"`
}

type updateFeedRequest struct {
	URL        string              `json:"url,omitempty" maxLength:"2000" doc:"With another one, what is there now is in no issue"`
	TopicID    string              `json:"topic_id,omitempty"`
	TemplateID string              `json:"template_id,omitempty"`
	From       rest.Change[string] `json:"from,omitempty" doc:"null: the sender of the template"`
	Schedule   string              `json:"schedule,omitempty"`
	Zone       string              `json:"zone,omitempty"`
	Mode       string              `json:"mode,omitempty" enum:"draft,send"`
	SkipEmpty  *bool               `json:"skip_empty,omitempty"`
	State      app.FeedState       `json:"state,omitempty" enum:"active,paused" doc:"active: starts with what is published from now on"`
}

// feedEntry is an item of a feed that was read.
type feedEntry struct {
	Title   string  `json:"title"`
	URL     *string `json:"url"`
	Summary string  `json:"summary"`
	Date    *string `json:"date" format:"date-time"`
}

type feedTrial struct {
	Object  string      `json:"object" enum:"feed_check"`
	Items   []feedEntry `json:"items" doc:"New since the last issue"`
	Subject *string     `json:"subject" doc:"Of the next issue; null: there would be none"`
	HTML    *string     `json:"html"`
	Error   *string     `json:"error" doc:"Why no issue could be made; null: it could"`
}

// FeedPath is the path parameter of one feed.
type FeedPath struct {
	ID string `path:"id" doc:"The id of the feed" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *FeedPath) Resource() (kind string, id *string) { return "feed", &p.ID }

var feedTags = []string{"Feeds"}

// FeedRoutes are the routes of feeds.
type FeedRoutes struct{ Service *feeds.Service }

// Add adds the routes to a handler.
func (r FeedRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-feed", Method: http.MethodPost, Path: "/feeds", DefaultStatus: http.StatusCreated,
		Summary: "Make broadcasts of a feed on a schedule", Tags: feedTags, Errors: []int{http.StatusNotFound},
	}, r.create)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-feeds", Method: http.MethodGet, Path: "/feeds",
		Summary: "List feeds, newest first", Tags: feedTags, Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.List, newFeedItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-feed", Method: http.MethodGet, Path: "/feeds/{id}",
		Summary: "Get a feed", Tags: feedTags, Errors: []int{http.StatusNotFound},
	}, rest.Get[*FeedPath](r.Service.Get, newFeedRecord))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-feed", Method: http.MethodPatch, Path: "/feeds/{id}",
		Summary: "Change, pause or resume a feed", Tags: feedTags, Errors: []int{http.StatusNotFound},
	}, r.update)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-feed", Method: http.MethodDelete, Path: "/feeds/{id}",
		Summary: "Delete a feed. Its broadcasts stay", Tags: feedTags, Errors: []int{http.StatusNotFound},
	}, rest.Do[*FeedPath](r.Service.Delete, func(id string) removedFeed { return removedFeed{"feed", id, true} }))
	rest.Register(h, rest.Route{ReadOnly: true}, openapi.Operation{
		OperationID: "check-feed", Method: http.MethodPost, Path: "/feeds/{id}/check",
		Summary: "Read a feed now and show its next issue, without making it", Tags: feedTags, Errors: []int{http.StatusNotFound},
	}, rest.Get[*FeedPath](r.Service.Check, newFeedTrial))
}

func (r FeedRoutes) create(ctx context.Context, key *app.Key, _ *struct{}, b *createFeedRequest) (*rest.Output[feedRecord], error) {
	return rest.Answer(newFeedRecord)(r.Service.Create(ctx, key, app.FeedPatch{URL: b.URL, TopicID: b.TopicID, TemplateID: b.TemplateID,
		From: app.Change[string]{Set: b.From != "", Value: b.From}, Schedule: b.Schedule, Zone: b.Zone, Mode: b.Mode, SkipEmpty: b.SkipEmpty}))
}

func (r FeedRoutes) update(ctx context.Context, key *app.Key, in *FeedPath, b *updateFeedRequest) (*rest.Output[feedRecord], error) {
	return rest.Answer(newFeedRecord)(r.Service.Update(ctx, key, in.ID, app.FeedPatch{URL: b.URL, TopicID: b.TopicID, TemplateID: b.TemplateID,
		From: app.Change[string](b.From), Schedule: b.Schedule, Zone: b.Zone, Mode: b.Mode, SkipEmpty: b.SkipEmpty, State: b.State}))
}

func newFeedItem(f *app.Feed) FeedItem {
	return FeedItem{ID: f.ID, URL: f.URL, TopicID: f.TopicID, TemplateID: f.TemplateID, From: base.TextOrNull(f.From), Schedule: f.Schedule, Zone: f.Zone, Mode: f.Mode,
		SkipEmpty: f.SkipEmpty, State: f.State, NextAt: app.FormatTime(f.NextAt), LastError: base.TextOrNull(f.LastError), LastBroadcastID: base.TextOrNull(f.LastBroadcastID),
		CheckedAt: app.FormatTimePtr(f.CheckedAt), CreatedAt: app.FormatTime(f.CreatedAt)}
}

func newFeedRecord(f *app.Feed) feedRecord { return feedRecord{"feed", newFeedItem(f)} }

func newFeedTrial(t *feeds.Trial) feedTrial {
	out := feedTrial{Object: "feed_check", Items: []feedEntry{}, Subject: base.TextOrNull(t.Subject), HTML: base.TextOrNull(t.HTML), Error: base.TextOrNull(t.Error)}
	for i := range t.Items {
		item := &t.Items[i]
		out.Items = append(out.Items, feedEntry{Title: item.Title, URL: base.TextOrNull(item.URL), Summary: item.Summary, Date: base.TextOrNull(item.Date)})
	}
	return out
}
