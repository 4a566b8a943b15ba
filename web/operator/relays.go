package operator

import (
	"context"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// RelayItem is the state of a relay, without its password.
type RelayItem struct {
	Region      string  `json:"region"`
	From        string  `json:"from" enum:"flag,database" doc:"flag: of the server's flags, read-only"`
	Host        string  `json:"host" doc:"With the port"`
	User        string  `json:"user,omitempty"`
	State       string  `json:"state" enum:"open,resting,paused,failing"`
	Reason      *string `json:"reason" doc:"The relay's response, or the reason of the pause"`
	Since       *string `json:"since" format:"date-time"`
	NextTry     *string `json:"next_try" format:"date-time"`
	Rate        float64 `json:"rate" doc:"Messages a second; zero: no limit"`
	Daily       int64   `json:"daily" doc:"Messages in any span of a day; zero: no limit"`
	DailyUsed   int64   `json:"daily_used" doc:"Counted where there is a limit"`
	Connections int     `json:"connections" doc:"Maximum number of concurrent connections"`
	Waiting     int64   `json:"waiting" doc:"Emails; a million means at least that"`
	Note        string  `json:"note,omitempty" doc:"Says that another relay of this name is not used"`
	// LastTest is nil if there was no test since the server started.
	LastTest *relayLastTest `json:"last_test,omitempty" doc:"How it was tested last; absent: not since the server started"`
}

type relayLastTest struct {
	OK       bool   `json:"ok"`
	TestedAt string `json:"tested_at" format:"date-time"`
	Step     string `json:"step" enum:"dns,connect,tls,greeting,auth,mail,send" doc:"The one that failed, or the last one"`
	Reply    string `json:"said" doc:"At that step, in the server's words, or ours"`
}

// relayList is a list without pages: there are few relays.
type relayList struct {
	Object string      `json:"object" enum:"list"`
	Data   []RelayItem `json:"data"`
}

type relayRecord struct {
	Object string `json:"object" enum:"relay"`
	RelayItem
}

type addedRelay struct {
	Object  string `json:"object" enum:"relay"`
	Region  string `json:"region"`
	Host    string `json:"host"`
	Changed bool   `json:"changed" doc:"There was one of this name"`
}

type removedRelay struct {
	Object  string `json:"object" enum:"relay"`
	Region  string `json:"region"`
	Deleted bool   `json:"deleted" enum:"true"`
	Waiting int64  `json:"waiting" doc:"Emails that stay queued for it; a million means at least that"`
}

type relayPause struct {
	Object string  `json:"object" enum:"relay"`
	Region string  `json:"region"`
	State  string  `json:"state" enum:"open,paused"`
	Until  *string `json:"until" format:"date-time" doc:"null: until it is resumed"`
}

type relayTest struct {
	OK    bool        `json:"ok" doc:"All went well"`
	Steps []relayStep `json:"steps" doc:"Up to the first that failed"`
}

type relayStep struct {
	Step  string `json:"step" enum:"dns,connect,tls,greeting,auth,mail,send"`
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms" doc:"How long it took"`
	Reply string `json:"said" doc:"In the server's words, or ours"`
}

// addRelayRequest is the body of POST /relays.
type addRelayRequest struct {
	Region string `json:"region,omitempty" doc:"Name of the relay; without it the one before the URL, or the default region"`
	URL    string `json:"url" minLength:"1" doc:"[REGION=]smtp://user:password@host:port or smtps://…, with options behind it. Nothing answers with its password"`
}

// testRelayRequest is the body of POST /relays/{region}/test.
type testRelayRequest struct {
	SendTo string `json:"send_to,omitempty" doc:"Address that one signed message is sent to; without it none is sent"`
	From   string `json:"from,omitempty" doc:"Address that it is from; without it postmaster at a verified domain"`
}

// pauseRelayRequest is the body of POST /relays/{region}/pause.
type pauseRelayRequest struct {
	For string `json:"for,omitempty" doc:"How long: a number of m, h or d; without it until it is resumed"`
}

// RelayPath is the path parameter of one relay.
type RelayPath struct {
	Region string `path:"region" doc:"Name of the relay"`
}

type (
	relayListOutput    struct{ Body relayList }
	relayOutput        struct{ Body relayRecord }
	addedRelayOutput   struct{ Body addedRelay }
	removedRelayOutput struct{ Body removedRelay }
	relayPauseOutput   struct{ Body relayPause }
	relayTestOutput    struct{ Body relayTest }
)

var relayTags = []string{"Relays"}

// RelayRoutes are the routes of relays.
type RelayRoutes struct{ Service *relays.Service }

// Add adds the routes to a handler.
func (r RelayRoutes) Add(h *rest.Handler) {
	reads, changes, missing := rest.Route{Operator: true}, rest.Route{Operator: true, Fresh: true}, []int{http.StatusNotFound}
	tries, pauses := rest.Route{Operator: true, Optional: true}, rest.Route{Operator: true, Fresh: true, Optional: true}
	rest.Register(h, reads, openapi.Operation{
		OperationID: "list-relays", Method: http.MethodGet, Path: "/relays",
		Summary: "List relays with state, usage and queued mail", Tags: relayTags,
	}, r.list)
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "add-relay", Method: http.MethodPost, Path: "/relays", DefaultStatus: http.StatusCreated,
		Summary: "Add a relay, or replace the relay with this name; it is used within one second", Tags: relayTags,
		Errors: []int{http.StatusConflict},
	}, r.add)
	rest.Register(h, reads, openapi.Operation{
		OperationID: "get-relay", Method: http.MethodGet, Path: "/relays/{region}", Summary: "Tell how a relay is", Tags: relayTags, Errors: missing,
	}, r.get)
	rest.RegisterBody(h, tries, openapi.Operation{
		OperationID: "test-relay", Method: http.MethodPost, Path: "/relays/{region}/test",
		Summary: "Try a relay step by step, and send a message only where an address is given", Tags: relayTags, Errors: missing,
	}, r.test)
	rest.RegisterBody(h, pauses, openapi.Operation{
		OperationID: "pause-relay", Method: http.MethodPost, Path: "/relays/{region}/pause",
		Summary: "Pause a relay; its mail stays queued", Tags: relayTags, Errors: missing,
	}, r.pause)
	rest.Register(h, changes, openapi.Operation{
		OperationID: "resume-relay", Method: http.MethodPost, Path: "/relays/{region}/resume",
		Summary: "Resume a paused relay", Tags: relayTags, Errors: missing,
	}, r.resume)
	rest.Register(h, changes, openapi.Operation{
		OperationID: "remove-relay", Method: http.MethodDelete, Path: "/relays/{region}",
		Summary: "Remove a relay: in-flight deliveries finish, queued mail stays queued", Tags: relayTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.remove)
	r.addRules(h)
}

func (r RelayRoutes) list(ctx context.Context, _ *app.Key, _ *struct{}) (*relayListOutput, error) {
	all, err := r.Service.List(ctx)
	if err != nil {
		return nil, err
	}
	return &relayListOutput{relayList{Object: "list", Data: converted(all, newRelayItem)}}, nil
}

func newRelayItem(s relays.Status) RelayItem {
	item := RelayItem{Region: s.Region, From: s.From, Host: s.Host, User: s.User, State: s.State, Reason: s.Reason, Since: s.Since, NextTry: s.NextTry,
		Rate: s.Rate, Daily: s.Daily, DailyUsed: s.DailyUsed, Connections: s.Connections, Waiting: s.Waiting, Note: s.Note}
	if last := s.LastTest; last != nil {
		item.LastTest = &relayLastTest{OK: last.OK, TestedAt: app.FormatTime(last.TestedAt), Step: last.Step, Reply: last.Reply}
	}
	return item
}

func (r RelayRoutes) get(ctx context.Context, _ *app.Key, in *RelayPath) (*relayOutput, error) {
	s, err := r.Service.Get(ctx, in.Region)
	if err != nil {
		return nil, err
	}
	return &relayOutput{relayRecord{Object: "relay", RelayItem: newRelayItem(s)}}, nil
}

func (r RelayRoutes) add(ctx context.Context, _ *app.Key, _ *struct{}, b *addRelayRequest) (*addedRelayOutput, error) {
	var added relays.Added
	var err error
	if b.Region == "" {
		added, err = r.Service.Add(ctx, b.URL)
	} else {
		added, err = r.Service.AddNamed(ctx, b.Region, b.URL)
	}
	if err != nil {
		return nil, err
	}
	return &addedRelayOutput{addedRelay{Object: "relay", Region: added.Region, Host: added.Host, Changed: added.Changed}}, nil
}

func (r RelayRoutes) test(ctx context.Context, _ *app.Key, in *RelayPath, b *testRelayRequest) (*relayTestOutput, error) {
	tested, err := r.Service.Test(ctx, relays.TestInput{Region: in.Region, To: b.SendTo, From: b.From})
	if err != nil {
		return nil, err
	}
	return &relayTestOutput{relayTest{OK: tested.OK, Steps: converted(tested.Steps, func(s relayurl.Step) relayStep { return relayStep(s) })}}, nil
}

// converted converts the items of a list.
func converted[F, T any](list []F, convert func(F) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

func (r RelayRoutes) pause(ctx context.Context, _ *app.Key, in *RelayPath, b *pauseRelayRequest) (*relayPauseOutput, error) {
	var d queue.Age
	if b.For != "" {
		var err error
		if d, err = queue.ParseAge(b.For); err != nil || d == 0 {
			return nil, app.Invalid("for", "must be greater than 0, like 30m or 2h")
		}
	}
	return pauseOf(r.Service.Pause(ctx, in.Region, time.Duration(d)))
}

func (r RelayRoutes) resume(ctx context.Context, _ *app.Key, in *RelayPath) (*relayPauseOutput, error) {
	return pauseOf(r.Service.Resume(ctx, in.Region))
}

func pauseOf(p relays.Paused, err error) (*relayPauseOutput, error) {
	if err != nil {
		return nil, err
	}
	return &relayPauseOutput{relayPause{Object: "relay", Region: p.Region, State: p.State, Until: p.Until}}, nil
}

func (r RelayRoutes) remove(ctx context.Context, _ *app.Key, in *RelayPath) (*removedRelayOutput, error) {
	removed, err := r.Service.Remove(ctx, in.Region)
	if err != nil {
		return nil, err
	}
	return &removedRelayOutput{removedRelay{Object: "relay", Region: removed.Region, Deleted: true, Waiting: removed.Waiting}}, nil
}
