package web

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/backup"
	"mailer/app/rules/relayurl"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// operatorAPI is a server with a signed-in operator.
type operatorAPI struct {
	*testAPI
	token  string       // of the operator's session
	probes atomic.Int64 // how often a relay was tried
}

func newOperatorAPI(t *testing.T, cfg server.Config) *operatorAPI {
	t.Helper()
	o := &operatorAPI{}
	cfg.Probe = func(context.Context, relayurl.Relay, *app.Outgoing, bool) []relayurl.Step {
		o.probes.Add(1)
		return []relayurl.Step{{Step: "dns", OK: true, MS: 1, Reply: "10.0.0.1"}, {Step: "connect", Reply: "refused"}}
	}
	o.testAPI = newTestAPI(t, cfg)
	o.token = o.signedIn("operator", "", true, 0)
	return o
}

// ask asks as the operator and wants a status and parts of the answer.
func (o *operatorAPI) ask(method, target, body string, status int, parts ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	w := o.do(method, target, body, "Cookie: __Host-mailer="+o.token)
	if w.Code != status {
		o.t.Fatalf("%s %s: %d %s, want %d", method, target, w.Code, w.Body, status)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			o.t.Errorf("%s %s: no %s in %s", method, target, part, w.Body)
		}
	}
	return w
}

// audited is the audit log as one text.
func (o *operatorAPI) audited() string {
	o.t.Helper()
	var out strings.Builder
	for _, e := range o.logged(0) {
		fmt.Fprintln(&out, e.Actor.Type, e.Actor.Name, e.Action, e.Target, e.Before, e.After)
	}
	return out.String()
}

func TestOperatorRelays(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	o := newOperatorAPI(t, relayed())
	var seen strings.Builder
	ask := func(method, target, body string, status int, parts ...string) {
		t.Helper()
		seen.WriteString(o.ask(method, target, body, status, parts...).Body.String())
	}
	ask("GET", "/relays", "", 200, `"region":"us-east-1","from":"flag"`)
	ask("POST", "/relays", `{"region":"eu","url":"smtps://me:s3cr3tword@relay.example.com:465?rate=5"}`, 201, `"region":"eu"`, `"host":"relay.example.com:465"`, `"changed":false`)
	ask("GET", "/relays/eu", "", 200, `"object":"relay"`, `"from":"database"`, `"user":"me"`, `"rate":5`)
	ask("POST", "/relays", `{"url":"eu=smtps://me:s3cr3tword@other.example.com?rate=5"}`, 201, `"changed":true`)
	ask("POST", "/relays", `{"region":"us","url":"eu=smtps://me:s3cr3tword@other.example.com"}`, 422, "another relay")
	ask("POST", "/relays", `{"region":"eu","url":"smtp://me:s3cr3tword@[bad"}`, 422, "valid URL")
	ask("POST", "/relays", `{"region":"eu","url":"smtp://me:s3cr3tword@relay.example.com?tls=off"}`, 422, "unencrypted")
	ask("POST", "/relays/eu/test", "", 200, `"ok":false`, `{"step":"connect","ok":false,"ms":0,"said":"refused"}`)
	ask("POST", "/relays/eu/test", `{"send_to":"a@example.com"}`, 422, "verified domain")
	ask("POST", "/relays/eu/pause", `{"for":"0s"}`, 422, "`for`")
	ask("POST", "/relays/eu/pause", `{"for":"2h"}`, 200, `"state":"paused"`, `"until":"2`)
	ask("GET", "/relays/eu", "", 200, `"state":"paused"`)
	ask("POST", "/relays/eu/resume", "", 200, `"state":"open"`)
	ask("POST", "/relays/us-east-1/pause", "", 200, `"until":null`)
	ask("DELETE", "/relays/us-east-1", "", 422, "set by --relay")
	ask("POST", "/relays/eu/routes", `{"to_domain":["bücher.example"],"weight":20,"relay":"eu"}`, 201, `"object":"relay_route","region":"eu"`, `"position":1,"rule":"20 % of mail to xn--bcher-kva.example through eu"`, `"strict":false`)
	ask("POST", "/relays/eu/routes", `{"to_domain":["bücher.example"],"weight":20,"relay":"eu"}`, 409, "already")
	ask("POST", "/relays/eu/routes", `{"relay":"eu","weight":100}`, 422, "`weight`")
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(o.ask("GET", "/relays/eu/routes", "", 200, `"object":"list","data":[{"region":"eu"`).Body.String())[1]
	ask("DELETE", "/relays/eu/routes/"+id, "", 200, `"deleted":true`)
	ask("DELETE", "/relays/eu/routes/"+id, "", 404, "no rule")
	ask("DELETE", "/relays/eu", "", 200, `"deleted":true`, `"waiting":0`)
	for _, missing := range []string{"GET /relays/eu", "DELETE /relays/eu", "POST /relays/eu/test", "POST /relays/eu/pause", "POST /relays/eu/resume"} {
		method, target, _ := strings.Cut(missing, " ")
		ask(method, target, "", 404, "not_found")
	}
	log := o.audited()
	for _, action := range []string{"relay.add", "relay.pause", "relay.resume", "relay.remove"} {
		if !strings.Contains(log, "person ") || !strings.Contains(log, action+" eu") {
			t.Errorf("the audit log has no %s: %s", action, log)
		}
	}
	if all := seen.String() + log + o.log.String(); strings.Contains(all, "s3cr3tword") {
		t.Errorf("the password is in %s", all)
	}
}

func TestOperatorQueue(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	o := newOperatorAPI(t, captured())
	other, foreignKey := o.newTeam("theirs")
	later := strings.Replace(validSend, "{", `{"scheduled_at":"in 1 hour",`, 1)
	ours, foreign := o.send(o.full, later), o.send(foreignKey, later)
	o.ask("GET", "/queue", "", 200, `"waiting":2`, ours, foreign, `"team":"`+other.ID+`"`, `"team":"`+o.team.ID+`"`)
	w := o.ask("GET", "/queue?team=theirs", "", 200, `"waiting":1`, foreign)
	if strings.Contains(w.Body.String(), ours) {
		t.Errorf("the queue of theirs has an email of ours: %s", w.Body)
	}
	o.ask("POST", "/queue/hold", `{}`, 422, "filter")
	o.ask("POST", "/queue/hold", `{"all":true,"relay":"x"}`, 422, "`all`")
	o.ask("POST", "/queue/hold", `{"team":"nobody","all":true}`, 404)
	o.ask("POST", "/queue/hold", `{"team":"theirs","all":true}`, 200, `"matched":1,"changed":1`)
	o.ask("GET", "/queue?state=held", "", 200, foreign)
	o.ask("POST", "/queue/release", `{"ids":["`+foreign+`"]}`, 200, `"changed":1`)
	o.ask("POST", "/queue/hold", `{"all":true}`, 200, `"matched":2,"changed":2`)
	if email := o.as(o.full, "GET", "/emails/"+ours, "").Body.String(); !strings.Contains(email, `"state":"held"`) || !strings.Contains(email, "Held by operator@example.com since ") {
		t.Errorf("it does not say who held it: %s", email)
	}
	o.ask("POST", "/queue/release", `{"all":true}`, 200, `"changed":2`)
	o.ask("POST", "/queue/move", `{"all":true,"to_relay":"nowhere"}`, 422, "to_relay")
	// A key has its own team alone, and rows that don't say so.
	own := o.as(o.full, "GET", "/queue", "").Body.String()
	if !strings.Contains(own, `"waiting":1`) || strings.Contains(own, foreign) || strings.Contains(own, `"team"`) {
		t.Errorf("a key sees %s", own)
	}
	wantError(t, o.as(o.full, "GET", "/queue?team=theirs", ""), 422, app.CodeValidation, "`team`")
	wantError(t, o.as(o.full, "POST", "/queue/hold", `{"team":"theirs","all":true}`), 422, app.CodeValidation, "`team`")
	wantStatus(t, o.as(o.full, "POST", "/queue/drop", `{"all":true}`), 200)
	o.ask("GET", "/queue", "", 200, `"waiting":1`, foreign)
	if log := o.audited(); !strings.Contains(log, "person ") || !strings.Contains(log, "queue.hold") {
		t.Errorf("the audit log has %s", log)
	}
}

func TestListDoubts(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	o := newOperatorAPI(t, captured())
	other, foreignKey := o.newTeam("theirs")
	mine, foreign := o.send(o.full, validSend), o.send(foreignKey, validSend)
	err := o.store.Write(t.Context(), func(tx *db.Tx) error {
		for _, d := range []app.Doubt{{ID: app.NewID(), TeamID: o.team.ID, EmailID: mine}, {ID: app.NewID(), TeamID: other.ID, EmailID: foreign}} {
			d.Relay, d.Recipients, d.CreatedAt = "us-east-1", []string{"a@example.org"}, tx.Now
			if err := tx.InsertDoubt(d); err != nil {
				return err
			}
		}
		return tx.SettleDoubts(foreign, "canceled")
	})
	if err != nil {
		t.Fatal(err)
	}
	all := decoded[struct{ Data []struct{ ID string } }](t, o.ask("GET", "/queue/doubts", "", 200, mine, foreign, `"team":"`+other.ID+`"`, `"settled":"canceled"`))
	o.ask("GET", "/queue/doubts?limit=1&after="+all.Data[0].ID, "", 200, mine, `"has_more":false`)
	if w := o.ask("GET", "/queue/doubts?team=theirs", "", 200, foreign); strings.Contains(w.Body.String(), mine) {
		t.Errorf("the doubts of theirs have ours: %s", w.Body)
	}
	o.ask("GET", "/queue/doubts?team=nobody", "", 404)
	own := o.as(o.full, "GET", "/queue/doubts", "").Body.String()
	if !strings.Contains(own, mine) || !strings.Contains(own, `"settled":null`) || strings.Contains(own, foreign) || strings.Contains(own, `"team"`) {
		t.Errorf("a key sees %s", own)
	}
	wantError(t, o.as(o.full, "GET", "/queue/doubts?team=theirs", ""), 422, app.CodeValidation, "`team`")
	wantError(t, o.as(o.full, "GET", "/queue/doubts?after="+all.Data[0].ID, ""), 422, app.CodeValidation, "`after`")
}

func TestOperatorTeams(t *testing.T) {
	t.Parallel()
	o := newOperatorAPI(t, captured())
	id := decoded[struct{ ID string }](t, o.ask("POST", "/teams", `{"name":"Second"}`, 201, `"object":"team"`, `"plan":"free"`)).ID
	o.ask("POST", "/teams", `{"name":"Second"}`, 409, "conflict")
	o.ask("POST", "/teams", `{"name":" "}`, 422, "`name`")
	full := o.key(id, app.KeyInput{})
	o.ask("PATCH", "/teams/"+id, `{"included":5}`, 422, "`plan`")
	o.ask("PATCH", "/teams/"+id, `{"reason":"why"}`, 422, "`reason`")
	o.ask("PATCH", "/teams/"+id, `{"name":"Default","suspended":true}`, 409)
	o.ask("GET", "/teams/"+id, "", 200, `"name":"Second"`, `"suspended":false`)
	o.ask("PATCH", "/teams/"+id, `{"name":"Third","plan":"pro","included":5000,"overage":true,"suspended":true,"reason":"unpaid"}`, 200,
		`"name":"Third"`, `"plan":"pro"`, `"included":5000`, `"overage":true`, `"suspended":true`, `"reason":"unpaid"`)
	wantError(t, o.as(full, "POST", "/emails", validSend), 403, app.CodeSendingPaused, "unpaid")
	o.ask("PATCH", "/teams/"+id, `{"suspended":false}`, 200, `"suspended":false`, `"reason":null`, `"plan":"pro"`)
	o.eventually(full, "/emails/"+o.send(full, validSend), `"last_event":"sent"`) // a team with mail past its dot is not deleted
	if got := decoded[page](t, o.ask("GET", "/teams?limit=1", "", 200)); !got.HasMore || len(got.Data) != 1 || got.Data[0].ID != id {
		t.Errorf("the first page of teams: %+v", got)
	}
	o.ask("GET", "/teams?limit=1&after="+id, "", 200, `"name":"Default"`, `"has_more":false`)
	o.ask("GET", "/teams?after="+unknownID, "", 422, "`after`")
	o.ask("DELETE", "/teams/"+id, "", 422, "`name`")
	o.ask("DELETE", "/teams/"+id+"?name=third", "", 422, "`name`")
	o.ask("DELETE", "/teams/"+id+"?name=Third", "", 200, `"deleted":true`, `"emails":1`)
	wantError(t, o.as(full, "GET", "/emails", ""), 401, app.CodeInvalidAPIKey)
	o.ask("GET", "/teams/"+id, "", 404)
	o.ask("DELETE", "/teams/"+o.team.ID+"?name=Default", "", 409, "only one")
	for _, action := range []string{"team.create", "team.rename", "plan.set", "team.suspend", "team.resume", "team.delete"} {
		if !strings.Contains(o.audited(), action+" "+id) {
			t.Errorf("the audit log has no %s", action)
		}
	}
}

func TestOperatorBackups(t *testing.T) {
	t.Parallel()
	testserver.SQLiteOnly(t)               // PostgreSQL is backed up with its own tools
	plain := newOperatorAPI(t, captured()) // without --backup-dir they are next to the database
	plain.ask("GET", "/backups", "", 200, `"data":[]`, `/backups"`, `"daily":false`)
	plain.ask("POST", "/backups", "", 201, `"status":"done"`)
	plain.ask("GET", "/backups", "", 200, `"file":"`)
	cfg, dir, now := captured(), t.TempDir(), time.Now()
	cfg.Backup = backup.Daily{Dir: dir, At: now.Add(-2 * time.Hour).Format("15:04"), Keep: 2}
	if err := cfg.Backup.Check(); err != nil {
		t.Fatal(err)
	}
	// Today's backup exists, so that the server makes none.
	daily := now.Add(-time.Hour).UTC().Format("mailer-2006-01-02T150405Z.db")
	if err := os.WriteFile(filepath.Join(dir, daily), []byte("copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOperatorAPI(t, cfg)
	o.ask("GET", "/backups", "", 200, `{"file":"`+daily+`","bytes":4,`)
	w := o.ask("POST", "/backups", "", 201, `"object":"backup"`)
	made := decoded[struct {
		Status string
		Backup struct {
			File  string
			Bytes int64
		}
	}](t, w)
	if found, _ := filepath.Glob(filepath.Join(dir, made.Backup.File)); made.Status != "done" || len(found) != 1 || made.Backup.Bytes == 0 {
		t.Errorf("made %+v, found %q", made, found)
	}
	o.ask("GET", "/backups", "", 200, made.Backup.File, fmt.Sprintf(`"bytes":%d`, made.Backup.Bytes), `"dir":"`+dir, `"daily":true`, `"running":false`)
	o.ask("GET", "/status", "", 200, `"backup":{"last":"2`)
	if log := o.audited(); !strings.Contains(log, "person ") || !strings.Contains(log, "backup.create") {
		t.Errorf("the audit log has %s", log)
	}
}

func TestConcurrentBackupsAreOne(t *testing.T) {
	t.Parallel()
	testserver.SQLiteOnly(t) // PostgreSQL is backed up with its own tools
	cfg := captured()
	cfg.Backup = backup.Daily{Dir: t.TempDir(), At: "03:30", Keep: 9}
	if err := cfg.Backup.Check(); err != nil {
		t.Fatal(err)
	}
	o := newOperatorAPI(t, cfg) // the daily one could be a third
	statuses := make([]int, 4)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "https://mail.example.com/backups", nil)
			r.Header.Set("Cookie", "__Host-mailer="+o.token)
			o.handler.ServeHTTP(w, r)
			statuses[i] = w.Code
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if statuses[3] != 409 {
		t.Errorf("four at once were answered %v", statuses)
	}
}

func TestHealthChecksAreCached(t *testing.T) {
	t.Parallel()
	o := newOperatorAPI(t, relayed())
	for o.probes.Load() == 0 { // the server tests its relays when it starts
		time.Sleep(time.Millisecond)
	}
	o.probes.Store(0)
	o.ask("GET", "/health/checks", "", 200, `"ok":false`, `"name":"relay us-east-1"`, "refused", `"fix":"`)
	o.ask("GET", "/health/checks", "", 200, "refused")
	if n := o.probes.Load(); n != 1 {
		t.Errorf("the relay was tried %d times for two looks", n)
	}
	o.ask("POST", "/health/checks", "", 200, "refused")
	if n := o.probes.Load(); n != 2 {
		t.Errorf("the relay was tried %d times after a look that was asked for", n)
	}
	o.ask("GET", "/status", "", 200, `"needs":[`, `"relays":[{"region":"us-east-1"`, `"queue":{"waiting":0`, `"wal_bytes":`)
}
