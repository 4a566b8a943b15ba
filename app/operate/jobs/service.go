// Package upkeep is what must be done again and again: the pacemaker, the watch
// over the clock, erasure of people, and cleaning. It may import every other
// service; only what wires them imports it.
//
// Failure policy: every job is idempotent and derived from the database; a tick
// that is missed or fails costs a delay and nothing else.
package jobs

import (
	"sync"

	"github.com/robfig/cron/v3"

	"mailer/app/base"
	"mailer/app/kit/footprint"
	"mailer/app/operate/requestlog"
	"mailer/app/operate/retention"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/sending/providerevents"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Others are the services that upkeep looks after.
type Others struct {
	Events     *webhooks.Service
	Teams      *teams.Service
	People     *accounts.Service
	Domains    *domains.Service
	Audience   *audience.Service
	Mail       *mail.Service
	Delivery   *delivery.Service
	Broadcasts *broadcasts.Service
	Reports    *providerevents.Service
	Retention  *retention.Service
	RequestLog *requestlog.Service
	Shrink     func() // hands memory of the process back; nil: nothing does
}

// Service is the background's work.
type Service struct {
	*base.Base
	events     *webhooks.Service
	teams      *teams.Service
	people     *accounts.Service
	domains    *domains.Service
	audience   *audience.Service
	mail       *mail.Service
	delivery   *delivery.Service
	broadcasts *broadcasts.Service
	reports    *providerevents.Service
	retention  *retention.Service
	requestLog *requestlog.Service
	eraser     *eraser
	clock      *watch
	swept      swept
	work       footprint.Watch
	handBack   func()
	jobs       []cronJob // all that cron does
	cron       *cron.Cron
	pacing     sync.Mutex // held while cron is stopped or started again
}

// New makes the service.
func New(copied *base.Base, o Others) *Service {
	s := &Service{Base: copied, events: o.Events, teams: o.Teams, people: o.People, domains: o.Domains, audience: o.Audience, mail: o.Mail,
		delivery: o.Delivery, broadcasts: o.Broadcasts, reports: o.Reports, retention: o.Retention, requestLog: o.RequestLog, eraser: newEraser(), clock: newWatch(), handBack: o.Shrink}
	s.jobs = s.allJobs()
	return s
}
