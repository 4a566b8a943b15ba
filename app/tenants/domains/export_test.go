package domains

import (
	"crypto/rsa"

	"mailer/app"
	"mailer/app/base"
)

// Exports for the external tests of this package.

func (s *Service) RecordInputs(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	return s.recordInputs(d)
}

const MaxKeysWaiting = maxKeysWaiting

func (s *Service) KeySlots() *base.TeamSemaphore { return s.keySlots }

// SetThrowaway replaces the function that makes the key of capture mode.
func (s *Service) SetThrowaway(generate func() (*rsa.PrivateKey, error)) { s.throwaway = generate }
