package mail_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestScheduledEmailLeavesOnTime(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		id := w.SendAt("in 1 hour")
		due := time.Now().Add(time.Hour)
		w.WantLastEvent(id, app.Scheduled)
		if got := w.Email(id).ScheduledAt; !got.Equal(due) {
			t.Errorf("scheduled at %v, want %v", got, due)
		}
		testserver.Sleep(time.Hour - 2*time.Millisecond)
		w.WantLastEvent(id, app.Scheduled)
		testserver.Sleep(time.Second)
		tries := relay.Transactions(id)
		if len(tries) != 1 || tries[0].At.Before(due) {
			t.Errorf("left at %+v, want once at %v", tries, due)
		}
		w.WantLastEvent(id, app.Sent)
		if got := w.Email(id).ScheduledAt; !got.Equal(due) {
			t.Errorf("it reads as scheduled at %v once it left", got)
		}
	})
}

func TestScheduledEmailSurvivesRestarts(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		id := w.SendAt("in 1 hour")
		due := time.Now().Add(time.Hour)
		testserver.Sleep(10 * time.Minute)
		w.Stop()
		w.Open()
		w.Start()
		testserver.Sleep(49 * time.Minute)
		if n := len(relay.Transactions("")); n != 0 {
			t.Fatal("it left early")
		}
		next := w.Crash(testserver.NewRelay(nil))
		next.Start()
		testserver.Sleep(61 * time.Second)
		for _, r := range []*testserver.FakeRelay{relay, next.Relays[0]} {
			if tries := r.Transactions(id); len(tries) != 1 || tries[0].At.Before(due) || tries[0].At.After(due.Add(time.Second)) {
				t.Errorf("left at %+v, want once at %v", tries, due)
			}
		}
		next.WantLastEvent(id, app.Sent)
	})
}

func TestOverdueScheduledEmailLeavesAtStart(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendAt("in 1 hour")
		w.Stop()
		time.Sleep(5 * time.Hour)
		w.Open()
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestScheduleInThePastSendsNow(t *testing.T) {
	for _, at := range []string{"1999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		t.Run(at, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				w := testserver.New(t, testserver.NewRelay(nil))
				id := w.SendAt(at)
				w.WantLastEvent(id, app.Queued)
				w.Start()
				synctest.Wait()
				w.WantLastEvent(id, app.Sent)
			})
		})
	}
}

func TestScheduleLimitIsThirtyDays(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	in := testserver.Message("bob@example.net")
	in.ScheduledAt = "in 31 days"
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeValidation)
	if !strings.Contains(err.Error(), "`scheduled_at`") {
		t.Errorf("%v names no field", err)
	}
	wantNothing(w)
	id := w.SendAt("in 30 days")
	for _, bad := range []string{"in 31 days", "soon", "", " "} {
		err := w.Reschedule(id, bad)
		testserver.WantCode(t, err, app.CodeValidation)
		if !strings.Contains(err.Error(), "`scheduled_at`") {
			t.Errorf("%v names no field", err)
		}
	}
}

func TestRescheduledEmailLeavesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		at    string
		after time.Duration // from the call, at 30 minutes, to the new time
	}{
		"later": {"in 2 hours", 2 * time.Hour}, "earlier": {"in 10 minutes", 10 * time.Minute},
		"now": {"2000-01-01T00:30:00Z", 0}, "past": {"1999-01-01T00:00:00Z", 0},
		"1970": {"1970-01-01T00:00:00Z", 0}, "the zero time": {"0001-01-01T00:00:00Z", 0},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(nil)
				w := testserver.Start(t, relay)
				id := w.SendAt("in 1 hour")
				testserver.Sleep(30 * time.Minute)
				testserver.Must(t, w.Reschedule(id, c.at))
				due := time.Now().Add(c.after)
				w.OnlyEvent(id, app.EventRescheduled)
				if got := w.Email(id).ScheduledAt; c.after > 0 && !got.Equal(due) {
					t.Errorf("scheduled at %v, want %v", got, due)
				}
				testserver.Sleep(c.after + 40*time.Minute) // past its old time too
				if tries := relay.Transactions(id); len(tries) != 1 || tries[0].At.Before(due) || tries[0].At.After(due.Add(time.Second)) {
					t.Errorf("left at %+v, want once at %v", tries, due)
				}
				w.WantLastEvent(id, app.Sent)
			})
		})
	}
}

func TestEmailMovedToThePastExpiresNormally(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageData, 451, "later"))))
		id := w.SendAt("in 1 hour")
		testserver.Must(t, w.Reschedule(id, "1999-01-01T00:00:00Z"))
		testserver.Sleep(30 * time.Second)
		w.WantLastEvent(id, app.Scheduled)
		testserver.Sleep(time.Minute)
		w.WantLastEvent(id, app.Sent)
	})
}

func TestRescheduledEmailExpiryStartsAtFirstAttempt(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageData, 451, "later")))
		w := testserver.Start(t, relay)
		id := w.SendAt("in 1 hour")
		testserver.Must(t, w.Reschedule(id, "in 1 minute"))
		w.SQL("UPDATE units SET since = since - 3*24*3600*1000") // as if the relay was down for three days
		testserver.Sleep(90 * time.Second)
		w.WantLastEvent(id, app.Scheduled)
		testserver.Sleep(time.Minute)
		w.WantLastEvent(id, app.Sent)
	})
}

func TestRescheduleInLastSecond(t *testing.T) {
	for _, left := range []time.Duration{time.Second, 500 * time.Millisecond, 2 * time.Millisecond} {
		t.Run(left.String(), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(nil)
				w := testserver.Start(t, relay)
				id := w.SendAt("in 10 minutes")
				time.Sleep(10*time.Minute - left)
				testserver.Must(t, w.Reschedule(id, "in 10 minutes"))
				testserver.Sleep(10*time.Minute - time.Millisecond)
				if n := len(relay.Transactions(id)); n != 0 {
					t.Fatal("it left at its old time")
				}
				testserver.Sleep(time.Second)
				w.OnlyEvent(id, app.EventType(app.Sent))
			})
		})
	}
}

func TestRescheduleDuringTransaction(t *testing.T) {
	for name := range testserver.FailuresBeforeDot(nil) {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.InOrder(testserver.FailuresBeforeDot(hang)[name]))
				w := testserver.Start(t, relay)
				id := w.SendAt("in 1 minute")
				testserver.Sleep(61 * time.Second)
				if n := len(relay.Transactions(id)); n != 1 {
					t.Fatalf("%d transactions", n)
				}
				testserver.Must(t, w.Reschedule(id, "in 10 minutes"))
				due := time.Now().Add(10 * time.Minute)
				close(hang)
				synctest.Wait()
				w.WantLastEvent(id, app.Scheduled)
				if n := len(w.Events(id)); name != "trouble" && n != 2 || len(w.CommittedUnits()) != 0 {
					t.Errorf("the old attempt left something behind, dotted %v:\n%s", w.CommittedUnits(), w.Timeline(id))
				}
				testserver.Sleep(10*time.Minute + 2*time.Second)
				tries := relay.Transactions(id)
				if len(tries) != 2 || tries[1].At.Before(due) || tries[1].At.After(due.Add(time.Second)) {
					t.Errorf("tries %+v, want the second at %v", tries, due)
				}
				w.OnlyEvent(id, app.EventType(app.Sent))
				w.WantLastEvent(id, app.Sent)
			})
		})
	}
}

func TestRescheduleToNowDuringTransaction(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.SendAt("in 1 minute")
		testserver.Sleep(61 * time.Second)
		testserver.Must(t, w.Reschedule(id, "1999-01-01T00:00:00Z"))
		testserver.Sleep(10 * time.Second)
		if n := len(relay.Transactions(id)); n != 1 {
			t.Errorf("%d attempts at once", n)
		}
		close(hang)
		testserver.Sleep(2 * time.Second)
		w.OnlyEvent(id, app.EventType(app.Sent))
		w.WantLastEvent(id, app.Sent)
	})
}

func TestOnlyScheduledEmailCanBeRescheduled(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang, dot := make(chan struct{}), make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		queued, canceled := w.Send("bob@example.net"), w.SendAt("in 1 hour")
		testserver.Must(t, w.Cancel(canceled))
		testserver.WantCode(t, w.Reschedule(queued, "in 1 hour"), app.CodeValidation)
		close(hang)
		synctest.Wait()
		w.WantLastEvent(queued, app.Sent)
		relay.SetScript(testserver.Always(testserver.ReplyAfter(dot)))
		leaving := w.SendAt("in 1 second")
		testserver.Sleep(2 * time.Second)
		for _, id := range []string{queued, canceled, leaving} {
			testserver.WantCode(t, w.Reschedule(id, "in 1 hour"), app.CodeValidation)
		}
		close(dot)
		synctest.Wait()
		w.WantLastEvent(leaving, app.Sent)
		testserver.WantCode(t, w.Reschedule(leaving, "in 1 hour"), app.CodeValidation)
		testserver.WantCode(t, w.Reschedule(app.NewID(), "in 1 hour"), app.CodeNotFound)
		if n := len(relay.Transactions("")); n != 2 {
			t.Errorf("%d transactions", n)
		}
	})
}

func TestSendingKeyChangesOnlyItsOwnEmails(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	sending, other := *w.Key, *w.Key
	sending.ID, sending.Permission = app.NewID(), app.SendingAccess
	other.ID, other.Permission = app.NewID(), app.SendingAccess
	otherTeam := w.AddTeam("Other", "other.example")
	in := testserver.Message("bob@example.net")
	in.ScheduledAt = "in 1 hour"
	for range 2 {
		mine, err := w.Services.Mail.SendEmail(t.Context(), &sending, in, mail.SendOptions{})
		testserver.Must(t, err)
		theirs := w.SendAt("in 1 hour")
		testserver.WantCode(t, w.Services.Mail.RescheduleEmail(t.Context(), &sending, theirs, "in 2 hours"), app.CodeNotFound)
		testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), &sending, theirs), app.CodeNotFound)
		for _, key := range []*app.Key{&other, otherTeam} {
			testserver.WantCode(t, w.Services.Mail.RescheduleEmail(t.Context(), key, mine, "in 2 hours"), app.CodeNotFound)
			testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), key, mine), app.CodeNotFound)
			testserver.WantCode(t, w.Services.Mail.DeleteEmail(t.Context(), key, mine), app.CodeNotFound)
		}
		w.WantLastEvent(theirs, app.Scheduled)
		testserver.Must(t, w.Services.Mail.RescheduleEmail(t.Context(), &sending, mine, "in 2 hours"))
		testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), &sending, mine))
		testserver.Must(t, w.Reschedule(theirs, "in 2 hours"))
		testserver.Must(t, w.Cancel(theirs))
	}
}

func TestClockSetForwardSendsDueMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendAt("in 3 hours")
		testserver.Sleep(time.Minute)
		w.SQL("UPDATE units SET next_at = next_at - 3*3600*1000") // as seen from a clock that was set forward by 3 hours
		testserver.Sleep(base.SweepEvery)
		w.WantLastEvent(id, app.Sent)
	})
}
