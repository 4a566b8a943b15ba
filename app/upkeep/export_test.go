package upkeep

import (
	"context"
	"time"

	"mailer/app/audience"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Advance(a0 context.Context, a1 time.Duration) error { return x.advance(a0, a1) }

func (x *Service) CheckClock(a0 context.Context, a1 time.Time) error { return x.checkClock(a0, a1) }

func (x *Service) Clock() *clock { return x.clock }

func (x *Service) EraseOpen(a0 context.Context) error { return x.eraseOpen(a0) }

func (x *Service) RewindCron() { x.rewindCron() }

func (x *Service) WithdrawErased(a0 context.Context, a1 string, a2 audience.Erasure) error {
	return x.withdrawErased(a0, a1, a2)
}

func (x *clock) SetAhead(d time.Duration) { x.ahead = d }

func (x *clock) Moved(a0 time.Duration, a1 time.Duration) time.Duration { return x.moved(a0, a1) }

var NewClock = newClock
