// Package jobs runs the background work of a server: cron jobs, compensation of clock steps,
// erasures, and cleanup. It uses all other services.
//
// Failure policy: every job is idempotent and derived from the database. A missed or failed run
// only causes a delay.
package jobs

import (
	"sync"

	"github.com/robfig/cron/v3"

	"mailer/app/base"
	"mailer/app/operate/health"
	"mailer/app/operate/requestlog"
	"mailer/app/operate/retention"
	"mailer/app/sending/archive"
	"mailer/app/sending/automations"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/delivery"
	"mailer/app/sending/feeds"
	"mailer/app/sending/mail"
	"mailer/app/sending/mailroutes"
	"mailer/app/sending/providerevents"
	"mailer/app/sending/signup"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/images"
	"mailer/app/tenants/pagehosts"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Dependencies are the services that the jobs use.
type Dependencies struct {
	Health      *health.Service
	Events      *webhooks.Service
	Teams       *teams.Service
	Accounts    *accounts.Service
	Domains     *domains.Service
	PageHosts   *pagehosts.Service
	Images      *images.Service
	Audience    *audience.Service
	Mail        *mail.Service
	Delivery    *delivery.Service
	Broadcasts  *broadcasts.Service
	SignUp      *signup.Service
	MailRoutes  *mailroutes.Service
	Reports     *providerevents.Service
	Retention   *retention.Service
	RequestLog  *requestlog.Service
	Archive     *archive.Service
	Feeds       *feeds.Service
	Automations *automations.Service
}

// Service runs the background work.
type Service struct {
	*base.Base
	health      *health.Service
	events      *webhooks.Service
	teams       *teams.Service
	accounts    *accounts.Service
	domains     *domains.Service
	pageHosts   *pagehosts.Service
	images      *images.Service
	audience    *audience.Service
	mail        *mail.Service
	delivery    *delivery.Service
	broadcasts  *broadcasts.Service
	signUp      *signup.Service
	mailRoutes  *mailroutes.Service
	reports     *providerevents.Service
	retention   *retention.Service
	requestLog  *requestlog.Service
	archive     *archive.Service
	feeds       *feeds.Service
	automations *automations.Service
	eraser      *eraser
	clockWatch  *watch
	lastSweep   lastSweep
	changed     base.Signal // the database changed
	jobs        []cronJob   // all cron jobs
	cron        *cron.Cron
	pacing      sync.Mutex // held while cron is stopped or started
}

// New returns the service.
func New(copied *base.Base, o Dependencies) *Service {
	s := &Service{Base: copied, health: o.Health, events: o.Events, teams: o.Teams, accounts: o.Accounts, domains: o.Domains, pageHosts: o.PageHosts, images: o.Images, audience: o.Audience, mail: o.Mail,
		delivery: o.Delivery, broadcasts: o.Broadcasts, signUp: o.SignUp, mailRoutes: o.MailRoutes, reports: o.Reports, retention: o.Retention, requestLog: o.RequestLog, archive: o.Archive, feeds: o.Feeds, automations: o.Automations, eraser: newEraser(), clockWatch: newWatch(), changed: base.NewSignal()}
	s.jobs = s.allJobs()
	return s
}
