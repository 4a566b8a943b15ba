package engine

import (
	"bytes"
	"context"
	"errors"
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

// crowd writes n emails of a team in a few Writes; to gives the recipients of
// each and fill adds what it says.
func (w *world) crowd(key *app.Key, n int, fill func(i int, in *app.EmailInput)) {
	w.t.Helper()
	for from := 0; from < n; from += 250 {
		must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
			for i := from; i < min(n, from+250); i++ {
				in := letter()
				fill(i, in)
				email, err := newEmail(key, in)
				if err := errors.Join(err, w.e.accept(tx, email)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// quoting refuses or takes mail with words that repeat the recipient.
func quoting(m *app.Outgoing, n int) answer {
	return func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
		for i, address := range m.Recipients {
			v := app.RecipientResult{Address: address, Verdict: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250, Text: "taken for <" + address + ">"}}
			if i == 0 && len(address)%2 == 0 {
				v.Verdict, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: 550, Text: "no such user: " + address}
			}
			res.Recipients = append(res.Recipients, v)
		}
		if hold() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		res.Captured = []byte("To: " + strings.Join(m.Recipients, ", ") + "\r\n\r\nHello")
		return res
	}
}

// wantSettled waits until nothing waits to be sent.
func (w *world) wantSettled() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		var relays []string
		w.read(func(r *db.Reader) (err error) {
			relays, err = r.UnitRelays()
			return err
		})
		if len(relays) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("mail still waits")
		}
		pause(w.t.Context(), 20*time.Millisecond, nil)
	}
}

const victim = "Vic.Tim@erase.example"

// scatter puts an address wherever a team's things can hold one.
func (w *world) scatter(key *app.Key, from string) app.Contact {
	w.t.Helper()
	spellings := []string{victim, strings.ToUpper(victim), strings.ToLower(victim), "vIC.tIM@Erase.Example"}
	w.crowd(key, 1500, func(i int, in *app.EmailInput) {
		in.From = from
		in.To = []string{fmt.Sprintf("u%d@example.net", i), fmt.Sprintf("w%d@example.net", i)}
		in.HTML = strings.Repeat("<p>Hi there</p>", i%700)
		who := spellings[i%len(spellings)]
		switch i % 15 {
		case 0:
			in.To = append(in.To, "Vic Tim <"+who+">")
		case 1:
			in.Cc, in.ReplyTo = []string{who}, []string{who}
		case 2:
			in.Bcc = []string{who}
		case 3:
			in.Subject = "Offer for " + who
		case 4:
			in.HTML += "<a href='https://x.example/?e=" + strings.Replace(who, "@", "%40", 1) + "'>" + who + "</a>" + strings.Repeat("long ", 2000)
		case 5:
			in.Headers, in.Tags = map[string]string{"X-For": "<" + who + ">"}, []app.Tag{{Name: "who", Value: "x"}}
		case 6:
			in.Attachments = []app.Attachment{{Filename: "a.csv", ContentType: "text/csv", Content: []byte("email," + who + ",x")},
				{Filename: "b.bin", ContentType: "application/octet-stream", Content: []byte("\x00\x01" + who + "\x00" + strings.Repeat("z", 9000))}}
			for k := range in.Attachments {
				in.Attachments[k].ID, in.Attachments[k].Size = app.NewID(), int64(len(in.Attachments[k].Content))
			}
		case 7:
			in.To = []string{who}
		}
	})
	for i := range 600 {
		if i%3 == 0 {
			w.addContact(key.TeamID, fmt.Sprintf("c%d@example.net", i))
		}
	}
	c := w.addContact(key.TeamID, victim)
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		friend, err := tx.ContactByAddress(key.TeamID, w.cfg.Sealer.AddressHash(key.TeamID, "c0@example.net"))
		if err != nil {
			return err
		}
		friend.Properties = app.Properties{"friend": {Type: app.StringProperty, Text: victim}}
		return errors.Join(tx.UpdateContact(&friend),
			tx.InsertSegment(&app.Segment{ID: app.NewID(), TeamID: key.TeamID, Name: "like " + victim, CreatedAt: tx.Now,
				Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: "equals", Value: victim}}}}),
			tx.InsertTopic(&app.Topic{ID: app.NewID(), TeamID: key.TeamID, Name: "by " + victim, Description: victim + "'s", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: tx.Now, UpdatedAt: tx.Now}),
			tx.OpenTrouble(app.RelayTrouble{ID: app.NewID(), Relay: app.DefaultRegion, StartedAt: tx.Now, EndedAt: tx.Now, Detail: app.EventDetail{Message: "no mail for " + victim}}),
			tx.KeepAnswer(key.TeamID, "POST /emails", "welcome/"+victim, []byte("x"), "id"))
	}))
	_, _, err := w.e.CreateKey(w.t.Context(), key.TeamID, app.KeyInput{Name: "key of " + victim, Permission: app.FullAccess, Role: app.RoleAdmin})
	must(w.t, err)
	_, err = w.e.AddSuppression(w.t.Context(), key, app.SuppressionInput{Email: victim})
	must(w.t, err)
	return c
}

func TestAnErasedAddressLeavesNoTraceInTheFiles(t *testing.T) {
	w := idle(t, newRelay(quoting))
	c := w.scatter(w.key, "ann@"+testDomain)
	w.start()
	w.wantSettled()
	if n := w.traces(victim); n < 1000 {
		t.Fatalf("only %d traces before", n)
	}
	must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
	if n := w.openErasures(); n != 0 {
		t.Fatalf("%d erasures are open", n)
	}
	if n := w.traces(victim); n != 0 {
		t.Errorf("%d traces while the server runs", n)
	}
	if w.log.has("level=ERROR") || w.log.has("Vic.Tim") || w.log.has("erase.example") {
		t.Errorf("log:\n%s", w.log.text.String())
	}
	w.stop()
	if n := w.traces(victim); n != 0 {
		t.Errorf("%d traces after the end", n)
	}
}
