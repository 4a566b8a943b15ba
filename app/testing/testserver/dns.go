package testserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
)

// FakeDNS is a resolver with records that tests publish.
type FakeDNS struct {
	mu      sync.Mutex
	records map[string][]string // by "TYPE name"
	down    bool
	asked   []string
	Block   chan struct{} // if set, every lookup waits for it
}

// NewDNS returns a FakeDNS without records.
func NewDNS() *FakeDNS { return &FakeDNS{records: map[string][]string{}} }

// Lookup returns the published records, or an error if the DNS is down.
func (f *FakeDNS) Lookup(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	if f.Block != nil {
		select {
		case <-f.Block:
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

// Publish publishes records, only those of the given kinds if there are any.
func (f *FakeDNS) Publish(records []app.DNSRecord, kinds ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		if len(kinds) == 0 || slices.Contains(kinds, r.Record) {
			f.records[r.Type+" "+r.Name] = []string{r.Value}
		}
	}
}

// Unpublish removes a record by "TYPE name".
func (f *FakeDNS) Unpublish(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.records, key)
}

// SetDown makes all lookups fail, or work again.
func (f *FakeDNS) SetDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Questions counts the lookups of "TYPE name", or all if q is empty.
func (f *FakeDNS) Questions(q string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, asked := range f.asked {
		if q == "" || asked == q {
			n++
		}
	}
	return n
}

// StartWithDNS starts a server that checks domains with the given DNS.
func StartWithDNS(t *testing.T, dns *FakeDNS, relays ...*FakeRelay) *Server {
	t.Helper()
	w := New(t, relays...)
	w.Services.Domains.Resolver = dns.Lookup
	w.Config.Resolver = dns.Lookup
	w.Start()
	return w
}

// CreateDomain creates a domain by the service.
func (w *Server) CreateDomain(in app.DomainInput) app.Domain {
	w.T.Helper()
	d, err := w.Services.Domains.AddDomain(w.T.Context(), w.Key.TeamID, in)
	Must(w.T, err)
	return d
}

// Domain reads a domain, which must exist.
func (w *Server) Domain(id string) app.Domain {
	w.T.Helper()
	d, err := w.Services.Domains.GetDomain(w.T.Context(), w.Key, id)
	Must(w.T, err)
	return d
}

// SendFrom sends one email from a domain.
func (w *Server) SendFrom(domain string) (string, error) {
	in := Message("bob@example.net")
	in.From = "ann@" + domain
	return w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
}
