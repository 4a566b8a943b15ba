package retention_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/testing/testserver"
)

// stepContext is a context that is done after a number of calls, which stops work between two uses
// of the database.
type stepContext struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func (s *stepContext) Deadline() (time.Time, bool) { return time.Time{}, false }

func (s *stepContext) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		close(s.done)
	}
	s.left--
	return s.done
}

func (s *stepContext) Err() error {
	select {
	case <-s.done:
		return context.Canceled
	default:
		return nil
	}
}

// wantWhole checks that no email exists in part, except for content that reads as deleted.
func wantWhole(t *testing.T, w *testserver.Server, step int) {
	t.Helper()
	for what, query := range map[string]string{
		"emails without recipients":            `SELECT count(*) FROM emails WHERE NOT EXISTS (SELECT 1 FROM recipients WHERE email_id = emails.id)`,
		"emails without content":               `SELECT count(*) FROM emails WHERE content_deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM contents WHERE email_id = emails.id)`,
		"emails without some of their files":   `SELECT count(*) FROM emails WHERE content_deleted_at IS NULL AND attachments <> (SELECT count(*) FROM attachments WHERE email_id = emails.id)`,
		"timelines of nothing":                 `SELECT count(*) FROM events WHERE email_id NOT IN (SELECT id FROM emails) AND email_id NOT IN (SELECT id FROM broadcast_recipients)`,
		"captures of nothing":                  `SELECT count(*) FROM captures WHERE email_id NOT IN (SELECT id FROM emails) AND email_id NOT IN (SELECT id FROM broadcast_recipients)`,
		"broadcasts done with some recipients": `SELECT count(*) FROM broadcast_recipients WHERE EXISTS (SELECT 1 FROM broadcasts WHERE aged = 1 AND mails = substr(broadcast_recipients.id, 1, length(mails))) AND id NOT IN (SELECT email_id FROM too_young)`,
	} {
		if got := w.SQL(query)[0]; got != "0" {
			t.Errorf("step %d: %s %s", step, got, what)
		}
	}
	w.WantUndamaged()
}

func TestDeletionSurvivesCrash(t *testing.T) { crashes(t, 11) }

// crashes stops the deletion of old mail after every step-th use of the database.
func crashes(t *testing.T, step int) {
	synctestDays(t, func(t *testing.T) {
		copied := testserver.Start(t, testserver.NewRelay(nil))
		for range 4 {
			sendAs(copied, copied.Key, fullEmail("bob@example.net"))
		}
		for range 8 {
			copied.Send("eve@example.net")
		}
		copied.AddSubscribers(10)
		copied.SendNewsletter(testserver.Links(1), nil)
		testserver.Sleep(time.Minute)
		testserver.StopNow(copied.Services)
		copied.Stopped = true
		testserver.Sleep(3 * day)
		stopped := 0
		for n := 0; ; n += step {
			w := copied.Crash()
			w.Services.Settings.SetRules(base.Rules{Keep: app.Retention{Content: day, Emails: 2 * day, Broadcasts: day}})
			ctx := &stepContext{Context: t.Context(), left: n, done: make(chan struct{})}
			_ = w.Services.Retention.Run(ctx)
			over := ctx.Err() == nil
			next := w.Crash()
			testserver.Must(t, w.DB.Close())
			wantWhole(t, next, n)
			next.Services.Settings.SetRules(w.Services.Settings.Rules())
			run(next)
			if got := next.Count("emails") + next.Count("contents") + next.Count("attachment_pieces") + next.Count("broadcast_recipients") + next.Count("events"); got != "00000" {
				t.Errorf("step %d: rows %s are left in the end", n, got)
			}
			testserver.Must(t, next.DB.Close())
			if over {
				break
			}
			if stopped++; stopped > 300 {
				t.Fatal("it does not end")
			}
		}
		if stopped < 40/step {
			t.Errorf("only %d steps", stopped)
		}
		t.Log(strconv.Itoa(stopped) + " steps")
	})
}
