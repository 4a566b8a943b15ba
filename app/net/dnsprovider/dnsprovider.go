// Package dnsprovider changes DNS records through the APIs of Cloudflare and Hetzner, and on a name
// server by dynamic updates (RFC 2136).
//
// Failure policy: each change is one request, and nothing is retried. Errors are
// *dnsplan.ProviderError and contain no text of the provider, which could repeat the token. The
// hosts of the APIs are fixed.
package dnsprovider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/net/outbound"
	"mailer/app/rules/dnsplan"
)

// The APIs' addresses.
const (
	cloudflareURL = "https://api.cloudflare.com/client/v4"
	hetznerURL    = "https://api.hetzner.cloud/v1"
)

const (
	maxAnswer = 4 << 20 // bytes
	maxPages  = 100     // of one list
	maxText   = 255     // bytes of one string of a TXT record (RFC 1035 3.3.14)
)

// New returns an Open whose requests to the APIs leave through a client.
func New(client *http.Client) dnsplan.Open {
	return func(c dnsplan.Credentials) (dnsplan.Provider, error) {
		switch c.Provider {
		case dnsplan.Cloudflare:
			return &cloudflare{api: api{provider: c.Provider, base: cloudflareURL, token: c.Token, client: client}}, nil
		case dnsplan.Hetzner:
			return &hetzner{api: api{provider: c.Provider, base: hetznerURL, token: c.Token, client: client}, wait: actionWait}, nil
		case dnsplan.RFC2136:
			return newUpdater(c)
		}
		return nil, &dnsplan.ProviderError{Provider: c.Provider, Failure: dnsplan.FailedRefused, Detail: "there is no such provider"}
	}
}

// Default is New with a client that reaches public addresses only.
func Default() dnsplan.Open { return New(outbound.Client(outbound.Options{})) }

// zone is a zone of an API.
type zone struct{ id, name string }

// longest returns the longest zone that contains a name.
func longest(zones []zone, name string) (best zone, ok bool) {
	for _, z := range zones {
		if (name == z.name || strings.HasSuffix(name, "."+z.name)) && len(z.name) > len(best.name) {
			best, ok = z, true
		}
	}
	return best, ok
}

// api makes requests to a JSON API.
type api struct {
	provider, base, token string
	client                *http.Client
	zones                 []zone // nil: not read yet
}

// fail returns an error of this provider.
func (a *api) fail(f dnsplan.Failure, name, detail string) *dnsplan.ProviderError {
	return &dnsplan.ProviderError{Provider: a.provider, Failure: f, Name: name, Detail: detail}
}

// zoneOf returns the longest zone that contains a name. list reads all zones once.
func (a *api) zoneOf(ctx context.Context, name string, list func(context.Context) ([]zone, error)) (zone, error) {
	if a.zones == nil {
		zones, err := list(ctx)
		if err != nil {
			return zone{}, err
		}
		a.zones = append([]zone{}, zones...)
	}
	if z, ok := longest(a.zones, name); ok {
		return z, nil
	}
	return zone{}, a.fail(dnsplan.FailedZone, name, "")
}

// call makes a request about the records of a name and decodes the answer. codeOf returns the
// provider's code in the body of an error, which is shown, and why the request failed if the code
// says more than the HTTP status.
func (a *api) call(ctx context.Context, method, path string, query url.Values, body, into any, name string, codeOf func([]byte) (string, dnsplan.Failure)) error {
	to := a.base + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, to, reader)
	if err != nil {
		return a.fail(dnsplan.FailedRefused, name, "")
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "mailer")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return a.unreachable(ctx, name, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return a.unreachable(ctx, name, err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return a.refusal(answer, text, name, codeOf)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return a.fail(dnsplan.FailedUnreachable, name, "its answer is not the JSON that its documentation describes")
	}
	return nil
}

// unreachable converts an error of a request to one that may be shown.
func (a *api) unreachable(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	detail := ""
	if known, ok := errors.AsType[*outbound.Error](err); ok {
		detail = known.Error()
	}
	return a.fail(dnsplan.FailedUnreachable, name, detail)
}

func (a *api) refusal(answer *http.Response, text []byte, name string, codeOf func([]byte) (string, dnsplan.Failure)) error {
	code, failure := codeOf(text)
	e := a.fail(dnsplan.FailedRefused, name, "HTTP "+strconv.Itoa(answer.StatusCode))
	if code != "" {
		e.Detail += ", code " + code
	}
	switch {
	case failure != "":
		e.Failure = failure
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		e.Failure = dnsplan.FailedToken
	case answer.StatusCode == http.StatusTooManyRequests:
		e.Failure, e.RetryAfter = dnsplan.FailedRate, retryAfter(answer.Header)
	case answer.StatusCode == http.StatusNotFound:
		e.Failure = dnsplan.FailedChanged
	case answer.StatusCode >= 500, answer.StatusCode < 400:
		e.Failure = dnsplan.FailedUnreachable
	}
	return e
}

// retryAfter returns the requested delay: in seconds or until a time (RFC 9110 10.2.3); 0: none.
func retryAfter(h http.Header) time.Duration {
	const most = 24 * time.Hour
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return min(time.Duration(min(n, int(most/time.Second)))*time.Second, most)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, clock.Until(at)), most)
	}
	return 0
}

// host returns a host of a record as dnsplan has it.
func host(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// quoteText returns a TXT value as quoted strings of at most 255 bytes, as zone files have it (RFC
// 1035 5.1).
func quoteText(s string) string {
	var parts []string
	for chunk := range slices.Chunk([]byte(s), maxText) {
		parts = append(parts, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(chunk))+`"`)
	}
	if len(parts) == 0 {
		return `""`
	}
	return strings.Join(parts, " ")
}

// joinText returns the text of quoted strings. A text that does not begin with a quotation mark is
// returned unchanged: some APIs return single strings without any.
func joinText(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	var out strings.Builder
	inside := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+3 < len(s) && isDigits(s[i+1:i+4]):
			n, _ := strconv.Atoi(s[i+1 : i+4])
			out.WriteByte(byte(n))
			i += 3
		case c == '\\' && i+1 < len(s):
			i++
			out.WriteByte(s[i])
		case c == '"':
			inside = !inside
		case inside:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// isKnown reports whether records of a type are compared by value. Of others only the existence
// counts.
func isKnown(t string) bool {
	return t == string(app.DNSText) || t == string(app.DNSMX) || t == string(app.DNSCNAME)
}
