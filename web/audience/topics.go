package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// TopicItem is a topic in a list.
type TopicItem struct {
	ID          string           `json:"id" format:"uuid"`
	Name        string           `json:"name"`
	Description *string          `json:"description"`
	Default     app.Subscription `json:"default_subscription" enum:"opt_in,opt_out" doc:"What counts for those who chose nothing"`
	Visibility  app.Visibility   `json:"visibility" enum:"public,private" doc:"The hosted preference page lists public topics only"`
	Archive     *string          `json:"archive" enum:"public,unlisted" doc:"Its broadcasts can be read on the web; null: they can't"`
	CreatedAt   string           `json:"created_at" format:"date-time"`
}

type topicRecord struct {
	Object string `json:"object" enum:"topic"`
	TopicItem
}

type removedTopic struct {
	Object  string `json:"object" enum:"topic"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createTopicRequest struct {
	Name        string           `json:"name" minLength:"1" maxLength:"50"`
	Default     app.Subscription `json:"default_subscription" enum:"opt_in,opt_out" doc:"The subscription of contacts who have not chosen. Cannot be changed later"`
	Description string           `json:"description,omitempty" maxLength:"200"`
	Visibility  app.Visibility   `json:"visibility,omitempty" enum:"public,private" default:"private"`
}

// updateTopicRequest is the body of PATCH /topics/{id}.
type updateTopicRequest struct {
	Name        string              `json:"name,omitempty" maxLength:"50"`
	Description rest.Change[string] `json:"description,omitempty" maxLength:"200" doc:"null clears"`
	Visibility  app.Visibility      `json:"visibility,omitempty" enum:"public,private"`
	Default     app.Subscription    `json:"default_subscription,omitempty" hidden:"true"`
	Archive     rest.Change[string] `json:"archive,omitempty" enum:"public,unlisted" doc:"null deletes the archive"`
}

// TopicPath is the path parameter of one topic.
type TopicPath struct {
	ID string `path:"id" doc:"The id of the topic" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *TopicPath) Resource() (kind string, id *string) { return "topic", &p.ID }

type (
	topicOutput = rest.Output[topicRecord]
)

var topicTags = []string{"Topics"}

// TopicRoutes are the routes of topics.
type TopicRoutes struct{ Service *audience.Topics }

// Add adds the routes to a handler.
func (r TopicRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-topic", Method: http.MethodPost, Path: "/topics", DefaultStatus: http.StatusCreated,
		Summary: "Create a topic: a kind of mail that contacts can opt into and out of", Tags: topicTags,
		Errors: []int{http.StatusConflict},
	}, r.createTopic)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-topics", Method: http.MethodGet, Path: "/topics",
		Summary: "List topics, newest first", Tags: topicTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListTopics, newTopicItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-topic", Method: http.MethodGet, Path: "/topics/{id}",
		Summary: "Get a topic", Tags: topicTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*TopicPath](r.Service.GetTopic, newTopicRecord))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-topic", Method: http.MethodPatch, Path: "/topics/{id}",
		Summary: "Change a topic", Tags: topicTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateTopic)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-topic", Method: http.MethodDelete, Path: "/topics/{id}",
		Summary: "Delete a topic with all choices of contacts for it. Refused while waiting mail, an unsent broadcast or a form uses it", Tags: topicTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, rest.Do[*TopicPath](r.Service.DeleteTopic, func(id string) removedTopic { return removedTopic{Object: "topic", ID: id, Deleted: true} }))
}

func (r TopicRoutes) createTopic(ctx context.Context, key *app.Key, _ *struct{}, request *createTopicRequest) (*topicOutput, error) {
	return rest.Answer(newTopicRecord)(r.Service.CreateTopic(ctx, key, app.TopicInput{
		Name: request.Name, Description: request.Description, Default: request.Default, Visibility: request.Visibility,
	}))
}

func (r TopicRoutes) updateTopic(ctx context.Context, key *app.Key, in *TopicPath, request *updateTopicRequest) (*topicOutput, error) {
	return rest.Answer(newTopicRecord)(r.Service.UpdateTopic(ctx, key, in.ID, app.TopicPatch{
		Name: request.Name, Description: app.Change[string](request.Description), Visibility: request.Visibility, Default: request.Default,
		Archive: app.Change[app.TopicArchive]{Set: request.Archive.Set, Null: request.Archive.Null, Value: app.TopicArchive(request.Archive.Value)},
	}))
}

func newTopicItem(t *app.Topic) TopicItem {
	return TopicItem{
		ID: t.ID, Name: t.Name, Description: base.TextOrNull(t.Description), Default: t.Default, Visibility: t.Visibility,
		Archive: base.TextOrNull(string(t.Archive)), CreatedAt: app.FormatTime(t.CreatedAt),
	}
}

func newTopicRecord(t *app.Topic) topicRecord {
	return topicRecord{Object: "topic", TopicItem: newTopicItem(t)}
}
