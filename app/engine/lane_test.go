package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestALongQueueOfOneTeamDoesNotDelayAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 100}, nil)
		w := idle(t, relay)
		other := w.addTeam("Other", "other.example")
		const long = 10_000
		for n := 0; n < long; n += 1000 {
			must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
				for range 1000 {
					email, err := newEmail(w.key, letter("many@example.net"))
					if err := errors.Join(err, w.e.accept(tx, email)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		w.start()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		ahead := len(relay.seen(""))
		in := letter("one@example.net")
		in.From = "x@other.example"
		id, err := w.e.SendEmail(t.Context(), other, in, SendOptions{})
		must(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		at := slices.IndexFunc(relay.seen(""), func(s try) bool { return s.m.EmailID == id })
		l := w.e.lanes[0]
		if limit := cap(l.mail.jobs) + cap(l.dots) + 4; at < 0 || at-ahead > limit {
			t.Errorf("the other team's email came after %d of the long queue, at most %d are fine", at-ahead, limit)
		}
	})
}

func TestManyTeamsTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const teams, each = 24, 6
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1}, nil)
		w := idle(t, relay)
		team := map[string]int{}
		for i := range teams {
			key := w.addTeam(fmt.Sprint("team", i), fmt.Sprintf("d%d.example", i))
			in := letter("a@example.net")
			in.From = fmt.Sprintf("x@d%d.example", i)
			for range each {
				id, err := w.e.SendEmail(t.Context(), key, in, SendOptions{})
				must(t, err)
				team[id] = i
			}
		}
		w.start()
		synctest.Wait()
		seen := relay.seen("")
		if len(seen) != teams*each {
			t.Fatalf("%d of %d were sent", len(seen), teams*each)
		}
		first := map[int]int{}
		for at, s := range seen {
			if _, ok := first[team[s.m.EmailID]]; !ok {
				first[team[s.m.EmailID]] = at
			}
		}
		for i, at := range first {
			if limit := 2*teams + 2*cap(w.e.lanes[0].mail.jobs); at > limit {
				t.Errorf("team %d waited for %d messages, at most %d are fair", i, at, limit)
			}
		}
	})
}

func TestTheRateOfARelayIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 14}, nil)
		w := idle(t, relay)
		for i := range 141 {
			w.send(fmt.Sprintf("u%d@example.net", i))
		}
		w.start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		seen := relay.seen("")
		if len(seen) != 141 {
			t.Fatalf("%d sent", len(seen))
		}
		if took := seen[140].at.Sub(seen[0].at); took < 10*time.Second-time.Millisecond || took > 11*time.Second {
			t.Errorf("141 messages at 14 a second took %v", took)
		}
		for i := range len(seen) - 15 {
			if d := seen[i+15].at.Sub(seen[i].at); d < time.Second-10*time.Millisecond {
				t.Errorf("16 messages within %v", d)
			}
		}
	})
}

func TestTheDailyLimitHoldsInAny24HoursAcrossARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const daily = 10
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Daily: daily}, nil)
		w := serving(t, relay)
		time.Sleep(50 * time.Second) // not at the beginning of a minute
		var ids []string
		for range 5 {
			ids = append(ids, w.send("bob@example.net"))
			time.Sleep(time.Hour)
		}
		for range 20 {
			ids = append(ids, w.send("bob@example.net"))
		}
		time.Sleep(10*time.Minute + 7*time.Second)
		synctest.Wait()
		if n := len(relay.seen("")); n != daily {
			t.Errorf("%d sent at once, want %d", n, daily)
		}
		if story := w.story(ids[24]); !slices.ContainsFunc(w.events(ids[24]), func(ev app.Event) bool { return ev.Type == app.EventRelayTrouble }) {
			t.Errorf("the timeline does not tell of the limit:\n%s", story)
		}
		w.stop()
		time.Sleep(time.Hour)
		w.open()
		w.start()
		time.Sleep(75 * time.Hour)
		synctest.Wait()
		seen := relay.seen("")
		if len(seen) != 25 {
			t.Errorf("%d sent in the end", len(seen))
		}
		for i := range len(seen) - daily {
			if d := seen[i+daily].at.Sub(seen[i].at); d < 24*time.Hour {
				t.Errorf("%d messages within %v", daily+1, d)
			}
		}
		for _, id := range ids {
			w.wantLast(id, app.Sent)
			if u := w.eventOf(id, app.EventType(app.Sent)); u.Detail.Attempt != 1 {
				t.Errorf("waiting for the limit counted as attempt: %d", u.Detail.Attempt)
			}
		}
	})
}

func TestASlowMessageCountsInTheMinuteOfItsDot(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				slow := make(chan struct{})
				relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Daily: 1}, firstly(after(slow, accept)))
				w := serving(t, relay)
				w.send("bob@example.net")
				time.Sleep(10 * time.Minute)
				dot := time.Now()
				close(slow)
				synctest.Wait()
				relay.follow(nil)
				if restart {
					w.stop()
					w.open()
					w.start()
				}
				w.send("eve@example.net")
				time.Sleep(25 * time.Hour)
				synctest.Wait()
				seen := relay.seen("")
				if len(seen) != 2 || seen[1].at.Sub(dot) < 24*time.Hour {
					t.Errorf("%d sent, the last %v after the dot of the first", len(seen), seen[len(seen)-1].at.Sub(dot))
				}
			})
		})
	}
}

func TestMailLeavesThroughTheRelayOfItsDomainsRegion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		us := newRelay(nil)
		eu := newRelayOf(relays.Relay{Region: "eu-west-1", Connections: 1}, nil)
		w := serving(t, us, eu)
		w.addDomain(w.key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		w.addDomain(w.key.TeamID, "gone.example", "sa-east-1", app.DomainVerified)
		for domain, relay := range map[string]*fakeRelay{testDomain: us, "eu.example": eu, "gone.example": us} {
			in := letter("bob@example.net")
			in.From = "x@" + domain
			id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
			must(t, err)
			synctest.Wait()
			if len(relay.seen(id)) != 1 {
				t.Errorf("mail of %s did not leave through %s", domain, relay.Region)
			}
			if got := w.email(id).Relay; got != relay.Region {
				t.Errorf("mail of %s names the relay %s", domain, got)
			}
		}
	})
}

func TestUnitsOfARelayThatIsNoLongerConfiguredLeaveThroughTheDefault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		eu := newRelayOf(relays.Relay{Region: "eu-west-1", Connections: 1}, always(dotThen(nil)))
		w := serving(t, newRelay(nil), eu)
		w.addDomain(w.key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		var ids []string
		for range 3 {
			in := letter("bob@example.net")
			in.From = "x@eu.example"
			id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
			must(t, err)
			ids = append(ids, id)
		}
		synctest.Wait()
		relay := newRelay(nil)
		next := w.crash(relay)
		next.start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, id := range ids {
			next.wantLast(id, app.Sent)
			if len(relay.seen(id)) != 1 {
				t.Errorf("%s was sent %d times", id, len(relay.seen(id)))
			}
		}
		if d := next.doubts(); len(d) != 1 {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestAnEmailThatAnotherProcessWroteIsSeenWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		time.Sleep(time.Hour)
		cli := w.beside()
		for range 3 {
			id, err := cli.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
			must(t, err)
			time.Sleep(sweepEvery)
			synctest.Wait()
			w.wantLast(id, app.Sent)
			time.Sleep(time.Minute)
		}
	})
}

func TestAStaleClaimBeginsNoAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id := w.send("bob@example.net")
		stale := *w.unit(id)
		begin := func(u app.Unit) error {
			return w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.BeginAttempt(u, tx.Now.Add(time.Second)) })
		}
		must(t, begin(stale))
		if err := begin(stale); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("an attempt that began meanwhile: %v", err)
		}
		now := *w.unit(id)
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(now, now.Attempts, tx.Now.Add(time.Hour)) }))
		if err := begin(now); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("a unit that was put off meanwhile: %v", err)
		}
		if u := w.unit(id); u.Attempts != 1 || time.Until(u.NextAt) != time.Hour {
			t.Errorf("unit %+v", u)
		}
	})
}
