package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/server"
	"mailer/db"
)

// audienceAPI is a real server with hosted pages at mail.example.com and a key of
// another team.
type audienceAPI struct {
	*testAPI
	foreign string
}

func newAudienceAPI(t *testing.T) *audienceAPI { return newAudienceWith(t, nil) }

// newAudienceWith is newAudienceAPI with a changed configuration; nil: unchanged.
func newAudienceWith(t *testing.T, change func(*server.Config)) *audienceAPI {
	t.Helper()
	cfg := captured()
	cfg.BaseURL = "https://mail.example.com/"
	if change != nil {
		change(&cfg)
	}
	a := &audienceAPI{testAPI: newTestAPI(t, cfg)}
	_, a.foreign = a.newTeam("Other")
	return a
}

// call is a request of the first team.
func (a *audienceAPI) call(method, target, body string) *httptest.ResponseRecorder {
	a.t.Helper()
	return a.as(a.full, method, target, body)
}

// topicAnswer is a topic, a contact's topic, or a list of either.
type topicAnswer struct {
	Object       string
	ID           string
	ContactID    string `json:"contact_id"`
	Name         string
	Description  *string
	Default      string `json:"default_subscription"`
	Subscription string
	Explicit     bool
	Visibility   string
	CreatedAt    string `json:"created_at"`
	Deleted      bool
	HasMore      bool `json:"has_more"`
	Data         []topicAnswer
	Topics       []topicAnswer
}

// want makes a request that must succeed with that status.
func (a *audienceAPI) want(status int, method, target, body string) (got topicAnswer) {
	a.t.Helper()
	w := a.call(method, target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// topic creates a topic that is opt_in by default.
func (a *audienceAPI) topic(name, more string) topicAnswer {
	a.t.Helper()
	return a.want(201, "POST", "/topics", fmt.Sprintf(`{"name":%q,"default_subscription":"opt_in"%s}`, name, more))
}

func TestCreateTopic(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.want(201, "POST", "/topics", `{"name":"News","default_subscription":"opt_out","description":"","visibility":null}`)
	if _, ok := app.ParseID(made.ID); !ok || made.Object != "topic" || made.Name != "News" || made.Description != nil ||
		made.Default != "opt_out" || made.Visibility != "private" || len(made.CreatedAt) != len(app.TimeLayout) {
		t.Errorf("created %+v", made)
	}
	full := a.topic("Offers", `,"description":"Once a month","visibility":"public"`)
	if full.Description == nil || *full.Description != "Once a month" || full.Visibility != "public" || full.Default != "opt_in" {
		t.Errorf("created %+v", full)
	}
	for _, id := range []string{full.ID, strings.ToUpper(full.ID)} {
		wantJSON(t, a.call("GET", "/topics/"+id, ""), fmt.Sprintf(`{"object":"topic","id":%q,"name":"Offers","description":"Once a month",
			"default_subscription":"opt_in","visibility":"public","archive":null,"created_at":%q}`, full.ID, full.CreatedAt))
	}
}

func TestTopicFieldErrors(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	with := func(members string) string { return `{"name":"n","default_subscription":"opt_in",` + members + `}` }
	for _, c := range []struct{ body, field string }{
		{`{}`, "`name`"},
		{`{"default_subscription":"opt_in"}`, "`name` is required"},
		{`{"name":"","default_subscription":"opt_in"}`, "`name` is required"},
		{`{"name":" \u2003 ","default_subscription":"opt_in"}`, "`name` is required"},
		{`{"name":7,"default_subscription":"opt_in"}`, "`name`"},
		{`{"name":"a\nb","default_subscription":"opt_in"}`, "`name`"},
		{`{"name":"` + strings.Repeat("é", 51) + `","default_subscription":"opt_in"}`, "`name` can have at most 50"},
		{`{"name":"n"}`, "`default_subscription` is required"},
		{`{"name":"n","default_subscription":""}`, "`default_subscription` is required"},
		{`{"name":"n","default_subscription":"OPT_IN"}`, "`default_subscription`"},
		{`{"name":"n","default_subscription":true}`, "`default_subscription`"},
		{with(`"description":"` + strings.Repeat("é", 201) + `"`), "`description` can have at most 200"},
		{with(`"description":["x"]`), "`description`"},
		{with(`"visibility":"hidden"`), "`visibility`"},
		{with(`"colour":"red"`), "`colour`"},
		{with(`"id":"` + unknownID + `"`), "`id`"},
	} {
		wantError(t, a.call("POST", "/topics", c.body), 422, app.CodeValidation, c.field)
	}
	wantError(t, a.call("POST", "/topics", `{`), 400, app.CodeInvalidPayload)
	wantError(t, a.call("POST", "/topics", ""), 400, app.CodeInvalidPayload)
	if left := a.want(200, "GET", "/topics", ""); len(left.Data) != 0 {
		t.Errorf("a refused request left %+v", left.Data)
	}
	name, description := strings.Repeat("日", 50), strings.Repeat("😀", 200) // characters, not bytes
	if got := a.topic(name, `,"description":"`+description+`"`); got.Name != name || *got.Description != description {
		t.Errorf("created %+v", got)
	}
}

func TestUpdateTopic(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.topic("News", `,"description":"Weekly"`)
	path := "/topics/" + made.ID
	for _, c := range []struct{ body, name, description, visibility string }{
		{`{}`, "News", "Weekly", "private"},
		{`{"name":"","description":"","visibility":"","default_subscription":""}`, "News", "Weekly", "private"},
		{`{"name":null,"visibility":null,"default_subscription":null}`, "News", "Weekly", "private"},
		{`{"name":"Nouvelles"}`, "Nouvelles", "Weekly", "private"},
		{`{"description":"Daily"}`, "Nouvelles", "Daily", "private"},
		{`{"visibility":"public","default_subscription":"opt_in"}`, "Nouvelles", "Daily", "public"},
		{`{"description":null,"id":"` + made.ID + `"}`, "Nouvelles", "", "public"},
		{`{"name":"Nouvelles","topic_id":"` + made.ID + `","id":""}`, "Nouvelles", "", "public"},
	} {
		for _, got := range []topicAnswer{a.want(200, "PATCH", path, c.body), a.want(200, "GET", path, "")} {
			description := ""
			if got.Description != nil {
				description = *got.Description
			}
			if got.Object != "topic" || got.ID != made.ID || got.CreatedAt != made.CreatedAt || got.Default != "opt_in" ||
				got.Name != c.name || description != c.description || got.Visibility != c.visibility {
				t.Errorf("%s: %+v", c.body, got)
			}
		}
	}
	before := a.want(200, "GET", path, "")
	for _, c := range []struct{ body, words string }{
		{`{"default_subscription":"opt_out"}`, "`default_subscription` is fixed"},
		{`{"name":"x","default_subscription":"opt_out"}`, "`default_subscription` is fixed"},
		{`{"name":"` + strings.Repeat("x", 51) + `"}`, "`name`"},
		{`{"name":"  "}`, "`name`"},
		{`{"description":"` + strings.Repeat("x", 201) + `"}`, "`description`"},
		{`{"visibility":"secret"}`, "`visibility`"},
		{`{"id":"` + unknownID + `"}`, "`id`"},
		{`{"topic_id":"` + unknownID + `"}`, "`topic_id`"},
		{`{"created_at":"2026-01-01T00:00:00.000Z"}`, "`created_at`"},
	} {
		wantError(t, a.call("PATCH", path, c.body), 422, app.CodeValidation, c.words)
	}
	if after := a.want(200, "GET", path, ""); after.Name != before.Name || after.Visibility != before.Visibility {
		t.Errorf("a refused change left %+v", after)
	}
	wantError(t, a.call("PATCH", path, ""), 400, app.CodeInvalidPayload)
}

func TestTopicNameIsUnique(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.topic("News", "")
	w := a.call("POST", "/topics", `{"name":"News","default_subscription":"opt_out"}`)
	wantError(t, w, 409, app.CodeConflict, "name")
	second := a.topic("news", "")
	wantError(t, a.call("PATCH", "/topics/"+second.ID, `{"name":"News"}`), 409, app.CodeConflict, "name")
	wantStatus(t, a.as(a.foreign, "POST", "/topics", `{"name":"News","default_subscription":"opt_in"}`), 201)
	if all := a.want(200, "GET", "/topics", ""); len(all.Data) != 2 || all.Data[0].Name != "news" {
		t.Errorf("topics %+v", all.Data)
	}
}

func TestConcurrentSameName(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for path, body := range map[string]string{
		"/topics":             `{"name":"News","default_subscription":"opt_in"}`,
		"/contact-properties": `{"key":"plan","type":"string"}`,
	} {
		var wg sync.WaitGroup
		statuses := make(chan int, 20)
		for range cap(statuses) {
			wg.Go(func() {
				r := httptest.NewRequest("POST", path, strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+a.full)
				w := httptest.NewRecorder()
				a.handler.ServeHTTP(w, r)
				statuses <- w.Code
			})
		}
		wg.Wait()
		close(statuses)
		counts := map[int]int{}
		for status := range statuses {
			counts[status]++
		}
		if counts[http.StatusCreated] != 1 || counts[http.StatusConflict] != 19 {
			t.Errorf("%s answers %v", path, counts)
		}
	}
}

func TestDeleteTopic(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	made := a.topic("News", "")
	wantJSON(t, a.call("DELETE", "/topics/"+made.ID, "{}"), `{"object":"topic","id":"`+made.ID+`","deleted":true}`)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		wantError(t, a.call(method, "/topics/"+made.ID, "{}"), 404, app.CodeNotFound, "topic")
	}
	if again := a.topic("News", ""); again.ID == made.ID {
		t.Error("the same id twice")
	}
}

func TestForeignTopicIsNotFound(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for _, kind := range []struct{ path, create string }{
		{"/topics", `{"name":"News","default_subscription":"opt_in"}`},
		{"/contact-properties", `{"key":"plan","type":"string"}`},
	} {
		made := a.want(201, "POST", kind.path, kind.create)
		for _, method := range []string{"GET", "PATCH", "DELETE"} {
			wantError(t, a.as(a.foreign, method, kind.path+"/"+made.ID, "{}"), 404, app.CodeNotFound)
			for _, unknown := range []string{unknownID, "x", "%00", made.ID + "0", "..%2f" + made.ID} {
				wantError(t, a.call(method, kind.path+"/"+unknown, "{}"), 404, app.CodeNotFound)
			}
		}
		wantJSON(t, a.as(a.foreign, "GET", kind.path, ""), `{"object":"list","has_more":false,"data":[]}`)
		wantError(t, a.as(a.foreign, "GET", kind.path+"?after="+made.ID, ""), 422, app.CodeValidation, "`after`")
		wantStatus(t, a.call("GET", kind.path+"/"+made.ID, ""), 200)
	}
}

func TestListTopics(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	a.contact("ann@example.org")
	var topics, properties []string
	for i := range 7 {
		topics = append(topics, a.topic(fmt.Sprint("Topic ", i), "").ID)
		properties = append(properties, a.want(201, "POST", "/contact-properties", fmt.Sprintf(`{"key":"p%d","type":"number"}`, i)).ID)
	}
	a.want(200, "PATCH", "/contacts/ann@example.org/topics", `[{"id":"`+topics[2]+`","subscription":"opt_out"}]`)
	slices.Reverse(topics)
	slices.Reverse(properties)
	for base, ids := range map[string][]string{
		"/topics": topics, "/contact-properties": properties, "/contacts/ann@example.org/topics": topics,
	} {
		if all := a.page(a.full, base); !slices.Equal(all.ids(), ids) || all.HasMore {
			t.Errorf("%s: %q, more %v", base, all.ids(), all.HasMore)
		}
		for _, limit := range []int{1, 3, 7, 8} {
			if down := a.walk(base, "after", limit); !slices.Equal(down, ids) {
				t.Errorf("%s by %d after: %q", base, limit, down)
			}
			if up := a.walk(base, "before", limit); !slices.Equal(up, ids[:6]) {
				t.Errorf("%s by %d before: %q", base, limit, up)
			}
		}
		a.wantPageErrors(base, ids[0])
	}
}

// newTopic adds a topic to the team.
func (r *testAPI) newTopic(teamID, name string) string {
	r.t.Helper()
	topic := app.Topic{ID: app.NewID(), TeamID: teamID, Name: name, Default: app.OptIn, Visibility: app.PublicTopic}
	if err := r.store.Write(r.t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(&topic) }); err != nil {
		r.t.Fatal(err)
	}
	return topic.ID
}

func TestSendWithTopic(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	news := r.newTopic(r.team.ID, "News")
	other, _ := r.newTeam("Other")
	foreign := r.newTopic(other.ID, "Theirs")
	with := func(topic string) string { return member(fmt.Sprintf(`"topic_id":%q`, topic)) }
	for _, c := range []struct {
		body   string
		status int
		code   app.Code
		words  string
	}{
		{with("s3cret"), 422, app.CodeValidation, "`topic_id` must be the id of a topic"},
		{with(app.NewID()), 404, app.CodeNotFound, "topic"},
		{with(foreign), 404, app.CodeNotFound, "topic"},
	} {
		wantError(t, r.as(r.full, "POST", "/emails", c.body), c.status, c.code, c.words)
		wantError(t, r.as(r.full, "POST", "/emails/batch", array(validSend, c.body)), c.status, c.code, "emails.1: ", c.words)
		b := r.batch(array(c.body, validSend), permissive)
		if len(b.Data) != 1 || len(b.Errors) != 1 || b.Errors[0].Index != 0 || !strings.Contains(b.Errors[0].Message, c.words) || strings.Contains(b.Errors[0].Message, "s3cret") {
			t.Errorf("%+v", b)
		}
	}
	const key = "Idempotency-Key: news-1"
	id := r.send(r.full, with(news), key)
	if again := r.send(r.full, with(news), key); again != id {
		t.Errorf("another id: %s", again)
	}
	for _, different := range []string{validSend, with(r.newTopic(r.team.ID, "Different"))} {
		wantError(t, r.as(r.full, "POST", "/emails", different, key), 409, app.CodeInvalidIdempotent)
	}
	for _, id := range []string{id, r.batch(array(with(news))).Data[0].ID, r.send(r.full, with(strings.ToUpper(news)))} {
		var record struct {
			TopicID string `json:"topic_id"`
			Headers map[string]string
		}
		w := r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
		if err := json.Unmarshal(w.Body.Bytes(), &record); err != nil || record.TopicID != news || len(record.Headers) != 0 {
			t.Errorf("%v: %s", err, w.Body)
		}
		var raw struct{ Message string }
		w = r.as(r.full, "GET", "/emails/"+id+"/raw", "")
		if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(raw.Message, "\r\nList-Unsubscribe: <https://mail.example.com/unsubscribe/") || !strings.Contains(raw.Message, "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
			t.Errorf("message\n%s", raw.Message)
		}
	}
	for _, none := range []string{validSend, member(`"topic_id":null`), member(`"topic_id":""`)} {
		w := r.as(r.full, "GET", "/emails/"+r.send(r.full, none), "")
		if !strings.Contains(w.Body.String(), `"topic_id":null`) {
			t.Errorf("%s: %s", none, w.Body)
		}
	}
}
