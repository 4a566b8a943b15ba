package domains

import (
	"crypto/rsa"

	"mailer/app"
)

// What the tests of this package from outside reach into it for.

func (s *Service) Wants(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	return s.wants(d)
}

// SetThrowaway replaces what makes the key of capture mode.
func (s *Service) SetThrowaway(generate func() (*rsa.PrivateKey, error)) { s.throwaway = generate }
