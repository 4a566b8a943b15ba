// Package providerevents stores what email providers and other mail servers report about sent mail:
// it matches reports with emails, records them in timelines, settles doubts, suppresses addresses
// and counts bounces and complaints.
//
// Failure policy: a report is stored once, however often it comes. A report that matches no email
// changes nothing.
package providerevents

import (
	"sync"

	"mailer/app/base"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
)

// Service stores reports.
type Service struct {
	*base.Base
	*Endpoints
	audience *audience.Service
	mail     *mail.Service
	delivery *delivery.Service

	reporting sync.Map // sources whose reports were noted in this run
}

// New makes a Service.
func New(base *base.Base, audienceService *audience.Service, mailService *mail.Service, deliveryService *delivery.Service) *Service {
	return &Service{Base: base, Endpoints: &Endpoints{base: base}, audience: audienceService, mail: mailService, delivery: deliveryService}
}
