package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

// wantToday checks what GET /usage says of the day.
func (w *world) wantToday(want int64) {
	w.t.Helper()
	if got := w.usage().Today; got != want {
		w.t.Errorf("%d recipients counted today, want %d", got, want)
	}
}

func (w *world) usage() app.Usage {
	w.t.Helper()
	u, err := w.e.Usage(w.t.Context(), w.key)
	must(w.t, err)
	return u
}

func TestUsageCountsEachRecipientOfAnAcceptedEmailOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		w.wantToday(0)
		in := letter("a@x.test", "b@x.test", "A@x.test")
		in.Cc, in.Bcc = []string{"b@x.test", "c@x.test"}, []string{"d@x.test"}
		_, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
		must(t, err)
		w.wantToday(4)
		_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
		must(t, err)
		_, err = w.e.SendEmail(t.Context(), w.key, letter("nobody"), SendOptions{})
		wantCode(t, err, app.CodeValidation)
		w.wantToday(4)
		_, err = w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "s@x.test"})
		must(t, err)
		w.send("e@x.test", "s@x.test")
		w.wantToday(5)
		other := w.addTeam("Other", "other.test")
		if u, err := w.e.Usage(t.Context(), other); err != nil || u.Today != 0 || u.Team.Name != "Other" || u.Team.ID != other.TeamID {
			t.Errorf("another team's usage: %+v, %v", u, err)
		}
		u := w.usage()
		if want := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC); !u.ResetsAt.Equal(want) || u.Plan != nil || u.AppURL != "https://mail.example.com" {
			t.Errorf("usage %+v", u)
		}
		time.Sleep(24 * time.Hour)
		w.wantToday(0)
	})
}

func TestScheduledMailCountsOnTheDayItLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		in := letter("a@x.test", "b@x.test")
		in.ScheduledAt = app.FormatTime(time.Now().Add(30 * time.Hour))
		_, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		w.wantToday(0)
		w.elapse(29 * time.Hour)
		w.wantToday(0)
		w.elapse(time.Hour + 2*time.Second)
		w.wantToday(2)
	})
}

func TestARecipientOfABroadcastCountsWhenItsTurnComes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		w.people(7)
		_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: person(3)})
		must(t, err)
		b := w.draft()
		w.queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.broadcast(b.ID).Status; got != app.SentBroadcast {
			t.Errorf("the broadcast is %s", got)
		}
		w.wantToday(6)
	})
}
