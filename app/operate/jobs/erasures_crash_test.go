package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// stepContext is a context that is done after a number of calls, which stops work between two uses
// of the database.
type stepContext struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newStepContext(ctx context.Context, n int) *stepContext {
	return &stepContext{Context: ctx, left: n, done: make(chan struct{})}
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

func (s *stepContext) ended() bool { return s.Err() != nil }

func TestErasureSurvivesCrash(t *testing.T) { erasureCrashes(t, 7) }

// erasureCrashes stops an erasure after every step-th use of the database, each time on two
// copies.
func erasureCrashes(t *testing.T, step int) {
	copied := testserver.New(t)
	c := plantAddress(copied, copied.Key, "ann@"+testserver.TestDomain, 60)
	stopped := 0
	for n := 0; ; n += step {
		if n > 500 {
			t.Fatal("the erasure does not end")
		}
		w := copied.Crash()
		job := audience.Erasure{}
		err := w.DB.WriteCritical(t.Context(), func(tx *db.Tx) (err error) {
			job, err = w.Services.Audience.BeginErasure(tx, w.Key.TeamID, []app.Contact{c})
			return err
		})
		testserver.Must(t, err)
		ctx := newStepContext(t.Context(), n)
		if err := w.Services.Jobs.WithdrawErased(ctx, w.Key.TeamID, job); err == nil {
			_ = w.Services.Jobs.EraseOpen(ctx)
		}
		if ctx.ended() {
			stopped++
		} else {
			wantOnlyFreeText(w)
		}
		next := w.Crash()
		testserver.Must(t, w.DB.Close())
		next.Start()
		for deadline := time.Now().Add(time.Minute); next.OpenErasures() > 0; {
			if time.Now().After(deadline) {
				t.Fatalf("step %d: the erasure does not end:\n%s", n, next.Log.String())
			}
			base.Sleep(t.Context(), 5*time.Millisecond, nil)
		}
		wantOnlyFreeText(next)
		if n := next.SQL(`SELECT count(*) FROM contents AS c JOIN emails AS e ON e.id = c.email_id WHERE e.content_deleted_at IS NOT NULL`)[0]; n != "0" {
			t.Errorf("%s emails have a part of their deleted content", n)
		}
		if t.Failed() {
			t.Fatalf("after step %d", n)
		}
		next.Stop()
		if !ctx.ended() {
			break
		}
	}
	if stopped < 50/step {
		t.Errorf("only %d steps", stopped)
	}
}

func TestErasureKeepsOptOut(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	team := w.Key.TeamID
	plain, unsubscribed, listed := w.CreateContact(team, "plain@erase.example"), w.CreateContact(team, "gone@erase.example"), w.CreateContact(team, "listed@erase.example")
	old, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "Listed@erase.example", Origin: app.OriginBounce})
	testserver.Must(t, err)
	topics := [2]app.Topic{}
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		unsubscribed.Unsubscribed = true
		if err := tx.UpdateContact(&unsubscribed); err != nil {
			return err
		}
		for i, choice := range []app.Subscription{app.OptOut, app.OptIn} {
			topics[i] = app.Topic{ID: app.NewID(), TeamID: team, Name: string(choice), Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: tx.Now, UpdatedAt: tx.Now}
			if err := tx.InsertTopic(&topics[i]); err != nil {
				return err
			}
			if _, err := tx.SetChoice(topics[i].ID, plain.Hash, choice); err != nil {
				return err
			}
		}
		return nil
	}))
	unsubscribed.Unsubscribed = false // as a caller read it before
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), team, []app.Contact{plain, unsubscribed, listed, listed}))
	w.Read(func(r *db.Reader) error {
		if _, err := r.SuppressionByAddress(team, plain.Hash); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("who was not suppressed is now: %v", err)
		}
		s, err := r.SuppressionByAddress(team, unsubscribed.Hash)
		if err != nil || s.Origin != app.OriginUnsubscribe || s.Email != "" {
			t.Errorf("%+v, %v", s, err)
		}
		s, err = r.SuppressionByAddress(team, listed.Hash)
		if err != nil || s.ID != old.ID || s.Origin != app.OriginBounce || s.Email != "" {
			t.Errorf("%+v, %v", s, err)
		}
		out, err1 := r.TopicFor(team, topics[0].ID, plain.Hash)
		in, err2 := r.TopicFor(team, topics[1].ID, plain.Hash)
		if !out.Explicit || out.Subscription != app.OptOut || in.Explicit || err1 != nil || err2 != nil {
			t.Errorf("choices %+v, %+v, %v, %v", out, in, err1, err2)
		}
		if n, err := r.ContactCount(team); n != 0 || err != nil {
			t.Errorf("%d contacts, %v", n, err)
		}
		return nil
	})
	_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("listed@erase.example"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
	rows, _, err := w.Services.Suppressions.ListSuppressions(t.Context(), w.Key, "", app.Page{Limit: 10})
	if err != nil || len(rows) != 0 {
		t.Errorf("listed: %+v, %v", rows, err)
	}
	_, err = w.Services.Suppressions.GetSuppression(t.Context(), w.Key, "listed@erase.example")
	testserver.WantCode(t, err, app.CodeNotFound)
}
