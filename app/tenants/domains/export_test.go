package domains

import (
	"crypto/rsa"

	"mailer/app"
	"mailer/app/base"
)

// What the tests of this package from outside reach into it for.

func (s *Service) RecordInputs(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	return s.recordInputs(d)
}

const MaxKeysWaiting = maxKeysWaiting

func (s *Service) KeySlots() *base.TeamSemaphore { return s.keySlots }

// SetThrowaway replaces what makes the key of capture mode.
func (s *Service) SetThrowaway(generate func() (*rsa.PrivateKey, error)) { s.throwaway = generate }
