package mail_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestStrictBatchIsRefusedWhole(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	for name, bad := range w.BadItems() {
		t.Run(name, func(t *testing.T) {
			items := append(testserver.GoodItems("a@example.net"), bad.Item, testserver.GoodItems("c@example.net")[0])
			for range 2 { // the second call shows that the first released its key
				_, err := w.Services.Mail.SendBatch(t.Context(), bad.Key(w.Key), items, false, mail.SendOptions{IdempotencyKey: name, Payload: []byte("x")})
				testserver.WantCode(t, err, bad.Code)
				if err != nil && (!strings.HasPrefix(err.Error(), string(bad.Code)+": emails.1: ") || !strings.Contains(err.Error(), bad.Message)) {
					t.Errorf("%v does not begin with the item or does not say %q", err, bad.Message)
				}
			}
			for _, table := range []string{"emails", "contents", "attachments", "recipients", "units", "events", "idempotency"} {
				if n := w.Count(table); n != "0" {
					t.Errorf("%s rows in %s after a refusal", n, table)
				}
			}
		})
	}
}

func TestPermissiveBatchListsBadItems(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	for name, bad := range w.BadItems() {
		t.Run(name, func(t *testing.T) {
			items := append(testserver.GoodItems("a@example.net"), bad.Item, testserver.GoodItems("c@example.net")[0], bad.Item)
			result, err := w.Services.Mail.SendBatch(t.Context(), bad.Key(w.Key), items, true, mail.SendOptions{})
			testserver.Must(t, err)
			if len(result.IDs) != 2 || len(result.Errors) != 2 {
				t.Fatalf("result %+v", result)
			}
			for i, to := range []string{"a@example.net", "c@example.net"} {
				if e := w.Email(result.IDs[i]); e.To[0].Mailbox() != to || w.Unit(e.ID) == nil {
					t.Errorf("id %d is %+v", i, e)
				}
			}
			for i, want := range []int{1, 3} {
				got := result.Errors[i]
				if got.Index != want || !strings.Contains(got.Message, bad.Message) || strings.Contains(got.Message, "emails.") {
					t.Errorf("error %+v, want index %d and %q", got, want, bad.Message)
				}
			}
		})
	}
}

func TestPermissiveBatchOfBadItems(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	bad := mail.BatchItem{Input: testserver.Message("bob")}
	result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, []mail.BatchItem{bad, bad}, true, mail.SendOptions{})
	testserver.Must(t, err)
	if result.IDs == nil || len(result.IDs) != 0 || len(result.Errors) != 2 || result.Errors[1].Index != 1 {
		t.Errorf("result %+v", result)
	}
	wantNothing(w)
}

func TestBatchSizeLimits(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	for _, n := range []int{0, 101} {
		for _, permissive := range []bool{false, true} {
			_, err := w.Services.Mail.SendBatch(t.Context(), w.Key, testserver.GoodItems(slices.Repeat([]string{"a@example.net"}, n)...), permissive, mail.SendOptions{})
			testserver.WantCode(t, err, app.CodeValidation)
		}
	}
	wantNothing(w)
}

func TestBatchIsOneCommitInOrder(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	var to []string
	for i := range 100 {
		to = append(to, fmt.Sprintf("u%02d@example.net", i))
	}
	w.Send("first@example.net")
	before := w.Commits()
	result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, testserver.GoodItems(to...), false, mail.SendOptions{IdempotencyKey: "k"})
	testserver.Must(t, err)
	if n := w.Commits() - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	w.Send("last@example.net")
	if n := w.Commits() - before; n != 2 {
		t.Errorf("%d commits with one more: the count is not to be trusted", n)
	}
	if len(result.IDs) != 100 || len(result.Errors) != 0 || result.Errors == nil || !slices.IsSorted(result.IDs) {
		t.Fatalf("result %+v", result)
	}
	for i, id := range result.IDs {
		if got := w.Email(id).To[0].Mailbox(); got != to[i] {
			t.Errorf("id %d went to %s", i, got)
		}
	}
}

func TestWholeBatchIsSent(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		items := testserver.GoodItems("a@example.net", "b@example.net", "c@example.net")
		items[1].Input.ScheduledAt = "in 10 minutes"
		result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, items, false, mail.SendOptions{})
		testserver.Must(t, err)
		synctest.Wait()
		w.WantLastEvent(result.IDs[0], app.Sent)
		w.WantLastEvent(result.IDs[1], app.Scheduled)
		w.WantLastEvent(result.IDs[2], app.Sent)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		w.WantLastEvent(result.IDs[1], app.Sent)
		if n := len(relay.Transactions("")); n != 3 {
			t.Errorf("%d transactions", n)
		}
	})
}

func TestRepeatedBatchReturnsSameAnswer(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	first := wantBatch(w, "k", "permissive")
	if again := wantBatch(w, "k", "permissive"); !reflect.DeepEqual(first, again) || len(again.Errors) != 1 {
		t.Errorf("first %+v, then %+v", first, again)
	}
	_, err := w.Batch("k", "strict")
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
	// Routes have separate idempotency keys.
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{IdempotencyKey: "k", Payload: []byte("one")})
	testserver.Must(t, err)
	if slices.Contains(first.IDs, id) {
		t.Error("a send was answered with the batch's email")
	}
	if n := w.Count("emails"); n != "3" {
		t.Errorf("%s emails", n)
	}
	_, err = w.Batch(strings.Repeat("ü", 257), "x")
	testserver.WantCode(t, err, app.CodeInvalidIdempotencyKey)
}

func TestConcurrentBatchAndCrash(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		hang := blockWriter(w)
		first := make(chan batchAnswer, 1)
		go func() {
			result, err := w.Batch("k", "x")
			first <- batchAnswer{result, err}
		}()
		synctest.Wait()
		_, err := w.Batch("k", "x")
		testserver.WantCode(t, err, app.CodeConcurrentIdempotent)
		_, err = w.Batch("k", "y")
		testserver.WantCode(t, err, app.CodeConcurrentIdempotent)

		before := w.Crash(testserver.NewRelay(nil)) // the batch was neither answered nor stored
		second := wantBatch(before, "k", "another body")
		if n := before.Count("emails"); n != "2" || len(second.IDs) != 2 {
			t.Errorf("%s emails after a crash before the commit, answer %+v", n, second)
		}

		close(hang)
		answered := (<-first).must(w)
		if again := wantBatch(w, "k", "x"); !reflect.DeepEqual(answered, again) {
			t.Errorf("first %+v, then %+v", answered, again)
		}
		after := w.Crash(testserver.NewRelay(nil)) // answered: stored with its key
		if again := wantBatch(after, "k", "x"); !reflect.DeepEqual(answered, again) {
			t.Errorf("before the crash %+v, after it %+v", answered, again)
		}
	})
}

// batchAnswer is the result of a call of Batch.
type batchAnswer struct {
	result *mail.BatchResult
	err    error
}

// must returns the result. With PostgreSQL the copy of the database may have broken the connections
// of the server, so that the batch is refused until the server has connected again; then must
// returns the result of a second call.
func (a batchAnswer) must(w *testserver.Server) *mail.BatchResult {
	w.T.Helper()
	if a.err != nil && testserver.IsPostgres() {
		testserver.WantCode(w.T, a.err, app.CodeServiceUnavailable)
		time.Sleep(time.Minute) // synctest time, which stands still while the server connects
		return wantBatch(w, "k", "x")
	}
	testserver.Must(w.T, a.err)
	return a.result
}

func TestBatchKeyExpiresDespiteClockChanges(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		first := wantBatch(w, "k", "x")
		time.Sleep(24*time.Hour - time.Second)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if again := wantBatch(w, "k", "x"); !reflect.DeepEqual(first, again) {
			t.Error("forgotten before 24 hours")
		}
		w.SQL("UPDATE idempotency SET created_at = created_at + 48*3600*1000") // as if the clock was set back by two days
		if again := wantBatch(w, "k", "x"); !reflect.DeepEqual(first, again) {
			t.Error("forgotten when the clock was set back")
		}
		w.SQL("UPDATE idempotency SET created_at = created_at - 96*3600*1000") // and forward by four
		second := wantBatch(w, "k", "y")
		if slices.Contains(second.IDs, first.IDs[0]) {
			t.Error("kept beyond 24 hours")
		}
		if again := wantBatch(w, "k", "y"); !reflect.DeepEqual(second, again) {
			t.Error("the new answer is not kept")
		}
	})
}

func TestDrainingServerAcceptsNoBatch(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.Services.Drain()
	_, err := w.Batch("", "")
	testserver.WantCode(t, err, app.CodeServiceUnavailable)
	wantNothing(w)
}
