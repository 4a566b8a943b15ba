package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

// scatterBroadcast puts the victim's address wherever a broadcast that was sent
// can hold one, and a draft.
func (w *world) scatterBroadcast(key *app.Key, from string) {
	w.t.Helper()
	sender, err := app.ParseAddress(from)
	must(w.t, err)
	text := "Ask " + victim
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		for _, sent := range []bool{false, true} {
			b := &app.Broadcast{ID: app.NewID(), TeamID: key.TeamID, Name: "of " + victim, Subject: "Hi from " + victim, From: sender, CreatedAt: tx.Now,
				ReplyTo:          []app.Address{{Name: "Vic", Local: "Vic.Tim", Domain: "erase.example"}},
				BroadcastContent: app.BroadcastContent{Preview: victim, HTML: "<p>" + strings.Repeat("long ", 3000) + victim + "</p>", Text: &text}}
			if err := tx.InsertBroadcast(b); err != nil {
				return err
			}
			if !sent {
				continue
			}
			if err := scatterSent(tx, b); err != nil {
				return err
			}
		}
		return nil
	}))
}

func scatterSent(tx *db.Tx, b *app.Broadcast) error {
	b.Status, b.Relay, b.Mails, b.QueuedAt = app.QueuedBroadcast, app.DefaultRegion, app.NewMails(), tx.Now
	b.Frozen = &app.BroadcastFrozen{Fallbacks: map[string]string{"who": victim}, Pages: "https://p.example",
		Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpEquals, Value: victim}}}}
	rows := []app.BroadcastRecipient{
		{ContactID: app.NewID(), Email: strings.ToUpper(victim), Fields: map[string]string{"first_name": "Bobby"}},
		{ContactID: app.NewID(), Email: "friend@example.net", Fields: map[string]string{"property:friend": victim}},
		{ContactID: app.NewID(), Email: "other@example.net"},
		{ContactID: app.NewID(), Email: "last@example.net"}, // the content alone tells of the victim
	}
	err := errors.Join(tx.SendBroadcast(b), tx.AppendRecipients(b, rows), tx.EndExpansion(b.ID), tx.InsertBroadcastLinks(b.ID, []string{"https://a.test/?e=" + victim}))
	for i := range rows {
		id := app.MailID(b.Mails, int64(i+1))
		_, merr := tx.MarkRecipient(b.ID, id, app.SeenSent)
		err = errors.Join(err, merr, tx.InsertCapture(id, []byte("To: "+victim)))
		if rows[i].Email == "last@example.net" {
			continue
		}
		err = errors.Join(err,
			tx.InsertEvent(app.Event{ID: app.NewID(), EmailID: id, BroadcastID: b.ID, Type: "sent", CreatedAt: tx.Now, Detail: app.EventDetail{Message: "x", Reply: "taken for <" + victim + ">"}}),
			tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: b.TeamID, EmailID: id, BroadcastID: b.ID, Recipients: []string{rows[i].Email}, Relay: "r", CreatedAt: tx.Now}))
	}
	return errors.Join(err, tx.BeginRecipients(b, len(rows), 0))
}

// erase erases a contact by its address and waits until all traces are gone.
func (w *world) erase(address string) {
	w.t.Helper()
	_, err := w.e.DeleteContact(w.t.Context(), w.key, address, true)
	must(w.t, err)
}

func (w *world) wantNoTrace(address string) {
	w.t.Helper()
	if n := w.openErasures(); n != 0 {
		w.t.Errorf("%d erasures are open", n)
	}
	if n := w.traces(address); n != 0 {
		w.t.Errorf("%d traces of %s", n, address)
	}
	if w.log.has("level=ERROR") {
		w.t.Errorf("log:\n%s", w.log.text.String())
	}
}

func TestWhoIsErasedGetsNothingThatWaitsInABroadcast(t *testing.T) {
	hang := func(ch chan struct{}) script {
		return func(m *app.Outgoing, n int) answer {
			if m.Recipients[0] == person(5) && n == 1 {
				return after(ch, accept)
			}
			return accept
		}
	}
	late := func(a answer) func(chan struct{}) script {
		return func(chan struct{}) script {
			return func(m *app.Outgoing, n int) answer {
				if m.Recipients[0] == person(5) && n == 1 {
					return a
				}
				return accept
			}
		}
	}
	slow := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2, Rate: 0.2}
	fast := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2}
	for name, c := range map[string]struct {
		relay  relays.Relay
		script func(chan struct{}) script
		tries  int
	}{
		"before its turn": {slow, func(chan struct{}) script { return nil }, 0}, "before the dot": {fast, hang, 1},
		"put off": {fast, late(says(app.StageData, 451, "later, "+person(5))), 1}, "in doubt": {fast, late(lost), 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				held := make(chan struct{})
				relay := newRelayOf(c.relay, c.script(held))
				w := serving(t, relay)
				w.people(10)
				b := w.newsletter("<p>Hi {{{EMAIL}}}</p>", nil)
				later(10 * time.Second)
				id := w.mailTo(b, person(5))
				w.erase(person(5))
				w.wantLast(id, app.Suppressed)
				close(held)
				later(time.Hour)
				if n := len(relay.seen(id)); n != c.tries {
					t.Errorf("%d attempts, want %d", n, c.tries)
				}
				if received(relay)[person(5)] != 0 {
					t.Error("it was sent")
				}
				w.wantLast(id, app.Suppressed)
				if ev := w.eventOf(id, app.EventType(app.Suppressed)); ev.Recipient != app.Erased || ev.Detail.Message != "Not sent: the recipient was erased" {
					t.Errorf("event %+v", ev)
				}
				if email := w.email(id); !email.To[0].IsErased() || strings.Contains(email.HTML, "p5@") {
					t.Errorf("it reads %+v", email)
				}
				if end := w.broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 9 || end.Counts.Suppressed != 1 || end.Open != 0 {
					t.Errorf("the broadcast ended as %+v", end)
				}
				for _, d := range w.doubts() {
					if d.EmailID == id && (d.Recipients[0] != app.Erased || !strings.Contains(d.Settled, "erased")) {
						t.Errorf("doubt %+v", d)
					}
				}
				w.wantNoTrace(person(5))
			})
		})
	}
}

// TestErasedRecipientsAreWithdrawnFirst: that much an answer promises even where
// the rest takes long.
func TestErasedRecipientsAreWithdrawnFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, always(says(app.StageData, 451, "later")))
		w := serving(t, relay)
		w.people(40)
		b := w.newsletter("<p>x</p>", nil)
		later(12 * time.Second)
		if *b = w.broadcast(b.ID); b.Begun < 2 || b.Begun > 10 || b.Open != b.Begun {
			t.Fatalf("it stands at %+v", b)
		}
		job := erasure{ID: app.NewID(), Until: app.NewID(), Addresses: []string{person(0), person(39)}}
		must(t, w.e.withdrawErased(t.Context(), w.key.TeamID, job))
		now := w.broadcast(b.ID)
		if got := w.recipients(b, "suppressed"); got != person(39)+" "+person(0) || now.Counts.Suppressed != 2 || now.Open != b.Open-1 {
			t.Errorf("withdrawn are %q; it stands at %+v", got, now)
		}
		other := job
		other.Until, other.Addresses = b.Mails[:8], []string{person(1), person(38)} // an erasure of old
		must(t, w.e.withdrawErased(t.Context(), w.key.TeamID, other))
		if now := w.broadcast(b.ID); now.Counts.Suppressed != 2 {
			t.Error("who was erased before the broadcast was made is withdrawn from it")
		}
	})
}

func TestWhoIsErasedUnderAnotherContactGetsNothingEither(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := serving(t, relay)
		w.people(10)
		w.newsletter("<p>Hi</p>", nil)
		later(time.Second)
		_, err := w.e.DeleteContact(t.Context(), w.key, person(5), false)
		must(t, err)
		w.person(w.key.TeamID, "P5@Example.net")
		w.erase(person(5))
		later(time.Hour)
		if n := len(relay.seen("")); n != 9 || received(relay)[person(5)] != 0 {
			t.Errorf("%d messages", n)
		}
		w.wantNoTrace(person(5))
	})
}

func TestMailOfABroadcastThatIsLeavingIsErasedWhenItsOutcomeIsKnown(t *testing.T) {
	for name, end := range map[string]answer{"taken": accept, "put off": says(app.StageDot, 450, "later, "+person(1)), "lost": lost} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelay(func(m *app.Outgoing, n int) answer {
					if m.Recipients[0] != person(1) || n > 1 {
						return accept
					}
					return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
						if hold() != nil {
							return app.Result{Kind: app.ResultWithdrawn}
						}
						<-hang
						return end(ctx, m, func() error { return nil })
					}
				})
				w := serving(t, relay)
				w.people(3)
				b := w.newsletter("<p>x</p>", nil)
				later(time.Second)
				id := w.mailTo(b, person(1))
				w.erase(person(1))
				if n := w.openErasures(); n != 1 {
					t.Errorf("%d erasures are open", n)
				}
				close(hang)
				later(2 * time.Second)
				w.wantNoTrace(person(1))
				later(time.Hour)
				if n := len(relay.seen(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				sent := int64(2)
				if name == "taken" {
					sent = 3
				}
				if end := w.broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != sent || end.Open != 0 {
					t.Errorf("the broadcast ended as %+v", end)
				}
			})
		})
	}
}

func TestABroadcastGoesOnWithoutTheErasedAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, func(m *app.Outgoing, n int) answer {
			if n == 1 && m.Recipients[0] == person(0) {
				return lost // its signature is kept
			}
			return accept
		})
		w := serving(t, relay)
		w.people(10)
		w.person(w.key.TeamID, victim)
		b := w.newsletter("<p>Write to "+victim+"</p>", func(b *app.Broadcast) {
			b.ReplyTo = []app.Address{{Name: "Vic", Local: "vic.tim", Domain: "erase.example"}}
		})
		later(11 * time.Second)
		before := len(relay.seen(""))
		w.erase(victim)
		later(time.Hour)
		w.wantNoTrace(victim)
		tries := relay.seen("")
		if before < 1 || len(tries) < before+8 {
			t.Fatalf("%d attempts before, %d in all", before, len(tries))
		}
		for i, try := range tries {
			old := strings.Contains(try.m.Mail.Whole().HTML, victim) || slices.ContainsFunc(try.m.Mail.ReplyTo, func(a app.Address) bool { return !a.IsErased() })
			if old != (i < before) {
				t.Errorf("attempt %d of %d, to %s: the old content %v", i, before, try.m.Recipients[0], old)
			}
			if i >= before && try.m.Signature != "" {
				t.Error("an old signature for new bytes")
			}
		}
		if end := w.broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 10 || end.Counts.Suppressed != 1 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestNoBroadcastLeavesInTheNameOfAnErasedSender(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := serving(t, relay)
		w.people(10)
		w.person(w.key.TeamID, "ann@"+testDomain)
		b := w.newsletter("<p>x</p>", nil)
		later(6 * time.Second)
		before := len(received(relay))
		w.erase("ann@" + testDomain)
		later(time.Hour)
		if n := len(received(relay)); n != before {
			t.Errorf("%d messages afterwards", n-before)
		}
		if end := w.broadcast(b.ID); end.Status != app.CanceledBroadcast || end.Open != 0 || !end.From.IsErased() {
			t.Errorf("the broadcast ended as %+v", end)
		}
		if email := w.email(app.MailID(b.Mails, 9)); !email.From.IsErased() || email.LastEvent != app.Canceled {
			t.Errorf("it reads %+v", email)
		}
		w.wantNoTrace("ann@" + testDomain)
	})
}

// TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt: the audience was read
// before, all at once.
func TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		w.people(3)
		w.person(w.key.TeamID, victim)
		_, err := w.e.UpdateContact(t.Context(), w.key, person(2), app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: "not " + victim}})
		must(t, err)
		b := w.newsletter("<p>Hi {{{FIRST_NAME}}}</p>", func(b *app.Broadcast) {
			if !w.e.broadcaster.claim(b.ID) {
				t.Fatal("somebody else writes it down")
			}
		})
		content, err := w.e.broadcastMail(t.Context(), b.TeamID, b.ID)
		must(t, err)
		var contacts []app.Contact
		w.read(func(r *db.Reader) (err error) {
			contacts, err = r.AudienceContacts(t.Context(), &content.audience, "", 100)
			return err
		})
		if len(contacts) != 4 {
			t.Fatalf("%d contacts", len(contacts))
		}
		w.erase(victim)
		if n := w.openErasures(); n != 1 {
			t.Errorf("%d erasures are open", n)
		}
		for _, part := range [][]app.Contact{contacts[:3], contacts[3:]} {
			must(t, w.e.appendRecipients(t.Context(), b, content, part))
		}
		w.e.broadcaster.done(b.ID)
		later(time.Hour)
		if got := w.broadcast(b.ID); got.Status != app.SentBroadcast || got.Counts.Sent != 3 || got.Audience != 3 {
			t.Errorf("the broadcast ended as %+v", got)
		}
		if got := received(relay); len(got) != 3 || got[victim] != 0 {
			t.Errorf("it was sent to %v", got)
		}
		w.wantNoTrace(victim)
	})
}

func TestBroadcastsOfAnotherTeamKeepAnErasedAddress(t *testing.T) {
	w := idle(t, newRelay(nil))
	other := w.addTeam("Other", "other.example")
	w.scatterBroadcast(other, "x@other.example")
	before := w.rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`)
	c := w.person(w.key.TeamID, victim)
	must(t, w.e.eraseContacts(t.Context(), w.key.TeamID, []app.Contact{c}))
	w.wantErased()
	if after := w.rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`); after != before {
		t.Errorf("what the other team has is now\n%s\nwas\n%s", after, before)
	}
	if !strings.Contains(before, victim) {
		t.Error("it had nothing")
	}
}
