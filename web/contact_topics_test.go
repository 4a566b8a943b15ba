package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// contact puts one into the first team's audience and returns its id.
func (a *audienceAPI) contact(email string) string {
	a.t.Helper()
	return a.contactOf(a.team.ID, email)
}

func (a *audienceAPI) contactOf(teamID, email string) string {
	a.t.Helper()
	c := app.Contact{ID: app.NewID(), TeamID: teamID, Email: email, Hash: a.sealer.AddressHash(teamID, app.KeyOf(email))}
	err := a.store.Write(a.t.Context(), func(tx *db.Tx) error {
		c.CreatedAt, c.UpdatedAt = tx.Now, tx.Now
		return tx.InsertContact(&c)
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return c.ID
}

func choice(id, subscription string) string {
	return fmt.Sprintf(`{"id":%q,"subscription":%q}`, id, subscription)
}

// subscriptions formats the subscriptions of topics by name.
func subscriptions(rows []topicAnswer) string {
	var out []string
	for _, row := range rows {
		out = append(out, fmt.Sprintf("%s %s %v", row.Name, row.Subscription, row.Explicit))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestTopicDefault(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("Ann+News@example.org")
	a.topic("In", `,"visibility":"public","description":"All of it"`)
	out := a.want(201, "POST", "/topics", `{"name":"Out","default_subscription":"opt_out"}`)
	for _, path := range []string{id, strings.ToUpper(id), "ann+news@example.org", "Ann%2BNews%40example.org"} {
		list := a.want(200, "GET", "/contacts/"+path+"/topics", "")
		if list.Object != "list" || list.HasMore || subscriptions(list.Data) != "In opt_in false, Out opt_out false" {
			t.Fatalf("%s: %+v", path, list)
		}
	}
	w := a.call("GET", "/contacts/"+id+"/topics?limit=1", "")
	wantJSON(t, w, `{"object":"list","has_more":true,"data":[{"id":"`+out.ID+`","name":"Out","description":null,
		"subscription":"opt_out","explicit":false,"visibility":"private","created_at":"`+a.topicMade(out.ID)+`"}]}`)
}

// topicMade returns when a topic was created.
func (a *audienceAPI) topicMade(id string) string {
	a.t.Helper()
	var topic struct {
		CreatedAt string `json:"created_at"`
	}
	if err := json.Unmarshal(a.call("GET", "/topics/"+id, "").Body.Bytes(), &topic); err != nil || topic.CreatedAt == "" {
		a.t.Fatalf("%+v %v", topic, err)
	}
	return topic.CreatedAt
}

func TestTopicChoiceShapes(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("ann@example.org")
	in := a.topic("In", "")
	out := a.want(201, "POST", "/topics", `{"name":"Out","default_subscription":"opt_out","description":"d","visibility":"public"}`)
	path := "/contacts/ann@example.org/topics"
	wantJSON(t, a.call("PATCH", path, " ["+choice(out.ID, "opt_in")+","+choice(strings.ToUpper(in.ID), "opt_out")+"]\n"),
		fmt.Sprintf(`{"object":"contact_topics","id":%q,"contact_id":%q,"topics":[
			{"id":%q,"name":"Out","description":"d","subscription":"opt_in","explicit":true,"visibility":"public","created_at":%q},
			{"id":%q,"name":"In","description":null,"subscription":"opt_out","explicit":true,"visibility":"private","created_at":%q}]}`, id, id, out.ID, a.topicMade(out.ID), in.ID, a.topicMade(in.ID)))
	if list := a.want(200, "GET", path, ""); subscriptions(list.Data) != "In opt_out true, Out opt_in true" {
		t.Errorf("list %+v", list.Data)
	}
	// What the topic says anyway becomes a choice too, and of two the last counts.
	got := a.want(200, "PATCH", "/contacts/"+id+"/topics", `{"topics":[`+choice(in.ID, "opt_out")+","+choice(in.ID, "opt_in")+`]}`)
	if len(got.Topics) != 1 || subscriptions(got.Topics) != "In opt_in true" || got.ID != id || got.ContactID != id {
		t.Errorf("answer %+v", got)
	}
	if list := a.want(200, "GET", path, ""); subscriptions(list.Data) != "In opt_in true, Out opt_in true" {
		t.Errorf("list %+v", list.Data)
	}
}

func TestTopicChoicesAreAtomic(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("ann@example.org")
	news := a.topic("News", "")
	var foreign topicAnswer
	w := a.as(a.foreign, "POST", "/topics", `{"name":"Theirs","default_subscription":"opt_in"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &foreign); err != nil {
		t.Fatal(err)
	}
	path := "/contacts/" + id + "/topics"
	good := choice(news.ID, "opt_out")
	for _, other := range []string{unknownID, foreign.ID} {
		wantError(t, a.call("PATCH", path, "["+good+","+choice(other, "opt_in")+"]"), 404, app.CodeNotFound, "topic")
	}
	many := strings.TrimSuffix(strings.Repeat(good+",", 1001), ",")
	for _, c := range []struct{ body, words string }{
		{`[]`, "`topics` is required"},
		{`{}`, "`topics` is required"},
		{`{"topics":[]}`, "`topics` is required"},
		{`{"topics":null}`, "`topics` is required"},
		{`{"topics":{}}`, "`topics`"},
		{`"x"`, "`body`"},
		{`{"topics":[` + good + `],"email":"x"}`, "`email`"},
		{`[` + good + `,{"id":"` + news.ID + `"}]`, "`topics[1].subscription`"},
		{`[` + good + `,{"subscription":"opt_in"}]`, "`topics[1].id`"},
		{`[` + good + `,null]`, "`topics[1].id`"},
		{`[` + good + `,` + choice(news.ID, "maybe") + `]`, "`topics[1].subscription`"},
		{`[` + good + `,` + choice("x", "opt_in") + `]`, "`topics[1].id`"},
		{`{"topics":[` + good + `,{"id":"` + news.ID + `","subscription":"opt_in","explicit":true}]}`, "`topics[1].explicit`"},
		{`[` + good + `,{"id":7}]`, "id"},
		{`[` + many + `]`, "1000"},
		{`{"topics":[` + many + `]}`, "`topics` can hold at most 1000"},
	} {
		wantError(t, a.call("PATCH", path, c.body), 422, app.CodeValidation, c.words)
	}
	for _, body := range []string{"", "[", `[` + good, `[` + good + `]]`, `[` + good + `][]`, `{"topics":[` + good + `],"topics":[]}`} {
		wantError(t, a.call("PATCH", path, body), 400, app.CodeInvalidPayload)
	}
	if list := a.want(200, "GET", path, ""); subscriptions(list.Data) != "News opt_in false" {
		t.Errorf("a refused request left %+v", list.Data)
	}
	a.want(200, "PATCH", path, `[`+strings.TrimSuffix(strings.Repeat(good+",", 1000), ",")+`]`)
}

func TestTopicsOfUnknownContact(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("ann@example.org")
	news := a.topic("News", "")
	for _, c := range []struct{ method, path, body string }{
		{"GET", "topics", ""}, {"PATCH", "topics", "[" + choice(news.ID, "opt_out") + "]"}, {"POST", "preferences-link", ""},
	} {
		for _, unknown := range []string{unknownID, "bob@example.org", "ann", "%00", "ann@example.org%20x"} {
			wantError(t, a.call(c.method, "/contacts/"+unknown+"/"+c.path, c.body), 404, app.CodeNotFound, "contact")
		}
		for _, foreign := range []string{id, "ann@example.org"} {
			wantError(t, a.as(a.foreign, c.method, "/contacts/"+foreign+"/"+c.path, c.body), 404, app.CodeNotFound, "contact")
		}
	}
	if list := a.want(200, "GET", "/contacts/"+id+"/topics", ""); subscriptions(list.Data) != "News opt_in false" {
		t.Errorf("a foreign request left %+v", list.Data)
	}
}

// A choice belongs to an address within a team.
func TestTopicChoicesPerTeam(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.contact("ann@example.org")
	news := a.topic("News", "")
	a.want(200, "PATCH", "/contacts/ann@example.org/topics", "["+choice(news.ID, "opt_out")+"]")
	other, otherKey := a.newTeam("Third")
	a.contactOf(other.ID, "ann@example.org")
	wantStatus(t, a.as(otherKey, "POST", "/topics", `{"name":"News","default_subscription":"opt_in"}`), 201)
	var list topicAnswer
	if err := json.Unmarshal(a.as(otherKey, "GET", "/contacts/ann@example.org/topics", "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if subscriptions(list.Data) != "News opt_in false" {
		t.Errorf("list %+v", list.Data)
	}
}

func TestPreferencesLink(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.contact("Ann.of.Cleves@example.org")
	for _, path := range []string{id, "ann.of.cleves@EXAMPLE.org"} {
		for _, body := range []string{"", "{}"} {
			w := a.call("POST", "/contacts/"+path+"/preferences-link", body)
			wantStatus(t, w, 200)
			var link struct{ Object, Contact, URL string }
			if err := json.Unmarshal(w.Body.Bytes(), &link); err != nil {
				t.Fatal(err)
			}
			token, ok := strings.CutPrefix(link.URL, "https://mail.example.com/preferences/")
			if !ok || link.Object != "preferences_link" || link.Contact != id || strings.Contains(strings.ToLower(link.URL), "ann.of") {
				t.Errorf("answer %s", w.Body)
			}
			got, ok := a.sealer.ReadPageToken(app.PreferencesPage, token)
			want := app.PageLink{TeamID: a.team.ID, Address: a.sealer.AddressHash(a.team.ID, app.KeyOf("ann.of.cleves@example.org"))}
			if !ok || got != want {
				t.Errorf("the token stands for %+v", got)
			}
			if _, ok := a.sealer.ReadPageToken(app.UnsubscribePage, token); ok {
				t.Error("the link opens the other page too")
			}
		}
	}
}
