package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestSentEmailHasReplyInTimeline(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		ev := w.OnlyEvent(id, app.EventType(app.Sent))
		if ev.Recipient != "bob@example.net" || ev.Detail.ReplyCode != 250 || ev.Detail.EnhancedCode != "2.0.0" || ev.Detail.Reply != "Ok: taken" ||
			ev.Detail.Relay != app.DefaultRegion || ev.Detail.Attempt != 1 || !strings.Contains(ev.Detail.Message, "250 2.0.0 Ok: taken") {
			t.Errorf("event %+v", ev)
		}
		if u := w.Unit(id); u != nil {
			t.Errorf("the unit is still there: %+v", u)
		}
		m := relay.Transactions(id)[0].Message
		if m.EnvelopeFrom != "ann@example.com" || m.MessageID != id+"@example.com" || m.DKIM == nil || m.DKIM.Domain != testserver.TestDomain {
			t.Errorf("outgoing %+v", m)
		}
	})
}

func TestRecipientsAreSettledSeparately(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyPerRecipient(map[string]int{"no@example.net": 550, "later@example.net": 451})))
		w := testserver.Start(t, relay)
		id := w.Send("yes@example.net", "no@example.net", "later@example.net")
		synctest.Wait()
		w.WantLastEvent(id, app.Bounced)
		if ev := w.OnlyEvent(id, app.EventType(app.Bounced)); ev.Recipient != "no@example.net" || ev.Detail.ReplyCode != 550 || ev.Detail.Stage != app.StageRcpt {
			t.Errorf("bounce %+v", ev)
		}
		if ev := w.OnlyEvent(id, app.EventDeferred); ev.Recipient != "later@example.net" || ev.Detail.NextAttemptAt == "" {
			t.Errorf("deferral %+v", ev)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		tries := relay.Transactions(id)
		if len(tries) != 2 || !slices.Equal(tries[1].Message.Recipients, []string{"later@example.net"}) {
			t.Fatalf("tries %+v", tries)
		}
		w.WantLastEvent(id, app.Bounced)
		if w.Unit(id) != nil {
			t.Error("the unit is still there")
		}
	})
}

func TestDeferredEmailFollowsRetryTable(t *testing.T) {
	testserver.BothEngines(t)
	for _, jitter := range []float64{0, 0.5, 0.999} {
		t.Run(fmt.Sprint(jitter), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450})))
				w := testserver.New(t, relay)
				w.Services.Delivery.Jitter = func() float64 { return jitter }
				w.Start()
				id := w.Send("bob@example.net")
				synctest.Wait()
				table := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour}
				for i, step := range table {
					want := time.Duration(float64(step) * (0.8 + 0.4*jitter))
					if got := w.Unit(id).NextAt.Sub(relay.Transactions(id)[i].At); got != want.Truncate(time.Millisecond) {
						t.Errorf("after attempt %d it waits %v, want %v", i+1, got, want)
					}
					if i > 2 {
						w.RetryNow(id)
						w.Services.Delivery.Queues()[0].Wake()
					} else {
						time.Sleep(time.Until(w.Unit(id).NextAt) - 2*time.Second)
						if got := len(relay.Transactions(id)); got != i+1 {
							t.Errorf("%d attempts before the time of attempt %d", got, i+2)
						}
						time.Sleep(3 * time.Second)
					}
					synctest.Wait()
					if got := len(relay.Transactions(id)); got != i+2 {
						t.Fatalf("%d attempts, want %d", got, i+2)
					}
				}
			})
		})
	}
}

func TestEmailExpiresAfter48Hours(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageMail, 451, "try later")))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net", "eve@example.net")
		synctest.Wait()
		if ev := w.OnlyEvent(id, app.EventDeferred); ev.Detail.ReplyCode != 451 || ev.Detail.Stage != app.StageMail {
			t.Errorf("deferral %+v", ev)
		}
		w.Stop()
		time.Sleep(47 * time.Hour)
		w.Open()
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Queued)
		w.Stop()
		time.Sleep(time.Hour - time.Minute)
		w.Open()
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Failed)
		n := 0
		for _, ev := range w.Events(id) {
			if ev.Type == app.EventType(app.Failed) {
				n++
				if !strings.HasPrefix(ev.Detail.Message, "Expired after 3 attempts, since it may wait 48h at most") || ev.Detail.Reason != app.ReasonExpired || !strings.Contains(ev.Detail.Message, "451 try later") {
					t.Errorf("words %q", ev.Detail.Message)
				}
			}
		}
		if n != 2 || w.Unit(id) != nil {
			t.Errorf("%d failures, unit %v", n, w.Unit(id))
		}
	})
}

func TestEmailIsRetriedAfterADayOfDowntime(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageMail, 450, "greylisted")))
		w := testserver.New(t, relay)
		id := w.Send("bob@example.net")
		time.Sleep(24 * time.Hour)
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Queued)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestRefusedMessageIsTriedTwice(t *testing.T) {
	for _, heals := range []bool{true, false} {
		t.Run(fmt.Sprint("heals=", heals), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageDot, 554, "5.6.0 no")))
				if !heals {
					relay.SetScript(testserver.Always(testserver.ReplyWith(app.StageDot, 554, "5.6.0 no")))
				}
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				w.WantLastEvent(id, app.Queued)
				if len(w.CommittedUnits()) != 0 {
					t.Error("a refused dot is still marked")
				}
				time.Sleep(4 * time.Second)
				synctest.Wait()
				if got := len(relay.Transactions(id)); got != 1 {
					t.Errorf("%d attempts within 4 s", got)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if heals {
					w.WantLastEvent(id, app.Sent)
					return
				}
				w.WantLastEvent(id, app.Failed)
				if ev := w.OnlyEvent(id, app.EventType(app.Failed)); ev.Detail.ReplyCode != 554 || ev.Recipient != "bob@example.net" {
					t.Errorf("failure %+v", ev)
				}
			})
		})
	}
}

func TestUndeliverableMessageFailsImmediately(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.RefuseLocally))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		w.WantLastEvent(id, app.Failed)
		if w.Unit(id) != nil {
			t.Error("the unit is still there")
		}
	})
}

func TestBurstOfSameRefusalBouncesNothing(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		relay.SetScript(func(m *app.Outgoing, n int) testserver.Answer {
			return testserver.ReplyWith(app.StageDot, 550, "account suspended, ticket 4F"+m.EmailID[30:]+"7")
		})
		w := testserver.New(t, relay)
		var ids []string
		for i := range 50 {
			ids = append(ids, w.Send(fmt.Sprintf("u%d@example.net", i)))
		}
		w.Start()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if n := len(relay.Transactions("")); n > 50 {
			t.Errorf("the relay was asked %d times", n)
		}
		for _, id := range ids {
			w.WantLastEvent(id, app.Queued)
		}
		if !strings.Contains(w.Timeline(ids[20]), "account suspended") {
			t.Errorf("the timeline does not say why:\n%s", w.Timeline(ids[20]))
		}
		relay.SetScript(nil)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		for _, id := range ids {
			w.WantLastEvent(id, app.Sent)
		}
	})
}

func TestRefusedRecipientsDoNotOpenBreaker(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		relay.SetScript(func(m *app.Outgoing, n int) testserver.Answer {
			return testserver.ReplyPerRecipient(map[string]int{m.Recipients[0]: 550})
		})
		w := testserver.New(t, relay)
		var ids []string
		for i := range 20 {
			ids = append(ids, w.Send(fmt.Sprintf("u%d@example.net", i)))
		}
		w.Start()
		synctest.Wait()
		for _, id := range ids {
			w.WantLastEvent(id, app.Bounced)
		}
	})
}

func TestRecipientMissingFromResultIsRetried(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.OmitLastRecipient))
		w := testserver.Start(t, relay)
		id := w.Send("a@example.net", "b@example.net")
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		tries := relay.Transactions(id)
		if len(tries) != 2 || !slices.Equal(tries[1].Message.Recipients, []string{"b@example.net"}) {
			t.Fatalf("tries %+v", tries)
		}
	})
}
