package testserver

import (
	"context"
	"encoding/binary"
	"os"
	"strings"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
)

// SendAt sends an email to bob at a time.
func (w *Server) SendAt(at string) string {
	w.T.Helper()
	in := Message("bob@example.net")
	in.ScheduledAt = at
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	Must(w.T, err)
	return id
}

// Reschedule moves a scheduled email to another time.
func (w *Server) Reschedule(id, at string) error {
	return w.Services.Mail.RescheduleEmail(w.T.Context(), w.Key, id, at)
}

// Cancel cancels an email.
func (w *Server) Cancel(id string) error {
	return w.Services.Mail.CancelEmail(context.Background(), w.Key, id)
}

// DeleteEmail deletes an email.
func (w *Server) DeleteEmail(id string) error {
	return w.Services.Mail.DeleteEmail(w.T.Context(), w.Key, id)
}

// Sleep sleeps and waits until all other goroutines of the bubble are blocked.
func Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// FailuresBeforeDot returns answers that end an attempt before its final dot. Each waits for the
// channel first.
func FailuresBeforeDot(hang chan struct{}) map[string]Answer {
	return map[string]Answer{
		"the dot": After(hang, Accept), "trouble": After(hang, RelayTrouble(app.StageRcpt, "connection reset")),
		"deferred": After(hang, ReplyWith(app.StageData, 451, "later")), "refused": After(hang, ReplyWith(app.StageData, 554, "no")),
		"recipient refused":  After(hang, ReplyPerRecipient(map[string]int{"bob@example.net": 550})),
		"recipient deferred": After(hang, ReplyPerRecipient(map[string]int{"bob@example.net": 450})),
		"refused locally":    After(hang, RefuseLocally),
		"panic": After(hang, func(context.Context, *app.Outgoing, func() error) app.Result {
			panic("boom")
		}),
	}
}

// PublishTemplate creates and publishes a template of a team.
func (w *Server) PublishTemplate(key *app.Key, alias string, c app.TemplateContent) app.Template {
	w.T.Helper()
	t, err := w.Services.Templates.CreateTemplate(w.T.Context(), key, app.TemplateInput{Name: "x", Alias: alias, TemplateContent: c})
	Must(w.T, err)
	t, err = w.Services.Templates.PublishTemplate(w.T.Context(), key, t.ID)
	Must(w.T, err)
	return t
}

// GoodItems returns valid batch items, one for each recipient.
func GoodItems(to ...string) []mail.BatchItem {
	var items []mail.BatchItem
	for _, address := range to {
		items = append(items, mail.BatchItem{Input: Message(address)})
	}
	return items
}

// SQL runs a statement on a separate connection. For a query it returns the first column of the
// rows.
func (w *Server) SQL(query string, args ...any) (out []string) {
	w.T.Helper()
	pool := w.openDirect()
	rows, err := pool.Query(forEngine(query), args...)
	Must(w.T, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		Must(w.T, rows.Scan(&s))
		out = append(out, s)
	}
	Must(w.T, rows.Err())
	if IsPostgres() && !strings.HasPrefix(query, "SELECT") {
		_, err := pool.Exec(`DO $$ BEGIN -- as every process does that writes
			PERFORM 1 FROM changes WHERE id = 1 FOR UPDATE;
			INSERT INTO writes (n, writer, own, at, rules, erasures) SELECT n + 1, 'test', 0, at, rules + 1, erasures FROM writes ORDER BY n DESC LIMIT 1;
		END $$`)
		Must(w.T, err)
	}
	return out
}

// Count returns the number of rows of a table.
func (w *Server) Count(table string) string {
	w.T.Helper()
	return w.SQL("SELECT count(*) FROM " + table)[0]
}

// Commits counts the transactions in the write-ahead log: the last frame of each has a database
// size (sqlite.org/fileformat.html, 4.1).
func (w *Server) Commits() int {
	SQLiteOnly(w.T)
	wal, err := os.ReadFile(w.Path + "-wal")
	Must(w.T, err)
	page, salt := int(binary.BigEndian.Uint32(wal[8:])), string(wal[16:24])
	n := 0
	for at := 32; at+24+page <= len(wal) && string(wal[at+8:at+16]) == salt; at += 24 + page {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// BadItems returns invalid batch items with their error codes. The key must be restricted to
// TestDomain for those with scoped.
func (w *Server) BadItems() map[string]badItem {
	w.AddDomain(w.Key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	w.AddDomain(w.Key.TeamID, "second.example", app.DefaultRegion, app.DomainVerified)
	from := func(address string) mail.BatchItem {
		in := Message("bob@example.net")
		in.From = address
		return mail.BatchItem{Input: in}
	}
	big := Message("bob@example.net")
	big.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	late := Message("bob@example.net")
	late.ScheduledAt = "in 31 days"
	return map[string]badItem{
		"shape":             {mail.BatchItem{Err: app.Invalid("colour", "is unknown")}, false, app.CodeValidation, "`colour`"},
		"recipient":         {mail.BatchItem{Input: Message("bob")}, false, app.CodeValidation, "`to[0]`"},
		"key's domain":      {from("x@second.example"), true, app.CodeRestrictedAPIKey, TestDomain},
		"unverified domain": {from("x@pending.example"), false, app.CodeValidation, "pending"},
		"unknown domain":    {from("x@nowhere.example"), false, app.CodeValidation, "nowhere.example"},
		"attachments":       {mail.BatchItem{Input: big}, false, app.CodePayloadTooLarge, "`attachments`"},
		"too far ahead":     {mail.BatchItem{Input: late}, false, app.CodeValidation, "`scheduled_at`"},
	}
}

type badItem struct {
	Item    mail.BatchItem
	scoped  bool
	Code    app.Code
	Message string
}

// Key returns key, or the key that the item needs.
func (b badItem) Key(key *app.Key) *app.Key {
	k := *key
	if b.scoped {
		k.Permission, k.DomainName = app.SendingAccess, TestDomain
	}
	return &k
}

// Batch sends two valid items and an invalid one as a permissive batch.
func (w *Server) Batch(k, payload string) (*mail.BatchResult, error) {
	items := append(GoodItems("a@example.net"), mail.BatchItem{Input: Message("bad")}, GoodItems("c@example.net")[0])
	return w.Services.Mail.SendBatch(w.T.Context(), w.Key, items, true, mail.SendOptions{IdempotencyKey: k, Payload: []byte(payload)})
}
