package engine

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// doors are the four methods of the pages, and which page's token each takes.
func (w *world) doors() map[string]func(token string) (*PageView, error) {
	ctx := w.t.Context()
	return map[string]func(string) (*PageView, error){
		"UnsubscribePage": func(token string) (*PageView, error) { return w.e.UnsubscribePage(ctx, token) },
		"Unsubscribe":     func(token string) (*PageView, error) { return w.e.Unsubscribe(ctx, token) },
		"PreferencesPage": func(token string) (*PageView, error) { return w.e.PreferencesPage(ctx, token) },
		"SavePreferences": func(token string) (*PageView, error) {
			return w.e.SavePreferences(ctx, token, map[string]app.Subscription{})
		},
	}
}

func TestWhateverIsWrongWithATokenIsTheSameNotFound(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	gone := w.topic("Gone", app.OptIn, app.PublicTopic)
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteTopic(w.key.TeamID, gone.ID) }))
	foreign := w.addTeam("Other", "other.example").TeamID
	theirs := w.sendAbout(news, "a@example.net", "b@example.net")
	deleted := w.sendAbout(news, "a@example.net", "b@example.net")
	must(t, w.e.DeleteEmail(t.Context(), w.key, deleted))
	bob := w.hash("bob@example.net")
	before := w.audience()
	for door, enter := range w.doors() {
		page, other := app.UnsubscribePage, app.PreferencesPage
		if strings.Contains(door, "Preferences") {
			page, other = other, page
		}
		good := w.link(page, app.PageLink{TopicID: news.ID, Address: bob})
		tokens := map[string]string{
			"empty": "", "text": "x", "truncated": good[:107], "longer": good + "A", "changed": "B" + good[1:],
			"the other page's":        w.link(other, app.PageLink{TopicID: news.ID, Address: bob}),
			"unknown team":            w.link(page, app.PageLink{TeamID: app.NewID(), Address: bob}),
			"unknown topic":           w.link(page, app.PageLink{TopicID: app.NewID(), Address: bob}),
			"deleted topic":           w.link(page, app.PageLink{TopicID: gone.ID, Address: bob}),
			"another team's topic":    w.link(page, app.PageLink{TeamID: foreign, TopicID: news.ID, Address: bob}),
			"nobody":                  w.link(page, app.PageLink{TopicID: news.ID}),
			"deleted email":           w.link(page, app.PageLink{TopicID: news.ID, Source: deleted}),
			"another team's email":    w.link(page, app.PageLink{TeamID: foreign, Source: theirs}),
			"unknown email, no topic": w.link(page, app.PageLink{Source: app.NewID()}),
		}
		if page == app.PreferencesPage {
			tokens["several addresses"] = w.link(page, app.PageLink{TopicID: news.ID, Source: theirs})
		}
		for name, token := range tokens {
			view, err := enter(token)
			if view != nil || err == nil || err.Error() != app.NotFound("page").Error() {
				t.Errorf("%s, %s: %+v, %v", door, name, view, err)
			}
		}
	}
	if got := w.audience(); got != before {
		t.Errorf("before:\n%safter:\n%s", before, got)
	}
}

func TestALinkOfADeletedEmailStillKnowsItsAddress(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	id := w.sendAbout(news, "bob@example.net")
	token := w.linkOf(id)
	must(t, w.e.DeleteEmail(t.Context(), w.key, id))
	view, err := w.e.Unsubscribe(t.Context(), token)
	if err != nil || view.Topic.Subscription != app.OptOut || !view.Topic.Explicit {
		t.Errorf("%+v, %v", view, err)
	}
}

func TestWhatThePagesShow(t *testing.T) {
	w := idle(t, newRelay(nil))
	w.topic("beta", app.OptIn, app.PublicTopic)
	alpha := w.topic("Alpha", app.OptOut, app.PublicTopic)
	secret := w.topic("aardvark", app.OptIn, app.PrivateTopic)
	w.topic("Hidden", app.OptIn, app.PrivateTopic)
	theirs := &app.Topic{ID: app.NewID(), TeamID: w.addTeam("Other", "other.example").TeamID, Name: "Theirs", Default: app.OptIn, Visibility: app.PublicTopic}
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(theirs) }))
	w.choose(alpha, "bob@example.net", app.OptIn)
	names := func(v *PageView) string {
		var out []string
		for _, topic := range v.Topics {
			line := topic.Name + " " + string(topic.Subscription)
			if topic.Explicit {
				line += "!"
			}
			out = append(out, line)
		}
		return strings.Join(out, ", ")
	}
	bob := w.hash("bob@example.net")
	before := w.audience()
	for name, c := range map[string]struct {
		link   app.PageLink
		topic  string
		topics string
	}{
		"bare":          {app.PageLink{Address: bob}, "", "Alpha opt_in!, beta opt_in"},
		"public topic":  {app.PageLink{Address: bob, TopicID: alpha.ID}, "Alpha", "Alpha opt_in!, beta opt_in"},
		"private topic": {app.PageLink{Address: bob, TopicID: secret.ID}, "aardvark", "aardvark opt_in, Alpha opt_in!, beta opt_in"},
		"somebody else": {app.PageLink{Address: w.hash("eve@example.net"), TopicID: alpha.ID}, "Alpha", "Alpha opt_out, beta opt_in"},
	} {
		c.link.TeamID = w.key.TeamID
		for page, enter := range map[string]string{app.UnsubscribePage: "UnsubscribePage", app.PreferencesPage: "PreferencesPage"} {
			v, err := w.doors()[enter](w.link(page, c.link))
			must(t, err)
			topic := ""
			if v.Topic != nil {
				topic = v.Topic.Name
			}
			if topic != c.topic || names(v) != c.topics || v.Team != "Default" || v.Unsubscribed {
				t.Errorf("%s: %+v", name, v)
			}
			all := c.link
			all.TopicID = ""
			if l, ok := w.cfg.Sealer.ReadPageToken(app.UnsubscribePage, v.UnsubscribeAll); !ok || l != all {
				t.Errorf("%s: the way out of everything leads to %+v", name, l)
			}
			if l, ok := w.cfg.Sealer.ReadPageToken(app.PreferencesPage, v.Preferences); !ok || l != c.link {
				t.Errorf("%s: the preferences link leads to %+v", name, l)
			}
		}
	}
	if got := w.audience(); got != before {
		t.Errorf("reading changed\n%sto\n%s", before, got)
	}
}

func TestWhoCountsAsUnsubscribed(t *testing.T) {
	w := idle(t, newRelay(nil))
	w.contact("contact@example.net", true)
	w.contact("fine@example.net", false)
	for _, s := range []app.SuppressionInput{{Email: "left@example.net", Origin: app.OriginUnsubscribe}, {Email: "bounced@example.net", Origin: app.OriginBounce}} {
		_, err := w.e.AddSuppression(t.Context(), w.key, s)
		must(t, err)
	}
	for address, want := range map[string]bool{"contact@example.net": true, "fine@example.net": false, "left@example.net": true, "bounced@example.net": false, "new@example.net": false} {
		v, err := w.e.PreferencesPage(t.Context(), w.link(app.PreferencesPage, app.PageLink{Address: w.hash(address)}))
		if err != nil || v.Unsubscribed != want {
			t.Errorf("%s: %+v, %v", address, v, err)
		}
	}
}

func TestATopicLinkOptsOutOfThatTopicOnce(t *testing.T) {
	w := idle(t, newRelay(nil))
	news, other := w.topic("News", app.OptIn, app.PrivateTopic), w.topic("Other", app.OptIn, app.PublicTopic)
	w.contact("Bob@Example.net", false)
	token := w.linkOf(w.sendAbout(news, "bob@example.net"))
	var after string
	for n := range 3 {
		v, err := w.e.Unsubscribe(t.Context(), token)
		must(t, err)
		if v.Topic.ID != news.ID || v.Topic.Subscription != app.OptOut || !v.Topic.Explicit || v.Unsubscribed || len(v.Topics) != 2 {
			t.Errorf("%+v", v)
		}
		if n == 0 {
			after = w.audience()
		} else if got := w.audience(); got != after {
			t.Errorf("click %d changed\n%sto\n%s", n+1, after, got)
		}
	}
	told := w.told()
	if !strings.HasPrefix(told, "contact.topics.updated ") || strings.Count(told, "\n") != 1 ||
		!strings.Contains(told, `"email":"Bob@Example.net","topics":[{"id":"`+news.ID+`","subscription":"opt_out"}]`) {
		t.Errorf("told %s", told)
	}
	if got := w.rows(`SELECT count(*) FROM suppressions`) + w.rows(`SELECT unsubscribed FROM contacts`); got != "0\n0\n" {
		t.Error(got)
	}
	if _, err := w.e.SendEmail(t.Context(), w.key, about(other, "bob@example.net"), SendOptions{}); err != nil {
		t.Error(err)
	}
	_, err := w.e.SendEmail(t.Context(), w.key, about(news, "BOB@example.net"), SendOptions{})
	wantCode(t, err, app.CodeAllRecipientsSuppressed)
}

func TestATopicLinkWithoutAContactTellsNobody(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	_, err := w.e.Unsubscribe(t.Context(), w.linkOf(w.sendAbout(news, "bob@example.net")))
	must(t, err)
	if got := w.told() + w.rows(`SELECT topic_id, subscription FROM choices`); got != news.ID+" opt_out\n" {
		t.Error(got)
	}
}

// sendBare sends mail without a topic whose text leads to the page.
func (w *world) sendBare(to ...string) string {
	w.t.Helper()
	in := letter(to...)
	in.HTML = "{{{UNSUBSCRIBE_URL}}}"
	id, err := w.e.SendEmail(w.t.Context(), w.key, in, SendOptions{})
	must(w.t, err)
	return id
}

func TestABareLinkUnsubscribesFromEverythingOnce(t *testing.T) {
	for name, c := range map[string]struct {
		contact string // empty: none
		origin  app.SuppressionOrigin
		source  bool   // the link says which email it stood in
		list    string // the suppression afterwards: origin and address
		told    []string
	}{
		"contact":                   {"Bob@Example.net", "", true, "unsubscribe bob@example.net", []string{"contact.updated", "suppression.added"}},
		"contact, no email":         {"Bob@Example.net", "", false, "unsubscribe bob@example.net", []string{"contact.updated", "suppression.added"}},
		"no contact":                {"", "", true, "unsubscribe bob@example.net", []string{"suppression.added"}},
		"neither contact nor email": {"", "", false, "unsubscribe <nil>", nil},
		"contact that bounced":      {"Bob@Example.net", app.OriginBounce, true, "bounce bob@example.net", []string{"contact.updated"}},
		"bounced, no contact":       {"", app.OriginBounce, true, "bounce bob@example.net", nil},
		"left already":              {"", app.OriginUnsubscribe, true, "unsubscribe bob@example.net", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := idle(t, newRelay(nil))
			news := w.topic("News", app.OptIn, app.PublicTopic)
			link := app.PageLink{Address: w.hash("bob@example.net")}
			wantSource := "<nil>"
			if c.source {
				link.Source = w.sendBare("Bob@example.net")
				wantSource = link.Source
			}
			if c.contact != "" {
				if contact := w.contact(c.contact, false); !c.source {
					wantSource = contact.ID
				}
			}
			if c.origin != "" {
				wantSource = "<nil>"
				_, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "bob@example.net", Origin: c.origin})
				must(t, err)
			}
			told := w.told()
			var after string
			for n := range 2 {
				v, err := w.e.Unsubscribe(t.Context(), w.link(app.UnsubscribePage, link))
				if err != nil || !v.Unsubscribed || v.Topic != nil || len(v.Topics) != 1 || v.Preferences == "" {
					t.Fatalf("%+v, %v", v, err)
				}
				if n == 0 {
					after = w.audience()
				} else if got := w.audience(); got != after {
					t.Errorf("the second click changed\n%sto\n%s", after, got)
				}
			}
			if got := w.rows(`SELECT origin, email, source_id FROM suppressions`); got != c.list+" "+wantSource+"\n" {
				t.Errorf("list %s, want %s %s", got, c.list, wantSource)
			}
			if got := w.rows(`SELECT email, unsubscribed, updated_at > 0 FROM contacts`); c.contact != "" && got != c.contact+" 1 1\n" {
				t.Errorf("contact %s", got)
			}
			var names []string
			for line := range strings.Lines(strings.TrimPrefix(w.told(), told)) {
				name, payload, _ := strings.Cut(line, " ")
				names = append(names, name)
				if name == "contact.updated" && !strings.Contains(payload, `"unsubscribed":true`) || name == "suppression.added" && (!strings.Contains(payload, `"bob@example.net"`) || !strings.Contains(payload, `"`+wantSource+`"`)) {
					t.Errorf("told %s", line)
				}
			}
			if strings.Join(names, " ") != strings.Join(c.told, " ") {
				t.Errorf("told %v, want %v", names, c.told)
			}
			_, err := w.e.SendEmail(t.Context(), w.key, about(news, "bob@example.net"), SendOptions{})
			wantCode(t, err, app.CodeAllRecipientsSuppressed)
		})
	}
}

func TestALinkOfAnEmailToSeveralStandsForEachOfThem(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	w.contact("eve@example.net", false)
	in := about(news, "bob@example.net")
	in.Cc, in.Bcc = []string{"eve@example.net"}, []string{"joe@example.net"}
	id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	w.choose(news, "bob@example.net", app.OptOut)
	v, err := w.e.UnsubscribePage(t.Context(), w.linkOf(id))
	must(t, err)
	if v.Topic.Subscription != app.OptIn || v.Unsubscribed || v.Preferences != "" || v.Topics != nil {
		t.Errorf("some are still in: %+v", v)
	}
	for range 2 {
		v, err = w.e.Unsubscribe(t.Context(), w.linkOf(id))
		must(t, err)
	}
	if v.Topic.Subscription != app.OptOut || v.Unsubscribed {
		t.Errorf("%+v", v)
	}
	if got := w.rows(`SELECT count(*) FROM choices WHERE subscription = 'opt_out'`); got != "3\n" || strings.Count(w.told(), "\n") != 1 {
		t.Errorf("%s choices, told %s", got, w.told())
	}
	bare := w.linkOf(w.sendBare("bob@example.net", "eve@example.net"))
	if v, err = w.e.UnsubscribePage(t.Context(), bare); err != nil || v.Unsubscribed || v.Topic != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = w.e.Unsubscribe(t.Context(), bare); err != nil || !v.Unsubscribed {
		t.Errorf("%+v, %v", v, err)
	}
	if got := w.rows(`SELECT email FROM suppressions ORDER BY email`); got != "bob@example.net\neve@example.net\n" {
		t.Error(got)
	}
}

func TestAnErasedRecipientIsPassedOver(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	id := w.sendAbout(news, "bob@example.net", "eve@example.net")
	pool := w.rows(`UPDATE recipients SET address = '[erased]' WHERE address = 'bob@example.net' RETURNING n`)
	_, err := w.e.Unsubscribe(t.Context(), w.linkOf(id))
	must(t, err)
	if got := w.rows(`SELECT count(*) FROM choices`); got != "1\n" || pool != "0\n" {
		t.Errorf("%s choices", got)
	}
}

func TestPreferencesNoteWhatThePageShowsAndNothingElse(t *testing.T) {
	w := idle(t, newRelay(nil))
	in, out := w.topic("In", app.OptIn, app.PublicTopic), w.topic("Out", app.OptOut, app.PublicTopic)
	own, hidden := w.topic("Own", app.OptIn, app.PrivateTopic), w.topic("Hidden", app.OptIn, app.PrivateTopic)
	w.contact("bob@example.net", true)
	w.choose(in, "bob@example.net", app.OptOut)
	token := w.link(app.PreferencesPage, app.PageLink{TopicID: own.ID, Address: w.hash("bob@example.net")})
	choices := map[string]app.Subscription{
		in.ID: app.OptOut, out.ID: app.OptIn, own.ID: app.OptOut, hidden.ID: app.OptOut, app.NewID(): app.OptIn, "x": "y",
	}
	var after string
	for n := range 2 {
		v, err := w.e.SavePreferences(t.Context(), token, choices)
		must(t, err)
		if len(v.Topics) != 3 || v.Topics[0].Subscription != app.OptOut || v.Topics[1].Subscription != app.OptIn || v.Topic.Subscription != app.OptOut || !v.Unsubscribed {
			t.Errorf("%+v", v)
		}
		if n == 0 {
			after = w.audience()
		} else if got := w.audience(); got != after {
			t.Errorf("saving the same changed\n%sto\n%s", after, got)
		}
	}
	told := w.told()
	if strings.Count(told, "\n") != 1 || !strings.Contains(told, `"topics":[{"id":"`+out.ID+`","subscription":"opt_in"},{"id":"`+own.ID+`","subscription":"opt_out"}]`) {
		t.Errorf("told %s", told)
	}
	if got := w.rows(`SELECT unsubscribed FROM contacts`) + w.rows(`SELECT count(*) FROM choices`) + w.rows(`SELECT count(*) FROM suppressions`); got != "1\n3\n0\n" {
		t.Errorf("contact, choices, suppressions: %s", got)
	}
	for _, nothing := range []map[string]app.Subscription{nil, {in.ID: ""}, {in.ID: "OPT_IN"}} {
		_, err := w.e.SavePreferences(t.Context(), token, nothing)
		must(t, err)
	}
	if got := w.audience(); got != after {
		t.Errorf("no choices changed\n%sto\n%s", after, got)
	}
	// A page that a bare link opened does not show the private topic.
	_, err := w.e.SavePreferences(t.Context(), w.link(app.PreferencesPage, app.PageLink{Address: w.hash("bob@example.net")}), map[string]app.Subscription{own.ID: app.OptIn})
	must(t, err)
	if got := w.audience(); got != after {
		t.Errorf("a private topic changed\n%sto\n%s", after, got)
	}
}
