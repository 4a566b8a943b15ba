// Package dnstest is a DNS zone in memory for tests, with a name server that takes dynamic updates
// (RFC 2136) and with stand-ins of the APIs of Cloudflare and Hetzner.
package dnstest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mailer/app"
	"mailer/app/rules/dnsplan"
)

// Token is what opens the zone at both APIs.
const Token = "valid-token-of-the-tests"

// Zone is a zone. It is safe for concurrent use.
type Zone struct {
	mu      sync.Mutex
	name    string
	records []dnsplan.Record
	lastID  int
	// writesLeft is how many writes succeed before the others fail; negative: all.
	writesLeft int
	limited    bool
	requests   []string
}

// NewZone returns a zone with records from lines "NAME TYPE VALUE"; the value of an MX begins with
// its priority.
func NewZone(name string, lines ...string) *Zone {
	z := &Zone{name: name, writesLeft: -1}
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		r := dnsplan.Record{Name: f[0], Type: f[1], Value: f[2]}
		if r.Type == "MX" {
			priority, host, _ := strings.Cut(r.Value, " ")
			r.Priority, _ = strconv.Atoi(priority)
			r.Value = host
		}
		z.add(r)
	}
	return z
}

// FailAfter makes all writes fail after n more.
func (z *Zone) FailAfter(n int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.writesLeft = n
}

// SetLimited makes the APIs answer each request with status 429, or work again.
func (z *Zone) SetLimited(limited bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.limited = limited
}

// Add adds a record as its owner would.
func (z *Zone) Add(line string) {
	other := NewZone(z.name, line)
	z.mu.Lock()
	defer z.mu.Unlock()
	z.add(other.records[0])
}

// Records returns the records as sorted lines like those of NewZone.
func (z *Zone) Records() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	var out []string
	for _, r := range z.records {
		value := r.Value
		if r.Type == "MX" {
			value = fmt.Sprintf("%d %s", r.Priority, value)
		}
		if r.Proxied {
			value += " proxied"
		}
		out = append(out, r.Name+" "+r.Type+" "+value)
	}
	slices.Sort(out)
	return out
}

// Requests returns the method and path of each request to an API.
func (z *Zone) Requests() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.requests)
}

// Lookup implements app.DNSLookup.
func (z *Zone) Lookup(_ context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	answer := app.DNSAnswer{Server: "ns.test:53"}
	for _, r := range z.records {
		if r.Name == name || strings.HasSuffix(r.Name, "."+name) {
			answer.NameExists = true
		}
		switch {
		case r.Name != name:
		case r.Type == string(app.DNSCNAME):
			answer.CNAME = r.Value
			if t == app.DNSCNAME {
				answer.Records = append(answer.Records, app.DNSValue{Text: r.Value})
			}
		case r.Type == string(t):
			answer.Records = append(answer.Records, app.DNSValue{Text: r.Value, Strings: []string{r.Value}, Priority: r.Priority})
		}
	}
	return answer, nil
}

// add adds a record with a new id.
func (z *Zone) add(r dnsplan.Record) dnsplan.Record {
	z.lastID++
	r.ID = "r" + strconv.Itoa(z.lastID)
	z.records = append(z.records, r)
	return r
}

// mayWrite counts a write and reports whether it succeeds.
func (z *Zone) mayWrite() bool {
	if z.writesLeft == 0 {
		return false
	}
	z.writesLeft--
	return true
}

// Client returns a client whose requests reach the stand-ins of the APIs by the names of their
// hosts, without a network.
func (z *Zone) Client() *http.Client { return &http.Client{Transport: roundTripper{z}} }

type roundTripper struct{ z *Zone }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	t.z.mu.Lock()
	defer t.z.mu.Unlock()
	t.z.requests = append(t.z.requests, r.Method+" "+r.URL.String())
	switch {
	case r.URL.Scheme != "https":
		return nil, fmt.Errorf("a request by %s", r.URL.Scheme)
	case r.URL.Host == "api.cloudflare.com":
		cloudflareAPI(t).ServeHTTP(answer, r)
	case r.URL.Host == "api.hetzner.cloud":
		hetznerAPI(t).ServeHTTP(answer, r)
	default:
		return nil, fmt.Errorf("a request to %s", r.URL.Host)
	}
	return answer.Result(), nil
}

// unquoted returns the text of quoted strings.
func unquoted(s string) string {
	s = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`), `" "`, "")
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s)
}
