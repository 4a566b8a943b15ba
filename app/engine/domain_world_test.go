package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

// fakeDNS is a Resolver that knows what tests publish.
type fakeDNS struct {
	mu      sync.Mutex
	records map[string][]string // by "TYPE name"
	down    bool
	asked   []string
	gate    chan struct{} // every question waits for it, where set
}

func newDNS() *fakeDNS { return &fakeDNS{records: map[string][]string{}} }

func (f *fakeDNS) lookup(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return app.DNSAnswer{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, string(t)+" "+name)
	if f.down {
		return app.DNSAnswer{}, errors.New("no answer in time")
	}
	answer := app.DNSAnswer{NameExists: true, Server: "dns.test:53"}
	for _, text := range f.records[string(t)+" "+name] {
		answer.Records = append(answer.Records, app.DNSValue{Text: text, Strings: []string{text}, Priority: 10})
	}
	if t == app.DNSCNAME && len(answer.Records) > 0 {
		answer.CNAME = answer.Records[0].Text
	}
	return answer, nil
}

// publish puts the records that are shown into the DNS, those of a kind only
// where kinds are given.
func (f *fakeDNS) publish(records []app.DNSRecord, kinds ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		if len(kinds) == 0 || slices.Contains(kinds, r.Record) {
			f.records[r.Type+" "+r.Name] = []string{r.Value}
		}
	}
}

func (f *fakeDNS) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.records, key)
}

func (f *fakeDNS) silent(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// questions is how often the DNS was asked so far; where q is given, that.
func (f *fakeDNS) questions(q string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, asked := range f.asked {
		if q == "" || asked == q {
			n++
		}
	}
	return n
}

// resolving is a serving world whose domains are checked against the DNS given.
func resolving(t *testing.T, dns *fakeDNS, relays ...*fakeRelay) *world {
	t.Helper()
	w := idle(t, relays...)
	w.e.cfg.Resolver = dns.lookup
	w.cfg.Resolver = dns.lookup
	w.start()
	return w
}

// away stops the server for a time, which costs a test less than its running,
// and starts it again.
func (w *world) away(d time.Duration) {
	w.t.Helper()
	w.stop()
	time.Sleep(d)
	w.relays = []*fakeRelay{newRelay(nil)}
	w.open()
	w.start()
	synctest.Wait()
}

func (w *world) add(in app.DomainInput) app.Domain {
	w.t.Helper()
	d, err := w.e.AddDomain(w.t.Context(), w.key.TeamID, in)
	must(w.t, err)
	return d
}

func (w *world) domain(id string) app.Domain {
	w.t.Helper()
	d, err := w.e.GetDomain(w.t.Context(), w.key, id)
	must(w.t, err)
	return d
}

func (w *world) wantStatus(id string, want app.DomainStatus) {
	w.t.Helper()
	if d := w.domain(id); d.Status != want {
		w.t.Errorf("status %s, want %s; records %+v", d.Status, want, w.e.DomainRecords(&d))
	}
}

// statuses are the states that webhooks heard of, with the events' names.
func (w *world) statuses() (all []string) {
	w.t.Helper()
	for _, one := range w.heard(w.key.TeamID) {
		if status, ok := one.Data["status"].(string); ok {
			all = append(all, string(one.Type)+" "+status)
		}
	}
	return all
}

func (w *world) sendFrom(domain string) (string, error) {
	in := letter("bob@example.net")
	in.From = "ann@" + domain
	return w.e.SendEmail(w.t.Context(), w.key, in, SendOptions{})
}
