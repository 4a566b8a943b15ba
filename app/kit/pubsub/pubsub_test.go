package pubsub

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func listen(t *testing.T, b *Bus, team, holder string) *Listener {
	t.Helper()
	l, err := b.Listen(team, holder)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// received returns what a listener has received so far.
func received(l *Listener) string {
	synctest.Wait()
	var out strings.Builder
	for {
		select {
		case text, open := <-l.C:
			if !open {
				return out.String() + "closed"
			}
			out.Write(text)
		default:
			return out.String()
		}
	}
}

func TestListenersGetEventsOfTheirTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		if b.Listening() {
			t.Error("there are listeners")
		}
		b.Publish("a", Event{Name: "lost"}) // before there is a listener
		ours, theirs := listen(t, b, "a", "k"), listen(t, b, "b", "k")
		b.Publish("a", Event{Name: "email", ID: "1"})
		b.Publish("a", Event{Name: "email", ID: "1", Data: func() any { return map[string]string{"id": "1", "event": "sent"} }})
		b.Publish("a", Event{Name: "queue"})
		time.Sleep(gatherDelay)
		if got, want := received(ours), "event: email\ndata: {\"event\":\"sent\",\"id\":\"1\"}\n\nid: 1\nevent: queue\ndata: {}\n\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := received(theirs); got != "" {
			t.Errorf("another team gets %q", got)
		}
		ours.Close()
		ours.Close()
		theirs.Close()
		if b.Listening() || len(b.teams)+len(b.holders) > 0 {
			t.Errorf("listeners are left: %v %v", b.teams, b.holders)
		}
	})
}

func TestEventsAreDeliveredOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		l := listen(t, b, "a", "k")
		defer l.Close()
		start := time.Now()
		for range 1000 { // ten seconds
			b.Publish("a", Event{Name: "queue"})
			time.Sleep(10 * time.Millisecond)
			received(l)
		}
		if deliveries := b.deliveries; deliveries < 9 || deliveries > 11 {
			t.Errorf("%d deliveries in %v", deliveries, time.Since(start))
		}
	})
}

func TestTooManyEventsBecomeReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		l := listen(t, b, "a", "k")
		defer l.Close()
		for i := range 10 * maxEvents {
			b.Publish("a", Event{Name: "email", ID: fmt.Sprint(i)})
		}
		time.Sleep(gatherDelay)
		got := received(l)
		if n := strings.Count(got, "event: email\n"); n != maxEvents || !strings.HasSuffix(got, "event: reset\ndata: {}\n\n") {
			t.Errorf("%d events, the end is %q", n, got[len(got)-60:])
		}
	})
}

func TestSlowListenerIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		slow, swift := listen(t, b, "a", "slow"), listen(t, b, "a", "swift")
		defer swift.Close()
		for range listenerBuffer + 3 {
			b.Publish("a", Event{Name: "queue"})
			time.Sleep(minInterval)
			if got := received(swift); strings.Count(got, "queue") != 1 {
				t.Fatalf("with a slow listener, another one gets %q", got)
			}
		}
		if got := received(slow); strings.Count(got, "queue") != listenerBuffer || !strings.HasSuffix(got, "closed") {
			t.Errorf("the slow one got %q", got)
		}
		slow.Close()
		if n := b.listening.Load(); n != 1 {
			t.Errorf("%d listen", n)
		}
	})
}

func TestListenerLimits(t *testing.T) {
	b := New()
	b.Limits = Limits{All: 4, Team: 3, Holder: 2}
	var all []*Listener
	refused := func(team, holder string, want error) {
		t.Helper()
		l, err := b.Listen(team, holder)
		if !errors.Is(err, want) {
			t.Errorf("%s %s: %v, want %v", team, holder, err, want)
		}
		if err == nil {
			all = append(all, l)
		}
	}
	refused("a", "1", nil)
	refused("a", "1", nil)
	refused("a", "1", ErrHolder)
	refused("a", "2", nil)
	refused("a", "3", ErrTeam)
	refused("b", "4", nil)
	refused("b", "5", ErrAll)
	for _, l := range all {
		l.Close()
	}
	refused("a", "1", nil)
}

// TestListenerJoiningDuringDelivery: the last listener leaves and another joins while events are
// pending.
func TestListenerJoiningDuringDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		first := listen(t, b, "a", "k")
		b.Publish("a", Event{Name: "queue"})
		first.Close()
		next := listen(t, b, "a", "k")
		defer next.Close()
		time.Sleep(minInterval)
		if got := received(next); got != "" {
			t.Errorf("an event came before: %q", got)
		}
		b.Publish("a", Event{Name: "queue"})
		time.Sleep(gatherDelay)
		if got := received(next); !strings.Contains(got, "queue") {
			t.Errorf("it gets %q", got)
		}
	})
}

func BenchmarkPublishToNobody(b *testing.B) {
	bus := New()
	for b.Loop() {
		bus.Publish("a", Event{Name: "queue"})
	}
}
