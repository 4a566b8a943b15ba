package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/sending/queue"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// serverStatus is the state of the server, in the form of `mailer status --json`.
type serverStatus struct {
	OK       bool           `json:"ok" doc:"No issue needs attention"`
	Needs    []finding      `json:"needs" doc:"What is not well, errors first"`
	Relays   []RelayItem    `json:"relays"`
	Queue    statusQueue    `json:"queue"`
	Database statusDatabase `json:"database"`
	Backup   statusBackup   `json:"backup"`

	Certificates []statusCertificate `json:"certificates" doc:"Of the server's own listeners, what ends first before others"`
	Version      string              `json:"version"`
	Servers      []statusServer      `json:"servers,omitempty" doc:"Servers that share a PostgreSQL database, the leader first"`
}

type statusServer struct {
	Address string `json:"address" doc:"Machine and process"`
	Leads   bool   `json:"leads" doc:"The server that runs background work; another one takes over when it is gone"`
	Since   string `json:"since" format:"date-time"`
	Silent  int64  `json:"silent_ms" doc:"Milliseconds since it was heard of last; each says each second that it is there"`
}

type statusCertificate struct {
	Host    string  `json:"host" doc:"Whom it is for, or the file that it comes from"`
	Until   *string `json:"until" format:"date-time" doc:"null: none yet"`
	Failure *string `json:"failure" doc:"Why there is no newer one; null: nothing went wrong"`
}

// finding is a problem, in the form of `mailer status` and `mailer doctor`.
type finding struct {
	ID       string            `json:"id" doc:"What kind of finding it is"`
	Severity health.Severity   `json:"severity" enum:"error,warning" doc:"error: mail does not arrive, or soon will not"`
	Subject  string            `json:"subject" doc:"What it is about: the name of a relay, the id of a domain or webhook; empty: the server"`
	Params   map[string]string `json:"params" doc:"Values in its sentences"`
	What     string            `json:"what"`
	Fix      string            `json:"fix" doc:"What helps, in words"`
	Command  string            `json:"command" doc:"Command that helps and runs when pasted; empty: none"`
	Page     string            `json:"page" doc:"Page of the dashboard that helps, below /dashboard; empty: none"`
}

type statusQueue struct {
	Waiting   int64              `json:"waiting"`
	Oldest    *string            `json:"oldest" format:"date-time"`
	By        []statusCount      `json:"by"`
	ToDomains []queueDomainCount `json:"to_domains"`
}

type statusCount struct {
	Relay  string `json:"relay"`
	Team   string `json:"team" format:"uuid"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

type statusDatabase struct {
	Bytes    int64          `json:"bytes"`
	WALBytes int64          `json:"wal_bytes"`
	DiskFree int64          `json:"disk_free" doc:"In bytes"`
	Images   int64          `json:"images" doc:"Bytes of the images of all teams, within the database"`
	Received statusReceived `json:"received"`
}

// statusReceived is the mail of other servers that all teams received.
type statusReceived struct {
	Emails int64 `json:"emails" doc:"Today and yesterday, in UTC"`
	Bytes  int64 `json:"bytes" doc:"Of these emails"`
	Stored int64 `json:"stored" doc:"Bytes of all that are kept, about"`
}

type statusBackup struct {
	Last *string `json:"last" format:"date-time" doc:"The last one that went well; null: none was made"`
}

// healthChecks is a round of checks, in the form of `mailer doctor --json`.
type healthChecks struct {
	OK     bool          `json:"ok" doc:"All went well"`
	Checks []healthCheck `json:"checks"`
	At     string        `json:"checked_at" format:"date-time" doc:"When they were done: a round is shown again for some seconds"`
}

type healthCheck struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix" doc:"How to fix it; empty: nothing to do"`

	Finding *finding `json:"finding,omitempty" doc:"What is not well; absent: nothing"`
}

type (
	serverStatusOutput = rest.Output[serverStatus]
	healthChecksOutput struct{ Body healthChecks }
)

var serverTags = []string{"Server"}

// HealthRoutes are the routes of the server's health.
type HealthRoutes struct {
	Service *health.Service
	Version string // of the program
}

// Add adds the routes to a handler.
func (r HealthRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/status",
		Summary: "Show server status: relays, queue, disk, last backup, and issues that need attention", Tags: serverTags,
	}, r.status)
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-health-checks", Method: http.MethodGet, Path: "/health/checks",
		Summary: "Look at everything that can keep mail from leaving; what was found is shown again for some seconds", Tags: serverTags,
	}, func(ctx context.Context, _ *app.Key, _ *struct{}) (*healthChecksOutput, error) {
		return checksOf(r.Service.LastRound(ctx))
	})
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "run-health-checks", Method: http.MethodPost, Path: "/health/checks",
		Summary: "Look at everything now", Tags: serverTags,
	}, func(ctx context.Context, _ *app.Key, _ *struct{}) (*healthChecksOutput, error) {
		return checksOf(r.Service.NewRound(ctx))
	})
}

func checksOf(round health.Round, err error) (*healthChecksOutput, error) {
	if err != nil {
		return nil, err
	}
	checks := converted(round.Checks, func(c health.Check) healthCheck {
		return healthCheck{Name: c.Name, OK: c.OK, Found: c.Found, Fix: c.Fix, Finding: (*finding)(c.Finding)}
	})
	return &healthChecksOutput{healthChecks{OK: round.OK, Checks: checks, At: app.FormatTime(round.At)}}, nil
}

func (r HealthRoutes) status(ctx context.Context, _ *app.Key, _ *struct{}) (*serverStatusOutput, error) {
	return rest.Answer(newServerStatus)(r.Service.Status(ctx, r.Version))
}

func newServerStatus(st *health.Status) serverStatus {
	return serverStatus{
		OK: st.OK, Needs: converted(st.Needs, func(f health.Finding) finding { return finding(f) }),
		Relays: converted(st.Relays, newRelayItem),
		Queue: statusQueue{
			Waiting: st.Queue.Waiting, Oldest: st.Queue.Oldest,
			By: converted(st.Queue.By, func(c queue.Count) statusCount {
				return statusCount{Relay: c.Relay, Team: c.Team, Reason: c.Reason, Count: c.Count}
			}),
			ToDomains: converted(st.Queue.ToDomains, func(d queue.DomainCount) queueDomainCount { return queueDomainCount(d) }),
		},
		Database: statusDatabase{Bytes: st.Database.Bytes, WALBytes: st.Database.WALBytes, DiskFree: st.Database.DiskFree, Images: st.Database.Images, Received: statusReceived(st.Database.Received)},
		Backup:   statusBackup(st.Backup), Version: st.Version,
		Certificates: converted(st.Certificates, func(c health.Certificate) statusCertificate { return statusCertificate(c) }),
		Servers:      converted(st.Servers, func(n health.Node) statusServer { return statusServer(n) }),
	}
}
