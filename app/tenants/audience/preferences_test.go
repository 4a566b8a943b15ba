package audience_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// eventsNamed returns the payloads of the events of a type, oldest first.
func eventsNamed(w *testserver.Server, name string) []string {
	return w.SQL(`SELECT payload FROM webhook_events WHERE type = ? ORDER BY seq`, name)
}

func TestPreferencesEventsAreLimited(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		news := w.AddTopic("News", app.OptIn, app.PublicTopic)
		w.AddContact("bob@example.net", false)
		w.AddContact("eve@example.net", false)
		bob := w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash("bob@example.net")})
		save := func(token, client string, choice app.Subscription) error {
			_, err := w.Services.Pages.SavePreferences(t.Context(), token, map[string]app.Subscription{news.ID: choice}, client)
			return err
		}
		refused, commits := 0, w.Commits()
		for i := range 400 {
			err := save(bob, "192.0.2.1", []app.Subscription{app.OptIn, app.OptOut}[i%2])
			if app.CodeOf(err) == app.CodeRateLimitExceeded && i%2 == 0 {
				refused++
			} else if err != nil {
				t.Errorf("choice %d: %v", i, err)
			}
		}
		if n := w.Commits() - commits; n > 2*audience.MaxOptInsPerAddress || refused != 200-audience.MaxOptInsPerAddress {
			t.Errorf("%d commits, %d refused", n, refused)
		}
		if events := eventsNamed(w, "contact.topics.updated"); len(events) != 1 {
			t.Errorf("told %q", events)
		}
		testserver.Must(t, save(w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash("eve@example.net")}), "192.0.2.1", app.OptIn))
		if events := eventsNamed(w, "contact.topics.updated"); len(events) != 2 || !strings.Contains(events[1], "eve@") {
			t.Errorf("another contact's choice is not told at once: %q", events)
		}
		testserver.Must(t, w.Services.Pages.AnnounceHeldChoices(t.Context()))
		if n := len(eventsNamed(w, "contact.topics.updated")); n != 2 {
			t.Errorf("%d told within the minute", n)
		}
		testserver.SleepAndSettle(audience.ChoiceEventInterval)
		testserver.Must(t, w.Services.Pages.AnnounceHeldChoices(t.Context()))
		events := eventsNamed(w, "contact.topics.updated")
		if len(events) != 3 || !strings.Contains(events[2], "bob@") || !strings.Contains(events[2], `"subscription":"opt_out"`) {
			t.Errorf("the last state was not told: %q", events)
		}
		for range 3 {
			testserver.SleepAndSettle(audience.ChoiceEventInterval)
			testserver.Must(t, w.Services.Pages.AnnounceHeldChoices(t.Context()))
		}
		if n := len(eventsNamed(w, "contact.topics.updated")); n != 3 || w.Count("choice_news") != "0" {
			t.Errorf("%d told in the end, %s rows are left", n, w.Count("choice_news"))
		}
		testserver.Must(t, save(bob, "192.0.2.1", app.OptIn)) // the limit has expired
	})
}

func TestHeldChoiceEventsSurviveCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		a, b := w.AddTopic("A", app.OptIn, app.PublicTopic), w.AddTopic("B", app.OptIn, app.PublicTopic)
		w.AddContact("bob@example.net", false)
		bob := w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash("bob@example.net")})
		for _, id := range []string{a.ID, b.ID} {
			_, err := w.Services.Pages.SavePreferences(t.Context(), bob, map[string]app.Subscription{id: app.OptOut}, "")
			testserver.Must(t, err)
		}
		next := w.Crash(testserver.NewRelay(nil))
		testserver.SleepAndSettle(audience.ChoiceEventInterval)
		testserver.Must(t, next.Services.Pages.AnnounceHeldChoices(t.Context()))
		var last struct {
			Data struct{ Topics []app.TopicChoice }
		}
		events := eventsNamed(next, "contact.topics.updated")
		testserver.Must(t, json.Unmarshal([]byte(events[len(events)-1]), &last))
		if got := fmt.Sprint(last.Data.Topics); len(events) != 2 || got != fmt.Sprintf("[{%s opt_out}]", b.ID) {
			t.Errorf("told %q", events)
		}
	})
}

func TestOptOutsPassOptInLimit(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	a, b := w.AddTopic("A", app.OptOut, app.PublicTopic), w.AddTopic("B", app.OptIn, app.PublicTopic)
	for i := range audience.MaxOptInsPerClient + 10 { // many people behind one client address
		email := fmt.Sprintf("c%d@example.net", i)
		w.AddContact(email, false)
		token := w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash(email)})
		_, err := w.Services.Pages.SavePreferences(t.Context(), token, map[string]app.Subscription{a.ID: app.OptIn, b.ID: app.OptOut}, "192.0.2.0/32")
		if i == audience.MaxOptInsPerClient+9 {
			testserver.WantCode(t, err, app.CodeRateLimitExceeded)
		}
	}
	if n := w.SQL(`SELECT count(*) FROM choices WHERE topic_id = ? AND subscription = 'opt_out'`, b.ID)[0]; n != fmt.Sprint(audience.MaxOptInsPerClient+10) {
		t.Errorf("%s opt-outs were noted", n)
	}
}

func TestRepeatedOneClickWritesNothing(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	w.AddContact("bob@example.net", false)
	for _, link := range []app.PageLink{{Address: w.AddressHash("bob@example.net"), TopicID: news.ID}, {Address: w.AddressHash("bob@example.net")}, {Address: w.AddressHash("nobody@example.net")}} {
		token := w.PageToken(app.UnsubscribePage, link)
		first, err := w.Services.Pages.Unsubscribe(t.Context(), token)
		testserver.Must(t, err)
		commits := w.Commits()
		for range 50 {
			again, err := w.Services.Pages.Unsubscribe(t.Context(), token)
			testserver.Must(t, err)
			if again.Unsubscribed != first.Unsubscribed || (again.Topic == nil) != (first.Topic == nil) {
				t.Errorf("%+v, then %+v", first, again)
			}
		}
		if n := w.Commits() - commits; n != 0 {
			t.Errorf("50 repeats are %d commits", n)
		}
	}
	subscribed := false
	_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, "bob@example.net", app.ContactPatch{Unsubscribed: &subscribed})
	testserver.Must(t, err)
	v, err := w.Services.Pages.Unsubscribe(t.Context(), w.PageToken(app.UnsubscribePage, app.PageLink{Address: w.AddressHash("bob@example.net")}))
	if c, gerr := w.Services.Audience.GetContact(t.Context(), w.Key, "bob@example.net"); err != nil || gerr != nil || !v.Unsubscribed || !c.Unsubscribed {
		t.Errorf("who was subscribed again can't leave again: %+v %+v, %v", v, c, err)
	}
}
