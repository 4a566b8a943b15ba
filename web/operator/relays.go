package operator

import (
	"cmp"
	"context"
	"net/http"
	"strings"
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
	Name        string  `json:"name,omitempty" doc:"In full: region and name with a slash; absent: it has the name of its region"`
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
	// The next three are set in a region with reserves.
	SentHour *int64 `json:"sent_hour,omitempty" doc:"Messages that left through it in the last hour; absent: its region has no reserve, as for the next two"`
	SentDay  *int64 `json:"sent_day,omitempty" doc:"Messages that left through it in the last day"`
	InDoubt  *int64 `json:"in_doubt,omitempty" doc:"Messages that it may have sent: its reply was lost"`
	// The others are set at the first relay of a region with reserves.
	Active       string        `json:"active,omitempty" doc:"Relay through which the mail of the region leaves, in full; it and what follows: only at the first relay of a region with reserves"`
	Primary      string        `json:"primary,omitempty"`
	Reserves     []string      `json:"reserves,omitempty" doc:"Relays that take over from the primary, in this order"`
	Policy       *regionPolicy `json:"policy,omitempty"`
	ByOperator   *bool         `json:"by_operator,omitempty" doc:"An operator chose the active relay, until the server may choose again"`
	SwitchedAt   *string       `json:"switched_at,omitempty" format:"date-time" doc:"The last switch; absent: none"`
	SwitchReason *string       `json:"switch_reason,omitempty" doc:"Why it switched, in words"`
	Available    *string       `json:"available,omitempty" doc:"Reserve that could send the waiting mail if an operator switched to it"`
	HeldUntil    *string       `json:"held_until,omitempty" format:"date-time" doc:"After several switches within an hour, the region does not return to an earlier relay before"`
	Moved        *int64        `json:"moved,omitempty" doc:"Messages that left through the active relay since the switch, of the last day"`
	Kept         *int64        `json:"kept,omitempty" doc:"Messages that other relays of the region may have sent, and which stay with them"`
}

// regionPolicy says when a region switches to a reserve.
type regionPolicy struct {
	Mode        string `json:"mode" enum:"auto,manual,off" doc:"auto: the server switches; manual: an operator does, and the server says when a reserve is available; off: an operator does, without a notice"`
	After       string `json:"after" doc:"How long the active relay has been unusable before it switches: a time span in s, m or h"`
	BackAfter   string `json:"back_after" doc:"How long an earlier relay has passed its tests before mail leaves through it again: a time span in s, m or h"`
	Broadcasts  bool   `json:"broadcasts" doc:"When the daily limit of the active relay is used up, broadcasts leave through a reserve too"`
	AlignedOnly bool   `json:"aligned_only" doc:"Mail of domains whose DNS records lack the reserve waits"`
	Doubts      string `json:"doubts" enum:"keep,send" doc:"Mail that a relay may have sent: keep leaves it with that relay, send sends it again through the active one, possibly a second time"`
}

// regionRecord is a region with its relays.
type regionRecord struct {
	Object     string       `json:"object" enum:"region"`
	Region     string       `json:"region"`
	Relays     []string     `json:"relays" doc:"In full, the primary first"`
	Active     string       `json:"active" doc:"Relay through which mail leaves"`
	Policy     regionPolicy `json:"policy"`
	ByOperator bool         `json:"by_operator" doc:"An operator chose the active relay, until the server may choose again"`
	SwitchedAt *string      `json:"switched_at" format:"date-time" doc:"The last switch; null: none"`
	Reason     *string      `json:"reason" doc:"Of the last switch, in words"`
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
	URL    string `json:"url,omitempty" doc:"[REGION=]smtp://user:password@host:port or smtps://…, with options behind it. Nothing answers with its password. Required, but with existing"`
	// The next three are for regions with several relays.
	Name     string `json:"name,omitempty" doc:"Of the relay in its region, for a reserve"`
	Reserve  bool   `json:"reserve,omitempty" doc:"The region may have another relay already: this one takes over when that one fails"`
	Existing string `json:"existing,omitempty" doc:"In place of a URL: a relay of another region that becomes a reserve of this one too, in full"`
}

// orderRequest is the body of PUT /relays/{region}/order.
type orderRequest struct {
	Relays []string `json:"relays" doc:"All relays of the region, the primary first"`
}

// failoverRequest is the body of PATCH /relays/{region}/failover.
type failoverRequest struct {
	Mode        *string `json:"mode,omitempty" enum:"auto,manual,off"`
	After       *string `json:"after,omitempty"`
	BackAfter   *string `json:"back_after,omitempty"`
	Broadcasts  *bool   `json:"broadcasts,omitempty"`
	AlignedOnly *bool   `json:"aligned_only,omitempty"`
	Doubts      *string `json:"doubts,omitempty" enum:"keep,send"`
}

// switchRequest is the body of POST /relays/{region}/switch.
type switchRequest struct {
	Relay string `json:"relay,omitempty" doc:"Relay that becomes the active one, until auto"`
	Auto  bool   `json:"auto,omitempty" doc:"The server chooses the relay again"`
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
	Region string `path:"region" doc:"Name of the relay, or of its region"`
	Name   string `query:"name" doc:"Relay of the region, in full or without the region, like postmark; absent: the relay with the name of the region, or in a pause all of its relays"`
}

// full returns the full name of the relay.
func (p *RelayPath) full() string {
	if p.Name == "" || p.Name == p.Region || strings.ContainsAny(p.Name, "/#") {
		return cmp.Or(p.Name, p.Region)
	}
	return p.Region + "/" + p.Name
}

// regionPath is the path parameter of a region.
type regionPath struct {
	Region string `path:"region" doc:"Name of the region"`
}

type (
	relayListOutput    struct{ Body relayList }
	relayOutput        struct{ Body relayRecord }
	addedRelayOutput   struct{ Body addedRelay }
	removedRelayOutput struct{ Body removedRelay }
	relayPauseOutput   struct{ Body relayPause }
	relayTestOutput    struct{ Body relayTest }
	regionOutput       struct{ Body regionRecord }
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
	r.addRegions(h)
}

// addRegions adds the routes of regions with several relays to a handler.
func (r RelayRoutes) addRegions(h *rest.Handler) {
	changes := rest.Route{Operator: true, Fresh: true}
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "order-relays", Method: http.MethodPut, Path: "/relays/{region}/order",
		Summary: "Set the order of a region's relays: the first is the primary, the others take over in this order", Tags: relayTags, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, _ *app.Key, in *regionPath, b *orderRequest) (*regionOutput, error) {
		return regionOf(r.Service.Order(ctx, in.Region, b.Relays))
	})
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "update-failover", Method: http.MethodPatch, Path: "/relays/{region}/failover",
		Summary: "Choose who switches a region to a reserve, and when", Tags: relayTags, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, _ *app.Key, in *regionPath, b *failoverRequest) (*regionOutput, error) {
		return regionOf(r.Service.SetPolicy(ctx, in.Region, relays.PolicyInput(*b)))
	})
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "switch-relay", Method: http.MethodPost, Path: "/relays/{region}/switch",
		Summary: "Make a relay of a region the active one now, or let the server choose again", Tags: relayTags, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, _ *app.Key, in *regionPath, b *switchRequest) (*regionOutput, error) {
		if b.Auto == (b.Relay != "") {
			return nil, app.Invalid("relay", "or auto is required, not both")
		}
		if b.Auto {
			return regionOf(r.Service.Auto(ctx, in.Region))
		}
		return regionOf(r.Service.Switch(ctx, in.Region, b.Relay))
	})
}

func regionOf(st relays.RegionStatus, err error) (*regionOutput, error) {
	if err != nil {
		return nil, err
	}
	return &regionOutput{regionRecord{Object: "region", Region: st.Region, Relays: st.Relays, Active: st.Active, Policy: newPolicy(st.Policy), ByOperator: st.ByOperator,
		SwitchedAt: st.SwitchedAt, Reason: st.Reason}}, nil
}

func newPolicy(p relays.Policy) regionPolicy {
	return regionPolicy{Mode: string(p.Mode), After: p.After, BackAfter: p.BackAfter, Broadcasts: p.Broadcasts, AlignedOnly: p.AlignedOnly, Doubts: p.Doubts}
}

func (r RelayRoutes) list(ctx context.Context, _ *app.Key, _ *struct{}) (*relayListOutput, error) {
	all, err := r.Service.List(ctx)
	if err != nil {
		return nil, err
	}
	return &relayListOutput{relayList{Object: "list", Data: converted(all, newRelayItem)}}, nil
}

func newRelayItem(s relays.Status) RelayItem {
	item := RelayItem{Region: s.Region, Name: s.Name, From: s.From, Host: s.Host, User: s.User, State: s.State, Reason: s.Reason, Since: s.Since, NextTry: s.NextTry,
		Rate: s.Rate, Daily: s.Daily, DailyUsed: s.DailyUsed, Connections: s.Connections, Waiting: s.Waiting, Note: s.Note}
	if last := s.LastTest; last != nil {
		item.LastTest = &relayLastTest{OK: last.OK, TestedAt: app.FormatTime(last.TestedAt), Step: last.Step, Reply: last.Reply}
	}
	if t := s.Traffic; t != nil {
		item.SentHour, item.SentDay, item.InDoubt = &t.SentHour, &t.SentDay, &t.InDoubt
	}
	if f := s.Failover; f != nil {
		policy := newPolicy(f.Policy)
		item.Active, item.Primary, item.Reserves, item.Policy, item.ByOperator = f.Active, f.Primary, f.Reserves, &policy, &f.ByOperator
		item.SwitchedAt, item.SwitchReason, item.Available, item.HeldUntil, item.Moved, item.Kept = f.SwitchedAt, f.SwitchReason, f.Available, f.HeldUntil, &f.Moved, &f.Kept
	}
	return item
}

func (r RelayRoutes) get(ctx context.Context, _ *app.Key, in *RelayPath) (*relayOutput, error) {
	s, err := r.Service.Get(ctx, in.full())
	if err != nil {
		return nil, err
	}
	return &relayOutput{relayRecord{Object: "relay", RelayItem: newRelayItem(s)}}, nil
}

func (r RelayRoutes) add(ctx context.Context, _ *app.Key, _ *struct{}, b *addRelayRequest) (*addedRelayOutput, error) {
	var added relays.Added
	var err error
	switch {
	case b.Existing != "":
		if _, err := r.Service.AddExisting(ctx, b.Region, b.Existing); err != nil {
			return nil, err
		}
		return &addedRelayOutput{addedRelay{Object: "relay", Region: b.Existing}}, nil
	case b.URL == "":
		return nil, app.Invalid("url", "is required")
	case b.Name != "":
		var text string
		if text, err = relayurl.ByRegion(b.Region+"/"+b.Name, strings.TrimSpace(b.URL)); err != nil {
			return nil, app.Errorf(app.CodeValidation, "The relay %v", err)
		}
		added, err = r.Service.AddRelay(ctx, relays.AddInput{Text: text, Reserve: b.Reserve})
	case b.Region == "":
		added, err = r.Service.Add(ctx, b.URL)
	default:
		added, err = r.Service.AddNamed(ctx, b.Region, b.URL)
	}
	if err != nil {
		return nil, err
	}
	return &addedRelayOutput{addedRelay{Object: "relay", Region: added.Region, Host: added.Host, Changed: added.Changed}}, nil
}

func (r RelayRoutes) test(ctx context.Context, _ *app.Key, in *RelayPath, b *testRelayRequest) (*relayTestOutput, error) {
	tested, err := r.Service.Test(ctx, relays.TestInput{Region: in.full(), To: b.SendTo, From: b.From})
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
	if in.Name != "" {
		return pauseOf(r.Service.PauseOnly(ctx, in.full(), time.Duration(d)))
	}
	return pauseOf(r.Service.Pause(ctx, in.Region, time.Duration(d)))
}

func (r RelayRoutes) resume(ctx context.Context, _ *app.Key, in *RelayPath) (*relayPauseOutput, error) {
	if in.Name != "" {
		return pauseOf(r.Service.ResumeOnly(ctx, in.full()))
	}
	return pauseOf(r.Service.Resume(ctx, in.Region))
}

func pauseOf(p relays.Paused, err error) (*relayPauseOutput, error) {
	if err != nil {
		return nil, err
	}
	return &relayPauseOutput{relayPause{Object: "relay", Region: p.Region, State: p.State, Until: p.Until}}, nil
}

func (r RelayRoutes) remove(ctx context.Context, _ *app.Key, in *RelayPath) (*removedRelayOutput, error) {
	if other := in.full(); other != in.Region && !strings.HasPrefix(other, in.Region+"/") && !strings.HasPrefix(other, in.Region+"#") {
		if _, err := r.Service.RemoveFrom(ctx, in.Region, other); err != nil {
			return nil, err
		}
		return &removedRelayOutput{removedRelay{Object: "relay", Region: other, Deleted: true}}, nil
	}
	removed, err := r.Service.Remove(ctx, in.full())
	if err != nil {
		return nil, err
	}
	return &removedRelayOutput{removedRelay{Object: "relay", Region: removed.Region, Deleted: true, Waiting: removed.Waiting}}, nil
}
