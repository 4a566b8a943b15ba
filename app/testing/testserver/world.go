// Package world is what tests of the services share: a server on a database file of its
// own, with fake relays, a fake DNS and a log that can be read. Only tests import it;
// what one package alone needs stands in its own world_test.go.
//
// Failure policy: a helper that meets an error ends the test.
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
	"mailer/db"
	"mailer/db/dbtest"
)

// TestDomain is the domain that each team of a world sends from.
const TestDomain = "example.com"

// World is a server on a database file of its own, with fake relays. The team
// is the first one; its domain is testDomain, verified.
type World struct {
	T             testing.TB
	Path          string
	master        []byte
	Config        server.Config
	DB            *db.DB
	Server        *server.Server
	Relays        []*FakeRelay
	Key           *app.Key
	Log           *LogBook
	started, Over bool
	several       bool // it answers beside another one
	aside         aside
}

// Bubble runs fn with a fake clock, which stands still while anything runs.
func Bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	skipUnmarked(t) // here, since testing counts what is skipped in a bubble as passed
	t.Parallel()
	synctest.Test(t, fn)
}

// Days is Bubble for a test in which days pass, and a server polls every ten
// minutes, unless its Config says otherwise. The race detector needs minutes for such
// a test and sees nothing there that it does not see in an hour, so that it runs without it
// alone; and on a file alone, since each poll is a few round trips to a
// database elsewhere.
func Days(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	if raced {
		t.Skip("days pass in it; go test without -race runs it")
	}
	if IsElsewhere() {
		t.Skip("days pass in it; go test on a file runs it")
	}
	Bubble(t, func(t *testing.T) {
		unhurried.Store(t, true)
		defer unhurried.Delete(t)
		fn(t)
	})
}

// unhurried are the tests in which days pass.
var unhurried sync.Map

// pollEvery is how often a server of t polls, unless its Config says so: seldom in Days,
// since each poll costs processor time however little happens.
func pollEvery(t testing.TB) time.Duration {
	if _, ok := unhurried.Load(t); ok {
		return 10 * time.Minute
	}
	return 0
}

// Idle makes a world whose server accepts and does not send yet.
func Idle(t testing.TB, relays ...*FakeRelay) *World {
	t.Helper()
	return IdleWith(t, server.Config{}, relays...)
}

// IdleWith is idle with parts of a configuration.
func IdleWith(t testing.TB, cfg server.Config, relays ...*FakeRelay) *World {
	t.Helper()
	w := &World{T: t, Path: NewDatabase(t, Schema(t)), master: make([]byte, seal.MasterKeySize), Relays: relays, Log: &LogBook{}, Config: cfg}
	w.Config.Jitter, w.Config.BaseURL = func() float64 { return 0.5 }, "https://mail.example.com"
	w.Open()
	team, err := w.Server.Teams.FindTeam(t.Context(), "")
	Must(t, err)
	w.Key = &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	w.AddDomain(team.ID, TestDomain, app.DefaultRegion, app.DomainVerified)
	w.listen(w.Key)
	return w
}

// listen has a webhook hear of everything but emails, for what tests look at in
// the database; nothing is told to it.
func (w *World) listen(key *app.Key) {
	w.T.Helper()
	events := slices.DeleteFunc(webhook.EventNames(), func(name webhook.EventName) bool { return strings.HasPrefix(string(name), "email.") })
	_, err := w.Server.Events.CreateWebhook(w.T.Context(), key, webhook.Input{Endpoint: "https://hooks.example.com", Events: events})
	Must(w.T, err)
}

// Serving makes a world whose server sends.
func Serving(t testing.TB, relays ...*FakeRelay) *World {
	t.Helper()
	w := Idle(t, relays...)
	w.Start()
	return w
}

// Schema is the text of schema.sql.
func Schema(t testing.TB) string {
	t.Helper()
	return dbtest.Schema(t)
}

// Open opens database and server; the test's end closes them.
func (w *World) Open() {
	w.T.Helper()
	log := slog.New(slog.NewTextHandler(w.Log, nil))
	path, gather := through(w.T, w.Path)
	var err error
	w.DB, err = db.Open(w.T.Context(), db.Options{Path: path, Schema: Schema(w.T), Create: true, Lock: true, Log: log, Gather: gather, Beat: beatOf(w.T), Lazy: true, Several: w.several})
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
	w.Server, err = server.New(w.T.Context(), w.Config)
	Must(w.T, err)
	w.started, w.Over = false, false
}

// A few RSA keys are made once in a process, since each costs as much as a whole test.
var (
	dkimKeys = sync.OnceValues(func() (keys [4]*rsa.PrivateKey, err error) {
		for i := range keys {
			if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
				break
			}
		}
		return keys, err
	})
	dkimTurn atomic.Uint32
)

// NextDKIMKey returns a key other than that of the last call.
func NextDKIMKey() (*rsa.PrivateKey, error) {
	keys, err := dkimKeys()
	return keys[dkimTurn.Add(1)%uint32(len(keys))], err
}

// connect is the client of a relay that comes while the server runs: the last of w.Relays
// that has its name.
func (w *World) connect(relay relayurl.Relay) (delivery.Sender, error) {
	for _, r := range slices.Backward(w.Relays) {
		if r.Region == relay.Region {
			return r, nil
		}
	}
	return nil, errors.New("nobody made the relay " + relay.String())
}

// Start sets the server's workers to work.
func (w *World) Start() {
	w.T.Helper()
	Must(w.T, w.Server.Begin(w.T.Context()))
	w.started = true
	e := w.Server
	w.T.Cleanup(func() {
		if !w.Over || w.Server != e {
			StopNow(e)
		}
	})
}

// StopNow drops what runs.
func StopNow(e *server.Server) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e.Stop(ctx)
}

// Beside returns a server as a command has it that runs beside the server: on its own
// connections to the database, without workers.
func (w *World) Beside() *server.Server {
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

// Stop ends the server in order and closes the database.
func (w *World) Stop() {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	w.Server.Stop(ctx)
	w.Over = true
	Must(w.T, w.DB.Close())
}

// Rest has the server be stopped, in order, for d, which costs nothing, and started again.
func (w *World) Rest(d time.Duration) {
	w.T.Helper()
	w.Stop()
	time.Sleep(d)
	w.Open()
	w.Start()
}

// Crash leaves the old process as it stands and returns a world on what the disk
// holds at this moment, its server not yet started. The old one goes on with a
// database of its own; one elsewhere it has to connect to again.
func (w *World) Crash(relays ...*FakeRelay) *World {
	w.T.Helper()
	next := &World{T: w.T, Path: w.left(), master: w.master, Relays: relays, Key: w.Key, Config: w.Config, Log: &LogBook{}}
	next.Open()
	return next
}

// AddDomain adds a domain in that status.
func (w *World) AddDomain(teamID, name, region string, status app.DomainStatus) {
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

// AddTeam makes another team with a verified domain and returns a key of it.
func (w *World) AddTeam(name, domain string) *app.Key {
	w.T.Helper()
	team, err := w.Server.Teams.CreateTeam(w.T.Context(), name)
	Must(w.T, err)
	w.AddDomain(team.ID, domain, app.DefaultRegion, app.DomainVerified)
	key := &app.Key{ID: app.NewID(), TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}
	w.listen(key)
	return key
}

// Letter is a good send to those recipients.
func Letter(to ...string) *app.EmailInput {
	text := "Hello"
	return &app.EmailInput{From: "Ann <ann@" + TestDomain + ">", To: to, Subject: "Hi", Text: &text}
}

// Send has an email accepted and returns its id.
func (w *World) Send(to ...string) string {
	w.T.Helper()
	id, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, Letter(to...), mail.SendOptions{})
	Must(w.T, err)
	return id
}

// Read reads the database, which must be possible.
func (w *World) Read(fn func(r *db.Reader) error) {
	w.T.Helper()
	Must(w.T, w.DB.Read(context.Background(), fn))
}

// Email reads an email, which must be there.
func (w *World) Email(id string) *app.Email {
	w.T.Helper()
	email, err := w.Server.Mail.GetEmail(w.T.Context(), w.Key, id)
	Must(w.T, err)
	return email
}

// WantLast checks an email's last event.
func (w *World) WantLast(id string, want app.LastEvent) {
	w.T.Helper()
	if got := w.Email(id).LastEvent; got != want {
		w.T.Errorf("last_event of %s is %s, want %s; timeline:\n%s", id, got, want, w.Story(id))
	}
}

// Events is the timeline of an email, oldest first.
func (w *World) Events(id string) []app.Event {
	w.T.Helper()
	events, _, err := w.Server.Mail.ListEvents(w.T.Context(), w.Key, id, app.Page{Limit: 100})
	Must(w.T, err)
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	return events
}

// EventOf returns the only event of that type.
func (w *World) EventOf(id string, kind app.EventType) app.Event {
	w.T.Helper()
	var found []app.Event
	for _, ev := range w.Events(id) {
		if ev.Type == kind {
			found = append(found, ev)
		}
	}
	if len(found) != 1 {
		w.T.Fatalf("%d events %s, want 1; timeline:\n%s", len(found), kind, w.Story(id))
	}
	return found[0]
}

// Story is the timeline of an email, an event on a line.
func (w *World) Story(id string) string {
	var b strings.Builder
	for _, ev := range w.Events(id) {
		b.WriteString(app.FormatTime(ev.CreatedAt) + " " + string(ev.Type) + " " + ev.Recipient + ": " + ev.Detail.Message + "\n")
	}
	return b.String()
}

// Unit returns the open work of an email, nil where it is over.
func (w *World) Unit(id string) *app.Unit {
	w.T.Helper()
	rows := w.Sql(`SELECT team_id || '|' || coalesce(topic_id, '') || '|' || relay || '|' || domain || '|' || coalesce(signature, '') || '|' ||
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
		NextAt: time.UnixMilli(n[1]).UTC(), Size: n[3], Owed: n[4], Late: n[5] != 0, Crashes: int(n[6])}
	if n[2] != 0 {
		u.Since = time.UnixMilli(n[2]).UTC()
	}
	return u
}

// Dotted returns the units that are marked dotted.
func (w *World) Dotted() (units []app.Unit) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		units, err = r.DottedUnits()
		return err
	})
	return units
}

// Doubts returns all doubts, oldest first.
func (w *World) Doubts() []app.Doubt {
	w.T.Helper()
	doubts, err := w.Server.Delivery.ListDoubts(w.T.Context(), false)
	Must(w.T, err)
	return doubts
}

// Due has an email tried now.
func (w *World) Due(id string) {
	w.T.Helper()
	u := *w.Unit(id)
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now) }))
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode checks that an error is an *app.Error of a code.
func WantCode(t testing.TB, err error, want app.Code) {
	t.Helper()
	var refusal *app.Error
	if !errors.As(err, &refusal) || refusal.Code != want {
		t.Errorf("error %v, want code %s", err, want)
	}
}

// LogBook keeps the log lines.
type LogBook struct {
	mu   sync.Mutex
	Text strings.Builder
}

// Write implements io.Writer.
func (b *LogBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Text.Write(p)
}

// Has reports whether something was logged in these words.
func (b *LogBook) Has(words string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.Text.String(), words)
}
