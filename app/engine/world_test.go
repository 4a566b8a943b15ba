package engine

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mailer/app"
	"mailer/db"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testDomain = "example.com"

// world is an engine on a database file of its own, with fake relays. The team
// is the first one; its domain is testDomain, verified.
type world struct {
	t             testing.TB
	path          string
	master        []byte
	cfg           Config
	db            *db.DB
	e             *Engine
	relays        []*fakeRelay
	key           *app.Key
	log           *logBook
	started, over bool
}

// bubble runs fn with a fake clock, which stands still while anything runs.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, fn)
}

// idle makes a world whose engine accepts and does not send yet.
func idle(t testing.TB, relays ...*fakeRelay) *world {
	t.Helper()
	return idleWith(t, Config{}, relays...)
}

// idleWith is idle with parts of a configuration.
func idleWith(t testing.TB, cfg Config, relays ...*fakeRelay) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "mailer.db"), master: make([]byte, app.MasterKeySize), relays: relays, log: &logBook{}, cfg: cfg}
	w.cfg.Jitter, w.cfg.BaseURL = func() float64 { return 0.5 }, "https://mail.example.com"
	w.open()
	team, err := w.e.FindTeam(t.Context(), "")
	must(t, err)
	w.key = &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	w.addDomain(team.ID, testDomain, app.DefaultRegion, app.DomainVerified)
	w.listen(w.key)
	return w
}

// listen has a webhook hear of everything but emails, for what tests look at in
// the database; nothing is told to it.
func (w *world) listen(key *app.Key) {
	w.t.Helper()
	events := slices.DeleteFunc(app.EventNames(), func(name app.EventName) bool { return strings.HasPrefix(string(name), "email.") })
	_, err := w.e.CreateWebhook(w.t.Context(), key, app.WebhookInput{Endpoint: "https://hooks.example.com", Events: events})
	must(w.t, err)
}

// serving makes a world whose engine sends.
func serving(t testing.TB, relays ...*fakeRelay) *world {
	t.Helper()
	w := idle(t, relays...)
	w.start()
	return w
}

// open opens database and engine; the test's end closes them.
func (w *world) open() {
	w.t.Helper()
	schema, err := os.ReadFile("../../schema.sql")
	must(w.t, err)
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.db, err = db.Open(w.t.Context(), db.Options{Path: w.path, Schema: string(schema), Create: true, Lock: true, Log: log, Gather: -1})
	must(w.t, err)
	store := w.db
	w.t.Cleanup(func() { must(w.t, store.Close()) })
	sealer, err := app.NewSealer(w.master)
	must(w.t, err)
	w.cfg.DB, w.cfg.Sealer, w.cfg.Log, w.cfg.Routes = w.db, sealer, log, nil
	for _, r := range w.relays {
		w.cfg.Routes = append(w.cfg.Routes, Route{Relay: r.Relay, Sender: r})
	}
	w.e, err = New(w.t.Context(), w.cfg)
	must(w.t, err)
	w.started, w.over = false, false
}

func (w *world) start() {
	w.t.Helper()
	must(w.t, w.e.Start(w.t.Context()))
	w.started = true
	e := w.e
	w.t.Cleanup(func() {
		if !w.over || w.e != e {
			stopNow(e)
		}
	})
}

// stopNow drops what runs.
func stopNow(e *Engine) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e.Stop(ctx)
}

// beside gives an engine as a command has it that runs beside the server: on its own
// connections to the database, without workers.
func (w *world) beside() *Engine {
	w.t.Helper()
	schema, err := os.ReadFile("../../schema.sql")
	must(w.t, err)
	store, err := db.Open(w.t.Context(), db.Options{Path: w.path, Schema: string(schema), Gather: -1})
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, store.Close()) })
	cfg := w.cfg
	cfg.DB, cfg.Routes = store, nil
	e, err := New(w.t.Context(), cfg)
	must(w.t, err)
	return e
}

// stop ends the engine in order and closes the database.
func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	w.e.Stop(ctx)
	w.over = true
	must(w.t, w.db.Close())
}

// crash leaves the old process as it stands and gives a world on what the disk
// holds at this moment, its engine not yet started. The old one goes on with
// its own files.
func (w *world) crash(relays ...*fakeRelay) *world {
	w.t.Helper()
	next := &world{t: w.t, path: filepath.Join(w.t.TempDir(), "mailer.db"), master: w.master, relays: relays, key: w.key, cfg: w.cfg, log: &logBook{}}
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.path + end)
		must(w.t, err)
		must(w.t, os.WriteFile(next.path+end, b, 0o600))
	}
	next.open()
	return next
}

func (w *world) addDomain(teamID, name, region string, status app.DomainStatus) {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(w.t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	must(w.t, err)
	d := app.Domain{ID: app.NewID(), TeamID: teamID, Name: name, Status: status, Region: region, ReturnPath: "send",
		CreatedAt: time.Now()}
	d.Keys = []app.DKIMPair{{Selector: app.DKIMSelector, State: app.DKIMSigning, Public: "unused", CreatedAt: d.CreatedAt,
		Sealed: w.cfg.Sealer.Seal(dkimPurpose, d.ID, der)}}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.InsertDomain(&d) }))
}

// addTeam makes another team with a verified domain and gives a key of it.
func (w *world) addTeam(name, domain string) *app.Key {
	w.t.Helper()
	team, err := w.e.CreateTeam(w.t.Context(), name)
	must(w.t, err)
	w.addDomain(team.ID, domain, app.DefaultRegion, app.DomainVerified)
	key := &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	w.listen(key)
	return key
}

// letter is a good send to those recipients.
func letter(to ...string) *app.EmailInput {
	text := "Hello"
	return &app.EmailInput{From: "Ann <ann@" + testDomain + ">", To: to, Subject: "Hi", Text: &text}
}

// send has an email accepted and gives its id.
func (w *world) send(to ...string) string {
	w.t.Helper()
	id, err := w.e.SendEmail(w.t.Context(), w.key, letter(to...), SendOptions{})
	must(w.t, err)
	return id
}

func (w *world) read(fn func(r *db.Reader) error) {
	w.t.Helper()
	must(w.t, w.db.Read(context.Background(), fn))
}

func (w *world) email(id string) *app.Email {
	w.t.Helper()
	email, err := w.e.GetEmail(w.t.Context(), w.key, id)
	must(w.t, err)
	return email
}

func (w *world) wantLast(id string, want app.LastEvent) {
	w.t.Helper()
	if got := w.email(id).LastEvent; got != want {
		w.t.Errorf("last_event of %s is %s, want %s; timeline:\n%s", id, got, want, w.story(id))
	}
}

// events is the timeline of an email, oldest first.
func (w *world) events(id string) []app.Event {
	w.t.Helper()
	events, _, err := w.e.ListEvents(w.t.Context(), w.key, id, app.Page{Limit: 100})
	must(w.t, err)
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	return events
}

// eventOf gives the only event of that type.
func (w *world) eventOf(id string, kind app.EventType) app.Event {
	w.t.Helper()
	var found []app.Event
	for _, ev := range w.events(id) {
		if ev.Type == kind {
			found = append(found, ev)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d events %s, want 1; timeline:\n%s", len(found), kind, w.story(id))
	}
	return found[0]
}

func (w *world) story(id string) string {
	var b strings.Builder
	for _, ev := range w.events(id) {
		b.WriteString(app.FormatTime(ev.CreatedAt) + " " + string(ev.Type) + " " + ev.Recipient + ": " + ev.Detail.Message + "\n")
	}
	return b.String()
}

// unit gives the open work of an email, nil where it is over.
func (w *world) unit(id string) *app.Unit {
	w.t.Helper()
	var found *app.Unit
	w.read(func(r *db.Reader) error {
		email, err := r.Email(w.key.TeamID, id)
		if err != nil {
			return err
		}
		units, err := r.DueUnits(email.Relay, false, w.key.TeamID, time.Now().AddDate(1, 0, 0), 100_000)
		for _, u := range units {
			if u.EmailID == id {
				found = &u
			}
		}
		return err
	})
	return found
}

func (w *world) dotted() (units []app.Unit) {
	w.t.Helper()
	w.read(func(r *db.Reader) (err error) {
		units, err = r.DottedUnits()
		return err
	})
	return units
}

func (w *world) doubts() []app.Doubt {
	w.t.Helper()
	doubts, err := w.e.ListDoubts(w.t.Context(), false)
	must(w.t, err)
	return doubts
}

// due has an email tried now.
func (w *world) due(id string) {
	w.t.Helper()
	u := *w.unit(id)
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now) }))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, want app.Code) {
	t.Helper()
	var refusal *app.Error
	if !errors.As(err, &refusal) || refusal.Code != want {
		t.Errorf("error %v, want code %s", err, want)
	}
}

// logBook keeps the log lines.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) has(words string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.text.String(), words)
}
