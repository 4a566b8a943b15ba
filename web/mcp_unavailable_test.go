package web

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/db"
	"mailer/db/pgtest"
)

// criticalCall is something that must not get lost, as a call of a tool and as a request.
type criticalCall struct{ tool, arguments, method, path, body string }

// TestMCPCriticalCallsFailFast makes the database refuse writes. Agents get the error after three
// seconds, like callers of the API, and a refused call is not executed later.
func TestMCPCriticalCallsFailFast(t *testing.T) {
	t.Parallel()
	name := pgtest.Database(t, pgtest.Server(t), "")
	r := newTestAPIOn(t, name, captured())
	r.domain(r.team.ID, "example.com", true)
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"Hi","text":"t","scheduled_at":"in 1 hour"}`)
	wantStatus(t, r.as(r.full, "POST", "/contacts", `{"email":"c@example.org"}`), http.StatusCreated)
	calls := []criticalCall{
		{"cancel_email", `{"id":"` + id + `"}`, "POST", "/emails/" + id + "/cancel", `{}`},
		{"add_suppression", `{"email":"d@example.org"}`, "POST", "/suppressions", `{"email":"d@example.org"}`},
		{"update_contact", `{"id":"c@example.org","unsubscribed":true}`, "PATCH", "/contacts/c@example.org", `{"unsubscribed":true}`},
	}
	makeRoom := fillMemory(t, r, name)

	var wait sync.WaitGroup
	for _, c := range calls {
		wait.Go(func() {
			w, took := r.timed("POST", "/mcp", c.rpc())
			if said := w.Body.String(); !strings.Contains(said, `"isError":true`) || !strings.Contains(said, "service_unavailable") || !strings.Contains(said, "full") {
				t.Errorf("%s: %s", c.tool, said)
			}
			wantWait(t, c.tool, took)
		})
		wait.Go(func() {
			w, took := r.timed(c.method, c.path, c.body)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %d %v %s", c.path, w.Code, w.Header(), w.Body)
			}
			wantWait(t, c.path, took)
		})
	}
	wait.Wait()

	makeRoom()
	for path, want := range map[string]string{"/emails/" + id: `"last_event":"scheduled"`, "/contacts/c@example.org": `"unsubscribed":false`} {
		if w := r.as(r.full, "GET", path, ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("what was refused is done: %s", w.Body)
		}
	}
	wantStatus(t, r.as(r.full, "GET", "/suppressions/d@example.org", ""), http.StatusNotFound)
	for _, c := range calls {
		if w := r.rpc(r.full, c.rpc()); !strings.Contains(w.Body.String(), `"content":`) || strings.Contains(w.Body.String(), `"isError":true`) {
			t.Errorf("%s once there is room: %s", c.tool, w.Body)
		}
	}
}

// rpc is the call of the tool as a message to /mcp.
func (c criticalCall) rpc() string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":` + c.arguments + `}}`
}

// timed sends a request in parallel with others, and returns how long the answer took.
func (r *testAPI) timed(method, path, body string) (*httptest.ResponseRecorder, time.Duration) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute) // for an answer that never comes
	defer cancel()
	req := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(ctx)
	req.Header.Set("Authorization", "Bearer "+r.full)
	w, began := httptest.NewRecorder(), time.Now()
	r.handler.ServeHTTP(w, req)
	return w, time.Since(began)
}

// wantWait checks that an answer took the three seconds in which space could become free.
func wantWait(t *testing.T, what string, took time.Duration) {
	t.Helper()
	if took < 3*time.Second {
		t.Errorf("%s was answered after %v", what, took)
	}
}

// fillMemory makes the database fail like one on a full disk, and returns a function that ends
// this. A write of the server itself waits meanwhile.
func fillMemory(t *testing.T, r *testAPI, name string) (end func()) {
	t.Helper()
	admin, err := sql.Open("pgx", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	tables := []string{"settings", "emails", "units", "suppressions", "contacts"}
	do := func(text string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$`)
	for _, table := range tables {
		do(`CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON ` + table + ` EXECUTE FUNCTION refuse()`)
	}
	set := func(tx *db.Tx) error { return tx.SetSetting("waits", []byte("1")) }
	wait := r.store.WriteCriticalAsync(t.Context(), set)
	if err := r.store.Write(t.Context(), set); !errors.Is(err, db.ErrFull) {
		t.Fatalf("new work while there is no room: %v", err)
	}
	return func() {
		t.Helper()
		for _, table := range tables {
			do(`DROP TRIGGER refuse ON ` + table)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
}
