//go:build perf

package web

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

var manyRows = flag.Int("csv-rows", 32000, "how many contacts TestPerfACSVOfManyRowsTakesNoMoreMemory exports; 1000000 proves it")

// counting counts what is written, and samples the memory in use.
type counting struct {
	header http.Header
	bytes  int
	lines  int
	looked int
	most   uint64 // bytes alive
}

func (c *counting) Header() http.Header { return c.header }

func (c *counting) WriteHeader(int) {}

func (c *counting) Write(b []byte) (int, error) {
	c.bytes += len(b)
	c.lines += strings.Count(string(b), "\r\n")
	if c.bytes-c.looked > 1<<16 {
		c.looked, c.most = c.bytes, max(c.most, alive())
	}
	return len(b), nil
}

// alive is how many bytes the program holds.
func alive() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPerfCSVMemory than one of an eighth of them.
func TestPerfCSVMemory(t *testing.T) {
	r := newTestAPI(t, captured())
	export := func(n int) (grown uint64) {
		t.Helper()
		request := httptest.NewRequest("GET", "/contacts", nil)
		request.Header.Set("Authorization", "Bearer "+r.full)
		request.Header.Set("Accept", "text/csv")
		before, start := alive(), time.Now()
		c := &counting{header: http.Header{}}
		r.handler.ServeHTTP(c, request)
		took := time.Since(start)
		if c.lines != n+1 {
			t.Errorf("%d lines, want %d", c.lines, n+1)
		}
		t.Logf("%d rows, %d KB in %v: %.0f a second; %d KB alive before, at most %d KB", n, c.bytes>>10, took, float64(n)/took.Seconds(), before>>10, c.most>>10)
		return max(c.most, before) - before
	}
	few := *manyRows / 8
	r.manyContacts(0, few)
	small := export(few)
	r.manyContacts(few, *manyRows)
	if large := export(*manyRows); large > small+1<<20 {
		t.Errorf("%d KB more are alive in the midst of %d rows, %d KB of %d", large>>10, *manyRows, small>>10, few)
	}
}

// manyContacts puts contacts into the database, with the numbers from first to below n.
func (r *testAPI) manyContacts(first, n int) {
	r.t.Helper()
	for ; first < n; first += 1000 {
		err := r.store.Write(context.Background(), func(tx *db.Tx) error {
			for i := first; i < min(first+1000, n); i++ {
				c := app.Contact{ID: app.NewID(), TeamID: r.team.ID, Email: fmt.Sprintf("somebody-%d@example.org", i), FirstName: "Some", LastName: "Body",
					Hash: app.AddressHash{byte(i >> 16), byte(i >> 8), byte(i)}, CreatedAt: time.Now(), UpdatedAt: time.Now()}
				if err := tx.InsertContact(&c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}
