package web

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/db"
	"mailer/web/rest"
)

var pagePaths = []string{"/unsubscribe/", "/preferences/"}

const pageFormType = "Content-Type: application/x-www-form-urlencoded"

// elements returns the elements of a page that have the name.
func elements(t testing.TB, w *httptest.ResponseRecorder, name string) (out []*html.Node) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && (name == "*" || n.Data == name) {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// wantPage checks properties of all pages, and that the text has the parts.
func wantPage(t testing.TB, w *httptest.ResponseRecorder, status int, parts ...string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, status)
	}
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("content type is %q", got)
	}
	for name, want := range map[string]int{"main": 1, "h1": 1, "title": 1, "style": 1, "script": 0, "img": 0, "link": 0, "iframe": 0} {
		if got := len(elements(t, w, name)); got != want {
			t.Errorf("%d elements %s, want %d", got, name, want)
		}
	}
	text := textOf(elements(t, w, "body")[0])
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not say %q: %s", part, text)
		}
	}
}

const (
	weekly = "01920000-0000-7000-8000-0000000000a1"
	offers = "01920000-0000-7000-8000-0000000000a2"
	nearby = "01920000-0000-7000-8000-0000000000a3"
)

// formLimit is how many bytes a form may have.
const formLimit = 64 << 10

// pageLinks are the addresses of the two pages of a link.
type pageLinks struct{ unsubscribe, preferences string }

// hosted is a server with the team ACME Garden, its topics Weekly news, Offers, which
// are opt-out, and Events near you, and a contact, with the pages of the contact's link for
// Weekly news and of a bare one.
type hosted struct {
	*testAPI
	garden     app.Team
	key        string // of garden
	address    app.AddressHash
	topic, all pageLinks
}

func newPages(t *testing.T, change ...func(*Config, *rest.Limits)) *hosted {
	t.Helper()
	p := &hosted{testAPI: newTestAPI(t, captured(), change...)}
	p.garden, p.key = p.newTeam("ACME Garden")
	p.address = p.sealer.AddressHash(p.garden.ID, app.KeyOf("jane@example.org"))
	p.write(func(tx *db.Tx) error {
		contact := app.Contact{ID: app.NewID(), TeamID: p.garden.ID, Email: "jane@example.org", Hash: p.address, CreatedAt: tx.Now, UpdatedAt: tx.Now}
		err := errors.Join(tx.InsertContact(&contact), tx.CountContacts(p.garden.ID, 1))
		for _, topic := range []app.Topic{
			{ID: weekly, Name: "Weekly news", Description: "What is new in the garden, every Friday morning.", Default: app.OptIn},
			{ID: offers, Name: "Offers", Description: "Seasonal offers and vouchers, at most twice a month.", Default: app.OptOut},
			{ID: nearby, Name: "Events near you", Default: app.OptIn},
		} {
			topic.TeamID, topic.Visibility, topic.CreatedAt, topic.UpdatedAt = p.garden.ID, app.PublicTopic, tx.Now, tx.Now
			err = errors.Join(err, tx.InsertTopic(&topic))
		}
		return err
	})
	p.topic, p.all = p.links(p.address, weekly), p.links(p.address, "")
	return p
}

// links are the pages of an address; no topic: of all mailings.
func (p *hosted) links(address app.AddressHash, topic string) pageLinks {
	link := app.PageLink{TeamID: p.garden.ID, Address: address, TopicID: topic}
	return pageLinks{p.unsubscribe(link), "/preferences/" + p.sealer.PageToken(app.PreferencesPage, link)}
}

func (p *hosted) unsubscribe(link app.PageLink) string {
	return "/unsubscribe/" + p.sealer.PageToken(app.UnsubscribePage, link)
}

// mailToTwo is an email to two addresses.
func (p *hosted) mailToTwo() string {
	p.t.Helper()
	return p.send(p.key, `{"from":"a@example.com","to":["jane@example.org","joe@example.org"],"subject":"s","text":"t"}`)
}

// choose sets what the contact chose of a topic.
func (p *hosted) choose(topic string, choice app.Subscription) {
	p.t.Helper()
	p.write(func(tx *db.Tx) error {
		_, err := tx.SetChoice(topic, p.address, choice)
		return err
	})
}

// wantState checks whether an address is unsubscribed from everything, and which topics
// it gets.
func (p *hosted) wantState(address app.AddressHash, unsubscribed bool, topics map[string]bool) {
	p.t.Helper()
	token := strings.TrimPrefix(p.links(address, "").preferences, "/preferences/")
	v, err := p.server.Pages.PreferencesPage(p.t.Context(), token)
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]bool{}
	for _, topic := range v.Topics {
		got[topic.ID] = topic.Subscription == app.OptIn
	}
	if v.Unsubscribed != unsubscribed || !maps.Equal(got, topics) {
		p.t.Errorf("unsubscribed %v with the topics %v, want %v with %v", v.Unsubscribed, got, unsubscribed, topics)
	}
}

// hold starts a request whose body of n bytes does not end, and returns a function that ends it.
func (r *testAPI) hold(n int64) (release func()) {
	r.t.Helper()
	reading, writing := io.Pipe()
	request := httptest.NewRequest("POST", "/emails", reading)
	request.ContentLength = n
	request.Header.Set("Authorization", "Bearer "+r.full)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.handler.ServeHTTP(httptest.NewRecorder(), request)
	}()
	if _, err := writing.Write([]byte("{")); err != nil { // returns once it is read and the memory is reserved
		r.t.Fatal(err)
	}
	return func() {
		writing.Close()
		<-done
	}
}
