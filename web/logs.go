package web

import (
	"context"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/requestlog"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// LogItem is a request in a list.
type LogItem struct {
	ID             string  `json:"id" format:"uuid" doc:"The x-request-id of the answer"`
	CreatedAt      string  `json:"created_at" format:"date-time"`
	Endpoint       string  `json:"endpoint" doc:"The path, without its query"`
	Method         string  `json:"method"`
	ResponseStatus int     `json:"response_status"`
	UserAgent      *string `json:"user_agent"`
	DurationMS     float64 `json:"duration_ms" doc:"Milliseconds until it was answered"`
	KeyID          *string `json:"key_id" format:"uuid" doc:"The API key that made it; null: a person did"`
	UserID         *string `json:"user_id" format:"uuid" doc:"The person that made it; null: an API key did"`
	Error          *string `json:"error" doc:"The name of the error; null: there was none"`
	EmailID        *string `json:"email_id" format:"uuid" doc:"The email that it made; null: none, or many"`
}

type logRecord struct {
	Object string `json:"object" enum:"log"`
	LogItem
	RequestBody  *UnkeptBody `json:"request_body" doc:"Always null: bodies are not kept"`
	ResponseBody *UnkeptBody `json:"response_body" doc:"Always null: bodies are not kept"`
}

// UnkeptBody is null: bodies are not recorded.
type UnkeptBody struct {
	_ struct{} `nullable:"true"`
}

// logList is a list of requests. A search may cover only part of them at a time.
type logList struct {
	Object     string    `json:"object" enum:"list"`
	HasMore    bool      `json:"has_more" doc:"Whether there is more to look at in the direction of the page"`
	SearchedTo *string   `json:"searched_to,omitempty" format:"uuid" doc:"With a filter, if has_more: the last request searched, a value for after"`
	Data       []LogItem `json:"data"`
}

// logPath is the path parameter of one request.
type logPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the request: the x-request-id of its answer"`
}

// Resource implements rest.ResourcePath.
func (p *logPath) Resource() (kind string, id *string) { return "log", &p.ID }

type (
	logsInput struct {
		rest.PageParams
		Method        string `query:"method" enum:"GET,POST,PUT,PATCH,DELETE"`
		Status        string `query:"status" doc:"HTTP status, or a class of statuses" example:"4xx"`
		Endpoint      string `query:"endpoint" doc:"The beginning of the path" example:"/emails"`
		KeyID         string `query:"key_id" format:"uuid" doc:"The API key, or the person, that made them"`
		EmailID       string `query:"email_id" format:"uuid" doc:"The request that made this email"`
		CreatedAfter  string `query:"created_after" format:"date-time"`
		CreatedBefore string `query:"created_before" format:"date-time"`
	}
	logOutput     struct{ Body logRecord }
	logListOutput struct{ Body logList }
)

// requestLog passes requests to the service that records them.
type requestLog struct{ service *requestlog.Service }

// Log implements rest.RequestLog.
func (n requestLog) Log(r *rest.RequestRow) {
	if n.service != nil {
		e := requestlog.Entry(*r)
		n.service.Note(&e)
	}
}

// logRoutes are the routes of requests.
type logRoutes struct{ service *requestlog.Service }

var logTags = []string{"Logs"}

// Add adds the routes to a handler.
func (r logRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-logs", Method: http.MethodGet, Path: "/logs",
		Summary: "List the API requests of the team's keys and members", Tags: logTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-log", Method: http.MethodGet, Path: "/logs/{id}",
		Summary: "Get an API request by id", Tags: logTags, Errors: []int{http.StatusNotFound},
	}, r.get)
}

func (r logRoutes) list(ctx context.Context, key *app.Key, in *logsInput) (*logListOutput, error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	found, err := r.service.ListLogs(ctx, key, requestlog.Query{Method: in.Method, Status: in.Status, Endpoint: in.Endpoint, KeyID: in.KeyID,
		EmailID: in.EmailID, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore}, page)
	if err != nil {
		return nil, err
	}
	out := &logListOutput{logList{Object: "list", HasMore: found.More, SearchedTo: base.TextOrNull(found.SearchedTo), Data: make([]LogItem, len(found.Entries))}}
	for i := range found.Entries {
		out.Body.Data[i] = newLogItem(&found.Entries[i])
	}
	return out, nil
}

func (r logRoutes) get(ctx context.Context, key *app.Key, in *logPath) (*logOutput, error) {
	e, err := r.service.GetLog(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &logOutput{logRecord{Object: "log", LogItem: newLogItem(&e)}}, nil
}

func newLogItem(e *requestlog.Entry) LogItem {
	return LogItem{ID: e.ID, CreatedAt: app.FormatTime(e.CreatedAt()), Endpoint: e.Endpoint, Method: e.Method, ResponseStatus: e.Status,
		UserAgent: base.TextOrNull(e.UserAgent), DurationMS: float64(e.Took) / float64(time.Millisecond), KeyID: base.TextOrNull(e.KeyID),
		UserID: base.TextOrNull(e.UserID), Error: base.TextOrNull(e.Error), EmailID: base.TextOrNull(e.EmailID)}
}
