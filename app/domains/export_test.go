package domains

import "mailer/app"

// What the tests of this package from outside reach into it for.

func (x *Service) Wants(a0 *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	return x.wants(a0)
}
