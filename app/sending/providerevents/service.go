// Package reports is what others say of mail that left: providers' feedback and
// bounces, matched with the emails that they are of and settled. upkeep may
// import it.
//
// Failure policy: a report is taken once however often it comes; one that fits no
// email changes nothing.
package providerevents

import (
	"mailer/app/base"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
)

// Service takes reports.
type Service struct {
	*base.Base
	*Endpoints
	audience *audience.Service
	mail     *mail.Service
	delivery *delivery.Service
}

// New makes the service.
func New(base *base.Base, audienceService *audience.Service, mailService *mail.Service, deliveryService *delivery.Service) *Service {
	return &Service{Base: base, Endpoints: &Endpoints{base: base}, audience: audienceService, mail: mailService, delivery: deliveryService}
}
