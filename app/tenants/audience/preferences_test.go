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

// happened are the payloads that were told of a type, oldest first.
func happened(w *testserver.World, name string) []string {
	return w.Sql(`SELECT payload FROM happenings WHERE type = ? ORDER BY seq`, name)
}

func TestAnonymousPostsToOnePreferencesLinkFloodedWebhooks(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil))
		news := w.Topic("News", app.OptIn, app.PublicTopic)
		w.Contact("bob@example.net", false)
		w.Contact("eve@example.net", false)
		bob := w.Link(app.PreferencesPage, app.PageLink{Address: w.Hash("bob@example.net")})
		save := func(token, client string, choice app.Subscription) error {
			_, err := w.Server.Pages.SavePreferences(t.Context(), token, map[string]app.Subscription{news.ID: choice}, client)
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
		if n := w.Commits() - commits; n > 2*audience.OptInsEach || refused != 200-audience.OptInsEach {
			t.Errorf("%d commits, %d refused", n, refused)
		}
		if told := happened(w, "contact.topics.updated"); len(told) != 1 {
			t.Errorf("told %q", told)
		}
		testserver.Must(t, save(w.Link(app.PreferencesPage, app.PageLink{Address: w.Hash("eve@example.net")}), "192.0.2.1", app.OptIn))
		if told := happened(w, "contact.topics.updated"); len(told) != 2 || !strings.Contains(told[1], "eve@") {
			t.Errorf("another contact's choice is not told at once: %q", told)
		}
		testserver.Must(t, w.Server.Pages.TellChoices(t.Context()))
		if n := len(happened(w, "contact.topics.updated")); n != 2 {
			t.Errorf("%d told within the minute", n)
		}
		testserver.Later(audience.ChoicesTold)
		testserver.Must(t, w.Server.Pages.TellChoices(t.Context()))
		told := happened(w, "contact.topics.updated")
		if len(told) != 3 || !strings.Contains(told[2], "bob@") || !strings.Contains(told[2], `"subscription":"opt_out"`) {
			t.Errorf("the last state was not told: %q", told)
		}
		for range 3 {
			testserver.Later(audience.ChoicesTold)
			testserver.Must(t, w.Server.Pages.TellChoices(t.Context()))
		}
		if n := len(happened(w, "contact.topics.updated")); n != 3 || w.Count("choice_news") != "0" {
			t.Errorf("%d told in the end, %s rows are left", n, w.Count("choice_news"))
		}
		testserver.Must(t, save(bob, "192.0.2.1", app.OptIn)) // he may again
	})
}

func TestChoicesThatWaitToBeToldSurviveACrash(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil))
		a, b := w.Topic("A", app.OptIn, app.PublicTopic), w.Topic("B", app.OptIn, app.PublicTopic)
		w.Contact("bob@example.net", false)
		bob := w.Link(app.PreferencesPage, app.PageLink{Address: w.Hash("bob@example.net")})
		for _, id := range []string{a.ID, b.ID} {
			_, err := w.Server.Pages.SavePreferences(t.Context(), bob, map[string]app.Subscription{id: app.OptOut}, "")
			testserver.Must(t, err)
		}
		next := w.Crash(testserver.NewRelay(nil))
		testserver.Later(audience.ChoicesTold)
		testserver.Must(t, next.Server.Pages.TellChoices(t.Context()))
		var last struct {
			Data struct{ Topics []app.TopicChoice }
		}
		told := happened(next, "contact.topics.updated")
		testserver.Must(t, json.Unmarshal([]byte(told[len(told)-1]), &last))
		if got := fmt.Sprint(last.Data.Topics); len(told) != 2 || got != fmt.Sprintf("[{%s opt_out}]", b.ID) {
			t.Errorf("told %q", told)
		}
	})
}

func TestOptOutsPassWhereChoicesToReceiveAreTooMany(t *testing.T) {
	w := testserver.Idle(t, testserver.NewRelay(nil))
	a, b := w.Topic("A", app.OptOut, app.PublicTopic), w.Topic("B", app.OptIn, app.PublicTopic)
	for i := range audience.OptInsFrom + 10 { // of many people behind one address
		email := fmt.Sprintf("c%d@example.net", i)
		w.Contact(email, false)
		token := w.Link(app.PreferencesPage, app.PageLink{Address: w.Hash(email)})
		_, err := w.Server.Pages.SavePreferences(t.Context(), token, map[string]app.Subscription{a.ID: app.OptIn, b.ID: app.OptOut}, "192.0.2.0/32")
		if i == audience.OptInsFrom+9 {
			testserver.WantCode(t, err, app.CodeRateLimitExceeded)
		}
	}
	if n := w.Sql(`SELECT count(*) FROM choices WHERE topic_id = ? AND subscription = 'opt_out'`, b.ID)[0]; n != fmt.Sprint(audience.OptInsFrom+10) {
		t.Errorf("%s opt-outs were noted", n)
	}
}

func TestARepeatedOneClickWroteAgain(t *testing.T) {
	w := testserver.Idle(t, testserver.NewRelay(nil))
	news := w.Topic("News", app.OptIn, app.PublicTopic)
	w.Contact("bob@example.net", false)
	for _, link := range []app.PageLink{{Address: w.Hash("bob@example.net"), TopicID: news.ID}, {Address: w.Hash("bob@example.net")}, {Address: w.Hash("nobody@example.net")}} {
		token := w.Link(app.UnsubscribePage, link)
		first, err := w.Server.Pages.Unsubscribe(t.Context(), token)
		testserver.Must(t, err)
		commits := w.Commits()
		for range 50 {
			again, err := w.Server.Pages.Unsubscribe(t.Context(), token)
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
	_, err := w.Server.Audience.UpdateContact(t.Context(), w.Key, "bob@example.net", app.ContactPatch{Unsubscribed: &subscribed})
	testserver.Must(t, err)
	v, err := w.Server.Pages.Unsubscribe(t.Context(), w.Link(app.UnsubscribePage, app.PageLink{Address: w.Hash("bob@example.net")}))
	if c, gerr := w.Server.Audience.GetContact(t.Context(), w.Key, "bob@example.net"); err != nil || gerr != nil || !v.Unsubscribed || !c.Unsubscribed {
		t.Errorf("who was subscribed again can't leave again: %+v %+v, %v", v, c, err)
	}
}
