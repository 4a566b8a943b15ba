package web

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// usageRecord is a team's usage and the limits of its plan.
type usageRecord struct {
	Object string       `json:"object" enum:"usage"`
	Cloud  bool         `json:"cloud" doc:"false on self-hosted servers, which cap nothing"`
	Plan   *string      `json:"plan" doc:"null on self-hosted servers"`
	Limits *usageLimits `json:"limits" doc:"What the plan allows; null on self-hosted servers"`
	Today  usageToday   `json:"today"`
	Period *usagePeriod `json:"period" doc:"null but on monthly plans"`
	Team   usageTeam    `json:"team"`
	AppURL string       `json:"app_url" format:"uri"`
}

type usageLimits struct {
	_              struct{} `nullable:"true"`
	EmailsPerDay   int64    `json:"emails_per_day,omitempty" doc:"On daily plans"`
	EmailsPerMonth int64    `json:"emails_per_month,omitempty" doc:"On monthly plans: included recipients"`
	Domains        int      `json:"domains,omitempty" doc:"Absent: no limit"`
	Contacts       int      `json:"contacts,omitempty" doc:"Absent: no limit"`
	AutomationRuns int64    `json:"automation_runs" doc:"Open runs of automations"`
}

type usageToday struct {
	EmailsSent int64  `json:"emails_sent" doc:"Distinct recipients of the emails accepted on this UTC day; mail that waits for its time counts on the day it leaves"`
	ResetsAt   string `json:"resets_at" format:"date-time"`
}

type usagePeriod struct {
	_               struct{} `nullable:"true"`
	EmailsSent      int64    `json:"emails_sent"`
	Included        int64    `json:"included"`
	OverageEnabled  bool     `json:"overage_enabled"`
	OverageUSDPer1k float64  `json:"overage_usd_per_1k"`
	StartsAt        string   `json:"starts_at" format:"date-time"`
	EndsAt          string   `json:"ends_at" format:"date-time"`
}

type usageTeam struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
}

type usageOutput = rest.Output[usageRecord]

// usageRoutes is the route of usage.
type usageRoutes struct{ service *teams.Service }

// Add adds the routes to a handler.
func (r usageRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/usage",
		Summary: "Get what the team used of its plan", Tags: []string{"Usage"},
	}, r.getUsage)
}

func (r usageRoutes) getUsage(ctx context.Context, key *app.Key, _ *struct{}) (*usageOutput, error) {
	return rest.Answer(newUsageRecord)(r.service.Usage(ctx, key))
}

func newUsageRecord(u *plan.Usage) usageRecord {
	out := usageRecord{
		Object: "usage", Cloud: u.Plan != nil,
		Today: usageToday{EmailsSent: u.Today, ResetsAt: app.FormatTime(u.ResetsAt)},
		Team:  usageTeam{ID: u.Team.ID, Name: u.Team.Name}, AppURL: u.AppURL,
	}
	if u.Plan == nil {
		return out
	}
	name, terms := string(u.Plan.Name), u.Plan.Terms()
	out.Plan = &name
	out.Limits = &usageLimits{EmailsPerDay: terms.PerDay, EmailsPerMonth: u.Plan.Included(), Domains: terms.Domains, Contacts: terms.Contacts, AutomationRuns: terms.MaxOpenRuns()}
	if !u.Plan.Daily() {
		out.Period = &usagePeriod{
			EmailsSent: u.Period, Included: u.Plan.Included(), OverageEnabled: u.Plan.Overage, OverageUSDPer1k: terms.OverageUSD,
			StartsAt: app.FormatTime(u.Starts), EndsAt: app.FormatTime(u.Ends),
		}
	}
	return out
}
