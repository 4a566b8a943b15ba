package retention_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// passDay accepts and finishes n emails within a day.
func passDay(w *testserver.Server, n int) {
	w.T.Helper()
	html := strings.Repeat("<p style='width:100%'>Hello there &amp; welcome to the shop</p>\n", 80)
	for from := 0; from < n; from += 100 {
		testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
			for i := from; i < min(n, from+100); i++ {
				in := testserver.Message(fmt.Sprintf("u%d@example.net", i))
				in.HTML = html
				email, err := mail.NewEmail(w.Key, in)
				if err != nil {
					return err
				}
				event := func(kind app.LastEvent) app.Event {
					return app.Event{ID: app.NewID(), TeamID: w.Key.TeamID, EmailID: email.ID, Type: app.EventType(kind), Recipient: in.To[0], CreatedAt: tx.Now}
				}
				err = errors.Join(w.Services.Mail.Accept(tx, email), tx.InsertEvent(event(app.Sent)), tx.InsertEvent(event(app.Delivered)),
					tx.SettleRecipient(app.Unit{EmailID: email.ID}, in.To[0], app.Sent), tx.SetLastEvent(email.ID, app.Delivered), tx.DeleteUnit(app.Unit{EmailID: email.ID}))
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	testserver.Sleep(day)
}

// size returns the size of the database file after a checkpoint.
func size(w *testserver.Server) int64 {
	w.T.Helper()
	bytes, err := strconv.ParseInt(w.SQL(`SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`)[0], 10, 64)
	testserver.Must(w.T, err)
	return bytes
}

// levelsOff simulates months of 30 days. From the fourth on the file must not grow. With -per-day
// 10000 a year takes hours and 5 GB.
func levelsOff(t *testing.T, months, perDay int) {
	testserver.SQLiteOnly(t) // PostgreSQL vacuums by the real clock
	synctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.Services.Settings.Keep = app.Retention{Content: 30 * day, Emails: 90 * day}
		var sizes []int64
		for range months {
			for range 30 {
				passDay(w, perDay)
				run(w)
			}
			sizes = append(sizes, size(w))
			t.Logf("month %d: %.1f MB, %s emails, %s contents", len(sizes), float64(sizes[len(sizes)-1])/1e6, w.Count("emails"), w.Count("contents"))
		}
		if sizes[0] < int64(perDay)*30*5000 {
			t.Errorf("the first month takes %d bytes: too few", sizes[0])
		}
		for i, bytes := range sizes[4:] {
			if bytes > sizes[3]*21/20 {
				t.Errorf("month %d takes %d bytes, the fourth took %d", i+5, bytes, sizes[3])
			}
		}
		w.Services.Settings.Keep = app.Retention{Content: time.Hour, Emails: time.Hour}
		run(w)
		if empty := size(w); empty > sizes[0]/4+2<<20 {
			t.Errorf("with nothing left the file takes %d bytes", empty)
		}
		if w.Count("emails") != "0" || w.Count("too_young") != "0" {
			t.Error("some emails are left")
		}
	})
}

func TestFileSizeLevelsOff(t *testing.T) { levelsOff(t, 6, 10) }

// packed is the minimum number of bytes of a passDay email: PostgreSQL compresses its text.
const packed = 3000

func TestDiskUsagePerTeam(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		passDay(w, 200)
		w.AddEmails(other, 20, func(_ int, in *app.EmailInput) { in.From, in.To = "ann@other.example", []string{"bob@example.net"} })
		testserver.Sleep(10 * day)
		w.Services.Settings.Keep = app.Retention{Content: 5 * day}
		d, err := w.Services.Retention.Disk(t.Context())
		testserver.Must(t, err)
		large, small := d.Teams[0], d.Teams[1]
		if large.ID != w.Key.TeamID || large.Emails != 200 || small.Emails != 20 || large.OldContents != 200 || large.OldEmails != 0 || large.Bytes < 200*packed || small.Bytes > large.Bytes/10 {
			t.Errorf("%+v", d.Teams)
		}
		var sum int64
		for _, table := range d.Tables {
			sum += table.Bytes
		}
		if sum+d.Free < 200*5000 {
			t.Errorf("tables take %d bytes, the file %d", sum, d.File)
		}
	})
}
