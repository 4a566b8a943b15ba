package delivery_test

import (
	"testing"
	"time"

	"mailer/app/sending/delivery"
)

func TestUnaffectedSenderProbesOpenBreaker(t *testing.T) {
	var b delivery.CircuitBreaker
	pause := func(int) time.Duration { return time.Hour }
	p, _ := b.Allow(true)
	if _, _, fresh := b.Trip(p, true, pause); !fresh || b.IsClosed() {
		t.Fatal("the breaker is not open")
	}
	if _, ok := b.Allow(false); ok {
		t.Error("an affected sender is allowed")
	}
	early, ok := b.Allow(true)
	if _, again := b.Allow(true); !ok || again {
		t.Errorf("first probe allowed: %v, second: %v", ok, again)
	}
	if failures, _, fresh := b.Trip(early, true, pause); fresh || failures != 1 {
		t.Errorf("a refused early probe opens the breaker longer: %d failures", failures)
	}
	next, ok := b.Allow(true)
	if !ok || !b.Success(next) || !b.IsClosed() {
		t.Error("a successful early probe does not close the breaker")
	}
}
