package listmonk

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/testing/apptest"
)

// twisted changes the answers of an instance.
type twisted struct {
	*apptest.Listmonk
	path string
	with func(page string, body []byte) string
}

func (w *twisted) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.Listmonk.RoundTrip(r)
	if err != nil || r.URL.Path != w.path || r.URL.Query().Get("per_page") == "1" {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	text := w.with(r.URL.Query().Get("page"), body)
	answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return answer, nil
}

// readTwisted reads an instance with changed answers at a path.
func readTwisted(t *testing.T, path string, with func(page string, body []byte) string) (h *contents, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(memory(t), "a")
		w, err2 := archive.Create(dir)
		if err2 != nil {
			t.Fatal(err2)
		}
		l := instance(5, 30)
		o := options(l)
		o.Transport = &twisted{l, path, with}
		defer w.Close()
		got, err2 := Read(t.Context(), o, w, "")
		if err = err2; err != nil {
			return
		}
		if err := w.Finish(&archive.Team{Source: archive.SourceListmonk, Left: got.Left}); err != nil {
			t.Fatal(err)
		}
		h = open(t, dir)
	})
	return h, err
}

func TestInvalidAnswersEndTheRead(t *testing.T) {
	paths := []string{"/api/lists", "/api/subscribers", "/api/bounces", "/api/templates", "/api/campaigns"}
	for _, body := range []string{``, `{}`, `{"data":null}`, `{"data":true}`, `[]`, `null`, `<html><body>Sign in</body></html>`, `{"data":{"results":{"a":1}}}`, `{"data":{"results":[{"id":1}],"total":1e400}}`,
		`{"data":{"results":[{"id":1},{"id":2}],"total":2,"per_page":1}}`, `{"data":{"results":[{"id":1}],"total":1}}`, `{"data":{"results":[`} {
		for _, path := range paths {
			_, err := readTwisted(t, path, func(string, []byte) string { return body })
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s answers %s: %v", path, body, err)
			}
		}
	}
}

func TestEndlessPagesEndTheRead(t *testing.T) {
	for _, path := range []string{"/api/lists", "/api/subscribers", "/api/bounces", "/api/campaigns"} {
		for _, body := range []string{`{"data":{"results":[{"id":1,"name":"x","email":"a@example.org"}],"total":1,"per_page":1,"page":1}}`, // always the same
			`{"data":{"results":[{"id":1,"name":"x","email":"a@example.org"}],"total":9,"per_page":5,"page":1}}`} { // fewer than announced
			_, err := readTwisted(t, path, func(string, []byte) string { return body })
			if err == nil {
				t.Errorf("%s answers %s", path, body)
			}
		}
		n := 0
		if _, err := readTwisted(t, path, func(page string, _ []byte) string { // another size each time
			n++
			return fmt.Sprintf(`{"data":{"results":[{"id":%s%d}],"total":1,"per_page":%d,"page":1}}`, page, n, n%5+1)
		}); err == nil || n > 1000 {
			t.Errorf("%s: sizes that change: %v after %d requests", path, err, n)
		}
	}
}

func TestBrokenItemsAreReported(t *testing.T) {
	broken := func(at string) func(string, []byte) string {
		return func(_ string, body []byte) string {
			if bytes.Contains(body, []byte(at+"]")) {
				return string(body)
			}
			return string(bytes.Replace(body, []byte(at), []byte(at+`7,{"id":"one"},{"id":[]},{"email":5},`), 1))
		}
	}
	h, err := readTwisted(t, "/api/subscribers", broken(`"results":[`))
	if err != nil || len(h.contacts) != 30 || len(h.refused) != 4 || h.refused[0].File != "subscribers" {
		t.Errorf("%v: %v", err, h)
	}
	h, err = readTwisted(t, "/api/bounces", broken(`"results":[`))
	if err != nil || len(h.refused) != 4 || len(h.suppressions) < 2 {
		t.Errorf("%v: %v", err, h)
	}
	for path, at := range map[string]string{"/api/lists": `"results":[`, "/api/templates": `"data":[`} {
		h, err = readTwisted(t, path, broken(at))
		if err != nil || len(h.topics)+len(h.segments) != 5 || len(h.broadcasts) != 25 || len(h.templates) != 3 || !h.unmovable(errShape.Error()) {
			t.Errorf("%s: %v: %v", path, err, h)
		}
	}
}

func TestBrokenCampaignIsReported(t *testing.T) {
	h, err := readTwisted(t, "/api/campaigns", func(page string, body []byte) string {
		if page != "2" {
			return string(body)
		}
		return string(bytes.Replace(body, []byte(`"results":[`), []byte(`"results":[7,{"id":0},{"id":"x"},`), 1))
	})
	if err != nil || len(h.broadcasts) != 25 || !h.unmovable("campaign 21 of the answers", errShape.Error()) || !h.unmovable("campaign 23") {
		t.Errorf("%v: %v", err, h)
	}
}

// TestUnlistedListIsLearnedFromMembers: subscribers contain all data of their lists, including
// lists created after the lists were read.
func TestUnlistedListIsLearnedFromMembers(t *testing.T) {
	h, err := readTwisted(t, "/api/lists", func(string, []byte) string { return `{"data":{"results":[],"total":0,"per_page":20,"page":1}}` })
	if err != nil || len(h.topics) != 3 || len(h.segments) != 2 {
		t.Errorf("%v: %v", err, h)
	}
}

func TestInvalidTimesAreIgnored(t *testing.T) {
	h, err := readTwisted(t, "/api/subscribers", func(_ string, body []byte) string {
		return strings.NewReplacer(`"created_at":"1999`, `"created_at":"99`, `"subscription_updated_at":"1999-02-10T23:07:16.199433+01:00"`, `"subscription_updated_at":null`).Replace(string(body))
	})
	if err != nil || len(h.contacts) != 30 || !h.contacts[0].CreatedAt.IsZero() {
		t.Errorf("%v: %v", err, h)
	}
}

func TestAttributesBecomeProperties(t *testing.T) {
	many := make([]string, 0, 120)
	for i := range 120 {
		many = append(many, fmt.Sprintf(`"m%03d":1`, i))
	}
	l := instance(5, 0)
	l.Campaigns = nil
	for i, attribs := range []string{
		`{"city":"Bengaluru","n":1.50,"good":true,"bad":false,"none":null,"empty":"","stack":{"a":1},"tags":["a"]}`,
		`{"n":"one and a half","phone":491761234567,"id":12345678901234567890,"neg":-3,"exp":1e3}`,
		`{"first-name":"mangled","first_name":"exact","naïve":"x","日本":"y","":"z"}`,
		`{"long":"` + strings.Repeat("x", 1001) + `","nul":"a\u0000b","fits":"` + strings.Repeat("é", 1000) + `"}`,
		`{` + strings.Join(many, ",") + `}`,
		`[]`, `null`, `"text"`, `{"city":"a","city":"b"}`,
	} {
		l.Subscribers = append(l.Subscribers, apptest.LMSubscriber{ID: i + 1, Email: fmt.Sprintf("a%d@example.org", i), Status: "enabled", Attribs: attribs, Name: strings.Repeat("N", 300) + "\x07 Rest"})
	}
	h := read(t, l)
	if len(h.contacts) != 9 {
		t.Fatal(len(h.contacts))
	}
	for i, want := range []string{"map[bad:false city:Bengaluru good:true n:1.5]", "map[exp:1000 id:12345678901234567890 n:one and a half neg:-3 phone:4.91761234567e+11]", "map[first_name:exact na_ve:x]"} {
		if got := fmt.Sprint(h.contacts[i].Properties); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if c := h.contacts[4]; len(c.Properties) != 100 || len(h.contacts[3].Properties) != 1 {
		t.Errorf("%d and %v", len(c.Properties), h.contacts[3].Properties)
	}
	if c := h.contacts[0]; len(c.FirstName) != 255 || c.LastName != "Rest" {
		t.Errorf("%q %q", c.FirstName, c.LastName)
	}
	types := map[string]app.PropertyType{}
	for _, p := range h.properties {
		types[p.Key] = p.Type
		if app.CheckPropertyKey(p.Key, app.MaxPropertyKey) != nil {
			t.Errorf("the key %q", p.Key)
		}
	}
	if types["n"] != app.StringProperty || types["phone"] != app.NumberProperty || types["id"] != app.StringProperty || types["city"] != app.StringProperty {
		t.Error(types)
	}
	for _, lack := range [][]string{{`"stack" (1)`, "objects"}, {`"tags" (1)`, "arrays"}, {`"first-name" (1)`, "another attribute"}, {`"日本" (1)`, "makes no key"}, {`"long" (1)`, "longer"}, {`"nul" (1)`, "NUL"}, {`"m119" (1)`, "100"}} {
		if !h.unmovable(lack...) {
			t.Errorf("not named: %v", lack)
		}
	}
}

// TestAttributeLimit: different attribute names of each subscriber must not fill the memory.
func TestAttributeLimit(t *testing.T) {
	l := instance(5, 0)
	l.Campaigns = nil
	for i := range 1500 {
		l.Subscribers = append(l.Subscribers, apptest.LMSubscriber{ID: i + 1, Email: fmt.Sprintf("a%d@example.org", i), Status: "enabled", Attribs: fmt.Sprintf(`{"k%d":1,"o%d":{}}`, i, i)})
	}
	h := read(t, l)
	if len(h.properties) != maxKeys || len(h.lacks) > maxOdd+20 || !h.unmovable("further things") {
		t.Errorf("%d properties, %d lacks", len(h.properties), len(h.lacks))
	}
}
