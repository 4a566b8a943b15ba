// Package testserver starts a whole server for tests: on a database of its own, with fake relays,
// a fake DNS and a readable log. Only tests import it.
//
// Failure policy: a helper that gets an error ends the test.
package testserver

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/tenants/domains"
	"mailer/app/testing/apptest"
	"mailer/db"
	"mailer/db/dbtest"
)

// TestDomain is the verified domain of the first team.
const TestDomain = "example.com"

// Server is a server with its database and fake relays. Key is of the first team, whose domain is
// TestDomain.
type Server struct {
	T                testing.TB
	Path             string
	master           []byte
	Config           server.Config
	DB               *db.DB
	Services         *server.Server
	Relays           []*FakeRelay
	Key              *app.Key
	Log              *LogBuffer
	started, Stopped bool
	shared           bool // it shares the database with another server
	direct           directDB
}

// Synctest runs fn in a synctest bubble: the clock advances only when all goroutines are blocked.
// The server polls every three seconds by default, so that a test that waits for a second shows that
// a write wakes its workers, and every second with FastHeartbeat.
func Synctest(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctestPolling(t, seldom, fn)
}

// seldom is the polling interval of Synctest. It is shorter than the shortest retry, since the
// dispatchers notice a deferral by polling.
const seldom = 3 * time.Second

// SynctestDays is Synctest for a test in which days pass. The server polls every ten minutes by
// default. It runs without the race detector, with which it would take minutes without finding
// more, and on SQLite only, since each poll on PostgreSQL needs several round trips.
func SynctestDays(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	if raced {
		t.Skip("days pass in it; go test without -race runs it")
	}
	if IsPostgres() {
		t.Skip("days pass in it; go test on a file runs it")
	}
	synctestPolling(t, 10*time.Minute, fn)
}

// SynctestHours is Synctest for a test in which hours pass. The server polls every minute by
// default.
func SynctestHours(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctestPolling(t, time.Minute, fn)
}

// synctestPolling is Synctest with a polling interval of the test's servers. Each poll costs
// processor time.
func synctestPolling(t *testing.T, every time.Duration, fn func(t *testing.T)) {
	t.Helper()
	skipUnmarked(t) // outside of the bubble: testing counts a test skipped within one as passed
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polling.Store(t, every)
		defer polling.Delete(t)
		fn(t)
	})
}

// polling holds the polling intervals of synctestPolling, by test.
var polling sync.Map

// pollEvery returns the default polling interval of a test's servers; 0: that of the server.
func pollEvery(t testing.TB) time.Duration {
	every, _ := polling.Load(t)
	d, _ := every.(time.Duration)
	if _, fast := fastHeartbeats.Load(t); fast && d == seldom {
		return 0
	}
	return d
}

// New returns a server that accepts mail and does not send it until Start.
func New(t testing.TB, relays ...*FakeRelay) *Server {
	t.Helper()
	return NewWithConfig(t, server.Config{}, relays...)
}

// NewWithConfig is New with a configuration.
func NewWithConfig(t testing.TB, cfg server.Config, relays ...*FakeRelay) *Server {
	t.Helper()
	w := OpenDatabase(t, NewDatabase(t, Schema(t)), cfg, relays...)
	w.AddDomain(w.Key.TeamID, TestDomain, app.DefaultRegion, app.DomainVerified)
	w.addWebhook(w.Key)
	return w
}

// OpenDatabase opens a server, which is not yet started, on an existing database that was made with the
// master key of New. Its Key is of the first team.
func OpenDatabase(t testing.TB, path string, cfg server.Config, relays ...*FakeRelay) *Server {
	t.Helper()
	w := &Server{T: t, Path: path, master: make([]byte, seal.MasterKeySize), Relays: relays, Log: &LogBuffer{}, Config: cfg}
	w.Config.Jitter, w.Config.BaseURL = func() float64 { return 0.5 }, "https://mail.example.com"
	w.Open()
	team, err := w.Services.Teams.FindTeam(t.Context(), "")
	Must(t, err)
	w.Key = &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	return w
}

// addWebhook adds a webhook for all events except those of emails, so that tests can read the
// events in the database. Nothing is delivered to it.
func (w *Server) addWebhook(key *app.Key) {
	w.T.Helper()
	events := slices.DeleteFunc(webhook.EventNames(), func(name webhook.EventName) bool { return strings.HasPrefix(string(name), "email.") })
	_, err := w.Services.Webhooks.CreateWebhook(w.T.Context(), key, webhook.Input{Endpoint: "https://hooks.example.com", Events: events})
	Must(w.T, err)
}

// Start returns a server that accepts and sends mail.
func Start(t testing.TB, relays ...*FakeRelay) *Server {
	t.Helper()
	w := New(t, relays...)
	w.Start()
	return w
}

// Schema returns the content of schema.sql.
func Schema(t testing.TB) string {
	t.Helper()
	return dbtest.Schema(t)
}

// Open opens database and services. They are closed at the end of the test.
func (w *Server) Open() {
	w.T.Helper()
	w.closeDirect() // the file may be another one
	log := slog.New(slog.NewTextHandler(w.Log, nil))
	path, gather := dataSource(w.T, w.Path)
	var err error
	w.DB, err = db.Open(w.T.Context(), db.Options{Path: path, Schema: Schema(w.T), Create: true, Lock: true, Log: log, Gather: gather, Heartbeat: heartbeatOf(w.T), DeadAfter: deadAfter(w.T), Lazy: true, Readers: 2, JoinCluster: w.shared, Reserve: 4096})
	Must(w.T, err)
	store := w.DB
	w.T.Cleanup(func() { Must(w.T, store.Close()) })
	sealer, err := app.NewSealer(seal.MasterKey{Key: w.master})
	Must(w.T, err)
	if w.Config.KeyFile != nil {
		sealer = w.Config.KeyFile.Sealer
	}
	w.Config.DB, w.Config.Sealer, w.Config.Log, w.Config.Routes = w.DB, sealer, log, nil
	for _, r := range w.Relays {
		w.Config.Routes = append(w.Config.Routes, delivery.Route{Relay: r.Relay, Sender: r})
	}
	w.Config.Connect = w.connect
	if w.Config.NewDKIMKey == nil {
		w.Config.NewDKIMKey = NextDKIMKey
	}
	w.Config.PollEvery = cmp.Or(w.Config.PollEvery, pollEvery(w.T))
	w.Services, err = server.New(w.T.Context(), w.Config)
	Must(w.T, err)
	w.started, w.Stopped = false, false
}

// dkimKeys is the number of calls of NextDKIMKey.
var dkimKeys atomic.Uint32

// NextDKIMKey returns one of the keys of all tests, a different one at each call.
func NextDKIMKey() (*rsa.PrivateKey, error) { return apptest.RSAKey(int(dkimKeys.Add(1))), nil }

// connect returns the client for a relay that is added while the server runs: the last of w.Relays
// with its name.
func (w *Server) connect(relay relayurl.Relay) (delivery.Sender, error) {
	for _, r := range slices.Backward(w.Relays) {
		if r.FullName() == relay.FullName() {
			return r, nil
		}
	}
	return nil, errors.New("no relay of the test is named " + relay.String())
}

// Start starts the workers of the server.
func (w *Server) Start() {
	w.T.Helper()
	Must(w.T, w.Services.Begin(w.T.Context()))
	w.started = true
	e := w.Services
	w.T.Cleanup(func() {
		if !w.Stopped || w.Services != e {
			StopNow(e)
		}
	})
}

// StopNow stops the server without waiting for work in progress.
func StopNow(e *server.Server) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e.Stop(ctx)
}

// CommandServices returns the services as a command beside the server has them: with its own
// database connections and without workers.
func (w *Server) CommandServices() *server.Server {
	w.T.Helper()
	store, err := db.Open(w.T.Context(), db.Options{Path: w.Path, Schema: Schema(w.T), Gather: -1, Lazy: true})
	Must(w.T, err)
	w.T.Cleanup(func() { Must(w.T, store.Close()) })
	cfg := w.Config
	cfg.DB, cfg.Routes = store, nil
	e, err := server.New(w.T.Context(), cfg)
	Must(w.T, err)
	return e
}

// Stop stops the server gracefully and closes the database.
func (w *Server) Stop() {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	w.Services.Stop(ctx)
	w.Stopped = true
	w.closeDirect()
	Must(w.T, w.DB.Close())
}

// StopFor stops the server gracefully, sleeps, and starts it again.
func (w *Server) StopFor(d time.Duration) {
	w.T.Helper()
	w.Stop()
	time.Sleep(d)
	w.Open()
	w.Start()
}

// Crash leaves the running process as it is and returns a new server, not yet started, on a copy
// of the database at this moment.
func (w *Server) Crash(relays ...*FakeRelay) *Server {
	w.T.Helper()
	next := &Server{T: w.T, Path: w.crashCopy(), master: w.master, Relays: relays, Key: w.Key, Config: w.Config, Log: &LogBuffer{}}
	next.Open()
	return next
}

// AddDomain adds a domain with a status.
func (w *Server) AddDomain(teamID, name, region string, status app.DomainStatus) {
	w.T.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	Must(w.T, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	Must(w.T, err)
	d := app.Domain{ID: app.NewID(), TeamID: teamID, Name: name, Status: status, Region: region, ReturnPath: "send",
		CreatedAt: time.Now()}
	d.Keys = []app.DKIMPair{{Selector: app.DKIMSelector, State: app.DKIMSigning, Public: "unused", CreatedAt: d.CreatedAt,
		Sealed: w.Config.Sealer.Seal(domains.DKIMPurpose, d.ID, der)}}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.InsertDomain(&d) }))
}

// AddTeam adds a team with a verified domain and returns a key of it.
func (w *Server) AddTeam(name, domain string) *app.Key {
	w.T.Helper()
	team, err := w.Services.Teams.CreateTeam(w.T.Context(), name)
	Must(w.T, err)
	w.AddDomain(team.ID, domain, app.DefaultRegion, app.DomainVerified)
	key := &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	w.addWebhook(key)
	return key
}

// Message returns a valid email to the recipients.
func Message(to ...string) *app.EmailInput {
	text := "Hello"
	return &app.EmailInput{From: "Ann <ann@" + TestDomain + ">", To: to, Subject: "Hi", Text: &text}
}

// Send sends an email and returns its id.
func (w *Server) Send(to ...string) string {
	w.T.Helper()
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, Message(to...), mail.SendOptions{})
	Must(w.T, err)
	return id
}

// Read reads the database.
func (w *Server) Read(fn func(r *db.Reader) error) {
	w.T.Helper()
	Must(w.T, w.DB.Read(context.Background(), fn))
}

// Email reads an email, which must exist.
func (w *Server) Email(id string) *app.Email {
	w.T.Helper()
	email, err := w.Services.Mail.GetEmail(w.T.Context(), w.Key, id)
	Must(w.T, err)
	return email
}

// WantLastEvent checks an email's last event.
func (w *Server) WantLastEvent(id string, want app.LastEvent) {
	w.T.Helper()
	if got := w.Email(id).LastEvent; got != want {
		w.T.Errorf("last_event of %s is %s, want %s; timeline:\n%s", id, got, want, w.Timeline(id))
	}
}

// Events returns the timeline of an email, oldest first.
func (w *Server) Events(id string) []app.Event {
	w.T.Helper()
	events, _, err := w.Services.Mail.ListEvents(w.T.Context(), w.Key, id, app.Page{Limit: 100})
	Must(w.T, err)
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	return events
}

// OnlyEvent returns the only event of a type.
func (w *Server) OnlyEvent(id string, kind app.EventType) app.Event {
	w.T.Helper()
	var found []app.Event
	for _, ev := range w.Events(id) {
		if ev.Type == kind {
			found = append(found, ev)
		}
	}
	if len(found) != 1 {
		w.T.Fatalf("%d events %s, want 1; timeline:\n%s", len(found), kind, w.Timeline(id))
	}
	return found[0]
}

// Timeline returns the timeline of an email as text, one event on each line.
func (w *Server) Timeline(id string) string {
	var b strings.Builder
	for _, ev := range w.Events(id) {
		b.WriteString(app.FormatTime(ev.CreatedAt) + " " + string(ev.Type) + " " + ev.Recipient + ": " + ev.Detail.Message + "\n")
	}
	return b.String()
}

// Unit returns the unit of an email; nil: it is finished.
func (w *Server) Unit(id string) *app.Unit {
	w.T.Helper()
	rows := w.SQL(`SELECT team_id || '|' || coalesce(topic_id, '') || '|' || relay || '|' || domain || '|' || coalesce(signature, '') || '|' ||
		attempts || '|' || next_at || '|' || coalesce(since, 0) || '|' || size || '|' || owed || '|' || late || '|' || crashes || '|' || coalesce(owner, '') FROM units WHERE email_id = ?`, id)
	if len(rows) == 0 {
		return nil
	}
	text := strings.Split(rows[0], "|")
	var n [7]int64
	for i := range n {
		var err error
		n[i], err = strconv.ParseInt(text[5+i], 10, 64)
		Must(w.T, err)
	}
	u := &app.Unit{Owner: text[12], EmailID: id, TeamID: text[0], TopicID: text[1], Relay: text[2], Domain: text[3], Signature: text[4], Attempts: int(n[0]),
		NextAt: time.UnixMilli(n[1]).UTC(), Size: n[3], QuotaOwed: n[4], QuotaDelayed: n[5] != 0, Crashes: int(n[6])}
	if n[2] != 0 {
		u.Since = time.UnixMilli(n[2]).UTC()
	}
	return u
}

// CommittedUnits returns the units that are marked as committed.
func (w *Server) CommittedUnits() (units []app.Unit) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		units, err = r.CommittedUnits()
		return err
	})
	return units
}

// Doubts returns all doubts, oldest first.
func (w *Server) Doubts() []app.Doubt {
	w.T.Helper()
	doubts, err := w.Services.Delivery.ListDoubts(w.T.Context(), false)
	Must(w.T, err)
	return doubts
}

// RetryNow makes an email due now.
func (w *Server) RetryNow(id string) {
	w.T.Helper()
	u := *w.Unit(id)
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now) }))
	w.Services.Delivery.WakeQueues()
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode checks that an error is an *app.Error with a code.
func WantCode(t testing.TB, err error, want app.Code) {
	t.Helper()
	var refusal *app.Error
	if !errors.As(err, &refusal) || refusal.Code != want {
		t.Errorf("error %v, want code %s", err, want)
	}
}

// LogBuffer stores the log. It is safe for concurrent use.
type LogBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// Contains reports whether the log contains a text.
func (b *LogBuffer) Contains(words string) bool {
	return strings.Contains(b.String(), words)
}

// String returns the log so far.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
