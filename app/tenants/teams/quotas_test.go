package teams_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/pacing"
	"mailer/app/rules/plan"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// cloud starts a server in cloud mode whose team is on a plan. In a synctest bubble it starts at
// midnight UTC.
func cloud(t *testing.T, in plan.Input, relays ...*testserver.FakeRelay) *testserver.Server {
	t.Helper()
	w := accepting(t, in, relays...)
	w.Start()
	return w
}

// accepting is cloud with a server that does not send.
func accepting(t *testing.T, in plan.Input, relays ...*testserver.FakeRelay) *testserver.Server {
	t.Helper()
	w := testserver.NewWithConfig(t, server.Config{Cloud: true}, relays...)
	w.SetPlan(in)
	return w
}

// acceptedBy returns the addresses that a relay accepted, in order.
func acceptedBy(r *testserver.FakeRelay) []string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.Clone(r.Accepted)
}

// wantAcceptedBy checks that a relay accepted mail for persons [0, n) in order, as far as
// concurrent workers keep the order.
func wantAcceptedBy(t *testing.T, r *testserver.FakeRelay, n int) {
	t.Helper()
	got := acceptedBy(r)
	if len(got) != n {
		t.Errorf("%d messages left, want %d", len(got), n)
	}
	for i, address := range got {
		if at := slices.Index(got, testserver.SubscriberAddress(i)); max(at-i, i-at) > 32 { // a requeued email is claimed again some messages later
			t.Fatalf("message %d went to %s, and to %s message %d", i, address, testserver.SubscriberAddress(i), at)
		}
	}
}

// oneAtATime returns a relay with one connection, which receives mail in the order of the claims.
func oneAtATime() *testserver.FakeRelay {
	return testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 1}, nil)
}

func TestDailyQuotaAndFullBacklog(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		ids := sendTo(w, 0, 400)
		w.Elapse(time.Hour)
		wantToday(w, 100)
		w.WantBacklog(300, 0)
		if got := len(acceptedBy(relay)); got != 100 {
			t.Fatalf("%d messages left on the first day", got)
		}
		w.WantLastEvent(ids[99], app.Sent)
		w.WantLastEvent(ids[100], app.Queued)
		if ev := w.OnlyEvent(ids[100], app.EventQuotaWait); ev.Detail.NextAttemptAt != "2000-01-02T00:00:00.000Z" {
			t.Errorf("the wait is told as %+v", ev.Detail)
		}
		err := trySend(w, 1)
		testserver.WantCode(t, err, app.CodeDailyQuotaExceeded)
		if refusal := err.(*app.Error); refusal.RetryAfter != 23*time.Hour {
			t.Errorf("try again after %s", refusal.RetryAfter)
		}
		for day := 2; day <= 4; day++ {
			w.Elapse(time.Until(plan.DayEnd(time.Now())) - time.Second)
			if got := len(acceptedBy(relay)); got != 100*(day-1) {
				t.Fatalf("%d messages left before day %d", got, day)
			}
			w.Elapse(time.Minute)
			if got := len(acceptedBy(relay)); got != 100*day {
				t.Fatalf("%d messages left by the first minute of day %d", got, day)
			}
			wantToday(w, 100)
			w.WantBacklog(int64(400-100*day), 0)
		}
		for i, id := range ids {
			w.WantLastEvent(id, app.Sent)
			if i%100 == 0 && len(w.Events(id)) > 8 {
				t.Errorf("too long a story:\n%s", w.Timeline(id))
			}
		}
		testserver.WantEachOnce(t, testserver.Received(relay), 400)
	})
}

func TestBacklogLeavesInOrderBeforeNewMail(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := oneAtATime()
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		sendTo(w, 0, 220)
		w.Elapse(time.Minute)
		w.Stop()
		time.Sleep(24 * time.Hour)
		relay.Reopen()
		w.Open()
		sendTo(w, 220, 225) // after midnight, before the backlog is released
		w.Start()
		w.Elapse(time.Minute)
		wantAcceptedBy(t, relay, 200)
		sendTo(w, 225, 226)
		w.Elapse(24 * time.Hour)
		wantAcceptedBy(t, relay, 226)
		w.WantBacklog(0, 0)
		wantToday(w, 26)
	})
}

func TestBacklogLimitCountsRecipients(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := accepting(t, plan.Input{Name: plan.Free}, testserver.NewRelay(nil))
		testserver.Must(t, trySend(w, 50))
		testserver.Must(t, trySend(w, 49))
		wantToday(w, 99)
		testserver.Must(t, trySend(w, 2)) // does not fit, so all of it waits
		wantToday(w, 99)
		w.WantBacklog(2, 0)
		testserver.Must(t, trySend(w, 1)) // fits
		wantToday(w, 100)
		for range 5 {
			testserver.Must(t, trySend(w, 50))
		}
		testserver.Must(t, trySend(w, 47))
		w.WantBacklog(299, 0)
		testserver.WantCode(t, trySend(w, 2), app.CodeDailyQuotaExceeded)
		testserver.Must(t, trySend(w, 1))
		testserver.WantCode(t, trySend(w, 1), app.CodeDailyQuotaExceeded)
		w.WantBacklog(300, 0)
		w.Elapse(24 * time.Hour)
		testserver.Must(t, trySend(w, 1)) // midnight frees quota before the queue is checked
	})
}

func TestQuotaAcceptsOrRefusesWholeBatch(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := accepting(t, plan.Input{Name: plan.Pro, Included: 5}, testserver.NewRelay(nil))
		sendTo(w, 0, 3)
		batch := func(permissive bool, inputs ...*app.EmailInput) error {
			var items []mail.BatchItem
			for _, in := range inputs {
				items = append(items, mail.BatchItem{Input: in})
			}
			_, err := w.Services.Mail.SendBatch(t.Context(), w.Key, items, permissive, mail.SendOptions{})
			return err
		}
		good, bad := testserver.Message("a@x.test"), testserver.Message("nobody")
		for _, permissive := range []bool{false, true} {
			err := batch(permissive, good, good, good)
			testserver.WantCode(t, err, app.CodeMonthlyQuotaExceeded)
			if strings.Contains(err.Error(), "emails.") || !strings.Contains(err.Error(), "2000-02-01") {
				t.Errorf("refused with %q", err)
			}
			wantToday(w, 3)
			if got := w.Count("emails"); got != "3" {
				t.Errorf("%s emails are kept", got)
			}
		}
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "s@x.test"})
		testserver.Must(t, err)
		testserver.WantCode(t, batch(false, good, good, good, testserver.Message("s@x.test")), app.CodeAllRecipientsSuppressed) // the quota comes last
		testserver.Must(t, batch(true, good, bad, good))
		wantToday(w, 5)
	})
}

func TestScheduledMailUsesQuotaOfItsDay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		schedule := func(to string, d time.Duration) string {
			in := testserver.Message(to)
			in.ScheduledAt = app.FormatTime(time.Now().Add(d))
			id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			testserver.Must(t, err)
			return id
		}
		first := schedule("first@x.test", time.Hour)
		second := schedule("second@x.test", 25*time.Hour)
		canceled := schedule("third@x.test", 25*time.Hour)
		deleted := schedule("fourth@x.test", 25*time.Hour)
		w.WantBacklog(0, 4)
		testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, canceled))
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, deleted))
		w.WantBacklog(0, 2)
		sendTo(w, 0, 100)
		w.Elapse(2 * time.Hour)
		w.WantLastEvent(first, app.Scheduled) // the quota of its day was used
		w.WantBacklog(1, 1)
		w.OnlyEvent(first, app.EventQuotaWait)
		w.Elapse(22*time.Hour + time.Minute)
		w.WantLastEvent(first, app.Sent)
		wantToday(w, 1)
		w.WantLastEvent(second, app.Scheduled)
		w.Elapse(time.Hour)
		w.WantLastEvent(second, app.Sent)
		wantToday(w, 2)
		w.WantBacklog(0, 0)
	})
}

func TestBackloggedMailCanBeCanceledAndDeleted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		ids := sendTo(w, 0, 103)
		w.WantBacklog(3, 0)
		testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, ids[100]))
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, ids[101]))
		w.WantBacklog(1, 0)
		w.Elapse(25 * time.Hour)
		got := testserver.Received(relay)
		if got[testserver.SubscriberAddress(100)] != 0 || got[testserver.SubscriberAddress(101)] != 0 || got[testserver.SubscriberAddress(102)] != 1 {
			t.Errorf("of the three that waited left %v", got)
		}
		wantToday(w, 1)
	})
}

func TestMonthlyQuotaAndOverageLimit(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := accepting(t, plan.Input{Name: plan.Pro, Included: 10}, testserver.NewRelay(nil))
		sendTo(w, 0, 6)
		w.Elapse(24 * time.Hour)
		sendTo(w, 0, 4)
		err := trySend(w, 1)
		testserver.WantCode(t, err, app.CodeMonthlyQuotaExceeded)
		if !strings.Contains(err.Error(), "2000-02-01") {
			t.Errorf("the renewal is not named: %v", err)
		}
		w.SetPlan(plan.Input{Name: plan.Pro, Included: 10, Overage: true})
		testserver.Must(t, trySend(w, 39))
		testserver.WantCode(t, trySend(w, 2), app.CodeMonthlyQuotaExceeded)
		testserver.Must(t, trySend(w, 1))
		testserver.WantCode(t, trySend(w, 1), app.CodeMonthlyQuotaExceeded)
		u := w.Usage()
		if u.Period != 50 || u.Today != 44 || app.FormatTime(u.Starts) != "2000-01-01T00:00:00.000Z" || app.FormatTime(u.Ends) != "2000-02-01T00:00:00.000Z" {
			t.Errorf("usage %+v", u)
		}
		w.Elapse(time.Until(u.Ends))
		testserver.Must(t, trySend(w, 1))
		if u := w.Usage(); u.Period != 1 || app.FormatTime(u.Ends) != "2000-03-01T00:00:00.000Z" {
			t.Errorf("in the next period: %+v", u)
		}
	})
}

func TestQuotaHoldsUnderConcurrentSends(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		const included, each, senders = 10, 2, 20
		w := accepting(t, plan.Input{Name: plan.Pro, Included: included}, testserver.NewRelay(nil))
		var accepted atomic.Int64
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				err := trySend(w, each)
				if err == nil {
					accepted.Add(each)
					return
				}
				testserver.WantCode(t, err, app.CodeMonthlyQuotaExceeded)
			})
		}
		all.Wait()
		if u := w.Usage(); accepted.Load() != included || u.Period != included {
			t.Errorf("%d recipients were accepted and %d counted, of %d", accepted.Load(), u.Period, included)
		}
	})
}

func TestPeriodQuotaReservesWaitingMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := cloud(t, plan.Input{Name: plan.Pro, Included: 10}, testserver.NewRelay(nil))
		w.AddSubscribers(6)
		broadcast := app.BroadcastInput{From: "ann@" + testserver.TestDomain, Subject: "News", HTML: "<p>x</p>", Send: true}
		later := broadcast
		later.ScheduledAt = app.FormatTime(time.Now().Add(time.Hour))
		_, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, later, mail.SendOptions{})
		testserver.Must(t, err)
		_, err = w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcast, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeMonthlyQuotaExceeded)
		in := testserver.Message("a@x.test", "b@x.test")
		in.ScheduledAt = later.ScheduledAt
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.WantCode(t, trySend(w, 3), app.CodeMonthlyQuotaExceeded)
		testserver.Must(t, trySend(w, 2))
		testserver.WantCode(t, trySend(w, 1), app.CodeMonthlyQuotaExceeded)
		w.Elapse(2 * time.Hour)
		wantToday(w, 10)
		w.WantBacklog(0, 0)
	})
}

func TestBroadcastFollowsBacklogOnDailyPlan(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		w.AddSubscribers(150)
		sendTo(w, 150, 180)
		b := w.AddDraft()
		w.Queue(b)
		w.Elapse(time.Hour)
		wantToday(w, 100)
		if got := len(acceptedBy(relay)); got != 100 {
			t.Errorf("%d messages left on the first day", got)
		}
		sendTo(w, 180, 230) // these wait for the next day, and leave before the rest of the broadcast
		w.Elapse(23*time.Hour + time.Minute)
		wantToday(w, 100)
		got := testserver.Received(relay)
		for i := 180; i < 230; i++ {
			if got[testserver.SubscriberAddress(i)] != 1 {
				t.Fatalf("%s did not leave first", testserver.SubscriberAddress(i))
			}
		}
		if left := w.Broadcast(b.ID); left.Counts.Sent != 120 {
			t.Errorf("%d of the broadcast left", left.Counts.Sent)
		}
		w.Elapse(24 * time.Hour)
		wantToday(w, 30)
		testserver.WantEachOnce(t, testserver.Received(relay), 230)
		if got := w.Broadcast(b.ID).Status; got != app.SentBroadcast {
			t.Errorf("the broadcast is %s", got)
		}
	})
}

func TestPlanChangeReleasesBacklog(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := cloud(t, plan.Input{Name: plan.Free}, relay)
		sendTo(w, 0, 150)
		w.Elapse(time.Minute)
		w.SetPlan(plan.Input{Name: plan.Starter})
		w.Elapse(3 * time.Second)
		testserver.WantEachOnce(t, testserver.Received(relay), 150)
		w.WantBacklog(0, 0)
		wantToday(w, 150)
		w.SetPlan(plan.Input{Name: plan.Free})
		testserver.Must(t, trySend(w, 1))
		w.WantBacklog(1, 0)
	})
}

func TestQuotaEventsOncePerDay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := cloud(t, plan.Input{Name: plan.Free}, testserver.NewRelay(nil))
		sendTo(w, 0, 79)
		if got := quotaEvents(w); len(got) != 0 {
			t.Errorf("told too early: %q", got)
		}
		sendTo(w, 0, 121)
		w.Elapse(24*time.Hour + time.Minute)
		want := []string{
			"quota.warning day 80/100 2000-01-02T00:00:00.000Z", "quota.reached day 100/100 2000-01-02T00:00:00.000Z",
			"quota.warning day 80/100 2000-01-03T00:00:00.000Z", "quota.reached day 100/100 2000-01-03T00:00:00.000Z",
		}
		if got := quotaEvents(w); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
	})
}

func TestQuotaEventsOncePerPeriod(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := accepting(t, plan.Input{Name: plan.Scale, Included: 10, Overage: true}, testserver.NewRelay(nil))
		sendTo(w, 0, 8)
		w.Elapse(24 * time.Hour)
		sendTo(w, 0, 8)
		want := []string{"quota.warning month 8/10 2000-02-01T00:00:00.000Z", "quota.reached month 10/10 2000-02-01T00:00:00.000Z"}
		if got := quotaEvents(w); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		w.Elapse(31 * 24 * time.Hour)
		testserver.Must(t, trySend(w, 9))
		if got := quotaEvents(w); len(got) != 3 || got[2] != "quota.warning month 9/10 2000-03-01T00:00:00.000Z" {
			t.Errorf("in the next period told %q", got)
		}
	})
}

func TestPlanLimits(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.NewWithConfig(t, server.Config{Cloud: true}, testserver.NewRelay(nil))
	w.AddDomain(w.Key.TeamID, "two.test", app.DefaultRegion, app.DomainVerified)
	w.AddDomain(w.Key.TeamID, "three.test", app.DefaultRegion, app.DomainVerified)
	_, err := w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "four.test"})
	testserver.WantCode(t, err, app.CodePlanLimitReached)
	_, err = w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "two.test"})
	testserver.WantCode(t, err, app.CodeConflict)

	in := testserver.Message("a@x.test")
	in.Attachments = []app.Attachment{{Filename: "a.bin", Content: make([]byte, 1<<20+1)}}
	_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.WantCode(t, err, app.CodePayloadTooLarge)
	in.Attachments[0].Content = in.Attachments[0].Content[1:]
	_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)

	w.SetPlan(plan.Input{Name: plan.Scale})
	in.Attachments[0].Content = make([]byte, 10<<20)
	_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	_, err = w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "four.test"})
	testserver.Must(t, err)
}

func TestContactLimitRefusesOnlyNewContacts(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{Cloud: true}, testserver.NewRelay(nil))
	w.AddSubscribers(999)
	items := func(emails ...string) (all []audience.ContactItem) {
		for _, email := range emails {
			all = append(all, audience.ContactItem{Input: &app.ContactInput{Email: email, FirstName: "New"}})
		}
		return all
	}
	_, err := w.Services.Audience.PutContacts(t.Context(), w.Key, items(testserver.SubscriberAddress(0), "new1@x.test", "new2@x.test"), app.ConflictUpsert, false)
	testserver.WantCode(t, err, app.CodePlanLimitReached)
	if !strings.Contains(err.Error(), "contacts.2: ") || w.CountContacts() != 999 {
		t.Errorf("a strict batch ended with %v, and %d contacts", err, w.CountContacts())
	}
	result, err := w.Services.Audience.PutContacts(t.Context(), w.Key, items(testserver.SubscriberAddress(0), "new1@x.test", "new2@x.test", "NEW1@x.test", testserver.SubscriberAddress(1)), app.ConflictUpsert, true)
	testserver.Must(t, err)
	if result.Created != 1 || result.Updated != 3 || len(result.Errors) != 1 || result.Errors[0].Index != 2 {
		t.Errorf("a permissive batch ended with %+v", result)
	}
	_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "new2@x.test"}, app.ConflictError)
	testserver.WantCode(t, err, app.CodePlanLimitReached)
	_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: testserver.SubscriberAddress(0)}, app.ConflictError)
	testserver.WantCode(t, err, app.CodeConflict)
	_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(5), false)
	testserver.Must(t, err)
	_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "new2@x.test"}, app.ConflictError)
	testserver.Must(t, err)
	w.SetPlan(plan.Input{Name: plan.Starter})
	_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "new3@x.test"}, app.ConflictError)
	testserver.Must(t, err)
}

func TestCommandObeysPlanOfCloudServer(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{Cloud: true}, testserver.NewRelay(nil))
	w.SetPlan(plan.Input{Name: plan.Pro, Included: 1})
	w.Start()
	command, err := server.New(t.Context(), server.Config{DB: w.DB, Sealer: w.Config.Sealer})
	testserver.Must(t, err)
	_, err = command.Mail.SendEmail(t.Context(), w.Key, testserver.Message("a@x.test"), mail.SendOptions{})
	testserver.Must(t, err)
	_, err = command.Mail.SendEmail(t.Context(), w.Key, testserver.Message("a@x.test"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeMonthlyQuotaExceeded)
}

func TestBroadcastForecastObeysDailyQuota(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := accepting(t, plan.Input{Name: plan.Free}, testserver.NewRelay(nil))
		w.AddSubscribers(250)
		broadcast := app.BroadcastInput{From: "ann@" + testserver.TestDomain, Subject: "News", HTML: "<p>x</p>", Send: true}
		broadcast.ScheduledAt = app.FormatTime(time.Now().Add(time.Hour))
		sendTo(w, 0, 40)
		v, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcast, mail.SendOptions{})
		testserver.Must(t, err)
		want := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC) // 60, 100, 90
		if !v.FinishesAt.Equal(want) || v.Warning == nil || v.Warning.Code != pacing.WarningPaced || v.Warning.Days != 2 {
			t.Errorf("foretold %s, %+v", v.FinishesAt, v.Warning)
		}
		if got, err := w.Services.Broadcasts.GetBroadcast(t.Context(), w.Key, v.ID); err != nil || !got.FinishesAt.Equal(want) {
			t.Errorf("read back %s, %v", got.FinishesAt, err)
		}
		second, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcast, mail.SendOptions{})
		testserver.Must(t, err)
		if want := want.AddDate(0, 0, 3); !second.FinishesAt.Equal(want) || second.Warning.Code != pacing.WarningQueuedBehind {
			t.Errorf("a second is foretold %s, %+v", second.FinishesAt, second.Warning)
		}
		for range 7 {
			_, err = w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcast, mail.SendOptions{})
			testserver.Must(t, err)
		}
		_, err = w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, broadcast, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeBroadcastTooLarge)
	})
}
