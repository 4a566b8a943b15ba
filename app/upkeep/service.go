// Package upkeep is what must be done again and again: the pacemaker, the watch
// over the clock, erasure of people, and cleaning. It may import every other
// service; only what wires them imports it.
//
// Failure policy: every job is idempotent and derived from the database; a tick
// that is missed or fails costs a delay and nothing else.
package upkeep

import (
	"sync"

	"github.com/robfig/cron/v3"

	"mailer/app/audience"
	"mailer/app/broadcasts"
	"mailer/app/delivery"
	"mailer/app/domains"
	"mailer/app/events"
	"mailer/app/footprint"
	"mailer/app/mail"
	"mailer/app/people"
	"mailer/app/reports"
	"mailer/app/requestlog"
	"mailer/app/retention"
	"mailer/app/service"
	"mailer/app/teams"
)

// Others are the services that upkeep looks after.
type Others struct {
	Events     *events.Service
	Teams      *teams.Service
	People     *people.Service
	Domains    *domains.Service
	Audience   *audience.Service
	Mail       *mail.Service
	Delivery   *delivery.Service
	Broadcasts *broadcasts.Service
	Reports    *reports.Service
	Retention  *retention.Service
	RequestLog *requestlog.Service
	Shrink     func() // hands memory of the process back; nil: nothing does
}

// Service is the background's work.
type Service struct {
	*service.Base
	events     *events.Service
	teams      *teams.Service
	people     *people.Service
	domains    *domains.Service
	audience   *audience.Service
	mail       *mail.Service
	delivery   *delivery.Service
	broadcasts *broadcasts.Service
	reports    *reports.Service
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
func New(copied *service.Base, o Others) *Service {
	s := &Service{Base: copied, events: o.Events, teams: o.Teams, people: o.People, domains: o.Domains, audience: o.Audience, mail: o.Mail,
		delivery: o.Delivery, broadcasts: o.Broadcasts, reports: o.Reports, retention: o.Retention, requestLog: o.RequestLog, eraser: newEraser(), clock: newWatch(), handBack: o.Shrink}
	s.jobs = s.allJobs()
	return s
}
