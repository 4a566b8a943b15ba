package web

import (
	"context"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/audience"
	"mailer/web/rest"
)

const (
	weekly = "01920000-0000-7000-8000-0000000000a1"
	offers = "01920000-0000-7000-8000-0000000000a2"
	events = "01920000-0000-7000-8000-0000000000a3"
)

// fakePages is a service for the pages of one address. Its tokens are "all", of
// a bare link, "topic", of a link for weekly, and "many", of a link for several
// addresses.
type fakePages struct {
	*fakeService
	team string

	mu           sync.Mutex // of all that follows
	topics       []app.ContactTopic
	unsubscribed bool
	saved        map[string]app.Subscription // by the last save
	writes       int
	fail         error // of every method, when set
	panics       bool
}

func (f *fakePages) view(token string) (*audience.PageView, error) {
	if f.panics {
		panic("out of cheese")
	}
	if f.fail != nil {
		return nil, f.fail
	}
	if !slices.Contains([]string{"all", "topic", "many"}, token) {
		return nil, app.NotFound("page")
	}
	v := &audience.PageView{Team: f.team, Unsubscribed: f.unsubscribed, Topics: slices.Clone(f.topics), UnsubscribeAll: "all", Preferences: token}
	if token == "topic" {
		topic := f.topics[0]
		v.Topic = &topic
	}
	if token == "many" {
		v.Preferences = ""
	}
	return v, nil
}

func (f *fakePages) read(token string) (*audience.PageView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view(token)
}

func (f *fakePages) UnsubscribePage(_ context.Context, token string) (*audience.PageView, error) {
	return f.read(token)
}

func (f *fakePages) OpensPage(_, token string) bool {
	return slices.Contains([]string{"all", "topic", "many"}, token)
}

func (f *fakePages) PreferencesPage(_ context.Context, token string) (*audience.PageView, error) {
	return f.read(token)
}

func (f *fakePages) Unsubscribe(_ context.Context, token string) (*audience.PageView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.view(token); err != nil {
		return nil, err
	}
	f.writes++
	if token == "topic" {
		f.topics[0].Subscription = app.OptOut
	} else {
		f.unsubscribed = true
	}
	return f.view(token)
}

func (f *fakePages) SavePreferences(_ context.Context, token string, choices map[string]app.Subscription, _ string) (*audience.PageView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.view(token); err != nil {
		return nil, err
	}
	f.writes++
	f.saved = maps.Clone(choices)
	for i, topic := range f.topics {
		if choice, ok := choices[topic.ID]; ok {
			f.topics[i].Subscription = choice
		}
	}
	return f.view(token)
}

// change changes the state of the fake.
func (f *fakePages) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fakePages) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

func newPagesBench(t testing.TB, change ...func(*Config, *rest.Limits)) (*bench, *fakePages) {
	b := newBench(t, change...)
	f := &fakePages{fakeService: b.service, team: "ACME Garden", topics: []app.ContactTopic{
		{Topic: app.Topic{ID: weekly, Name: "Weekly news", Description: "What is new in the garden, every Friday morning."}, Subscription: app.OptIn},
		{Topic: app.Topic{ID: offers, Name: "Offers", Description: "Seasonal offers and vouchers, at most twice a month."}, Subscription: app.OptOut},
		{Topic: app.Topic{ID: events, Name: "Events near you"}, Subscription: app.OptIn},
	}}
	b.behind(servicesOf(f))
	return b, f
}

// formLimit is how many bytes a form may have.
const formLimit = 64 << 10

// hold has a request at work whose body of n bytes does not end, and returns what
// ends it.
func (b *bench) hold(n int64) (release func()) {
	b.t.Helper()
	reading, writing := io.Pipe()
	r := httptest.NewRequest("POST", "/emails", reading)
	r.ContentLength = n
	r.Header.Set("Authorization", "Bearer "+fullToken)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if _, err := writing.Write([]byte("{")); err != nil { // returns once it is read: the budget is taken
		b.t.Fatal(err)
	}
	return func() {
		writing.Close()
		<-done
	}
}
