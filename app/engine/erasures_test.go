package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/db"
)

// person makes a contact of a team.
func (w *world) person(teamID, email string) app.Contact {
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

// wantErased waits until no erasure is open: a loaded machine may take longer
// than a caller waits.
func (w *world) wantErased() {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); w.openErasures() > 0; {
		if time.Now().After(deadline) {
			w.t.Fatalf("an erasure does not end:\n%s", w.log.text.String())
		}
		pause(w.t.Context(), 10*time.Millisecond, nil)
	}
}

// crowdOf makes n suppressed contacts in random order of their rows and gives
// every 20th.
func (w *world) crowdOf(key *app.Key, n int) (picked []app.Contact) {
	w.t.Helper()
	for from := 0; from < n; from += 250 {
		must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
			for i := from; i < from+250; i++ {
				email := fmt.Sprintf("a%d@crowd.example", i)
				c := app.Contact{ID: uuid.NewString(), TeamID: key.TeamID, Email: email, Hash: w.cfg.Sealer.AddressHash(key.TeamID, email),
					FirstName: strings.Repeat("n", i%200), CreatedAt: tx.Now, UpdatedAt: tx.Now}
				_, err := tx.AddSuppression(app.Suppression{ID: uuid.NewString(), TeamID: key.TeamID, Email: email, Hash: c.Hash, Origin: app.OriginManual, CreatedAt: tx.Now})
				if err := errors.Join(err, tx.InsertContact(&c), tx.CountContacts(key.TeamID, 1)); err != nil {
					return err
				}
				if i%20 == 0 {
					picked = append(picked, c)
				}
			}
			return nil
		}))
	}
	return picked
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
func (w *world) scatter(key *app.Key, from string, n int) app.Contact {
	w.t.Helper()
	spellings := []string{victim, strings.ToUpper(victim), strings.ToLower(victim), "vIC.tIM@Erase.Example"}
	w.crowd(key, n, func(i int, in *app.EmailInput) {
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
	for i := range n / 3 {
		if i%3 == 0 {
			w.person(key.TeamID, fmt.Sprintf("c%d@example.net", i))
		}
	}
	c := w.person(key.TeamID, victim)
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
	text := "Ask " + victim
	t, err := w.e.CreateTemplate(w.t.Context(), key, app.TemplateInput{Name: "Mail of " + victim, TemplateContent: app.TemplateContent{
		From: victim, ReplyTo: []string{victim}, Subject: "From " + victim, HTML: "<p>" + strings.Repeat("long ", 3000) + victim + " {{{WHO}}}</p>", Text: &text,
		Variables: []app.TemplateVariable{{Key: "WHO", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: victim}}},
	}})
	must(w.t, err)
	_, err = w.e.PublishTemplate(w.t.Context(), key, t.ID)
	must(w.t, err)
	w.scatterBroadcast(key, from)
	return c
}

func TestAnErasedAddressLeavesNoTraceInTheFiles(t *testing.T) {
	w := idle(t, newRelay(quoting))
	c := w.scatter(w.key, "ann@"+testDomain, 1500)
	w.start()
	w.wantSettled()
	if n := w.traces(victim); n < 1000 {
		t.Fatalf("only %d traces before", n)
	}
	crowd := w.crowdOf(w.key, 2000)
	must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, append([]app.Contact{c}, crowd...)))
	w.wantErased()
	if n := w.traces(victim); n != 0 {
		t.Errorf("%d traces while the server runs", n)
	}
	all := w.files()
	for _, c := range crowd {
		if n := bytes.Count(all, []byte(c.Email)); n != 0 {
			t.Errorf("%d traces of %s", n, c.Email)
		}
	}
	if w.log.has("level=ERROR") || w.log.has("Vic.Tim") || w.log.has("erase.example") {
		t.Errorf("log:\n%s", w.log.text.String())
	}
	w.stop()
	if n := w.traces(victim); n != 0 {
		t.Errorf("%d traces after the end", n)
	}
}

func TestAnotherTeamKeepsWhatItHasOfAnErasedAddress(t *testing.T) {
	w := idle(t, newRelay(nil))
	other := w.addTeam("Other", "other.example")
	mine := w.scatter(w.key, "ann@"+testDomain, 300)
	theirs := w.scatter(other, "x@other.example", 300)
	before := w.everything(other)
	must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{mine}))
	w.wantErased()
	if after := w.everything(other); after != before {
		t.Error("what the other team has changed")
	}
	w.read(func(r *db.Reader) error {
		c, err := r.Contact(other.TeamID, theirs.ID)
		if c.Email != victim {
			t.Errorf("their contact is %q", c.Email)
		}
		return err
	})
	if got := w.everything(w.key); strings.Contains(strings.ToLower(got), "vic.tim@") {
		t.Error("the team still sees the address")
	}
	must(t, w.e.eraseContacts(t.Context(), other.TeamID, []app.Contact{theirs}))
	w.wantErased()
	if n := w.traces(victim); n != 0 {
		t.Errorf("%d traces after both erased it", n)
	}
}

// everything is what a team sees of its mail, in one text.
func (w *world) everything(key *app.Key) string {
	w.t.Helper()
	var b strings.Builder
	w.read(func(r *db.Reader) error {
		for page := (app.Page{Limit: 100}); ; {
			emails, more, err := r.ListEmails(key.TeamID, page)
			if err != nil {
				return err
			}
			for _, row := range emails {
				email, open, err := r.Outgoing(key.TeamID, row.ID)
				if err != nil {
					return err
				}
				events, err := r.Events(row.ID)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "%+v %+v %+v\n", *email, open, events)
			}
			if !more {
				return nil
			}
			page.After = emails[len(emails)-1].ID
		}
	})
	return b.String()
}

func TestMailToAnErasedAddressDoesNotLeave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(after(hang, accept)))
		w := serving(t, relay)
		c := w.person(w.key.TeamID, victim)
		alone := w.send(victim)
		both := w.send(victim, "eve@example.net")
		hidden := w.send("eve@example.net", "Vic <"+victim+">")
		synctest.Wait() // both wait before their dots
		must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
		if n := w.openErasures(); n != 0 {
			t.Fatalf("%d erasures are open", n)
		}
		close(hang)
		relay.follow(nil)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.wantLast(alone, app.Suppressed)
		if ev := w.eventOf(alone, app.EventType(app.Suppressed)); ev.Recipient != app.Erased || ev.Detail.Message != "Not sent: the recipient was erased" {
			t.Errorf("event %+v", ev)
		}
		for _, id := range []string{both, hidden} {
			tries := relay.seen(id)
			last := tries[len(tries)-1].m
			if len(tries) != 2 || len(last.Recipients) != 1 || last.Recipients[0] != "eve@example.net" || strings.Contains(fmt.Sprintf("%+v", *last.Mail), "Vic") {
				t.Errorf("%d tries, the last to %v: %+v", len(tries), last.Recipients, last.Mail)
			}
			if last.Signature != "" {
				t.Error("an old signature for new bytes")
			}
			if ev := w.eventOf(id, app.EventType(app.Sent)); ev.Recipient != "eve@example.net" {
				t.Errorf("event %+v", ev)
			}
			if w.unit(id) != nil {
				t.Error("its work is not over")
			}
		}
		if n := w.traces(victim); n != 0 {
			t.Errorf("%d traces", n)
		}
		if w.log.has("level=ERROR") {
			t.Errorf("log:\n%s", w.log.text.String())
		}
	})
}

func TestMailThatIsLeavingIsErasedWhenItsOutcomeIsKnown(t *testing.T) {
	for name, end := range map[string]answer{
		"taken": accept, "postponed": says(app.StageDot, 450, "later, "+victim), "lost": lost,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelay(firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
					if hold() != nil {
						return app.Result{Kind: app.ResultWithdrawn}
					}
					<-hang
					return end(ctx, m, func() error { return nil })
				}))
				w := serving(t, relay)
				c := w.person(w.key.TeamID, victim)
				id := w.send(victim)
				synctest.Wait()
				start := time.Now()
				must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
				if took := time.Since(start); took < 9*time.Second || took > 11*time.Second || w.openErasures() != 1 {
					t.Errorf("answered after %v with %d erasures open", took, w.openErasures())
				}
				// Another's erasure does not wait for that.
				d := w.person(w.key.TeamID, "dan@erase.example")
				start = time.Now()
				must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{d}))
				if took := time.Since(start); took > 2*time.Second || w.openErasures() != 1 {
					t.Errorf("the other's erasure took %v, %d are open", took, w.openErasures())
				}
				close(hang)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := w.openErasures(); n != 0 {
					t.Fatalf("%d erasures are open", n)
				}
				if n := w.traces(victim); n != 0 {
					t.Errorf("%d traces", n)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if n := len(relay.seen(id)); n != 1 {
					t.Errorf("sent %d times:\n%s", n, w.story(id))
				}
				if w.unit(id) != nil || len(w.dotted()) > 0 {
					t.Error("its work is not over")
				}
				if w.log.has("level=ERROR") {
					t.Errorf("log:\n%s", w.log.text.String())
				}
			})
		})
	}
}

func TestNothingLeavesInTheNameOfAnErasedSender(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(trouble(app.StageConnect, "down")))
		w := serving(t, relay)
		c := w.person(w.key.TeamID, "ann@"+testDomain)
		id := w.send("eve@example.net")
		synctest.Wait()
		must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
		time.Sleep(time.Hour)
		synctest.Wait()
		w.wantLast(id, app.Canceled)
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("tried %d times", n)
		}
		if got := w.email(id).From.String(); got != app.Erased {
			t.Errorf("from %s", got)
		}
	})
}

func TestMailAcceptedAfterAnErasureIsNotErased(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(dotThen(hang))) // keeps the erasure open
		w := serving(t, relay)
		c := w.person(w.key.TeamID, victim)
		old := w.send(victim)
		synctest.Wait()
		must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
		relay.follow(nil)
		again := w.person(w.key.TeamID, victim)
		id := w.send(victim)
		close(hang)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := w.openErasures(); n != 0 {
			t.Fatalf("%d erasures are open", n)
		}
		w.wantLast(id, app.Sent)
		if got := w.email(id).To[0].Mailbox(); got != victim {
			t.Errorf("new mail goes to %s", got)
		}
		if got := w.email(old).To[0].Mailbox(); got != app.Erased {
			t.Errorf("old mail went to %s", got)
		}
		w.read(func(r *db.Reader) error {
			now, err := r.Contact(w.key.TeamID, again.ID)
			if now.Email != victim {
				t.Errorf("the new contact is %q", now.Email)
			}
			return err
		})
	})
}
