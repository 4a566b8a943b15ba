package audience_test

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestBadPageTokensAreNotFound(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	gone := w.AddTopic("Gone", app.OptIn, app.PublicTopic)
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteTopic(w.Key.TeamID, gone.ID) }))
	otherTeam := w.AddTeam("Other", "other.example").TeamID
	theirs := sendAbout(w, news, "a@example.net", "b@example.net")
	deleted := sendAbout(w, news, "a@example.net", "b@example.net")
	testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, deleted))
	bob := w.AddressHash("bob@example.net")
	before := w.AudienceRows()
	for method, enter := range pageMethods(w) {
		page, other := app.UnsubscribePage, app.PreferencesPage
		if strings.Contains(method, "Preferences") {
			page, other = other, page
		}
		good := w.PageToken(page, app.PageLink{TopicID: news.ID, Address: bob})
		tokens := map[string]string{
			"empty": "", "text": "x", "truncated": good[:107], "longer": good + "A", "changed": "B" + good[1:],
			"the other page's":        w.PageToken(other, app.PageLink{TopicID: news.ID, Address: bob}),
			"unknown team":            w.PageToken(page, app.PageLink{TeamID: app.NewID(), Address: bob}),
			"unknown topic":           w.PageToken(page, app.PageLink{TopicID: app.NewID(), Address: bob}),
			"deleted topic":           w.PageToken(page, app.PageLink{TopicID: gone.ID, Address: bob}),
			"another team's topic":    w.PageToken(page, app.PageLink{TeamID: otherTeam, TopicID: news.ID, Address: bob}),
			"nobody":                  w.PageToken(page, app.PageLink{TopicID: news.ID}),
			"deleted email":           w.PageToken(page, app.PageLink{TopicID: news.ID, Source: deleted}),
			"another team's email":    w.PageToken(page, app.PageLink{TeamID: otherTeam, Source: theirs}),
			"unknown email, no topic": w.PageToken(page, app.PageLink{Source: app.NewID()}),
		}
		if page == app.PreferencesPage {
			tokens["several addresses"] = w.PageToken(page, app.PageLink{TopicID: news.ID, Source: theirs})
		}
		for name, token := range tokens {
			view, err := enter(token)
			if view != nil || err == nil || err.Error() != app.NotFound("page").Error() {
				t.Errorf("%s, %s: %+v, %v", method, name, view, err)
			}
		}
	}
	if got := w.AudienceRows(); got != before {
		t.Errorf("before:\n%safter:\n%s", before, got)
	}
}

func TestLinkOfDeletedEmailStillWorks(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	id := sendAbout(w, news, "bob@example.net")
	token := linkOf(w, id)
	testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
	view, err := w.Services.Pages.Unsubscribe(t.Context(), token)
	if err != nil || view.Topic.Subscription != app.OptOut || !view.Topic.Explicit {
		t.Errorf("%+v, %v", view, err)
	}
}

func TestPageViews(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddTopic("beta", app.OptIn, app.PublicTopic)
	alpha := w.AddTopic("Alpha", app.OptOut, app.PublicTopic)
	secret := w.AddTopic("aardvark", app.OptIn, app.PrivateTopic)
	w.AddTopic("Hidden", app.OptIn, app.PrivateTopic)
	theirs := &app.Topic{ID: app.NewID(), TeamID: w.AddTeam("Other", "other.example").TeamID, Name: "Theirs", Default: app.OptIn, Visibility: app.PublicTopic}
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(theirs) }))
	choose(w, alpha, "bob@example.net", app.OptIn)
	names := func(v *audience.PageView) string {
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
	bob := w.AddressHash("bob@example.net")
	before := w.AudienceRows()
	for name, c := range map[string]struct {
		link   app.PageLink
		topic  string
		topics string
	}{
		"bare":          {app.PageLink{Address: bob}, "", "Alpha opt_in!, beta opt_in"},
		"public topic":  {app.PageLink{Address: bob, TopicID: alpha.ID}, "Alpha", "Alpha opt_in!, beta opt_in"},
		"private topic": {app.PageLink{Address: bob, TopicID: secret.ID}, "aardvark", "aardvark opt_in, Alpha opt_in!, beta opt_in"},
		"somebody else": {app.PageLink{Address: w.AddressHash("eve@example.net"), TopicID: alpha.ID}, "Alpha", "Alpha opt_out, beta opt_in"},
	} {
		c.link.TeamID = w.Key.TeamID
		for page, enter := range map[string]string{app.UnsubscribePage: "UnsubscribePage", app.PreferencesPage: "PreferencesPage"} {
			v, err := pageMethods(w)[enter](w.PageToken(page, c.link))
			testserver.Must(t, err)
			topic := ""
			if v.Topic != nil {
				topic = v.Topic.Name
			}
			if topic != c.topic || names(v) != c.topics || v.Team != "Default" || v.Unsubscribed {
				t.Errorf("%s: %+v", name, v)
			}
			all := c.link
			all.TopicID = ""
			if l, ok := w.Config.Sealer.ReadPageToken(app.UnsubscribePage, v.UnsubscribeAll); !ok || l != all {
				t.Errorf("%s: the way out of everything leads to %+v", name, l)
			}
			if l, ok := w.Config.Sealer.ReadPageToken(app.PreferencesPage, v.Preferences); !ok || l != c.link {
				t.Errorf("%s: the preferences link leads to %+v", name, l)
			}
		}
	}
	if got := w.AudienceRows(); got != before {
		t.Errorf("reading changed\n%sto\n%s", before, got)
	}
}

func TestUnsubscribedViewSources(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddContact("contact@example.net", true)
	w.AddContact("fine@example.net", false)
	for _, s := range []app.SuppressionInput{{Email: "left@example.net", Origin: app.OriginUnsubscribe}, {Email: "bounced@example.net", Origin: app.OriginBounce}} {
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, s)
		testserver.Must(t, err)
	}
	for address, want := range map[string]bool{"contact@example.net": true, "fine@example.net": false, "left@example.net": true, "bounced@example.net": false, "new@example.net": false} {
		v, err := w.Services.Pages.PreferencesPage(t.Context(), w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash(address)}))
		if err != nil || v.Unsubscribed != want {
			t.Errorf("%s: %+v, %v", address, v, err)
		}
	}
}

func TestTopicLinkOptsOutOnce(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news, other := w.AddTopic("News", app.OptIn, app.PrivateTopic), w.AddTopic("Other", app.OptIn, app.PublicTopic)
	w.AddContact("Bob@Example.net", false)
	token := linkOf(w, sendAbout(w, news, "bob@example.net"))
	var after string
	for n := range 3 {
		v, err := w.Services.Pages.Unsubscribe(t.Context(), token)
		testserver.Must(t, err)
		if v.Topic.ID != news.ID || v.Topic.Subscription != app.OptOut || !v.Topic.Explicit || v.Unsubscribed || len(v.Topics) != 2 {
			t.Errorf("%+v", v)
		}
		if n == 0 {
			after = w.AudienceRows()
		} else if got := w.AudienceRows(); got != after {
			t.Errorf("click %d changed\n%sto\n%s", n+1, after, got)
		}
	}
	events := w.WebhookEvents()
	if !strings.HasPrefix(events, "contact.topics.updated ") || strings.Count(events, "\n") != 1 ||
		!strings.Contains(events, `"email":"Bob@Example.net","topics":[{"id":"`+news.ID+`","subscription":"opt_out"}]`) {
		t.Errorf("told %s", events)
	}
	if got := w.Rows(`SELECT count(*) FROM suppressions`) + w.Rows(`SELECT unsubscribed FROM contacts`); got != "0\n0\n" {
		t.Error(got)
	}
	if _, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.TopicMessage(other, "bob@example.net"), mail.SendOptions{}); err != nil {
		t.Error(err)
	}
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.TopicMessage(news, "BOB@example.net"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
}

func TestTopicLinkWithoutContactSendsNoEvent(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	_, err := w.Services.Pages.Unsubscribe(t.Context(), linkOf(w, sendAbout(w, news, "bob@example.net")))
	testserver.Must(t, err)
	if got := w.WebhookEvents() + w.Rows(`SELECT topic_id, subscription FROM choices`); got != news.ID+" opt_out\n" {
		t.Error(got)
	}
}

func TestPlainLinkUnsubscribesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		contact  string // empty: none
		origin   app.SuppressionOrigin
		source   bool   // the link names its email
		list     string // origin and address of the resulting suppression
		reported []string
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
			w := testserver.New(t, testserver.NewRelay(nil))
			news := w.AddTopic("News", app.OptIn, app.PublicTopic)
			link := app.PageLink{Address: w.AddressHash("bob@example.net")}
			wantSource := "<nil>"
			if c.source {
				link.Source = sendBare(w, "Bob@example.net")
				wantSource = link.Source
			}
			if c.contact != "" {
				if contact := w.AddContact(c.contact, false); !c.source {
					wantSource = contact.ID
				}
			}
			if c.origin != "" {
				wantSource = "<nil>"
				_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "bob@example.net", Origin: c.origin})
				testserver.Must(t, err)
			}
			events := w.WebhookEvents()
			var after string
			for n := range 2 {
				v, err := w.Services.Pages.Unsubscribe(t.Context(), w.PageToken(app.UnsubscribePage, link))
				if err != nil || !v.Unsubscribed || v.Topic != nil || len(v.Topics) != 1 || v.Preferences == "" {
					t.Fatalf("%+v, %v", v, err)
				}
				if n == 0 {
					after = w.AudienceRows()
				} else if got := w.AudienceRows(); got != after {
					t.Errorf("the second click changed\n%sto\n%s", after, got)
				}
			}
			if got := w.Rows(`SELECT origin, email, source_id FROM suppressions`); got != c.list+" "+wantSource+"\n" {
				t.Errorf("list %s, want %s %s", got, c.list, wantSource)
			}
			if got := w.Rows(`SELECT email, unsubscribed, CASE WHEN updated_at > 0 THEN 1 ELSE 0 END FROM contacts`); c.contact != "" && got != c.contact+" 1 1\n" {
				t.Errorf("contact %s", got)
			}
			var names []string
			for line := range strings.Lines(strings.TrimPrefix(w.WebhookEvents(), events)) {
				name, payload, _ := strings.Cut(line, " ")
				names = append(names, name)
				if name == "contact.updated" && !strings.Contains(payload, `"unsubscribed":true`) || name == "suppression.added" && (!strings.Contains(payload, `"bob@example.net"`) || !strings.Contains(payload, `"`+wantSource+`"`)) {
					t.Errorf("told %s", line)
				}
			}
			if strings.Join(names, " ") != strings.Join(c.reported, " ") {
				t.Errorf("told %v, want %v", names, c.reported)
			}
			_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.TopicMessage(news, "bob@example.net"), mail.SendOptions{})
			testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		})
	}
}

func TestSharedLinkAppliesToAllRecipients(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	w.AddContact("eve@example.net", false)
	in := testserver.TopicMessage(news, "bob@example.net")
	in.Cc, in.Bcc = []string{"eve@example.net"}, []string{"joe@example.net"}
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	choose(w, news, "bob@example.net", app.OptOut)
	v, err := w.Services.Pages.UnsubscribePage(t.Context(), linkOf(w, id))
	testserver.Must(t, err)
	if v.Topic.Subscription != app.OptIn || v.Unsubscribed || v.Preferences != "" || v.Topics != nil {
		t.Errorf("some are still in: %+v", v)
	}
	for range 2 {
		v, err = w.Services.Pages.Unsubscribe(t.Context(), linkOf(w, id))
		testserver.Must(t, err)
	}
	if v.Topic.Subscription != app.OptOut || v.Unsubscribed {
		t.Errorf("%+v", v)
	}
	if got := w.Rows(`SELECT count(*) FROM choices WHERE subscription = 'opt_out'`); got != "3\n" || strings.Count(w.WebhookEvents(), "\n") != 1 {
		t.Errorf("%s choices, told %s", got, w.WebhookEvents())
	}
	bare := linkOf(w, sendBare(w, "bob@example.net", "eve@example.net"))
	if v, err = w.Services.Pages.UnsubscribePage(t.Context(), bare); err != nil || v.Unsubscribed || v.Topic != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = w.Services.Pages.Unsubscribe(t.Context(), bare); err != nil || !v.Unsubscribed {
		t.Errorf("%+v, %v", v, err)
	}
	if got := w.Rows(`SELECT email FROM suppressions ORDER BY email`); got != "bob@example.net\neve@example.net\n" {
		t.Error(got)
	}
}

func TestErasedRecipientIsSkipped(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	id := sendAbout(w, news, "bob@example.net", "eve@example.net")
	pool := w.Rows(`UPDATE recipients SET address = '[erased]' WHERE address = 'bob@example.net' RETURNING n`)
	_, err := w.Services.Pages.Unsubscribe(t.Context(), linkOf(w, id))
	testserver.Must(t, err)
	if got := w.Rows(`SELECT count(*) FROM choices`); got != "1\n" || pool != "0\n" {
		t.Errorf("%s choices", got)
	}
}

func TestPreferencesSaveOnlyShownTopics(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	in, out := w.AddTopic("In", app.OptIn, app.PublicTopic), w.AddTopic("Out", app.OptOut, app.PublicTopic)
	own, hidden := w.AddTopic("Own", app.OptIn, app.PrivateTopic), w.AddTopic("Hidden", app.OptIn, app.PrivateTopic)
	w.AddContact("bob@example.net", true)
	choose(w, in, "bob@example.net", app.OptOut)
	token := w.PageToken(app.PreferencesPage, app.PageLink{TopicID: own.ID, Address: w.AddressHash("bob@example.net")})
	choices := map[string]app.Subscription{
		in.ID: app.OptOut, out.ID: app.OptIn, own.ID: app.OptOut, hidden.ID: app.OptOut, app.NewID(): app.OptIn, "x": "y",
	}
	var after string
	for n := range 2 {
		v, err := w.Services.Pages.SavePreferences(t.Context(), token, choices, "")
		testserver.Must(t, err)
		if len(v.Topics) != 3 || v.Topics[0].Subscription != app.OptOut || v.Topics[1].Subscription != app.OptIn || v.Topic.Subscription != app.OptOut || !v.Unsubscribed {
			t.Errorf("%+v", v)
		}
		if n == 0 {
			after = w.AudienceRows()
		} else if got := w.AudienceRows(); got != after {
			t.Errorf("saving the same changed\n%sto\n%s", after, got)
		}
	}
	events := w.WebhookEvents()
	if strings.Count(events, "\n") != 1 || !strings.Contains(events, `"topics":[{"id":"`+out.ID+`","subscription":"opt_in"},{"id":"`+own.ID+`","subscription":"opt_out"}]`) {
		t.Errorf("told %s", events)
	}
	if got := w.Rows(`SELECT unsubscribed FROM contacts`) + w.Rows(`SELECT count(*) FROM choices`) + w.Rows(`SELECT count(*) FROM suppressions`); got != "1\n3\n0\n" {
		t.Errorf("contact, choices, suppressions: %s", got)
	}
	for _, nothing := range []map[string]app.Subscription{nil, {in.ID: ""}, {in.ID: "OPT_IN"}} {
		_, err := w.Services.Pages.SavePreferences(t.Context(), token, nothing, "")
		testserver.Must(t, err)
	}
	if got := w.AudienceRows(); got != after {
		t.Errorf("no choices changed\n%sto\n%s", after, got)
	}
	// The page of a link without a topic does not show the private topic.
	_, err := w.Services.Pages.SavePreferences(t.Context(), w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash("bob@example.net")}), map[string]app.Subscription{own.ID: app.OptIn}, "")
	testserver.Must(t, err)
	if got := w.AudienceRows(); got != after {
		t.Errorf("a private topic changed\n%sto\n%s", after, got)
	}
}
