package web

import (
	"context"
	"net/http"
	"strings"

	"mailer/app"
	"mailer/app/server"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

type healthStatus struct {
	Status string     `json:"status" doc:"ok"`
	Compat app.Compat `json:"compat" enum:"strict,resend" doc:"resend: requests may say what Resend takes beyond this API's rules"`
}

type readiness struct {
	Status  string   `json:"status" doc:"ready"`
	Starved []string `json:"starved,omitempty" doc:"What has to wait for memory: bodies of requests without a key, like those of unsubscribing; mail is accepted"`
	Relay   string   `json:"relay" enum:"configured,capture,none" doc:"none: mail is accepted and waits for a relay; capture: it is kept and never leaves"`
	Beside  bool     `json:"beside,omitempty" doc:"Another server works on the same database; this one answers beside it, and takes over once that is gone"`
}

type (
	healthOutput    struct{ Body healthStatus }
	readinessOutput struct{ Body readiness }
)

// healthRoutes are the routes for probes.
type healthRoutes struct {
	service  *server.Server
	draining func() bool
	starved  func() (withKey, others []string)
}

// Add adds the routes to a handler. Monitors use HEAD too.
func (r healthRoutes) Add(h *rest.Handler) {
	rt := rest.Route{Quiet: true, AnyHost: true} // load balancers use host names of their own
	for method, id := range map[string]string{http.MethodGet: "get-", http.MethodHead: "head-"} {
		rest.RegisterPublic(h, rt, openapi.Operation{
			OperationID: id + "health", Method: method, Path: "/healthz",
			Summary: "Tell that the process lives", Tags: []string{"Health"},
		}, r.health)
		rest.RegisterPublic(h, rt, openapi.Operation{
			OperationID: id + "readiness", Method: method, Path: "/readyz",
			Summary: "Tell whether mail can be accepted", Tags: []string{"Health"},
			Errors: []int{http.StatusServiceUnavailable},
		}, r.readiness)
	}
}

func (r healthRoutes) health(context.Context, *struct{}) (*healthOutput, error) {
	return &healthOutput{healthStatus{"ok", r.service.Compat()}}, nil
}

func (r healthRoutes) readiness(context.Context, *struct{}) (*readinessOutput, error) {
	if r.draining() {
		return nil, rest.NewError(app.CodeServiceUnavailable, "The server is shutting down")
	}
	if err := r.service.Ready(); err != nil {
		return nil, err
	}
	withKey, others := r.starved()
	if len(withKey) > 0 {
		return nil, rest.NewError(app.CodeServiceUnavailable, "Requests are refused, since there is no room for more "+strings.Join(withKey, " and "))
	}
	return &readinessOutput{readiness{"ready", others, r.service.RelayMode(), r.service.Following()}}, nil
}
