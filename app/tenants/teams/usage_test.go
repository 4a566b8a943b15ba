package teams_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestUsageCountsEachRecipientOnce(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		wantToday(w, 0)
		in := testserver.Message("a@x.test", "b@x.test", "A@x.test")
		in.Cc, in.Bcc = []string{"b@x.test", "c@x.test"}, []string{"d@x.test"}
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
		testserver.Must(t, err)
		wantToday(w, 4)
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
		testserver.Must(t, err)
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("nobody"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		wantToday(w, 4)
		_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "s@x.test"})
		testserver.Must(t, err)
		w.Send("e@x.test", "s@x.test")
		wantToday(w, 5)
		other := w.AddTeam("Other", "other.test")
		if u, err := w.Services.Teams.Usage(t.Context(), other); err != nil || u.Today != 0 || u.Team.Name != "Other" || u.Team.ID != other.TeamID {
			t.Errorf("another team's usage: %+v, %v", u, err)
		}
		u := w.Usage()
		if want := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC); !u.ResetsAt.Equal(want) || u.Plan != nil || u.AppURL != "https://mail.example.com" {
			t.Errorf("usage %+v", u)
		}
		time.Sleep(24 * time.Hour)
		wantToday(w, 0)
	})
}

func TestUsageCountsScheduledMailWhenItLeaves(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		in := testserver.Message("a@x.test", "b@x.test")
		in.ScheduledAt = app.FormatTime(time.Now().Add(30 * time.Hour))
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		wantToday(w, 0)
		w.Elapse(29 * time.Hour)
		wantToday(w, 0)
		w.Elapse(time.Hour + 2*time.Second)
		wantToday(w, 2)
	})
}

func TestUsageCountsBroadcastRecipientsWhenDue(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddSubscribers(7)
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: testserver.SubscriberAddress(3)})
		testserver.Must(t, err)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.Broadcast(b.ID).Status; got != app.SentBroadcast {
			t.Errorf("the broadcast is %s", got)
		}
		wantToday(w, 6)
	})
}
