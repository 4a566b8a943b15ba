// Package operator implements the API's routes for operators: the queue, relays, health, backups,
// settings, accounts and teams. Only web imports it.
//
// Failure policy: that of web/rest. A key without an operator's session reaches the queue of its
// own team only. Actions affect only what their filter names. No answer contains a relay's
// password.
package operator

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/sending/queue"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// QueueItem is a row of the queue: an email, an email to one recipient of a broadcast, or the
// recipients of a broadcast that are not expanded yet.
type QueueItem struct {
	ID        string      `json:"id" format:"uuid"`
	Team      string      `json:"team,omitempty" format:"uuid" doc:"Whose it is, where an operator asks about all teams"`
	Relay     string      `json:"relay"`
	From      string      `json:"from"`
	To        []string    `json:"to" doc:"Who still waits; empty for a broadcast"`
	State     queue.State `json:"state" enum:"due,scheduled,retry,held,relay,quota,paced"`
	Reason    string      `json:"reason" doc:"Why it is queued, as text; for held mail: damaged, manual or restored"`
	CreatedAt string      `json:"created_at" format:"date-time"`
	NextAt    *string     `json:"next_at" format:"date-time" doc:"null: something else has to happen first"`
	Attempts  int         `json:"attempts"`
	Broadcast *string     `json:"broadcast" format:"uuid" doc:"The broadcast that it belongs to; null: an email"`
	Count     *int64      `json:"count" doc:"Of a broadcast: how many recipients wait in this row; null: one email"`
}

type queueCount struct {
	Relay  string `json:"relay"`
	Team   string `json:"team,omitempty" format:"uuid" doc:"Whose it is, where an operator asks about all teams"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

type queueDomainCount struct {
	Domain string `json:"domain"`
	Count  int64  `json:"count"`
}

type queueList struct {
	Object    string             `json:"object" enum:"list"`
	HasMore   bool               `json:"has_more" doc:"Whether rows follow"`
	Data      []QueueItem        `json:"data"`
	Waiting   int64              `json:"waiting" doc:"All queued mail of the team, regardless of the filter: emails and recipients of broadcasts"`
	Oldest    *string            `json:"oldest" format:"date-time" doc:"When the oldest was accepted of what does not wait for a time of its own"`
	By        []queueCount       `json:"by" doc:"How much waits, by relay and reason"`
	ToDomains []queueDomainCount `json:"to_domains" doc:"The twenty domains of recipients with most"`
}

type queueResult struct {
	Object  string `json:"object" enum:"queue"`
	Matched int64  `json:"matched" doc:"What fits the filter"`
	Changed int64  `json:"changed" doc:"Number of changed items, without those already sent to the relay and those already in this state"`
	// Notes are added by a move.
	Notes []string `json:"notes,omitempty" doc:"What to look at besides, in words"`
}

// QueueFilter is the filter of the queue routes.
type QueueFilter struct {
	IDs         []string    `json:"ids,omitempty" maxItems:"1000" doc:"Emails, or one broadcast"`
	Team        string      `json:"team,omitempty" doc:"Name or id, where an operator acts on all teams"`
	Relay       string      `json:"relay,omitempty" doc:"Region, or a relay of a region: mail that leaves through no other one"`
	FromDomain  string      `json:"from_domain,omitempty"`
	ToDomain    string      `json:"to_domain,omitempty" doc:"Of a recipient that waits"`
	State       queue.State `json:"state,omitempty" enum:"due,scheduled,retry,held,relay,quota,paced"`
	OlderThan   string      `json:"older_than,omitempty" doc:"Accepted longer ago than this: a number of m, h or d"`
	BroadcastID string      `json:"broadcast_id,omitempty" format:"uuid"`
	Restored    bool        `json:"restored,omitempty" doc:"Held since a backup was restored"`
	AcceptedAt  string      `json:"after,omitempty" doc:"Accepted since then: RFC 3339, or how long ago"`
	All         bool        `json:"all,omitempty" doc:"All mail of the team: an act without a filter is refused otherwise"`
}

// moveRequest is the body of POST /queue/move.
type moveRequest struct {
	QueueFilter
	To     string `json:"to_relay" minLength:"1" doc:"Region of the relay through which it is to leave; with doubts, a relay of the same region"`
	Doubts bool   `json:"doubts,omitempty" doc:"Send mail through another relay of its region although the one named by relay may have sent it: recipients may get it twice"`
}

// requeueRequest is the body of POST /queue/requeue.
type requeueRequest struct {
	IDs         []string `json:"ids,omitempty" maxItems:"1000" doc:"Emails, also to recipients of broadcasts"`
	Team        string   `json:"team,omitempty" doc:"Name or id, where an operator acts on all teams"`
	Relay       string   `json:"relay,omitempty" doc:"Region of the relay"`
	FromDomain  string   `json:"from_domain,omitempty"`
	ToDomain    string   `json:"to_domain,omitempty"`
	BroadcastID string   `json:"broadcast_id,omitempty" format:"uuid"`
	FailedSince string   `json:"failed_since,omitempty" doc:"What failed or bounced since then: RFC 3339, or how long ago"`
	Captured    bool     `json:"captured,omitempty" doc:"What was captured"`
}

type queueInput struct {
	Limit       rest.PageLimit `query:"limit" doc:"Rows per page"`
	After       string         `query:"after" format:"uuid" doc:"The id of the last row of the page before: newer rows follow"`
	Before      string         `query:"before" format:"uuid" doc:"The id of the first row of the page after: older rows come"`
	IDs         string         `query:"id" format:"uuid" doc:"An email, or a broadcast"`
	Team        string         `query:"team" doc:"Name or id, where an operator asks about all teams"`
	Relay       string         `query:"relay" doc:"Region, or a relay of a region: mail that leaves through no other one"`
	FromDomain  string         `query:"from_domain"`
	ToDomain    string         `query:"to_domain" doc:"Of a recipient that waits"`
	State       string         `query:"state" enum:"due,scheduled,retry,held,relay,quota,paced"`
	OlderThan   string         `query:"older_than" doc:"Accepted longer ago than this: a number of m, h or d"`
	BroadcastID string         `query:"broadcast_id" format:"uuid"`
	Restored    string         `query:"restored" enum:"true,false" doc:"Held since a backup was restored"`
}

type (
	queueListOutput   struct{ Body queueList }
	queueResultOutput struct{ Body queueResult }
)

var queueTags = []string{"Queue"}

// QueueRoutes are the routes of the queue.
type QueueRoutes struct{ Service *queue.Service }

// Add adds the routes to a handler.
func (r QueueRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{AllTeams: true}, openapi.Operation{
		OperationID: "list-queue", Method: http.MethodGet, Path: "/queue",
		Summary: "List and count the emails that wait, oldest first, with the reason of each", Tags: queueTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.list)
	r.addDoubts(h)
	for _, act := range []struct {
		id, verb, summary string
		do                func(*queue.Service, context.Context, queue.Filter) (queue.Result, error)
	}{
		{"hold-queue", "hold", "Hold waiting emails until they are released", (*queue.Service).Hold},
		{"release-queue", "release", "Release held emails, so that they are sent in their turn", (*queue.Service).Release},
		{"retry-queue", "retry", "Retry emails now that wait for their next attempt", (*queue.Service).Retry},
		{"drop-queue", "drop", "Cancel waiting emails. For a broadcast, cancel all that is left of it", (*queue.Service).Drop},
	} {
		rest.RegisterBody(h, rest.Route{AllTeams: true}, openapi.Operation{
			OperationID: act.id, Method: http.MethodPost, Path: "/queue/" + act.verb, Summary: act.summary, Tags: queueTags,
			Errors: []int{http.StatusNotFound},
		}, func(ctx context.Context, key *app.Key, _ *struct{}, body *QueueFilter) (*queueResultOutput, error) {
			f, err := body.filter(key)
			if err != nil {
				return nil, err
			}
			return resultOf(act.do(r.Service, ctx, f))
		})
	}
	rest.RegisterBody(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "move-queue", Method: http.MethodPost, Path: "/queue/move",
		Summary: "Move queued mail to another relay", Tags: queueTags, Errors: []int{http.StatusNotFound},
	}, r.move)
	rest.RegisterBody(h, rest.Route{AllTeams: true}, openapi.Operation{
		OperationID: "requeue-emails", Method: http.MethodPost, Path: "/queue/requeue",
		Summary: "Send emails again that failed, bounced by policy or were captured", Tags: queueTags,
		Errors: []int{http.StatusNotFound},
	}, r.requeue)
}

func resultOf(res queue.Result, err error) (*queueResultOutput, error) {
	if err != nil {
		return nil, err
	}
	return &queueResultOutput{queueResult{Object: "queue", Matched: res.Matched, Changed: res.Changed, Notes: res.Notes}}, nil
}

// teamOfKey returns the key's team or, for an operator without a team, the named team or all
// (empty). Errors: CodeValidation.
func teamOfKey(key *app.Key, named string) (string, error) {
	if key.TeamID != "" && named != "" {
		return "", app.Invalid("team", "is for an operator who names no team in the header x-team")
	}
	return cmp.Or(key.TeamID, named), nil
}

// filter returns the filter of an action. Errors: CodeValidation, also if the filter is empty and
// All is not set.
func (b *QueueFilter) filter(key *app.Key) (queue.Filter, error) {
	f, err := b.read(key)
	if err != nil {
		return f, err
	}
	f.All = b.All && f.Team == "" // otherwise the filter is the team
	return f, f.RequireTeamCriteria(b.All)
}

// read returns the filter, restricted to the key's team, if it has one.
func (b *QueueFilter) read(key *app.Key) (queue.Filter, error) {
	f := queue.Filter{IDs: b.IDs, Relay: b.Relay, FromDomain: b.FromDomain, ToDomain: b.ToDomain, State: b.State, Broadcast: b.BroadcastID, Restored: b.Restored}
	var err error
	if f.Team, err = teamOfKey(key, b.Team); err != nil {
		return f, err
	}
	if b.OlderThan != "" {
		if f.OlderThan, err = queue.ParseAge(b.OlderThan); err != nil {
			return f, app.Invalid("older_than", "is wrong: %s", err)
		}
	}
	if b.AcceptedAt != "" {
		if f.After, err = queue.ParseSince(b.AcceptedAt, clock.Now()); err != nil {
			return f, app.Invalid("after", "is wrong: %s", err)
		}
	}
	return f, nil
}

func (r QueueRoutes) list(ctx context.Context, key *app.Key, in *queueInput) (*queueListOutput, error) {
	limit := app.DefaultLimit
	if in.Limit != "" {
		limit, _ = strconv.Atoi(string(in.Limit))
	}
	page := app.Page{Limit: limit, After: in.After, Before: in.Before}
	if err := page.Validate(); err != nil {
		return nil, err
	}
	body := QueueFilter{Team: in.Team, Relay: in.Relay, FromDomain: in.FromDomain, ToDomain: in.ToDomain, State: queue.State(in.State), OlderThan: in.OlderThan,
		BroadcastID: in.BroadcastID, Restored: in.Restored == "true"}
	if in.IDs != "" {
		body.IDs = []string{in.IDs}
	}
	f, err := body.read(key)
	if err != nil {
		return nil, err
	}
	f.Visible = key.TeamID != ""
	list, cursor := r.Service.List, page.After
	if page.Before != "" {
		list, cursor = r.Service.ListBefore, page.Before
	}
	items, more, err := list(ctx, f, cursor, page.Limit)
	if err != nil {
		return nil, err
	}
	sum, err := r.Service.Summary(ctx, f.Team)
	if err != nil {
		return nil, err
	}
	return &queueListOutput{newQueueList(items, more, &sum, key.TeamID == "")}, nil
}

// newQueueList makes the answer; named adds the team of each row.
func newQueueList(items []queue.Item, more bool, sum *queue.Summary, named bool) queueList {
	out := queueList{Object: "list", HasMore: more, Data: make([]QueueItem, len(items)), Waiting: sum.Waiting, Oldest: sum.Oldest,
		By: make([]queueCount, len(sum.By)), ToDomains: make([]queueDomainCount, len(sum.ToDomains))}
	for i := range items {
		it := &items[i]
		out.Data[i] = QueueItem{ID: it.ID, Relay: it.Relay, From: it.From, To: it.To, State: it.State, Reason: it.Reason, CreatedAt: it.CreatedAt,
			NextAt: it.NextAt, Attempts: it.Attempts, Broadcast: base.TextOrNull(it.Broadcast)}
		if named {
			out.Data[i].Team = it.Team
		}
		if it.ID == it.Broadcast {
			out.Data[i].Count = &it.Count
		}
	}
	for i, row := range sum.By {
		out.By[i] = queueCount{Relay: row.Relay, Reason: row.Reason, Count: row.Count}
		if named {
			out.By[i].Team = row.Team
		}
	}
	for i, row := range sum.ToDomains {
		out.ToDomains[i] = queueDomainCount{Domain: row.Domain, Count: row.Count}
	}
	return out
}

func (r QueueRoutes) requeue(ctx context.Context, key *app.Key, _ *struct{}, b *requeueRequest) (*queueResultOutput, error) {
	f := queue.Filter{IDs: b.IDs, Relay: b.Relay, FromDomain: b.FromDomain, ToDomain: b.ToDomain, Broadcast: b.BroadcastID, Captured: b.Captured}
	var err error
	if f.Team, err = teamOfKey(key, b.Team); err != nil {
		return nil, err
	}
	if b.FailedSince != "" {
		if f.FailedSince, err = queue.ParseSince(b.FailedSince, clock.Now()); err != nil {
			return nil, app.Invalid("failed_since", "is wrong: %s", err)
		}
	}
	return resultOf(r.Service.Requeue(ctx, f))
}

func (r QueueRoutes) move(ctx context.Context, key *app.Key, _ *struct{}, b *moveRequest) (*queueResultOutput, error) {
	f, err := b.filter(key)
	if err != nil {
		return nil, err
	}
	if b.Doubts {
		return resultOf(r.Service.ReleaseDoubts(ctx, f, b.To))
	}
	return resultOf(r.Service.Move(ctx, f, b.To))
}
