package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/app/relays"
	"mailer/db"
)

// cloud makes a world in cloud mode whose team is on a plan. In a bubble it begins
// at midnight UTC.
func cloud(t *testing.T, in app.PlanInput, relays ...*fakeRelay) *world {
	t.Helper()
	w := accepting(t, in, relays...)
	w.start()
	return w
}

// accepting is cloud with an engine that does not send.
func accepting(t *testing.T, in app.PlanInput, relays ...*fakeRelay) *world {
	t.Helper()
	w := idleWith(t, Config{Cloud: true}, relays...)
	w.setPlan(in)
	return w
}

func (w *world) setPlan(in app.PlanInput) {
	w.t.Helper()
	_, err := w.e.SetPlan(w.t.Context(), w.key.TeamID, in)
	must(w.t, err)
}

// sendTo sends one email to each of persons [from, to) and gives the ids.
func (w *world) sendTo(from, to int) (ids []string) {
	w.t.Helper()
	for i := from; i < to; i++ {
		ids = append(ids, w.send(person(i)))
	}
	return ids
}

// trySend gives the error of a send to n addresses.
func (w *world) trySend(n int) error {
	w.t.Helper()
	var to []string
	for i := range n {
		to = append(to, fmt.Sprintf("t%d@example.net", i))
	}
	_, err := w.e.SendEmail(w.t.Context(), w.key, letter(to...), SendOptions{})
	return err
}

// took are the addresses that a relay took, in their order.
func took(r *fakeRelay) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.took)
}

// wantTook checks that a relay took mail for persons [0, n) in their order, as far
// as workers that send at once keep it.
func wantTook(t *testing.T, r *fakeRelay, n int) {
	t.Helper()
	got := took(r)
	if len(got) != n {
		t.Errorf("%d messages left, want %d", len(got), n)
	}
	for i, address := range got {
		if at := slices.Index(got, person(i)); max(at-i, i-at) > 8 {
			t.Fatalf("message %d went to %s, and to %s message %d", i, address, person(i), at)
		}
	}
}

// elapse lets time pass, and what is due then be done. Of hours the server sleeps
// through all but the last minute, which costs a test less than its running.
func (w *world) elapse(d time.Duration) {
	w.t.Helper()
	if d > 2*time.Minute && w.started {
		w.stop()
		time.Sleep(d - time.Minute)
		d = time.Minute
		for _, r := range w.relays {
			r.reopen()
		}
		w.open()
		w.start()
	}
	time.Sleep(d)
	synctest.Wait()
}

// reopen has a relay that was closed take mail again.
func (r *fakeRelay) reopen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.gone = false, make(chan struct{})
}

// backlog is what waits.
func (w *world) backlog() (b app.Backlog) {
	w.t.Helper()
	w.read(func(r *db.Reader) (err error) {
		b, err = r.Backlog(w.key.TeamID)
		return err
	})
	return b
}

func (w *world) wantBacklog(late, scheduled int64) {
	w.t.Helper()
	if got := w.backlog(); got != (app.Backlog{Late: late, Scheduled: scheduled}) {
		w.t.Errorf("backlog %+v, want %d late and %d scheduled", got, late, scheduled)
	}
}

// oneAtATime is a relay with one connection, whose order is that of the claims.
func oneAtATime() *fakeRelay {
	return newRelayOf(relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 1}, nil)
}

func TestADailyPlanSendsItsQuotaEachDayAndRefusesWhatTheBacklogCantHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		ids := w.sendTo(0, 400)
		w.elapse(time.Hour)
		w.wantToday(100)
		w.wantBacklog(300, 0)
		if got := len(took(relay)); got != 100 {
			t.Fatalf("%d messages left on the first day", got)
		}
		w.wantLast(ids[99], app.Sent)
		w.wantLast(ids[100], app.Queued)
		if ev := w.eventOf(ids[100], app.EventQuotaWait); ev.Detail.NextAttemptAt != "2000-01-02T00:00:00.000Z" {
			t.Errorf("the wait is told as %+v", ev.Detail)
		}
		err := w.trySend(1)
		wantCode(t, err, app.CodeDailyQuotaExceeded)
		if refusal := err.(*app.Error); refusal.RetryAfter != 23*time.Hour {
			t.Errorf("try again after %s", refusal.RetryAfter)
		}
		for day := 2; day <= 4; day++ {
			w.elapse(time.Until(app.DayEnd(time.Now())) - time.Second)
			if got := len(took(relay)); got != 100*(day-1) {
				t.Fatalf("%d messages left before day %d", got, day)
			}
			w.elapse(time.Minute)
			if got := len(took(relay)); got != 100*day {
				t.Fatalf("%d messages left by the first minute of day %d", got, day)
			}
			w.wantToday(100)
			w.wantBacklog(int64(400-100*day), 0)
		}
		for i, id := range ids {
			w.wantLast(id, app.Sent)
			if i%100 == 0 && len(w.events(id)) > 8 {
				t.Errorf("too long a story:\n%s", w.story(id))
			}
		}
		wantEachOnce(t, received(relay), 400)
	})
}

func TestMidnightReleasesTheBacklogInOrderAndBeforeNewMail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := oneAtATime()
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		w.sendTo(0, 220)
		w.elapse(time.Minute)
		w.stop()
		time.Sleep(24 * time.Hour)
		relay.reopen()
		w.open()
		w.sendTo(220, 225) // after midnight, before the backlog was looked at
		w.start()
		w.elapse(time.Minute)
		wantTook(t, relay, 200)
		w.sendTo(225, 226)
		w.elapse(24 * time.Hour)
		wantTook(t, relay, 226)
		w.wantBacklog(0, 0)
		w.wantToday(26)
	})
}

func TestTheEndOfTheBacklogIsCountedToTheRecipient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := accepting(t, app.PlanInput{Name: app.PlanFree}, newRelay(nil))
		must(t, w.trySend(50))
		must(t, w.trySend(49))
		w.wantToday(99)
		must(t, w.trySend(2)) // does not fit, and waits whole
		w.wantToday(99)
		w.wantBacklog(2, 0)
		must(t, w.trySend(1)) // fits
		w.wantToday(100)
		for range 5 {
			must(t, w.trySend(50))
		}
		must(t, w.trySend(47))
		w.wantBacklog(299, 0)
		wantCode(t, w.trySend(2), app.CodeDailyQuotaExceeded)
		must(t, w.trySend(1))
		wantCode(t, w.trySend(1), app.CodeDailyQuotaExceeded)
		w.wantBacklog(300, 0)
		w.elapse(24 * time.Hour)
		must(t, w.trySend(1)) // midnight makes room before the lane looked
	})
}

func TestABatchIsAcceptedOrRefusedWholeForTheQuota(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := accepting(t, app.PlanInput{Name: app.PlanPro, Included: 5}, newRelay(nil))
		w.sendTo(0, 3)
		batch := func(permissive bool, inputs ...*app.EmailInput) error {
			var items []BatchItem
			for _, in := range inputs {
				items = append(items, BatchItem{Input: in})
			}
			_, err := w.e.SendBatch(t.Context(), w.key, items, permissive, SendOptions{})
			return err
		}
		good, bad := letter("a@x.test"), letter("nobody")
		for _, permissive := range []bool{false, true} {
			err := batch(permissive, good, good, good)
			wantCode(t, err, app.CodeMonthlyQuotaExceeded)
			if strings.Contains(err.Error(), "emails.") || !strings.Contains(err.Error(), "2000-02-01") {
				t.Errorf("refused with %q", err)
			}
			w.wantToday(3)
			if got := w.count("emails"); got != "3" {
				t.Errorf("%s emails are kept", got)
			}
		}
		_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "s@x.test"})
		must(t, err)
		wantCode(t, batch(false, good, good, good, letter("s@x.test")), app.CodeAllRecipientsSuppressed) // the quota comes last
		must(t, batch(true, good, bad, good))
		w.wantToday(5)
	})
}

func TestScheduledMailTakesThePlaceOfTheDayOnWhichItLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		schedule := func(to string, d time.Duration) string {
			in := letter(to)
			in.ScheduledAt = app.FormatTime(time.Now().Add(d))
			id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
			must(t, err)
			return id
		}
		first := schedule("first@x.test", time.Hour)
		second := schedule("second@x.test", 25*time.Hour)
		canceled := schedule("third@x.test", 25*time.Hour)
		deleted := schedule("fourth@x.test", 25*time.Hour)
		w.wantBacklog(0, 4)
		must(t, w.e.CancelEmail(t.Context(), w.key, canceled))
		must(t, w.e.DeleteEmail(t.Context(), w.key, deleted))
		w.wantBacklog(0, 2)
		w.sendTo(0, 100)
		w.elapse(2 * time.Hour)
		w.wantLast(first, app.Scheduled) // its day was used
		w.wantBacklog(1, 1)
		w.eventOf(first, app.EventQuotaWait)
		w.elapse(22*time.Hour + time.Minute)
		w.wantLast(first, app.Sent)
		w.wantToday(1)
		w.wantLast(second, app.Scheduled)
		w.elapse(time.Hour)
		w.wantLast(second, app.Sent)
		w.wantToday(2)
		w.wantBacklog(0, 0)
	})
}

func TestMailThatWaitsForTheQuotaCanBeCanceledAndDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		ids := w.sendTo(0, 103)
		w.wantBacklog(3, 0)
		must(t, w.e.CancelEmail(t.Context(), w.key, ids[100]))
		must(t, w.e.DeleteEmail(t.Context(), w.key, ids[101]))
		w.wantBacklog(1, 0)
		w.elapse(25 * time.Hour)
		got := received(relay)
		if got[person(100)] != 0 || got[person(101)] != 0 || got[person(102)] != 1 {
			t.Errorf("of the three that waited left %v", got)
		}
		w.wantToday(1)
	})
}

func TestAMonthlyPlanEndsAtWhatItIncludesAndOverageAtItsStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := accepting(t, app.PlanInput{Name: app.PlanPro, Included: 10}, newRelay(nil))
		w.sendTo(0, 6)
		w.elapse(24 * time.Hour)
		w.sendTo(0, 4)
		err := w.trySend(1)
		wantCode(t, err, app.CodeMonthlyQuotaExceeded)
		if !strings.Contains(err.Error(), "2000-02-01") {
			t.Errorf("the renewal is not named: %v", err)
		}
		w.setPlan(app.PlanInput{Name: app.PlanPro, Included: 10, Overage: true})
		must(t, w.trySend(39))
		wantCode(t, w.trySend(2), app.CodeMonthlyQuotaExceeded)
		must(t, w.trySend(1))
		wantCode(t, w.trySend(1), app.CodeMonthlyQuotaExceeded)
		u := w.usage()
		if u.Period != 50 || u.Today != 44 || app.FormatTime(u.Starts) != "2000-01-01T00:00:00.000Z" || app.FormatTime(u.Ends) != "2000-02-01T00:00:00.000Z" {
			t.Errorf("usage %+v", u)
		}
		w.elapse(time.Until(u.Ends))
		must(t, w.trySend(1))
		if u := w.usage(); u.Period != 1 || app.FormatTime(u.Ends) != "2000-03-01T00:00:00.000Z" {
			t.Errorf("in the next period: %+v", u)
		}
	})
}

func TestAPeriodKeepsThePlacesOfMailThatWaitsAndOfBroadcasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := cloud(t, app.PlanInput{Name: app.PlanPro, Included: 10}, newRelay(nil))
		w.people(6)
		news := app.BroadcastInput{From: "ann@" + testDomain, Subject: "News", HTML: "<p>x</p>", Send: true}
		later := news
		later.ScheduledAt = app.FormatTime(time.Now().Add(time.Hour))
		_, err := w.e.CreateBroadcast(t.Context(), w.key, later, SendOptions{})
		must(t, err)
		_, err = w.e.CreateBroadcast(t.Context(), w.key, news, SendOptions{})
		wantCode(t, err, app.CodeMonthlyQuotaExceeded)
		in := letter("a@x.test", "b@x.test")
		in.ScheduledAt = later.ScheduledAt
		_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		wantCode(t, w.trySend(3), app.CodeMonthlyQuotaExceeded)
		must(t, w.trySend(2))
		wantCode(t, w.trySend(1), app.CodeMonthlyQuotaExceeded)
		w.elapse(2 * time.Hour)
		w.wantToday(10)
		w.wantBacklog(0, 0)
	})
}

func TestABroadcastOnADailyPlanLeavesBehindOtherMailThatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		w.people(150)
		w.sendTo(150, 180)
		b := w.draft()
		w.queue(b)
		w.elapse(time.Hour)
		w.wantToday(100)
		if got := len(took(relay)); got != 100 {
			t.Errorf("%d messages left on the first day", got)
		}
		w.sendTo(180, 230) // wait for the next day, and leave before the rest of the broadcast
		w.elapse(23*time.Hour + time.Minute)
		w.wantToday(100)
		got := received(relay)
		for i := 180; i < 230; i++ {
			if got[person(i)] != 1 {
				t.Fatalf("%s did not leave first", person(i))
			}
		}
		if left := w.broadcast(b.ID); left.Counts.Sent != 120 {
			t.Errorf("%d of the broadcast left", left.Counts.Sent)
		}
		w.elapse(24 * time.Hour)
		w.wantToday(30)
		wantEachOnce(t, received(relay), 230)
		if got := w.broadcast(b.ID).Status; got != app.SentBroadcast {
			t.Errorf("the broadcast is %s", got)
		}
	})
}

func TestAnotherPlanSetsFreeWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, relay)
		w.sendTo(0, 150)
		w.elapse(time.Minute)
		w.setPlan(app.PlanInput{Name: app.PlanStarter})
		w.elapse(3 * time.Second)
		wantEachOnce(t, received(relay), 150)
		w.wantBacklog(0, 0)
		w.wantToday(150)
		w.setPlan(app.PlanInput{Name: app.PlanFree})
		must(t, w.trySend(1))
		w.wantBacklog(1, 0)
	})
}

// quotaTold gives what webhooks were told of quotas.
func (w *world) quotaTold() []string {
	w.t.Helper()
	return w.sql(`SELECT type || ' ' || (payload ->> '$.data.period') || ' ' || (payload ->> '$.data.emails_sent') || '/' || (payload ->> '$.data.limit')
		|| ' ' || (payload ->> '$.data.resets_at') FROM happenings WHERE type LIKE 'quota%' ORDER BY id`)
}

func TestQuotaEventsAreToldOnceADay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := cloud(t, app.PlanInput{Name: app.PlanFree}, newRelay(nil))
		w.sendTo(0, 79)
		if got := w.quotaTold(); len(got) != 0 {
			t.Errorf("told too early: %q", got)
		}
		w.sendTo(0, 121)
		w.elapse(24*time.Hour + time.Minute)
		want := []string{
			"quota.warning day 80/100 2000-01-02T00:00:00.000Z", "quota.reached day 100/100 2000-01-02T00:00:00.000Z",
			"quota.warning day 80/100 2000-01-03T00:00:00.000Z", "quota.reached day 100/100 2000-01-03T00:00:00.000Z",
		}
		if got := w.quotaTold(); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
	})
}

func TestQuotaEventsAreToldOnceAPeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := accepting(t, app.PlanInput{Name: app.PlanScale, Included: 10, Overage: true}, newRelay(nil))
		w.sendTo(0, 8)
		w.elapse(24 * time.Hour)
		w.sendTo(0, 8)
		want := []string{"quota.warning month 8/10 2000-02-01T00:00:00.000Z", "quota.reached month 10/10 2000-02-01T00:00:00.000Z"}
		if got := w.quotaTold(); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		w.elapse(31 * 24 * time.Hour)
		must(t, w.trySend(9))
		if got := w.quotaTold(); len(got) != 3 || got[2] != "quota.warning month 9/10 2000-03-01T00:00:00.000Z" {
			t.Errorf("in the next period told %q", got)
		}
	})
}

func TestTheCapsOfAPlan(t *testing.T) {
	w := idleWith(t, Config{Cloud: true}, newRelay(nil))
	w.addDomain(w.key.TeamID, "two.test", app.DefaultRegion, app.DomainVerified)
	w.addDomain(w.key.TeamID, "three.test", app.DefaultRegion, app.DomainVerified)
	_, err := w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "four.test"})
	wantCode(t, err, app.CodePlanLimitReached)
	_, err = w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "two.test"})
	wantCode(t, err, app.CodeConflict)

	in := letter("a@x.test")
	in.Attachments = []app.Attachment{{Filename: "a.bin", Content: make([]byte, 1<<20+1)}}
	_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	wantCode(t, err, app.CodePayloadTooLarge)
	in.Attachments[0].Content = in.Attachments[0].Content[1:]
	_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)

	w.setPlan(app.PlanInput{Name: app.PlanScale})
	in.Attachments[0].Content = make([]byte, 10<<20)
	_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	_, err = w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "four.test"})
	must(t, err)
}

func TestTheContactCapRefusesNewContactsOnly(t *testing.T) {
	w := idleWith(t, Config{Cloud: true}, newRelay(nil))
	w.people(999)
	items := func(emails ...string) (all []ContactItem) {
		for _, email := range emails {
			all = append(all, ContactItem{Input: &app.ContactInput{Email: email, FirstName: "New"}})
		}
		return all
	}
	_, err := w.e.PutContacts(t.Context(), w.key, items(person(0), "new1@x.test", "new2@x.test"), app.ConflictUpsert, false)
	wantCode(t, err, app.CodePlanLimitReached)
	if !strings.Contains(err.Error(), "contacts.2: ") || w.contacts() != 999 {
		t.Errorf("a strict batch ended with %v, and %d contacts", err, w.contacts())
	}
	result, err := w.e.PutContacts(t.Context(), w.key, items(person(0), "new1@x.test", "new2@x.test", "NEW1@x.test", person(1)), app.ConflictUpsert, true)
	must(t, err)
	if result.Created != 1 || result.Updated != 3 || len(result.Errors) != 1 || result.Errors[0].Index != 2 {
		t.Errorf("a permissive batch ended with %+v", result)
	}
	_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: "new2@x.test"})
	wantCode(t, err, app.CodePlanLimitReached)
	_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: person(0)})
	wantCode(t, err, app.CodeConflict)
	_, err = w.e.DeleteContact(t.Context(), w.key, person(5), false)
	must(t, err)
	_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: "new2@x.test"})
	must(t, err)
	w.setPlan(app.PlanInput{Name: app.PlanStarter})
	_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: "new3@x.test"})
	must(t, err)
}

func TestACommandBesideACloudServerKeepsToThePlan(t *testing.T) {
	w := idleWith(t, Config{Cloud: true}, newRelay(nil))
	w.setPlan(app.PlanInput{Name: app.PlanPro, Included: 1})
	w.start()
	beside, err := New(t.Context(), Config{DB: w.db, Sealer: w.cfg.Sealer})
	must(t, err)
	_, err = beside.SendEmail(t.Context(), w.key, letter("a@x.test"), SendOptions{})
	must(t, err)
	_, err = beside.SendEmail(t.Context(), w.key, letter("a@x.test"), SendOptions{})
	wantCode(t, err, app.CodeMonthlyQuotaExceeded)
}

func TestTheForecastOfABroadcastObeysTheDailyQuota(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := accepting(t, app.PlanInput{Name: app.PlanFree}, newRelay(nil))
		w.people(250)
		news := app.BroadcastInput{From: "ann@" + testDomain, Subject: "News", HTML: "<p>x</p>", Send: true}
		news.ScheduledAt = app.FormatTime(time.Now().Add(time.Hour))
		w.sendTo(0, 40)
		v, err := w.e.CreateBroadcast(t.Context(), w.key, news, SendOptions{})
		must(t, err)
		want := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC) // 60, 100, 90
		if !v.FinishesAt.Equal(want) || v.Warning == nil || v.Warning.Code != pacing.WarningPaced || v.Warning.Days != 2 {
			t.Errorf("foretold %s, %+v", v.FinishesAt, v.Warning)
		}
		if got, err := w.e.GetBroadcast(t.Context(), w.key, v.ID); err != nil || !got.FinishesAt.Equal(want) {
			t.Errorf("read back %s, %v", got.FinishesAt, err)
		}
		second, err := w.e.CreateBroadcast(t.Context(), w.key, news, SendOptions{})
		must(t, err)
		if want := want.AddDate(0, 0, 3); !second.FinishesAt.Equal(want) || second.Warning.Code != pacing.WarningQueuedBehind {
			t.Errorf("a second is foretold %s, %+v", second.FinishesAt, second.Warning)
		}
		for range 7 {
			_, err = w.e.CreateBroadcast(t.Context(), w.key, news, SendOptions{})
			must(t, err)
		}
		_, err = w.e.CreateBroadcast(t.Context(), w.key, news, SendOptions{})
		wantCode(t, err, app.CodeBroadcastTooLarge)
	})
}
