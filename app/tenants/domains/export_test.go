package domains

import (
	"crypto/rsa"

	"mailer/app"
	"mailer/app/base"
)

// What the tests of this package from outside reach into it for.

func (s *Service) Wants(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	return s.wants(d)
}

const KeysWaiting = keysWaiting

func (s *Service) KeyTurns() *base.Turns { return s.keyTurns }

// SetThrowaway replaces what makes the key of capture mode.
func (s *Service) SetThrowaway(generate func() (*rsa.PrivateKey, error)) { s.throwaway = generate }
