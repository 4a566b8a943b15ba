package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/kit/pubsub"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// liveRoutes is the route of live events.
type liveRoutes struct {
	bus *pubsub.Bus
	h   *rest.Handler
}

type liveInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last received event: no event is repeated, and a reset event reports the gap"`
}

const liveDescription = "Server-sent events. Each names a change, at most one a second for each object: `queue`; `email` with `id` and `event`, " +
	"the type of the newest line of its timeline; `broadcast` with `id`, `status`, `done` and `total`; `import` with `id`, `status` and its counts; " +
	"for an operator without a team in the request, `queue` of all teams, and `relay` with its `id`. " +
	"`reset` says: reload what is shown, because more changed than the stream lists. The stream ends with the key or session, and if it is not read; connect again then. " +
	"Changes made by commands are not in the stream."

// Add adds the route to a handler.
func (r liveRoutes) Add(h *rest.Handler) {
	rest.RegisterRaw(h, rest.Route{AllTeams: true, Quiet: true}, openapi.Operation{
		OperationID: "listen", Method: http.MethodGet, Path: "/live",
		Summary: "Stream changes as server-sent events", Description: liveDescription, Tags: []string{"Live"},
		Responses: map[string]*openapi.Response{"200": {
			Description: "OK",
			Content:     map[string]*openapi.MediaType{"text/event-stream": {Schema: &openapi.Schema{Type: openapi.TypeString}}},
		}},
	}, r.listen)
}

// helloFrame makes clients reconnect after two seconds.
var helloFrame = []byte("retry: 2000\n\n")

func (r liveRoutes) listen(_ context.Context, x *rest.Exchange, in *liveInput) (*rest.SelfWritten, error) {
	holder := x.Key.ID
	if x.Key.Session != nil {
		holder = x.Key.Session.ID
	}
	l, err := r.bus.Listen(x.Key.TeamID, holder)
	if err != nil {
		return nil, refusedListener(r.bus, err)
	}
	first := helloFrame
	if in.LastEventID != "" {
		first = append(append([]byte{}, helloFrame...), pubsub.Text(0, pubsub.Event{Name: pubsub.Reset})...)
	}
	return &rest.SelfWritten{Body: func() {
		r.h.Follow(x, first, l.C, l.Close)
	}}, nil
}

// refusedListener returns the error for a listener that exceeds the limits.
func refusedListener(bus *pubsub.Bus, err error) error {
	refused := func(code app.Code, text string, args ...any) error {
		e := app.Errorf(code, text, args...)
		e.RetryAfter = 30 * time.Second
		return e
	}
	switch {
	case errors.Is(err, pubsub.ErrHolder):
		return refused(app.CodeRateLimitExceeded, "This key or session listens %d times already; close one of them", bus.Holder)
	case errors.Is(err, pubsub.ErrTeam):
		return refused(app.CodeRateLimitExceeded, "Your team listens %d times already; look again now and then instead", bus.Team)
	}
	return refused(app.CodeServiceUnavailable, "As many listen as the server can serve; look again now and then instead")
}
