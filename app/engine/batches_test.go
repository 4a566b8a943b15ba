package engine

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/db"
)

// good are batch items that nothing is wrong with, one a recipient.
func good(to ...string) []BatchItem {
	var items []BatchItem
	for _, address := range to {
		items = append(items, BatchItem{Input: letter(address)})
	}
	return items
}

// sql runs a statement beside the engine; where it is a query, the first column
// of its rows comes back.
func (w *world) sql(query string, args ...any) (out []string) {
	w.t.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.path+"?_pragma=busy_timeout(5000)")
	must(w.t, err)
	defer pool.Close()
	rows, err := pool.Query(query, args...)
	must(w.t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		must(w.t, rows.Scan(&s))
		out = append(out, s)
	}
	must(w.t, rows.Err())
	return out
}

// count is the number of rows of a table.
func (w *world) count(table string) string {
	w.t.Helper()
	return w.sql("SELECT count(*) FROM " + table)[0]
}

// commits counts the transactions in the write-ahead log: a frame that ends one
// says how large the database is then (sqlite.org/fileformat.html, 4.1).
func (w *world) commits() int {
	w.t.Helper()
	wal, err := os.ReadFile(w.path + "-wal")
	must(w.t, err)
	page, salt := int(binary.BigEndian.Uint32(wal[8:])), string(wal[16:24])
	n := 0
	for at := 32; at+24+page <= len(wal) && string(wal[at+8:at+16]) == salt; at += 24 + page {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// badItems are what may be wrong with one item, and the code of each. Their key
// may send from testDomain only where scoped says so.
func (w *world) badItems() map[string]badItem {
	w.addDomain(w.key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	w.addDomain(w.key.TeamID, "second.example", app.DefaultRegion, app.DomainVerified)
	from := func(address string) BatchItem {
		in := letter("bob@example.net")
		in.From = address
		return BatchItem{Input: in}
	}
	big := letter("bob@example.net")
	big.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	late := letter("bob@example.net")
	late.ScheduledAt = "in 31 days"
	return map[string]badItem{
		"shape":             {BatchItem{Err: app.Invalid("colour", "is unknown")}, false, app.CodeValidation, "`colour`"},
		"recipient":         {BatchItem{Input: letter("bob")}, false, app.CodeValidation, "`to[0]`"},
		"key's domain":      {from("x@second.example"), true, app.CodeRestrictedAPIKey, testDomain},
		"unverified domain": {from("x@pending.example"), false, app.CodeValidation, "pending"},
		"unknown domain":    {from("x@nowhere.example"), false, app.CodeValidation, "nowhere.example"},
		"attachments":       {BatchItem{Input: big}, false, app.CodePayloadTooLarge, "`attachments`"},
		"too far ahead":     {BatchItem{Input: late}, false, app.CodeValidation, "`scheduled_at`"},
	}
}

type badItem struct {
	item   BatchItem
	scoped bool
	code   app.Code
	words  string
}

func (b badItem) key(key *app.Key) *app.Key {
	k := *key
	if b.scoped {
		k.Permission, k.DomainName = app.SendingAccess, testDomain
	}
	return &k
}

func TestOneBadItemRefusesAStrictBatchWhole(t *testing.T) {
	w := idle(t, newRelay(nil))
	for name, bad := range w.badItems() {
		t.Run(name, func(t *testing.T) {
			items := append(good("a@example.net"), bad.item, good("c@example.net")[0])
			for range 2 { // the second call shows that the first left its key free
				_, err := w.e.SendBatch(t.Context(), bad.key(w.key), items, false, SendOptions{IdempotencyKey: name, Payload: []byte("x")})
				wantCode(t, err, bad.code)
				if err != nil && (!strings.HasPrefix(err.Error(), string(bad.code)+": emails.1: ") || !strings.Contains(err.Error(), bad.words)) {
					t.Errorf("%v does not begin with the item or does not say %q", err, bad.words)
				}
			}
			for _, table := range []string{"emails", "contents", "attachments", "recipients", "units", "events", "idempotency"} {
				if n := w.count(table); n != "0" {
					t.Errorf("%s rows in %s after a refusal", n, table)
				}
			}
		})
	}
}

func TestAPermissiveBatchSendsTheGoodItemsAndListsTheBad(t *testing.T) {
	w := idle(t, newRelay(nil))
	for name, bad := range w.badItems() {
		t.Run(name, func(t *testing.T) {
			items := append(good("a@example.net"), bad.item, good("c@example.net")[0], bad.item)
			result, err := w.e.SendBatch(t.Context(), bad.key(w.key), items, true, SendOptions{})
			must(t, err)
			if len(result.IDs) != 2 || len(result.Errors) != 2 {
				t.Fatalf("result %+v", result)
			}
			for i, to := range []string{"a@example.net", "c@example.net"} {
				if e := w.email(result.IDs[i]); e.To[0].Mailbox() != to || w.unit(e.ID) == nil {
					t.Errorf("id %d is %+v", i, e)
				}
			}
			for i, want := range []int{1, 3} {
				got := result.Errors[i]
				if got.Index != want || !strings.Contains(got.Message, bad.words) || strings.Contains(got.Message, "emails.") {
					t.Errorf("error %+v, want index %d and %q", got, want, bad.words)
				}
			}
		})
	}
}

func TestAPermissiveBatchOfBadItemsIsAnEmptyAnswer(t *testing.T) {
	w := idle(t, newRelay(nil))
	bad := BatchItem{Input: letter("bob")}
	result, err := w.e.SendBatch(t.Context(), w.key, []BatchItem{bad, bad}, true, SendOptions{})
	must(t, err)
	if result.IDs == nil || len(result.IDs) != 0 || len(result.Errors) != 2 || result.Errors[1].Index != 1 {
		t.Errorf("result %+v", result)
	}
	w.wantNothing()
}

func TestABatchHasOneToAHundredItems(t *testing.T) {
	w := idle(t, newRelay(nil))
	for _, n := range []int{0, 101} {
		for _, permissive := range []bool{false, true} {
			_, err := w.e.SendBatch(t.Context(), w.key, good(slices.Repeat([]string{"a@example.net"}, n)...), permissive, SendOptions{})
			wantCode(t, err, app.CodeValidation)
		}
	}
	w.wantNothing()
}

func TestABatchOfAHundredIsOneCommitAndKeepsItsOrder(t *testing.T) {
	w := idle(t, newRelay(nil))
	var to []string
	for i := range 100 {
		to = append(to, fmt.Sprintf("u%02d@example.net", i))
	}
	w.send("first@example.net")
	before := w.commits()
	result, err := w.e.SendBatch(t.Context(), w.key, good(to...), false, SendOptions{IdempotencyKey: "k"})
	must(t, err)
	if n := w.commits() - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	w.send("last@example.net")
	if n := w.commits() - before; n != 2 {
		t.Errorf("%d commits with one more: the count is not to be trusted", n)
	}
	if len(result.IDs) != 100 || len(result.Errors) != 0 || result.Errors == nil || !slices.IsSorted(result.IDs) {
		t.Fatalf("result %+v", result)
	}
	for i, id := range result.IDs {
		if got := w.email(id).To[0].Mailbox(); got != to[i] {
			t.Errorf("id %d went to %s", i, got)
		}
	}
}

func TestAllOfABatchLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		items := good("a@example.net", "b@example.net", "c@example.net")
		items[1].Input.ScheduledAt = "in 10 minutes"
		result, err := w.e.SendBatch(t.Context(), w.key, items, false, SendOptions{})
		must(t, err)
		synctest.Wait()
		w.wantLast(result.IDs[0], app.Sent)
		w.wantLast(result.IDs[1], app.Scheduled)
		w.wantLast(result.IDs[2], app.Sent)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		w.wantLast(result.IDs[1], app.Sent)
		if n := len(relay.seen("")); n != 3 {
			t.Errorf("%d transactions", n)
		}
	})
}

// batch sends two good items and a bad one, permissively.
func (w *world) batch(k, payload string) (*BatchResult, error) {
	items := append(good("a@example.net"), BatchItem{Input: letter("bad")}, good("c@example.net")[0])
	return w.e.SendBatch(w.t.Context(), w.key, items, true, SendOptions{IdempotencyKey: k, Payload: []byte(payload)})
}

func (w *world) wantBatch(k, payload string) *BatchResult {
	w.t.Helper()
	result, err := w.batch(k, payload)
	must(w.t, err)
	return result
}

func TestARepeatedBatchGivesTheSameIdsAndErrors(t *testing.T) {
	w := idle(t, newRelay(nil))
	first := w.wantBatch("k", "permissive")
	if again := w.wantBatch("k", "permissive"); !reflect.DeepEqual(first, again) || len(again.Errors) != 1 {
		t.Errorf("first %+v, then %+v", first, again)
	}
	_, err := w.batch("k", "strict")
	wantCode(t, err, app.CodeInvalidIdempotent)
	// The routes do not share their keys.
	id, err := w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{IdempotencyKey: "k", Payload: []byte("one")})
	must(t, err)
	if slices.Contains(first.IDs, id) {
		t.Error("a send was answered with the batch's email")
	}
	if n := w.count("emails"); n != "3" {
		t.Errorf("%s emails", n)
	}
	_, err = w.batch(strings.Repeat("ü", 257), "x")
	wantCode(t, err, app.CodeInvalidIdempotencyKey)
}

// busyWriter keeps the writer busy until the channel is closed.
func (w *world) busyWriter() chan struct{} {
	hang := make(chan struct{})
	go func() { _ = w.db.Write(w.t.Context(), func(*db.Tx) error { <-hang; return nil }) }()
	synctest.Wait()
	return hang
}

func TestABatchInFlightRefusesItsTwinAndACrashFreesItsKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		hang := w.busyWriter()
		first := make(chan *BatchResult, 1)
		go func() { first <- w.wantBatch("k", "x") }()
		synctest.Wait()
		_, err := w.batch("k", "x")
		wantCode(t, err, app.CodeConcurrentIdempotent)
		_, err = w.batch("k", "y")
		wantCode(t, err, app.CodeConcurrentIdempotent)

		before := w.crash(newRelay(nil)) // the batch was not answered and is not on disk
		fresh := before.wantBatch("k", "another body")
		if n := before.count("emails"); n != "2" || len(fresh.IDs) != 2 {
			t.Errorf("%s emails after a crash before the commit, answer %+v", n, fresh)
		}

		close(hang)
		answered := <-first
		if again := w.wantBatch("k", "x"); !reflect.DeepEqual(answered, again) {
			t.Errorf("first %+v, then %+v", answered, again)
		}
		after := w.crash(newRelay(nil)) // answered: it is on disk with its key
		if again := after.wantBatch("k", "x"); !reflect.DeepEqual(answered, again) {
			t.Errorf("before the crash %+v, after it %+v", answered, again)
		}
	})
}

func TestABatchsKeyEndsAfter24HoursWhateverTheClockDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		first := w.wantBatch("k", "x")
		time.Sleep(24*time.Hour - time.Second)
		must(t, w.e.purge(t.Context()))
		if again := w.wantBatch("k", "x"); !reflect.DeepEqual(first, again) {
			t.Error("forgotten before 24 hours")
		}
		w.sql("UPDATE idempotency SET created_at = created_at + 48*3600*1000") // the clock was set back by two days
		if again := w.wantBatch("k", "x"); !reflect.DeepEqual(first, again) {
			t.Error("forgotten when the clock was set back")
		}
		w.sql("UPDATE idempotency SET created_at = created_at - 96*3600*1000") // and on by four
		second := w.wantBatch("k", "y")
		if slices.Contains(second.IDs, first.IDs[0]) {
			t.Error("kept beyond 24 hours")
		}
		if again := w.wantBatch("k", "y"); !reflect.DeepEqual(second, again) {
			t.Error("the new answer is not kept")
		}
	})
}

func TestADrainingServerTakesNoBatch(t *testing.T) {
	w := idle(t, newRelay(nil))
	w.e.Drain()
	_, err := w.batch("", "")
	wantCode(t, err, app.CodeServiceUnavailable)
	w.wantNothing()
}
