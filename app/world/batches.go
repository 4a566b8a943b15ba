package world

import (
	"database/sql"
	"encoding/binary"
	"os"
	"testing/synctest"

	"mailer/app"
	"mailer/app/mail"
	"mailer/db"
)

// Good are batch items that nothing is wrong with, one a recipient.
func Good(to ...string) []mail.BatchItem {
	var items []mail.BatchItem
	for _, address := range to {
		items = append(items, mail.BatchItem{Input: Letter(address)})
	}
	return items
}

// Sql runs a statement beside the server; where it is a query, the first column
// of its rows comes back.
func (w *World) Sql(query string, args ...any) (out []string) {
	w.T.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.Path+"?_pragma=busy_timeout(5000)")
	Must(w.T, err)
	defer pool.Close()
	rows, err := pool.Query(query, args...)
	Must(w.T, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		Must(w.T, rows.Scan(&s))
		out = append(out, s)
	}
	Must(w.T, rows.Err())
	return out
}

// Count is the number of rows of a table.
func (w *World) Count(table string) string {
	w.T.Helper()
	return w.Sql("SELECT count(*) FROM " + table)[0]
}

// Commits counts the transactions in the write-ahead log: a frame that ends one
// says how large the database is then (sqlite.org/fileformat.html, 4.1).
func (w *World) Commits() int {
	w.T.Helper()
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

// BadItems are what may be wrong with one item, and the code of each. Their key
// may send from testDomain only where scoped says so.
func (w *World) BadItems() map[string]badItem {
	w.AddDomain(w.Key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	w.AddDomain(w.Key.TeamID, "second.example", app.DefaultRegion, app.DomainVerified)
	from := func(address string) mail.BatchItem {
		in := Letter("bob@example.net")
		in.From = address
		return mail.BatchItem{Input: in}
	}
	big := Letter("bob@example.net")
	big.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	late := Letter("bob@example.net")
	late.ScheduledAt = "in 31 days"
	return map[string]badItem{
		"shape":             {mail.BatchItem{Err: app.Invalid("colour", "is unknown")}, false, app.CodeValidation, "`colour`"},
		"recipient":         {mail.BatchItem{Input: Letter("bob")}, false, app.CodeValidation, "`to[0]`"},
		"key's domain":      {from("x@second.example"), true, app.CodeRestrictedAPIKey, TestDomain},
		"unverified domain": {from("x@pending.example"), false, app.CodeValidation, "pending"},
		"unknown domain":    {from("x@nowhere.example"), false, app.CodeValidation, "nowhere.example"},
		"attachments":       {mail.BatchItem{Input: big}, false, app.CodePayloadTooLarge, "`attachments`"},
		"too far ahead":     {mail.BatchItem{Input: late}, false, app.CodeValidation, "`scheduled_at`"},
	}
}

type badItem struct {
	Item   mail.BatchItem
	scoped bool
	Code   app.Code
	Words  string
}

func (b badItem) Key(key *app.Key) *app.Key {
	k := *key
	if b.scoped {
		k.Permission, k.DomainName = app.SendingAccess, TestDomain
	}
	return &k
}

// Batch sends two good items and a bad one, permissively.
func (w *World) Batch(k, payload string) (*mail.BatchResult, error) {
	items := append(Good("a@example.net"), mail.BatchItem{Input: Letter("bad")}, Good("c@example.net")[0])
	return w.Server.Mail.SendBatch(w.T.Context(), w.Key, items, true, mail.SendOptions{IdempotencyKey: k, Payload: []byte(payload)})
}

func (w *World) WantBatch(k, payload string) *mail.BatchResult {
	w.T.Helper()
	result, err := w.Batch(k, payload)
	Must(w.T, err)
	return result
}

// BusyWriter keeps the writer busy until the channel is closed.
func (w *World) BusyWriter() chan struct{} {
	hang := make(chan struct{})
	go func() { _ = w.DB.Write(w.T.Context(), func(*db.Tx) error { <-hang; return nil }) }()
	synctest.Wait()
	return hang
}
