package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

// addContact makes a contact of a team.
func (w *world) addContact(teamID, email string) app.Contact {
	w.t.Helper()
	in := app.ContactInput{Email: email, FirstName: "Bobby", LastName: "Tables"}
	n, err := in.Validate()
	must(w.t, err)
	var c app.Contact
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		cw, err := w.e.newContactWriter(tx, teamID, false)
		if err != nil {
			return err
		}
		id, _, err := cw.put(n, app.ConflictUpsert)
		if err != nil {
			return err
		}
		if c, err = tx.Contact(teamID, id); err != nil {
			return err
		}
		return cw.finish()
	}))
	return c
}

// files are the bytes of the database, its log and its index.
func (w *world) files() []byte {
	w.t.Helper()
	var all []byte
	for _, end := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(w.path + end)
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		all = append(all, bytes.ToLower(b)...)
	}
	return all
}

// traces counts an address in the files, in whatever case.
func (w *world) traces(address string) int {
	w.t.Helper()
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	all := w.files()
	return bytes.Count(all, []byte(local+"@"+domain)) + bytes.Count(all, []byte(local+`","domain":"`+domain)) +
		bytes.Count(all, []byte(local+"%40"+domain))
}

func (w *world) openErasures() int {
	w.t.Helper()
	n := 0
	w.read(func(r *db.Reader) error {
		rows, err := r.Erasures(100)
		n = len(rows)
		return err
	})
	return n
}

func TestAnErasedAddressLeavesNoTraceInTheFiles(t *testing.T) {
	w := serving(t, newRelay(nil))
	other := w.addTeam("Other", "other.example")
	const victim = "Vic.Tim@erase.example"
	for i := range 3000 {
		to := fmt.Sprintf("u%d@example.net", i)
		if i%10 == 0 {
			to = "Vic Tim <" + []string{victim, strings.ToUpper(victim), strings.ToLower(victim)}[i%3] + ">"
		}
		in := letter(to, fmt.Sprintf("x%d@example.net", i))
		in.HTML = strings.Repeat("<p>Hi</p>", i%900) + "for vic.tim@ERASE.example, <a href='https://x.example/?e=vic.tim%40erase.example'>go</a>"
		in.Subject = "Offer for " + to
		key := w.key
		if i%2 == 1 {
			key, in.From = other, "x@other.example"
		}
		_, err := w.e.SendEmail(t.Context(), key, in, SendOptions{IdempotencyKey: fmt.Sprint("welcome/", to, i), Payload: []byte("x")})
		must(t, err)
		if i%7 == 0 {
			w.addContact(key.TeamID, fmt.Sprintf("u%d@example.net", i))
		}
	}
	c := w.addContact(w.key.TeamID, victim)
	w.addContact(other.TeamID, victim)
	_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: victim})
	must(t, err)
	start := time.Now()
	must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
	t.Logf("erased in %v", time.Since(start))
	if n := w.openErasures(); n != 0 {
		t.Fatalf("%d erasures are open", n)
	}
	t.Log(w.traces(victim))
}
