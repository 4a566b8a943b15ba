package delivery_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestALongQueueOfOneTeamDoesNotDelayAnother(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 100}, nil)
		w := testserver.Idle(t, relay)
		other := w.AddTeam("Other", "other.example")
		const long = 10_000
		for n := 0; n < long; n += 1000 {
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				for range 1000 {
					email, err := mail.NewEmail(w.Key, testserver.Letter("many@example.net"))
					if err := errors.Join(err, w.Server.Mail.Accept(tx, email)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		w.Start()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		ahead := len(relay.Seen(""))
		in := testserver.Letter("one@example.net")
		in.From = "x@other.example"
		id, err := w.Server.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		at := slices.IndexFunc(relay.Seen(""), func(s testserver.Try) bool { return s.M.EmailID == id })
		l := w.Server.Delivery.Lanes()[0]
		if limit := l.Mail().Places() + cap(l.Dots()) + 4; at < 0 || at-ahead > limit {
			t.Errorf("the other team's email came after %d of the long queue, at most %d are fine", at-ahead, limit)
		}
	})
}

func TestManyTeamsTakeTurns(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		const teams, each = 24, 6
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, nil)
		w := testserver.Idle(t, relay)
		team := map[string]int{}
		for i := range teams {
			key := w.AddTeam(fmt.Sprint("team", i), fmt.Sprintf("d%d.example", i))
			in := testserver.Letter("a@example.net")
			in.From = fmt.Sprintf("x@d%d.example", i)
			for range each {
				id, err := w.Server.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
				testserver.Must(t, err)
				team[id] = i
			}
		}
		w.Start()
		synctest.Wait()
		seen := relay.Seen("")
		if len(seen) != teams*each {
			t.Fatalf("%d of %d were sent", len(seen), teams*each)
		}
		first := map[int]int{}
		for at, s := range seen {
			if _, ok := first[team[s.M.EmailID]]; !ok {
				first[team[s.M.EmailID]] = at
			}
		}
		for i, at := range first {
			if limit := 2*teams + 2*w.Server.Delivery.Lanes()[0].Mail().Places(); at > limit {
				t.Errorf("team %d waited for %d messages, at most %d are fair", i, at, limit)
			}
		}
	})
}

func TestTheRateOfARelayIsKept(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 14}, nil)
		w := testserver.Idle(t, relay)
		for i := range 141 {
			w.Send(fmt.Sprintf("u%d@example.net", i))
		}
		w.Start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		seen := relay.Seen("")
		if len(seen) != 141 {
			t.Fatalf("%d sent", len(seen))
		}
		if took := seen[140].At.Sub(seen[0].At); took < 10*time.Second-time.Millisecond || took > 11*time.Second {
			t.Errorf("141 messages at 14 a second took %v", took)
		}
		for i := range len(seen) - 15 {
			if d := seen[i+15].At.Sub(seen[i].At); d < time.Second-10*time.Millisecond {
				t.Errorf("16 messages within %v", d)
			}
		}
	})
}

func TestTheDailyLimitHoldsInAny24HoursAcrossARestart(t *testing.T) {
	testserver.Days(t, func(t *testing.T) {
		const daily = 10
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Daily: daily}, nil)
		w := testserver.Serving(t, relay)
		time.Sleep(50 * time.Second) // not at the beginning of a minute
		var ids []string
		for range 5 {
			ids = append(ids, w.Send("bob@example.net"))
			time.Sleep(time.Hour)
		}
		for range 20 {
			ids = append(ids, w.Send("bob@example.net"))
		}
		time.Sleep(10*time.Minute + 7*time.Second)
		synctest.Wait()
		if n := len(relay.Seen("")); n != daily {
			t.Errorf("%d sent at once, want %d", n, daily)
		}
		if story := w.Story(ids[24]); !slices.ContainsFunc(w.Events(ids[24]), func(ev app.Event) bool { return ev.Type == app.EventRelayTrouble }) {
			t.Errorf("the timeline does not tell of the limit:\n%s", story)
		}
		w.Stop()
		time.Sleep(time.Hour)
		w.Open()
		w.Start()
		time.Sleep(46 * time.Hour)
		synctest.Wait()
		seen := relay.Seen("")
		if len(seen) != 25 {
			t.Errorf("%d sent in the end", len(seen))
		}
		for i := range len(seen) - daily {
			if d := seen[i+daily].At.Sub(seen[i].At); d < 24*time.Hour {
				t.Errorf("%d messages within %v", daily+1, d)
			}
		}
		for _, id := range ids {
			w.WantLast(id, app.Sent)
			if u := w.EventOf(id, app.EventType(app.Sent)); u.Detail.Attempt != 1 {
				t.Errorf("waiting for the limit counted as attempt: %d", u.Detail.Attempt)
			}
		}
	})
}

func TestASlowMessageCountsInTheMinuteOfItsDot(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			run := testserver.Bubble
			if !restart {
				run = testserver.Days
			}
			run(t, func(t *testing.T) {
				slow := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Daily: 1}, testserver.Firstly(testserver.After(slow, testserver.Accept)))
				w := testserver.Serving(t, relay)
				w.Send("bob@example.net")
				time.Sleep(10 * time.Minute)
				dot := time.Now()
				close(slow)
				synctest.Wait()
				relay.Follow(nil)
				if restart {
					w.Rest(20 * time.Hour)
				}
				w.Send("eve@example.net")
				time.Sleep(time.Until(dot.Add(25 * time.Hour)))
				synctest.Wait()
				seen := relay.Seen("")
				if len(seen) != 2 || seen[1].At.Sub(dot) < 24*time.Hour {
					t.Errorf("%d sent, the last %v after the dot of the first", len(seen), seen[len(seen)-1].At.Sub(dot))
				}
			})
		})
	}
}

func TestMailLeavesThroughTheRelayOfItsDomainsRegion(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		us := testserver.NewRelay(nil)
		eu := testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Connections: 1}, nil)
		w := testserver.Serving(t, us, eu)
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		for domain, relay := range map[string]*testserver.FakeRelay{testserver.TestDomain: us, "eu.example": eu} {
			in := testserver.Letter("bob@example.net")
			in.From = "x@" + domain
			id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			testserver.Must(t, err)
			synctest.Wait()
			if len(relay.Seen(id)) != 1 {
				t.Errorf("mail of %s did not leave through %s", domain, relay.Region)
			}
			if got := w.Email(id).Relay; got != relay.Region {
				t.Errorf("mail of %s names the relay %s", domain, got)
			}
		}
	})
}

func TestAnEmailThatAnotherProcessWroteIsSeenWithinASecond(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		testserver.Several(t)
		relay := testserver.NewRelay(nil)
		w := testserver.Serving(t, relay)
		time.Sleep(time.Hour)
		cli := w.Beside()
		for range 3 {
			id, err := cli.Mail.SendEmail(t.Context(), w.Key, testserver.Letter("bob@example.net"), mail.SendOptions{})
			testserver.Must(t, err)
			time.Sleep(base.SweepEvery)
			synctest.Wait()
			w.WantLast(id, app.Sent)
			time.Sleep(time.Minute)
		}
	})
}

func TestAStaleClaimBeginsNoAttempt(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		stale := *w.Unit(id)
		begin := func(u app.Unit) error {
			return w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.BeginAttempt(u) })
		}
		testserver.Must(t, begin(stale))
		if err := begin(stale); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("an attempt that began meanwhile: %v", err)
		}
		now := *w.Unit(id)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(now, now.Attempts, tx.Now.Add(time.Hour)) }))
		if err := begin(now); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("a unit that was put off meanwhile: %v", err)
		}
		if u := w.Unit(id); u.Attempts != 1 || time.Until(u.NextAt) != time.Hour {
			t.Errorf("unit %+v", u)
		}
	})
}
