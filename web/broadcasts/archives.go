package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/archive"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// IssueItem is an issue of an archive in a list.
type IssueItem struct {
	ID          string `json:"id" format:"uuid"`
	BroadcastID string `json:"broadcast_id" format:"uuid" doc:"That it was made of, which may be deleted"`
	Subject     string `json:"subject" doc:"As its readers saw it, without anything of a recipient"`
	SentAt      string `json:"sent_at" format:"date-time" doc:"When the broadcast was queued"`
}

type issueRecord struct {
	Object string `json:"object" enum:"issue"`
	IssueItem
}

// archiveCandidate is a broadcast that is not in the archive of its topic.
type archiveCandidate struct {
	BroadcastID string `json:"broadcast_id" format:"uuid"`
	Subject     string `json:"subject" doc:"With placeholders"`
	SentAt      string `json:"sent_at" format:"date-time"`
}

type topicArchive struct {
	Object     string             `json:"object" enum:"topic_archive"`
	TopicID    string             `json:"topic_id" format:"uuid"`
	Archive    *string            `json:"archive" enum:"public,unlisted" doc:"null: the topic has none"`
	URL        *string            `json:"url" doc:"Of its page; feeds are at /feed.xml and /feed.json below it. null: no archive, or no host serves it"`
	Issues     []IssueItem        `json:"issues" doc:"The last 100, newest first"`
	Candidates []archiveCandidate `json:"candidates" doc:"The last 100 broadcasts to the topic that are not in the archive, newest first"`
}

type removedIssue struct {
	Object  string `json:"object" enum:"issue"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type addIssueRequest struct {
	BroadcastID string `json:"broadcast_id" format:"uuid" doc:"A broadcast to the topic that was sent"`
}

// ArchivePath is the path parameter of one archive.
type ArchivePath struct {
	ID string `path:"id" doc:"The id of the topic" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *ArchivePath) Resource() (kind string, id *string) { return "topic", &p.ID }

// IssuePath are the path parameters of one issue.
type IssuePath struct {
	ID    string `path:"id" doc:"The id of the topic" format:"uuid"`
	Issue string `path:"issue" doc:"The id of the issue" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *IssuePath) Resource() (kind string, id *string) { return "topic", &p.ID }

var archiveTags = []string{"Archives"}

// ArchiveRoutes are the routes of archives.
type ArchiveRoutes struct{ Service *archive.Service }

// Add adds the routes to a handler.
func (r ArchiveRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-topic-archive", Method: http.MethodGet, Path: "/topics/{id}/archive",
		Summary: "Get the archive of a topic: its issues, and the broadcasts that can be added", Tags: archiveTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*ArchivePath](r.Service.Get, newTopicArchive))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "add-archive-issue", Method: http.MethodPost, Path: "/topics/{id}/archive", DefaultStatus: http.StatusCreated,
		Summary: "Add a broadcast that was sent to the archive of its topic; owners and admins", Tags: archiveTags,
		Errors: []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	}, r.add)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "remove-archive-issue", Method: http.MethodDelete, Path: "/topics/{id}/archive/{issue}",
		Summary: "Remove an issue from the archive of a topic; owners and admins", Tags: archiveTags,
		Errors: []int{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.remove)
}

func (r ArchiveRoutes) add(ctx context.Context, key *app.Key, in *ArchivePath, request *addIssueRequest) (*rest.Output[issueRecord], error) {
	return rest.Answer(func(i *app.Issue) issueRecord { return issueRecord{"issue", newIssueItem(i)} })(r.Service.Add(ctx, key, in.ID, request.BroadcastID))
}

func (r ArchiveRoutes) remove(ctx context.Context, key *app.Key, in *IssuePath) (*rest.Output[removedIssue], error) {
	id, ok := app.ParseID(in.Issue)
	if !ok {
		return nil, app.NotFound("issue")
	}
	if err := r.Service.Remove(ctx, key, in.ID, id); err != nil {
		return nil, err
	}
	return &rest.Output[removedIssue]{Body: removedIssue{"issue", id, true}}, nil
}

func newIssueItem(i *app.Issue) IssueItem {
	return IssueItem{ID: i.ID, BroadcastID: i.BroadcastID, Subject: i.Subject, SentAt: app.FormatTime(i.SentAt)}
}

func newTopicArchive(a *archive.Archive) topicArchive {
	out := topicArchive{Object: "topic_archive", TopicID: a.Topic.ID, Archive: base.TextOrNull(string(a.Topic.Archive)), URL: base.TextOrNull(a.URL),
		Issues: []IssueItem{}, Candidates: []archiveCandidate{}}
	for i := range a.Issues {
		out.Issues = append(out.Issues, newIssueItem(&a.Issues[i]))
	}
	for i := range a.Candidates {
		b := &a.Candidates[i]
		out.Candidates = append(out.Candidates, archiveCandidate{BroadcastID: b.ID, Subject: b.Subject, SentAt: app.FormatTime(b.QueuedAt)})
	}
	return out
}
