package transfer_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
)

// bounced returns the id of the email that bounced.
func bounced(w *testserver.Server) string {
	return w.SQL(`SELECT id FROM emails WHERE team_id = ? AND last_event = 'bounced'`, w.Key.TeamID)[0]
}

func TestHistoryIsNeitherSentNorCounted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to, _ := moved(t, dir)
		id := bounced(to)
		to.Start()
		testserver.Sleep(10 * time.Minute)
		for _, f := range []queue.Filter{{FailedSince: time.Now().AddDate(-1, 0, 0)}, {IDs: []string{id}}} {
			f.Team = to.Key.TeamID
			res, err := to.Services.Queue.Requeue(t.Context(), f)
			testserver.Must(t, err)
			if res.Changed != 0 || f.IDs != nil && (len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "another server sent it")) {
				t.Errorf("requeued: %+v", res)
			}
		}
		testserver.Sleep(10 * time.Minute)
		for _, table := range []string{"units", "webhook_events", "team_days", "captures", "broadcast_recipients"} {
			if n := to.Count(table); n != "0" {
				t.Errorf("%s rows of %s", n, table)
			}
		}
		if n := to.SQL(`SELECT count(*) FROM mail_counts WHERE rated + rated_bounced + rated_complained + scored > 0`)[0]; n != "0" {
			t.Errorf("%s counters have rates", n)
		}
		for _, id := range to.SQL(`SELECT id FROM emails`) {
			if tries := to.Relays[0].Transactions(id); len(tries) > 0 {
				t.Errorf("%s was sent", id)
			}
		}
		const counts = `SELECT hour, domain, broadcast_id, sent, delivered, bounced_permanent, failed FROM mail_counts WHERE domain = 'example.com'`
		if want, got := w.Rows(counts), to.Rows(counts); got != want || got == "" {
			t.Errorf("figures were\n%sand are\n%s", want, got)
		}
	})
}

func TestHistoryImportIsIdempotent(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to := testserver.New(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
		if report := imported(t, to, dir, false); report.Emails != (transfer.EmailCounts{New: 3}) || to.Count("emails") != "0" {
			t.Errorf("planned: %+v", report.Emails)
		}
		if report := imported(t, to, dir, true); report.Emails != (transfer.EmailCounts{New: 3}) {
			t.Errorf("applied: %+v", report.Emails)
		}
		all := func() string {
			var b strings.Builder
			for _, table := range []string{"emails", "contents", "recipients", "events", "attachments", "mail_counts"} {
				b.WriteString(to.Rows("SELECT * FROM " + table))
			}
			return b.String()
		}
		was := all()
		if report := imported(t, to, dir, true); report.Emails != (transfer.EmailCounts{Existing: 3}) || len(report.Refused) > 0 {
			t.Errorf("again: %+v", report)
		}
		if got := all(); got != was {
			t.Errorf("the second time: %s", difference(was, got))
		}
	})
}

// TestInterruptedHistoryImportResumes: an import interrupted between emails and events finds the
// emails without events.
func TestInterruptedHistoryImportResumes(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to, _ := moved(t, dir)
		want := shown(t, to.Services, to.Key)
		counts := to.Rows(`SELECT * FROM mail_counts`)
		deleted := bounced(to)
		to.SQL(`DELETE FROM events WHERE email_id IN (SELECT id FROM emails WHERE last_event = 'sent')`)
		to.WriteDB(func(tx *db.Tx) error { return tx.DeleteAgedEmail(to.Key.TeamID, deleted) })
		to.SQL(`DELETE FROM mail_counts`)
		imported(t, to, dir, true)
		if got := shown(t, to.Services, to.Key); got != want {
			t.Errorf("emails: %s", difference(want, got))
		}
		if got := to.Rows(`SELECT * FROM mail_counts`); got != counts {
			t.Errorf("counts: %s", difference(counts, got))
		}
	})
}

// TestImportIntoAnotherTeam: two teams of one database can't have the same ids.
func TestImportIntoAnotherTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		mine := shown(t, w.Services, w.Key)
		key := w.AddTeam("copy", "copy.example")
		team, err := w.Services.Teams.FindTeam(t.Context(), key.TeamID)
		testserver.Must(t, err)
		take := func() (*transfer.Report, string) {
			r, err := archive.Open(dir)
			testserver.Must(t, err)
			var mapping strings.Builder
			report, err := w.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: true, Emails: true, Mapping: &mapping})
			testserver.Must(t, err)
			return report, mapping.String()
		}
		report, mapping := take()
		if report.Emails.New != 3 || strings.Count(mapping, "emails,") != 3 {
			t.Errorf("%+v; mapping:\n%s", report.Emails, mapping)
		}
		if again, _ := take(); again.Emails.Existing != 3 {
			t.Errorf("again: %+v", again.Emails)
		}
		if got := shown(t, w.Services, w.Key); got != mine {
			t.Errorf("the first team's: %s", difference(mine, got))
		}
		rows, _, err := w.Services.Mail.ListEmails(t.Context(), key, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(rows) != 3 {
			t.Fatalf("%d emails", len(rows))
		}
		for _, e := range rows {
			events, _, err := w.Services.Mail.ListEvents(t.Context(), key, e.ID, app.Page{Limit: 10})
			testserver.Must(t, err)
			if len(events) != 2 {
				t.Errorf("%d events of %s", len(events), e.ID)
			}
		}
	})
}

func TestImportedHistoryIsSearchedAndErased(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to := testserver.New(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
		to.Start()
		to.Send("new@example.net") // index and retention are past the imported ids
		testserver.Sleep(10 * time.Minute)
		imported(t, to, dir, true)
		found, err := to.Services.Search.Emails(t.Context(), to.Key, mail.SearchQuery{To: "bob@example.net"}, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(found.Emails) != 1 {
			t.Errorf("found %d emails", len(found.Emails))
		}
		to.WantUndamaged()
		_, err = to.Services.Audience.DeleteContact(t.Context(), to.Key, "ann@mine.example", true)
		testserver.Must(t, err)
		_, _, err = to.Services.Audience.PutContact(t.Context(), to.Key, app.ContactInput{Email: "gone@example.net"}, app.ConflictUpsert)
		testserver.Must(t, err)
		_, err = to.Services.Audience.DeleteContact(t.Context(), to.Key, "gone@example.net", true)
		testserver.Must(t, err)
		testserver.Sleep(10 * time.Minute)
		if got := shown(t, to.Services, to.Key); strings.Contains(got, `"gone"`) || strings.Contains(got, "gone@example.net") || !strings.Contains(got, "bob@example.net") {
			t.Error(got)
		}
		for newest := app.NewID(); newest > app.FirstID(time.Now()); { // ids never go back: those of a test whose clock is ahead are ahead here too
			testserver.Sleep(10 * time.Minute)
		}
		kept := 10 * time.Minute
		to.WriteDB(func(tx *db.Tx) error { return tx.SetRetention(app.TeamRetention{TeamID: to.Key.TeamID, Emails: &kept}) })
		testserver.Sleep(15 * time.Minute)
		if n := to.Count("emails") + to.Count("events") + to.Count("attachment_pieces") + to.Count("too_young"); n != "0020" { // two of broadcasts
			t.Errorf("retention left %s", n)
		}
		imported(t, to, dir, true) // retention is past their ids now
		testserver.Sleep(5 * time.Minute)
		if n := to.Count("emails") + to.Count("events") + to.Count("too_young"); n != "000" {
			t.Errorf("of what came later retention left %s", n)
		}
	})
}

func TestInvalidHistoryNamesLine(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		to := testserver.New(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
		dir := filepath.Join(t.TempDir(), "export")
		w, err := archive.Create(dir)
		testserver.Must(t, err)
		var tooLong string // too long for an index, and incompressible
		for len(tooLong) < 3000 {
			tooLong += rand.Text()
		}
		good := func() *archive.Email {
			return &archive.Email{ID: app.NewID(), MessageID: "x@example.com", From: "ann@example.com", To: []string{"bob@example.net"}, LastEvent: app.Sent, CreatedAt: time.Now(),
				Recipients: []archive.Recipient{{Email: "bob@example.net", State: app.Sent}}}
		}
		for _, spoil := range []func(e *archive.Email){
			func(e *archive.Email) {}, func(e *archive.Email) { e.ID = "../x" }, func(e *archive.Email) { e.LastEvent = app.Queued },
			func(e *archive.Email) { e.Recipients[0].State = app.Queued }, func(e *archive.Email) { e.Recipients = nil }, func(e *archive.Email) { e.From = "no address" },
			func(e *archive.Email) { e.CreatedAt = time.Time{} }, func(e *archive.Email) { e.ID = "ffffffff-0000-7000-8000-000000000000" },
			func(e *archive.Email) { e.Attachments = []archive.Attachment{{ID: "../../x", Size: 1}} }, func(e *archive.Email) { e.Attachments = []archive.Attachment{{ID: app.NewID(), Size: 1}} },
			func(e *archive.Email) { e.MessageID = "a\r\nBcc: x" }, func(e *archive.Email) { e.Recipients[0].Email = tooLong + "@example.net" }, func(e *archive.Email) { e.Source = "nobody knows" },
		} {
			e := good()
			spoil(e)
			testserver.Must(t, w.Put(archive.Emails, e))
		}
		testserver.Must(t, w.Put(archive.Events, &archive.Event{EmailID: "x", ID: "y"}))
		testserver.Must(t, w.Finish(&archive.Team{Source: archive.SourceMailer}))
		plan, report := imported(t, to, dir, false), imported(t, to, dir, true)
		if report.Emails.New != 2 || len(report.Refused) != 12 || len(plan.Refused) != 12 || plan.Emails != report.Emails {
			t.Errorf("%+v", report)
		}
		for i, r := range report.Refused[:11] {
			if r.File != "emails.json" || r.Line != i+3 || r.Reason == "" {
				t.Errorf("refused: %+v", r)
			}
		}
		if n := to.Count("emails"); n != "2" {
			t.Errorf("%s emails", n)
		}
	})
}

func TestSourceDatabaseIsNotChanged(t *testing.T) {
	testserver.SQLiteOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		from := filepath.Join(t.TempDir(), "old.db")
		_, err := w.DB.Copy(t.Context(), touch(t, from), nil)
		testserver.Must(t, err)
		key := from + ".key"
		testserver.Must(t, os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(make([]byte, seal.MasterKeySize))), 0o600))
		was, err := os.ReadFile(from)
		testserver.Must(t, err)
		other := server.OtherMailer{Path: from, Schema: dbtest.Schema(t)}
		dir := filepath.Join(t.TempDir(), "a")
		_, err = server.OpenMailer(t.Context(), other, "stranger", dir, transfer.ExportOptions{Emails: true, NoSheets: true})
		testserver.Must(t, err)
		own := *w.Key
		own.TeamID = w.SQL(`SELECT id FROM teams WHERE name = 'stranger'`)[0]
		same, _ := exported(t, w.Services, &own, transfer.ExportOptions{Emails: true, NoSheets: true})
		want, got := filesOf(t, same), filesOf(t, dir)
		for name := range want {
			if name != "team.json" && name != "domains.json" && got[name] != want[name] { // no server ever used the copy's relays
				t.Errorf("%s %s", name, difference(want[name], got[name]))
			}
		}
		files, err := os.ReadDir(filepath.Dir(from))
		testserver.Must(t, err)
		now, err := os.ReadFile(from)
		testserver.Must(t, err)
		if len(files) != 2 || string(now) != string(was) {
			t.Errorf("files next to it: %v; it changed: %t", files, string(now) != string(was))
		}
		refused := func(name, words string, of error) {
			t.Helper()
			_, err := server.OpenMailer(t.Context(), other, "", filepath.Join(t.TempDir(), "b"), transfer.ExportOptions{})
			if err == nil || of != nil && !errors.Is(err, of) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", name, err)
			}
		}
		testserver.Must(t, os.WriteFile(key, []byte("W6ttRPTjRj8WlEJN9dSyUmsKVGuOsnIGU5y/8F7b2xk=\n"), 0o600))
		refused("another key", "is not the one", nil)
		testserver.Must(t, os.Remove(key))
		refused("no key", "--from-key-file", nil)
		other.Path = key
		refused("nothing", "there is no database", db.ErrNotFound)
		other.Path, other.Schema = from, dbtest.Schema(t)+"CREATE TABLE other (id TEXT);"
		refused("another schema", "does not have the schema", db.ErrSchema)
	})
}

// touch makes an empty file.
func touch(t *testing.T, path string) string {
	t.Helper()
	testserver.Must(t, os.WriteFile(path, nil, 0o600))
	return path
}

// TestDatabaseInUseIsRead: the file of a running server, and a copy with its log, are read
// unchanged.
func TestDatabaseInUseIsRead(t *testing.T) {
	testserver.SQLiteOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		key := filepath.Join(t.TempDir(), "key")
		testserver.Must(t, os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(make([]byte, seal.MasterKeySize))), 0o600))
		copied := filepath.Join(t.TempDir(), "copy.db")
		for _, end := range []string{"", "-wal"} {
			b, err := os.ReadFile(w.Path + end)
			testserver.Must(t, err)
			testserver.Must(t, os.WriteFile(copied+end, b, 0o600))
		}
		for _, path := range []string{w.Path, copied} {
			was, err := os.ReadDir(filepath.Dir(path))
			testserver.Must(t, err)
			made, err := server.OpenMailer(t.Context(), server.OtherMailer{Path: path, KeyFile: key, Schema: dbtest.Schema(t)}, w.Key.TeamID, filepath.Join(t.TempDir(), "export"),
				transfer.ExportOptions{Emails: true, NoSheets: true})
			testserver.Must(t, err)
			if made.Counts["contacts"] != 3 || made.Counts["emails"] != 3 {
				t.Errorf("%s: %v", path, made.Counts)
			}
			now, err := os.ReadDir(filepath.Dir(path))
			testserver.Must(t, err)
			if len(now) != len(was) {
				t.Errorf("files next to it were %v and are %v", was, now)
			}
		}
		w.AddContact("new@example.net", false) // the server continues
	})
}

// TestRelayTroublesAreImported: the timelines contain the troubles of the former server's relays,
// and not those of relays here with the same name.
func TestRelayTroublesAreImported(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.InOrder(testserver.RelayTrouble(app.StageConnect, "connection refused"))))
		id := w.Send("bob@example.net")
		testserver.Sleep(10 * time.Minute)
		w.WantLastEvent(id, app.Sent)
		w.OnlyEvent(id, app.EventRelayTrouble)
		w.SQL(`DELETE FROM domains`)
		want := shown(t, w.Services, w.Key)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to, _ := moved(t, dir)
		to.WriteDB(func(tx *db.Tx) error {
			return tx.OpenTrouble(app.RelayTrouble{ID: app.NewID(), Relay: app.DefaultRegion, StartedAt: w.Email(id).CreatedAt, Failures: 7})
		})
		if got := shown(t, to.Services, to.Key); got != want {
			t.Error(difference(want, got))
		}
	})
}
