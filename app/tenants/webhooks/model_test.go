package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// topicNames are the event names of a model.
var topicNames = []webhook.EventName{webhook.TopicCreated, webhook.TopicUpdated, webhook.TopicDeleted}

// model holds the webhooks of two teams, which are added, changed and deleted while events are
// announced, and the events that each must receive: those that it subscribes to while it is
// enabled.
type model struct {
	w     *testserver.Server
	f     *endpoints
	rand  *rand.Rand
	keys  []*app.Key
	hooks []*modelHook // including deleted ones
	n     int          // topics so far

	mu    sync.Mutex
	mode  map[string]int      // by host: 0 works, 1 refuses, 2 hangs
	taken map[string][]string // by host: names of the accepted topics
}

// modelHook is a webhook and the names of the topics that it must receive.
type modelHook struct {
	webhook.Webhook
	key    *app.Key
	gone   bool
	want   []string
	topics map[string]string // of listed events, by id
}

func (h *modelHook) wants(name webhook.EventName) bool {
	return !h.gone && slices.Contains(h.Wants(), name)
}

func newModel(t *testing.T, seed uint64) *model {
	w, f := newWebhookServer(t)
	m := &model{w: w, f: f, rand: rand.New(rand.NewPCG(seed, 1)), mode: map[string]int{}, taken: map[string][]string{}}
	m.keys = []*app.Key{w.Key, w.AddTeam("Other", "example.org")}
	f.set(m.answer)
	return m
}

func topicOf(t *testing.T, payload []byte) string {
	t.Helper()
	var body struct{ Data webhook.TopicData }
	testserver.Must(t, json.Unmarshal(payload, &body))
	return body.Data.Name
}

func (m *model) answer(ctx context.Context, r request) (*http.Response, error) {
	m.mu.Lock()
	mode := m.mode[r.host]
	if mode == 0 {
		m.taken[r.host] = append(m.taken[r.host], topicOf(m.w.T.(*testing.T), []byte(r.body)))
	}
	m.mu.Unlock()
	switch mode {
	case 1:
		return refuse(ctx, r)
	case 2:
		return hang(ctx, r)
	}
	return status(200, ""), nil
}

func (m *model) names() []webhook.EventName {
	n := 1 + m.rand.IntN(len(topicNames))
	var out []webhook.EventName
	for _, i := range m.rand.Perm(len(topicNames))[:n] {
		out = append(out, topicNames[i])
	}
	return out
}

// randomWebhook returns a webhook that exists; nil for none.
func (m *model) randomWebhook() *modelHook {
	there := slices.DeleteFunc(slices.Clone(m.hooks), func(h *modelHook) bool { return h.gone })
	if len(there) == 0 {
		return nil
	}
	return there[m.rand.IntN(len(there))]
}

func (m *model) create() {
	t, key := m.w.T, m.keys[m.rand.IntN(2)]
	in := webhook.Input{Endpoint: fmt.Sprintf("https://h%d.example.com/in", len(m.hooks)), Events: m.names()}
	if m.rand.IntN(4) == 0 {
		in.Status = webhook.Disabled
	}
	hook, err := m.w.Services.Webhooks.CreateWebhook(t.Context(), key, in)
	testserver.Must(t, err)
	m.hooks = append(m.hooks, &modelHook{Webhook: hook, key: key, topics: map[string]string{}})
}

func (m *model) change(patch webhook.Patch) {
	if h := m.randomWebhook(); h != nil {
		hook, err := m.w.Services.Webhooks.UpdateWebhook(m.w.T.Context(), h.key, h.ID, patch)
		testserver.Must(m.w.T, err)
		h.Webhook = hook
	}
}

// announce announces 1 to 5 events in one Write.
func (m *model) announce() {
	key := m.keys[m.rand.IntN(2)]
	testserver.Must(m.w.T, m.w.DB.Write(m.w.T.Context(), func(tx *db.Tx) error {
		for range 1 + m.rand.IntN(5) {
			m.n++
			topic := app.Topic{ID: app.NewID(), TeamID: key.TeamID, Name: fmt.Sprint("t", m.n), CreatedAt: tx.Now, UpdatedAt: tx.Now}
			name := topicNames[m.rand.IntN(len(topicNames))]
			if err := m.w.Services.Audience.AnnounceTopic(tx, name, &topic); err != nil {
				return err
			}
			for _, h := range m.hooks {
				if h.key == key && h.wants(name) {
					h.want = append(h.want, topic.Name)
				}
			}
		}
		return nil
	}))
}

func (m *model) step() {
	switch n := m.rand.IntN(20); {
	case n < 2:
		m.create()
	case n < 5:
		m.change(webhook.Patch{Events: m.names()})
	case n < 7:
		m.change(webhook.Patch{Status: webhook.Disabled})
	case n < 10:
		m.change(webhook.Patch{Status: webhook.Enabled})
	case n == 10 && m.rand.IntN(3) == 0:
		if h := m.randomWebhook(); h != nil {
			testserver.Must(m.w.T, m.w.Services.Webhooks.DeleteWebhook(m.w.T.Context(), h.key, h.ID))
			h.gone = true
		}
	case n == 11:
		m.mu.Lock()
		m.mode[fmt.Sprintf("h%d.example.com", m.rand.IntN(len(m.hooks)+1))] = m.rand.IntN(3)
		m.mu.Unlock()
	case n == 12:
		time.Sleep(time.Duration(m.rand.IntN(20_000)) * time.Millisecond)
	default:
		m.announce()
	}
}

// listed returns the topics of a webhook's events, oldest first, read in pages of a size, from the
// newest on with forward, else from the oldest.
func (m *model) listed(h *modelHook, size int, forward bool) (names []string) {
	t := m.w.T.(*testing.T)
	page := app.Page{Limit: size}
	if !forward {
		first, _, err := m.w.Services.Webhooks.ListWebhookEvents(t.Context(), h.key, h.ID, app.Page{Limit: app.MaxLimit})
		testserver.Must(t, err)
		if len(first) == 0 {
			return nil
		}
		page.Before = first[len(first)-1].ID
		names = append(names, m.topic(h, page.Before))
	}
	for {
		rows, more, err := m.w.Services.Webhooks.ListWebhookEvents(t.Context(), h.key, h.ID, page)
		testserver.Must(t, err)
		var here []string
		for _, d := range rows {
			here = append(here, m.topic(h, d.ID))
		}
		slices.Reverse(here)
		if forward {
			names = append(here, names...)
		} else {
			names = append(names, here...)
		}
		if !more {
			return names
		}
		if forward {
			page.After = rows[len(rows)-1].ID
		} else {
			page.Before = rows[0].ID
		}
	}
}

// topic returns the topic that a webhook's event names, which never changes.
func (m *model) topic(h *modelHook, eventID string) string {
	t := m.w.T.(*testing.T)
	if name, ok := h.topics[eventID]; ok {
		return name
	}
	d, err := m.w.Services.Webhooks.GetWebhookEvent(t.Context(), h.key, h.ID, eventID)
	testserver.Must(t, err)
	h.topics[eventID] = topicOf(t, d.Payload)
	return h.topics[eventID]
}

// check compares the events of the webhooks with those that they must receive.
func (m *model) check(when string) {
	for i, h := range m.hooks {
		if h.gone {
			continue
		}
		want := h.want[max(0, len(h.want)-app.MaxLimit):] // reading backwards begins with this many
		for _, size := range []int{1 + m.rand.IntN(7), app.MaxLimit} {
			if got := m.listed(h, size, true); !slices.Equal(got, h.want) {
				m.w.T.Fatalf("%s: webhook %d lists %v, want %v", when, i, got, h.want)
			}
			if got := m.listed(h, size, false); !slices.Equal(got, want) {
				m.w.T.Fatalf("%s: backwards webhook %d lists %v, want %v", when, i, got, want)
			}
		}
	}
}

func TestRandomOperationsDeliverEachEventOnce(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				m := newModel(t, seed)
				m.create()
				for i := range 300 {
					m.step()
					if i%50 == 0 {
						m.check(fmt.Sprint("step ", i))
					}
				}
				m.check("after all steps")
				m.mu.Lock()
				clear(m.mode)
				m.mu.Unlock()
				for range 20 {
					m.w.StopFor(55 * time.Minute)
					time.Sleep(5 * time.Minute)
				}
				synctest.Wait()
				m.check("in the end")
				m.settle()
			})
		})
	}
}

// settle makes all endpoints work for some time and checks what they accepted.
func (m *model) settle() {
	t, events := m.w.T, 0
	for i, h := range m.hooks {
		got := map[string]int{}
		for _, name := range m.taken[h.Host()] {
			got[name]++
			if got[name] > 1 || !slices.Contains(h.want, name) {
				t.Errorf("webhook %d took %s, which it took %d times", i, name, got[name])
			}
		}
		events += len(got)
		if !h.gone && h.Status == webhook.Enabled && len(got) != len(h.want) {
			t.Errorf("webhook %d took %v, want %v", i, slices.Sorted(maps.Keys(got)), h.want)
		}
	}
	if events < 100 {
		t.Errorf("only %d were heard", events)
	}
	if n := m.w.Rows(`SELECT count(*) FROM webhook_terms AS t JOIN webhooks AS w ON w.id = t.webhook_id WHERE w.status = 'enabled' AND t.until <= w.reached`); strings.TrimSpace(n) != "0" {
		t.Errorf("%s terms were passed and are there", n)
	}
}
