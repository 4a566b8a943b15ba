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

func TestLongQueueDelaysNoOtherTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 100}, nil)
		w := testserver.New(t, relay)
		other := w.AddTeam("Other", "other.example")
		const long = 2000
		for n := 0; n < long; n += 1000 {
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				for range 1000 {
					email, err := mail.NewEmail(w.Key, testserver.Message("many@example.net"))
					if err := errors.Join(err, w.Services.Mail.Accept(tx, email)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		w.Start()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		ahead := len(relay.Transactions(""))
		in := testserver.Message("one@example.net")
		in.From = "x@other.example"
		id, err := w.Services.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		at := slices.IndexFunc(relay.Transactions(""), func(s testserver.Transaction) bool { return s.Message.EmailID == id })
		l := w.Services.Delivery.Queues()[0]
		if limit := l.Mail().MaxJobs() + cap(l.CommitSlots()) + 4; at < 0 || at-ahead > limit {
			t.Errorf("the other team's email came after %d of the long queue, at most %d are fine", at-ahead, limit)
		}
	})
}

func TestTeamsShareRelayFairly(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		const teams, each = 24, 6
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, nil)
		w := testserver.New(t, relay)
		team := map[string]int{}
		for i := range teams {
			key := w.AddTeam(fmt.Sprint("team", i), fmt.Sprintf("d%d.example", i))
			in := testserver.Message("a@example.net")
			in.From = fmt.Sprintf("x@d%d.example", i)
			for range each {
				id, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
				testserver.Must(t, err)
				team[id] = i
			}
		}
		w.Start()
		synctest.Wait()
		seen := relay.Transactions("")
		if len(seen) != teams*each {
			t.Fatalf("%d of %d were sent", len(seen), teams*each)
		}
		first := map[int]int{}
		for at, s := range seen {
			if _, ok := first[team[s.Message.EmailID]]; !ok {
				first[team[s.Message.EmailID]] = at
			}
		}
		for i, at := range first {
			if limit := 2*teams + 2*w.Services.Delivery.Queues()[0].Mail().MaxJobs(); at > limit {
				t.Errorf("team %d waited for %d messages, at most %d are fair", i, at, limit)
			}
		}
	})
}

func TestRelayRateIsKept(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 14}, nil)
		w := testserver.New(t, relay)
		for i := range 141 {
			w.Send(fmt.Sprintf("u%d@example.net", i))
		}
		w.Start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		seen := relay.Transactions("")
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

func TestDailyLimitSurvivesRestart(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		const daily = 10
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Daily: daily}, nil)
		w := testserver.Start(t, relay)
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
		if n := len(relay.Transactions("")); n != daily {
			t.Errorf("%d sent immediately, want %d", n, daily)
		}
		if timeline := w.Timeline(ids[24]); !slices.ContainsFunc(w.Events(ids[24]), func(ev app.Event) bool { return ev.Type == app.EventRelayTrouble }) {
			t.Errorf("the timeline does not tell of the limit:\n%s", timeline)
		}
		w.Stop()
		time.Sleep(time.Hour)
		w.Open()
		w.Start()
		time.Sleep(46 * time.Hour)
		synctest.Wait()
		seen := relay.Transactions("")
		if len(seen) != 25 {
			t.Errorf("%d sent in the end", len(seen))
		}
		for i := range len(seen) - daily {
			if d := seen[i+daily].At.Sub(seen[i].At); d < 24*time.Hour {
				t.Errorf("%d messages within %v", daily+1, d)
			}
		}
		for _, id := range ids {
			w.WantLastEvent(id, app.Sent)
			if u := w.OnlyEvent(id, app.EventType(app.Sent)); u.Detail.Attempt != 1 {
				t.Errorf("waiting for the limit counted as attempt: %d", u.Detail.Attempt)
			}
		}
	})
}

func TestUsageCountsInMinuteOfDot(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			run := testserver.SynctestHours
			if !restart {
				run = testserver.SynctestDays
			}
			run(t, func(t *testing.T) {
				slow := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Daily: 1}, testserver.InOrder(testserver.After(slow, testserver.Accept)))
				w := testserver.Start(t, relay)
				w.Send("bob@example.net")
				time.Sleep(10 * time.Minute)
				dot := time.Now()
				close(slow)
				synctest.Wait()
				relay.SetScript(nil)
				if restart {
					w.StopFor(20 * time.Hour)
				}
				w.Send("eve@example.net")
				time.Sleep(time.Until(dot.Add(25 * time.Hour)))
				synctest.Wait()
				seen := relay.Transactions("")
				if len(seen) != 2 || seen[1].At.Sub(dot) < 24*time.Hour {
					t.Errorf("%d sent, the last %v after the dot of the first", len(seen), seen[len(seen)-1].At.Sub(dot))
				}
			})
		})
	}
}

func TestMailUsesRelayOfDomainRegion(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		us := testserver.NewRelay(nil)
		eu := testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Connections: 1}, nil)
		w := testserver.Start(t, us, eu)
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		for domain, relay := range map[string]*testserver.FakeRelay{testserver.TestDomain: us, "eu.example": eu} {
			in := testserver.Message("bob@example.net")
			in.From = "x@" + domain
			id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			testserver.Must(t, err)
			synctest.Wait()
			if len(relay.Transactions(id)) != 1 {
				t.Errorf("mail of %s did not leave through %s", domain, relay.Region)
			}
			if got := w.Email(id).Relay; got != relay.Region {
				t.Errorf("mail of %s names the relay %s", domain, got)
			}
		}
	})
}

func TestEmailOfOtherProcessIsSentSoon(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		time.Sleep(time.Hour)
		cli := w.CommandServices()
		for range 3 {
			id, err := cli.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
			testserver.Must(t, err)
			time.Sleep(base.SweepEvery)
			synctest.Wait()
			w.WantLastEvent(id, app.Sent)
			time.Sleep(time.Minute)
		}
	})
}

func TestStaleClaimBeginsNoAttempt(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
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
