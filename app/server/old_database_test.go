package server_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"mailer/app"
	"mailer/app/operate/certificates"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/server"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/domains"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
	"mailer/db/engine"
	"mailer/db/pgtest"
)

// loadOld returns the name of a new database with the old schema and the rows of the old database.
func loadOld(t *testing.T) (name string, facts oldFacts) {
	t.Helper()
	text, err := os.ReadFile(oldDatabase)
	testserver.Must(t, err)
	schema, err := os.ReadFile(oldSchema)
	testserver.Must(t, err)
	for line := range strings.Lines(string(text)) {
		if after, ok := strings.CutPrefix(line, "-- {"); ok {
			testserver.Must(t, json.Unmarshal([]byte("{"+after), &facts))
			break
		}
	}
	name = filepath.Join(dbtest.Dir(t), "mailer.db")
	dbtest.LoadRows(t, name, string(schema), string(text))
	if testserver.IsPostgres() {
		name = copyOldToPostgres(t, name, string(schema))
	}
	return name, facts
}

// copyOldToPostgres copies a file to a new PostgreSQL database of the same version, as an old server
// would have filled it. engine.Move copies databases of the present version only.
func copyOldToPostgres(t *testing.T, path, schema string) string {
	t.Helper()
	url := pgtest.Database(t, pgtest.Server(t), "")
	d, err := engine.Open(t.Context(), engine.Options{Path: url, Schema: schema, Create: true})
	testserver.Must(t, err)
	testserver.Must(t, d.Close())
	from, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	testserver.Must(t, err)
	defer from.Close()
	pool, err := sql.Open("pgx", url)
	testserver.Must(t, err)
	defer pool.Close()
	to, err := pool.Conn(t.Context())
	testserver.Must(t, err)
	defer to.Close()
	_, err = to.ExecContext(t.Context(), `SET session_replication_role = replica`) // tables in any order
	testserver.Must(t, err)
	for table, columns := range oldColumns(t, from, oldFileColumns) {
		_, err := to.ExecContext(t.Context(), `DELETE FROM `+table)
		testserver.Must(t, err)
		values, places := slices.Clone(columns), make([]string, len(columns))
		for i, c := range columns {
			if places[i] = fmt.Sprint("$", i+1); c == "properties" {
				values[i] = "json(properties)"
			}
		}
		rows, err := from.QueryContext(t.Context(), `SELECT `+strings.Join(values, ", ")+` FROM `+table)
		testserver.Must(t, err)
		insert := `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Join(places, ", ") + `)`
		for rows.Next() {
			row, dest := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				dest[i] = &row[i]
			}
			testserver.Must(t, rows.Scan(dest...))
			if _, err := to.ExecContext(t.Context(), insert, row...); err != nil {
				t.Fatalf("%s %q: %v", insert, row, err)
			}
		}
		testserver.Must(t, errors.Join(rows.Err(), rows.Close()))
	}
	_, err = to.ExecContext(t.Context(), `UPDATE schema_versions SET version = 1`)
	testserver.Must(t, err)
	return url
}

// oldFileColumns returns the columns of all tables of a file.
const oldFileColumns = `SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`

// oldColumns returns the columns of tables by a query for both.
func oldColumns(t *testing.T, pool *sql.DB, query string) map[string][]string {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query)
	testserver.Must(t, err)
	defer rows.Close()
	columns := map[string][]string{}
	for rows.Next() {
		var table, column string
		testserver.Must(t, rows.Scan(&table, &column))
		columns[table] = append(columns[table], column)
	}
	testserver.Must(t, rows.Err())
	return columns
}

// oldRows returns the rows of a database by table. The tables and columns are those of like, or all
// if like is nil.
func oldRows(t *testing.T, name string, like map[string][]string) (columns map[string][]string, rows map[string]string) {
	t.Helper()
	driver, source, literal := "sqlite", "file:"+name+"?mode=ro", "quote"
	query := oldFileColumns
	if testserver.IsPostgres() {
		driver, source, literal = "pgx", name, "quote_nullable"
		query = `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	pool, err := sql.Open(driver, source)
	testserver.Must(t, err)
	defer pool.Close()
	if columns = like; like == nil {
		columns = oldColumns(t, pool, query)
		delete(columns, "schema_versions") // a row for each migration
	}
	rows = map[string]string{}
	for table, names := range columns {
		row := literal + `("` + strings.Join(names, `") || ',' || `+literal+`("`) + `")`
		all := oldColumns(t, pool, `SELECT '', `+row+` FROM `+table+` ORDER BY 2`)[""]
		rows[table] = strings.Join(all, "\n")
	}
	return columns, rows
}

// openOld opens a server on the old database after its migration, an hour after the database was
// made. All relays accept everything.
func openOld(t *testing.T) (*testserver.Server, oldFacts, *oldRoundTripper) {
	t.Helper()
	name, facts := loadOld(t)
	columns, before := oldRows(t, name, nil)
	m, err := engine.Migrate(t.Context(), engine.Options{Path: name, Schema: testserver.Schema(t), Lock: true}, engine.Migrating{Dumped: true})
	if err != nil || m.From != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	_, after := oldRows(t, name, columns)
	for table, rows := range before {
		if after[table] != rows {
			t.Errorf("%s after the migration:\n%.2000s\nwant\n%.2000s", table, after[table], rows)
		}
	}
	time.Sleep(time.Until(facts.MadeAt.Add(time.Hour)))
	hooks := &oldRoundTripper{up: true, ids: map[string]int{}}
	newer := oldRelay(nil)
	newer.Profile = "" // the stored signature is over Message-ID
	w := testserver.OpenDatabase(t, name, server.Config{Cloud: true, WebhookTransport: hooks}, newer)
	for _, region := range []string{oldRegion, "paused"} {
		w.Relays = append(w.Relays, testserver.NewRelayOf(relayurl.Relay{Region: region, Host: region + ".relay.test", Port: 587, Connections: 4}, nil))
	}
	return w, facts, hooks
}

// sentBySubject counts the messages that relays accepted, by subject, and fails if one was sent
// twice.
func sentBySubject(t *testing.T, relays ...*testserver.FakeRelay) map[string]int {
	t.Helper()
	sent := map[string]int{}
	for _, relay := range relays {
		for _, s := range relay.Transactions("") {
			if n := relay.FinalDots(s.Message.EmailID); n != 1 {
				t.Errorf("%s to %v was sent %d times", s.Message.Mail.Subject, s.Message.Recipients, n)
			}
			sent[s.Message.Mail.Subject]++
		}
	}
	return sent
}

// TestOldDatabaseWorksAfterMigration opens the database that the first release made: no row is lost,
// its mail leaves once, its sessions and keys work, and its webhooks get what waits for them.
func TestOldDatabaseWorksAfterMigration(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, facts, hooks := openOld(t)
		waiting := w.SQL(oldWaitingEvents)
		if len(waiting) < 10 {
			t.Fatalf("%d events wait", len(waiting))
		}
		half := w.SQL(`SELECT r.email FROM broadcast_recipients AS r JOIN broadcasts AS b ON b.mails = substr(r.id, 1, 28)
			WHERE b.name = 'half' AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.email_id = r.id AND e.type = 'sent')`)
		signature := w.SQL(`SELECT email_id || signature FROM units WHERE state = 'committed'`)[0]
		w.Start()
		testserver.Sleep(time.Hour)
		if again := w.Relays[0].Transactions(signature[:36]); len(again) != 1 || again[0].Message.Signature != signature[36:] {
			t.Errorf("the email in doubt was sent as %+v, want %s", again, signature)
		}
		wantOldMail(t, w, half)
		for _, event := range waiting {
			if hooks.ids[event] != 1 {
				t.Errorf("the webhook at %s got the event %d times", event, hooks.ids[event])
			}
		}
		for _, table := range []string{"erasures", "leftovers", "choice_news"} {
			if n := w.Count(table); n != "0" {
				t.Errorf("%s rows are left in %s", n, table)
			}
		}
		if got := strings.Join(w.SQL(`SELECT email FROM contacts WHERE email LIKE 'i%' ORDER BY email`), " "); got != "i1@example.org i2@example.org i3@example.org" {
			t.Errorf("imported %s", got)
		}
		wantOldSecrets(t, w, facts)
		w.WantUndamaged()
	})
}

// oldWaitingEvents returns the webhook events without a successful delivery, as oldRoundTripper
// counts them: for a webhook whose subscription changed while events waited, and for one whose
// endpoint failed.
const oldWaitingEvents = `SELECT substr(h.endpoint, 9, length(h.endpoint) - 11) || ' msg_' || e.id FROM webhooks AS h JOIN webhook_events AS e ON e.team_id = h.team_id
	LEFT JOIN webhook_terms AS f ON f.webhook_id = h.id LEFT JOIN deliveries AS d ON d.webhook_id = h.id AND d.event_id = e.id
	WHERE h.status = 'enabled' AND (d.next_at IS NOT NULL OR e.seq > h.reached AND (e.type IN ('email.sent', 'contact.created') OR e.seq <= f.until))`

// wantOldMail checks what left within an hour, and that the rest leaves when it is released. half are
// the recipients to whom the old server had not sent the half-sent broadcast.
func wantOldMail(t *testing.T, w *testserver.Server, half []string) {
	t.Helper()
	// Two emails were in progress, one was deferred, one was scheduled, and two were queued.
	want := map[string]int{"leaves": 6, "half": oldAudience - sentHalf, "You were invited to Default": 1}
	wantSent := func() {
		t.Helper()
		if got := sentBySubject(t, w.Relays...); !maps.Equal(got, want) {
			t.Errorf("sent %v, want %v; log:\n%s", got, want, w.Log.String())
		}
	}
	wantSent()
	got := testserver.Received(w.Relays[1])
	for _, address := range half {
		if got[address] != 1 {
			t.Errorf("%s got %d messages", address, got[address])
		}
	}
	if len(got) != len(half) {
		t.Errorf("%v got messages, want %v", got, half)
	}
	for _, s := range w.Relays[0].Transactions("") {
		if m := s.Message.Mail; strings.HasPrefix(m.Subject, "You") && !strings.Contains(m.Text, "/dashboard/invitation#") {
			t.Errorf("the invitation has no link: %s", m.Text)
		}
	}
	if got := w.SQL(`SELECT count(*) FROM units WHERE state = 'later'`)[0]; got != "1" {
		t.Errorf("%s emails are scheduled", got)
	}
	if got := strings.Join(w.SQL(`SELECT name FROM broadcasts WHERE status = 'scheduled' OR status = 'sent' ORDER BY name`), " "); got != "half scheduled sent" {
		t.Errorf("broadcasts that are scheduled or sent: %s", got)
	}
	_, err := w.Services.Queue.Release(t.Context(), queue.Filter{All: true})
	testserver.Must(t, err)
	paused := w.SQL(`SELECT id FROM broadcasts WHERE name = 'paused'`)[0]
	_, err = w.Services.Broadcasts.ResumeBroadcast(t.Context(), &app.Key{TeamID: w.SQL(`SELECT team_id FROM broadcasts WHERE id = ?`, paused)[0], Permission: app.FullAccess, Role: app.RoleOwner}, paused)
	testserver.Must(t, err)
	testserver.Sleep(time.Minute)
	want["stays"], want["paused"] = 1, oldAudience
	wantSent()
}

// wantOldSecrets checks that keys, sessions, passwords, second factors, passkeys, idempotency keys
// and sealed values are still valid.
func wantOldSecrets(t *testing.T, w *testserver.Server, facts oldFacts) {
	t.Helper()
	ctx, s := t.Context(), w.Services
	keys := map[string]*app.Key{}
	for name, token := range facts.Keys {
		key, err := s.Teams.Authenticate(ctx, token)
		testserver.Must(t, err)
		keys[name] = key
	}
	if k := keys["alpha sending"]; len(keys) != 4 || k.DomainName != "alpha.example" || k.Permission != app.SendingAccess || len(k.AllowedIPs) != 1 {
		t.Errorf("keys %+v, with %+v", keys, k)
	}
	for address, token := range facts.Sessions {
		key, err := s.Accounts.SignedIn(ctx, token, "", false)
		testserver.Must(t, err)
		if me, err := s.Accounts.Me(ctx, key); err != nil || me.User.Address != address {
			t.Errorf("%s is signed in as %+v, %v", address, me, err)
		}
	}
	half, err := s.Accounts.SignIn(ctx, oldVisitor(), "ann@alpha.example", oldPassword)
	testserver.Must(t, err)
	ann, err := s.Accounts.SignedIn(ctx, half.Token, "", true)
	testserver.Must(t, err)
	code, err := totp.GenerateCode(facts.TOTP, time.Now())
	testserver.Must(t, err)
	for _, f := range []accounts.SecondFactor{{Code: code}, {Recovery: facts.Recovery}} {
		_, err = s.Accounts.Complete(ctx, oldVisitor(), ann, f)
		testserver.Must(t, err)
	}
	device, text := virtualwebauthn.NewAuthenticator(), ""
	device.Options.UserHandle = facts.User
	options, err := s.Passkeys.SignInOptions()
	if b, err := json.Marshal(options); err == nil {
		text = string(b)
	}
	testserver.Must(t, err)
	asked, err := virtualwebauthn.ParseAssertionOptions(text)
	testserver.Must(t, err)
	facts.Passkey.Counter++
	_, err = s.Passkeys.SignInByPasskey(ctx, oldVisitor(), []byte(virtualwebauthn.CreateAssertionResponse(oldParty, device, facts.Passkey, *asked)))
	testserver.Must(t, err)

	again, err := s.Mail.SendEmail(ctx, keys["alpha full"], email("sent twice", "bob@example.net"), mail.SendOptions{IdempotencyKey: "order-7", Payload: []byte("{}")})
	if first := w.SQL(`SELECT id FROM emails WHERE subject = 'sent' ORDER BY id LIMIT 1`)[0]; err != nil || again != first {
		t.Errorf("an idempotency key was used again: %s, %v, want %s", again, err, first)
	}
	unsubscribe := w.SQL(`SELECT c.unsubscribe FROM contents AS c JOIN emails AS e ON e.id = c.email_id WHERE e.last_event = 'sent' AND c.unsubscribe IS NOT NULL`)[0]
	if page, err := s.Pages.UnsubscribePage(ctx, unsubscribe[strings.LastIndexByte(unsubscribe, '/')+1:]); err != nil {
		t.Errorf("the page of %s: %+v, %v", unsubscribe, page, err)
	}
	for name, team := range map[string]string{"alpha.example": keys["alpha full"].TeamID, "beta.example": keys["beta full"].TeamID} {
		if _, err := s.Domains.DKIMKey(ctx, team, name); err != nil {
			t.Errorf("DKIM of %s: %v", name, err)
		}
	}
	w.Read(func(r *db.Reader) error {
		d, err := r.DomainByName(keys["alpha full"].TeamID, "alpha.example")
		testserver.Must(t, err)
		sealed, err := r.DNSCredentials(d.ID)
		testserver.Must(t, err)
		_, err = s.Sealer.Open(domains.DNSPurpose, d.ID, sealed)
		testserver.Must(t, err)
		c, err := r.Certificate("mail.example.com")
		testserver.Must(t, err)
		_, err = s.Sealer.Open(certificates.Purpose, c.Name, c.Sealed)
		return err
	})
}
