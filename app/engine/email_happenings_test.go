package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/tracking"
	"mailer/db"
)

// emailEvents are those that a webhook hears of an email.
func emailEvents() []app.EventName {
	return slices.DeleteFunc(app.EventNames(), func(name app.EventName) bool { return !strings.HasPrefix(string(name), "email.") })
}

// hearing is a webhook's event with its data.
type hearing struct {
	Type app.EventName
	Data app.EmailData
}

func (h hearing) String() string {
	text := string(h.Type) + " " + h.Data.Recipient
	switch x := h.Data; {
	case x.Bounce != nil:
		text += fmt.Sprint(" ", x.Bounce.Type, " ", x.Bounce.SubType, " ", x.Bounce.Diagnostic)
	case x.Suppressed != nil:
		text += " " + x.Suppressed.Type
	case x.Failed != nil && x.Failed.Reason != "":
		text += " with a reason"
	case x.Click != nil:
		text += " " + x.Click.Link
	}
	return strings.TrimSpace(text)
}

// hears gives what a webhook heard of an email, in the order of their texts.
func (w *world) hears(hook app.Webhook, emailID string) (all []hearing) {
	w.t.Helper()
	for _, row := range w.deliveries(hook) {
		d, err := w.e.GetWebhookEvent(w.t.Context(), w.key, hook.ID, row.ID)
		must(w.t, err)
		var one hearing
		must(w.t, json.Unmarshal(d.Payload, &one))
		if one.Data.EmailID == emailID {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b hearing) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (w *world) wantHears(hook app.Webhook, emailID string, want ...string) {
	w.t.Helper()
	var got []string
	for _, one := range w.hears(hook, emailID) {
		got = append(got, one.String())
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("webhooks heard\n%q, want\n%q\n%s", got, want, w.story(emailID))
	}
}

func TestWebhooksHearWhatBecomesOfEmails(t *testing.T) {
	const a, b = "a@example.net", "b@example.net"
	for name, tt := range map[string]struct {
		script script
		to     []string
		want   []string
	}{
		"taken":             {nil, []string{a}, []string{"email.sent"}},
		"taken for several": {nil, []string{a, b}, []string{"email.sent"}},
		"put off once":      {firstly(says(app.StageRcpt, 451, "later")), []string{a}, []string{"email.sent"}},
		"one is refused": {always(byName(map[string]int{b: 550})), []string{a, b},
			[]string{"email.bounced " + b + " Permanent NoEmail [smtp; 550 5.1.1 no such user]", "email.sent"}},
		"given up":    {always(says(app.StageRcpt, 451, "later")), []string{a}, []string{"email.failed " + a + " with a reason"}},
		"refused":     {always(refuseLocally), []string{a, b}, []string{"email.failed " + a + " with a reason", "email.failed " + b + " with a reason"}},
		"delivered":   {always(simulatedAs(app.SimulatedSuccess)), []string{a}, []string{"email.delivered " + a}},
		"complained":  {always(simulatedAs(app.SimulatedSpam)), []string{a}, []string{"email.complained " + a}},
		"delayed":     {always(simulatedAs(app.SimulatedDelay)), []string{a}, []string{"email.delivery_delayed " + a}},
		"blocked":     {always(simulatedAs(app.SimulatedBlock)), []string{a}, []string{"email.suppressed " + a + " OnAccountSuppressionList"}},
		"lost, again": {firstly(lost), []string{a}, []string{"email.sent"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := serving(t, newRelay(tt.script))
				hook := w.webhook("in", emailEvents()...)
				id := w.send(tt.to...)
				time.Sleep(10 * time.Minute)
				if name == "given up" {
					time.Sleep(60 * time.Hour)
				}
				synctest.Wait()
				w.wantHears(hook, id, tt.want...)
			})
		})
	}
}

func TestWebhooksHearWhatBecomesOfBroadcasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(byName(map[string]int{person(1): 550}))))
		hook := w.webhook("in", emailEvents()...)
		w.people(2)
		_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: person(0)})
		must(t, err)
		_, err = w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: "zoe@example.net", FirstName: "Zoe"})
		must(t, err)
		b := w.draft()
		b.Subject = "News for {{{FIRST_NAME|all}}}"
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.UpdateBroadcast(b) }))
		w.queue(b)
		time.Sleep(time.Hour)
		synctest.Wait()
		var got []string
		for _, row := range w.deliveries(hook) {
			d, err := w.e.GetWebhookEvent(t.Context(), w.key, hook.ID, row.ID)
			must(t, err)
			var one hearing
			must(t, json.Unmarshal(d.Payload, &one))
			if x := one.Data; x.BroadcastID != b.ID || x.Subject != map[bool]string{true: "News for Zoe", false: "News for all"}[x.To[0] == "zoe@example.net"] || x.From != "Ann <ann@"+testDomain+">" || len(x.To) != 1 ||
				x.MessageID != "<"+x.EmailID+"@"+testDomain+">" || x.CreatedAt == "" || x.Recipient != "" && x.Recipient != x.To[0] {
				t.Errorf("%s: %+v", one, x)
			}
			got = append(got, string(one.Type)+" "+one.Data.To[0])
		}
		slices.Sort(got)
		if want := []string{"email.bounced " + person(1), "email.sent zoe@example.net"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		// Without the compiled content at hand it is the same.
		w.e.mails = broadcastMails{}
		first := w.deliveries(hook)[0]
		d, err := w.e.GetWebhookEvent(t.Context(), w.key, hook.ID, first.ID)
		must(t, err)
		var one hearing
		must(t, json.Unmarshal(d.Payload, &one))
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
			data, err := w.e.emailData(tx, w.key.TeamID, one.Data.EmailID)
			if data.Subject != one.Data.Subject {
				t.Errorf("subject %q, was %q", data.Subject, one.Data.Subject)
			}
			return err
		}))
	})
}

// TestAnEventDuringAnErasureRepeatsNothing: the eraser looks at nothing that is
// noted after it began.
func TestAnEventDuringAnErasureRepeatsNothing(t *testing.T) {
	w := idle(t)
	hook := w.webhook("in", emailEvents()...)
	id := w.send("Ann <ann@example.net>", "bob@example.net")
	job := erasure{ID: app.NewID(), Addresses: []string{"ann@example.net"}, Until: app.NewID()}
	plain, err := json.Marshal(job)
	must(t, err)
	late := w.send("ann@example.net")
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
		err := tx.InsertErasure(db.Erasure{ID: job.ID, TeamID: w.key.TeamID, Sealed: w.cfg.Sealer.Seal(erasePurpose, job.ID, plain)})
		if err != nil {
			return err
		}
		for _, email := range []string{id, late} {
			if err := w.e.announceEmail(tx, w.key.TeamID, app.EmailDelivered, email, app.EmailExtra{Recipient: "ann@example.net"}); err != nil {
				return err
			}
		}
		return nil
	}))
	if got := w.hears(hook, id); len(got) != 1 || !slices.Equal(got[0].Data.To, []string{app.Erased, "bob@example.net"}) || got[0].Data.Recipient != app.Erased {
		t.Errorf("of an email from before: %+v", got[0].Data)
	}
	if got := w.hears(hook, late); len(got) != 1 || got[0].Data.Recipient != "ann@example.net" {
		t.Errorf("of one from after: %+v", got[0].Data)
	}
}

func TestAnEventOfAnEmailThatIsGoneIsNone(t *testing.T) {
	w := idle(t)
	hook := w.webhook("in", emailEvents()...)
	foreign := w.addTeam("Other", "example.org")
	id := w.send("ann@example.net")
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
		if err := w.e.announceEmail(tx, w.key.TeamID, app.EmailDelivered, app.NewID(), app.EmailExtra{}); err != nil {
			return err
		}
		return w.e.announceEmail(tx, foreign.TeamID, app.EmailDelivered, id, app.EmailExtra{})
	}))
	if got := w.deliveries(hook); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestSubTypesOfBounces(t *testing.T) {
	for enhanced, want := range map[string]string{
		"5.1.1": "NoEmail", "5.1.2": "NoEmail", "5.1.10": "NoEmail", "5.2.1": "General", "5.2.2": "MailboxFull", "5.2.3": "MessageTooLarge",
		"5.3.4": "MessageTooLarge", "5.6.1": "ContentRejected", "5.7.1": "ContentRejected", "5.7.26": "General", "5.0.0": "General", "": "Undetermined",
	} {
		if got := bounceSubType(enhanced); got != want {
			t.Errorf("%s: %s, want %s", enhanced, got, want)
		}
	}
}

func TestWebhooksHearOfOpensAndClicksButNotOfPrefetches(t *testing.T) {
	w := idle(t)
	hook := w.webhook("in", emailEvents()...)
	id := w.send("ann@example.net")
	f := tracking.Fetch{EmailID: id, Target: "https://example.com/a", UserAgent: "Reader/1", IPAddress: "192.0.2.7", At: time.Unix(1_800_000_000, 0)}
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
		for _, kind := range []app.EventType{app.EventPrefetched, app.EventType(app.Opened), app.EventType(app.Clicked)} {
			f.ID = app.NewID()
			tracked, err := tx.TrackedEmail(id, f.At)
			if err != nil {
				return err
			}
			if err := w.e.recordFetch(tx, &f, tracked, kind, "why"); err != nil {
				return err
			}
		}
		return nil
	}))
	w.wantHears(hook, id, "email.clicked ann@example.net https://example.com/a", "email.opened ann@example.net")
	want := app.ClickData{IPAddress: "192.0.2.7", Link: "https://example.com/a", Timestamp: "2027-01-15T08:00:00.000Z", UserAgent: "Reader/1"}
	if got := w.hears(hook, id)[0].Data.Click; got == nil || *got != want {
		t.Errorf("%+v", got)
	}
}
