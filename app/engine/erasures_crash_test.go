package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

// steps is a context that ends once it was asked for a number of times: whoever
// works with it stops between two uses of the database.
type steps struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newSteps(ctx context.Context, n int) *steps {
	return &steps{Context: ctx, left: n, done: make(chan struct{})}
}

func (s *steps) Deadline() (time.Time, bool) { return time.Time{}, false }

func (s *steps) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		close(s.done)
	}
	s.left--
	return s.done
}

func (s *steps) Err() error {
	select {
	case <-s.done:
		return context.Canceled
	default:
		return nil
	}
}

func (s *steps) ended() bool { return s.Err() != nil }

func TestAnErasureGoesOnAfterACrashAtAnyStep(t *testing.T) {
	base := idle(t)
	c := base.scatter(base.key, "ann@"+testDomain, 60)
	stopped := 0
	for n := 0; ; n++ {
		if n > 500 {
			t.Fatal("the erasure does not end")
		}
		w := base.crash()
		job := erasure{}
		err := w.db.WriteVital(t.Context(), func(tx *db.Tx) (err error) {
			job, err = w.e.beginErasure(tx, w.key.TeamID, []app.Contact{c})
			return err
		})
		must(t, err)
		ctx := newSteps(t.Context(), n)
		if err := w.e.withdrawErased(ctx, w.key.TeamID, job); err == nil {
			_ = w.e.eraseOpen(ctx)
		}
		if ctx.ended() {
			stopped++
		} else if w.traces(victim) != 0 || w.openErasures() != 0 {
			t.Fatalf("%d traces and %d open erasures without any crash", w.traces(victim), w.openErasures())
		}
		next := w.crash()
		must(t, w.db.Close())
		next.start()
		for deadline := time.Now().Add(20 * time.Second); next.openErasures() > 0; {
			if time.Now().After(deadline) {
				t.Fatalf("step %d: the erasure does not end:\n%s", n, next.log.text.String())
			}
			pause(t.Context(), 5*time.Millisecond, nil)
		}
		if left := next.traces(victim); left != 0 {
			t.Errorf("step %d: %d traces", n, left)
		}
		next.stop()
		if !ctx.ended() {
			break
		}
	}
	if stopped < 10 {
		t.Errorf("only %d steps", stopped)
	}
}

func TestWhoEndedSubscriptionsStaysUnsubscribedWhenErased(t *testing.T) {
	w := idle(t)
	team := w.key.TeamID
	plain, gone, listed := w.person(team, "plain@erase.example"), w.person(team, "gone@erase.example"), w.person(team, "listed@erase.example")
	old, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "Listed@erase.example", Origin: app.OriginBounce})
	must(t, err)
	topics := [2]app.Topic{}
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
		gone.Unsubscribed = true
		if err := tx.UpdateContact(&gone); err != nil {
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
	gone.Unsubscribed = false // as a caller read it before
	must(t, w.e.eraseContacts(t.Context(), team, []app.Contact{plain, gone, listed, listed}))
	w.read(func(r *db.Reader) error {
		if _, err := r.SuppressionByAddress(team, plain.Hash); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("who was not suppressed is now: %v", err)
		}
		s, err := r.SuppressionByAddress(team, gone.Hash)
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
	_, err = w.e.SendEmail(t.Context(), w.key, letter("listed@erase.example"), SendOptions{})
	wantCode(t, err, app.CodeAllRecipientsSuppressed)
	rows, _, err := w.e.ListSuppressions(t.Context(), w.key, "", app.Page{Limit: 10})
	if err != nil || len(rows) != 0 {
		t.Errorf("listed: %+v, %v", rows, err)
	}
	_, err = w.e.GetSuppression(t.Context(), w.key, "listed@erase.example")
	wantCode(t, err, app.CodeNotFound)
}
