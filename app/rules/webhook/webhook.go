// Package webhook defines webhooks: endpoints and secrets, names and data of events, signatures,
// and the retry schedule. It does no I/O and keeps no state.
//
// Failure policy: invalid input is refused with an *app.Error that names the field. An endpoint's
// answer is never an error; unreadable parts of it count as absent.
package webhook

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mailer/app"
	"mailer/app/kit/nearest"
	"mailer/app/kit/publicip"
)

// Status says whether a webhook gets events.
type Status string

// The statuses. A disabled webhook gets no new events; waiting deliveries continue when it is
// enabled again.
const (
	Enabled  Status = "enabled"
	Disabled Status = "disabled"
)

func (s Status) validate() error {
	if s == Enabled || s == Disabled {
		return nil
	}
	return app.Invalid("status", "must be enabled or disabled")
}

// Scope says which events a webhook may get.
type Scope string

// The scopes.
const (
	ScopeTeam   Scope = "team"
	ScopeServer Scope = "server" // also events about the server: an operator made it
)

// Webhook is an endpoint that gets events of a team.
type Webhook struct {
	ID           string
	TeamID       string
	Endpoint     string
	Events       []EventName // distinct
	Status       Status
	Scope        Scope
	Sealed       []byte          // the secrets in stored form
	Secrets      []SigningSecret // newest first; empty if not read
	FailingSince time.Time       // first failure since the last success; zero: it works
	Reached      int64           // Event.Seq up to which deliveries were created
	CreatedAt    time.Time
}

// Wants returns the names of the events that an enabled webhook gets.
func (w *Webhook) Wants() []EventName {
	if w.Status != Enabled {
		return nil
	}
	return w.Events
}

// Host returns the host of the endpoint without the port.
func (w *Webhook) Host() string {
	u, err := url.Parse(w.Endpoint)
	if err != nil {
		return w.Endpoint
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// Limits of webhooks. DefaultPerTeam is the default limit of a team, MaxPerTeam the highest limit
// that the operator can set.
const (
	DefaultPerTeam = 20
	MaxPerTeam     = 500
	MaxEndpoint    = 2048 // bytes
	MaxEvents      = 100  // names in one request, including repeated ones
)

// Input is a webhook to create. An empty status means enabled. Without a secret one is generated.
type Input struct {
	Endpoint string
	Events   []EventName
	Status   Status
	Secret   string // whsec_…
	Scope    Scope  // empty: ScopeTeam
}

// Validate checks the fields and returns the webhook without id, team and time, but with its
// secret. allow are the ranges in which endpoints may be private and use plain http.
func (in *Input) Validate(allow []netip.Prefix) (Webhook, error) {
	w := Webhook{Endpoint: in.Endpoint, Status: Enabled, Scope: cmp.Or(in.Scope, ScopeTeam)}
	if w.Scope != ScopeTeam && w.Scope != ScopeServer {
		return Webhook{}, app.Invalid("scope", "must be team or server")
	}
	if err := checkEndpoint(in.Endpoint, allow); err != nil {
		return Webhook{}, err
	}
	var err error
	if w.Events, err = eventNames(in.Events, w.Scope); err != nil {
		return Webhook{}, err
	}
	if in.Status != "" {
		if w.Status = in.Status; w.Status.validate() != nil {
			return Webhook{}, w.Status.validate()
		}
	}
	secret, err := secretOf(in.Secret)
	w.Secrets = []SigningSecret{secret}
	return w, err
}

// Patch changes a webhook. Empty fields are unchanged.
type Patch struct {
	Endpoint string
	Events   []EventName
	Status   Status
}

// Apply checks the fields and returns the changed webhook. Enabling it or changing its endpoint
// clears its failures. allow is as in Input.Validate.
func (p *Patch) Apply(w Webhook, allow []netip.Prefix) (Webhook, error) {
	if p.Endpoint != "" && p.Endpoint != w.Endpoint {
		if err := checkEndpoint(p.Endpoint, allow); err != nil {
			return w, err
		}
		w.Endpoint, w.FailingSince = p.Endpoint, time.Time{}
	}
	if len(p.Events) > 0 {
		events, err := eventNames(p.Events, w.Scope)
		if err != nil {
			return w, err
		}
		w.Events = events
	}
	if p.Status == "" || p.Status == w.Status {
		return w, nil
	}
	if err := p.Status.validate(); err != nil {
		return w, err
	}
	w.Status, w.FailingSince = p.Status, time.Time{}
	return w, nil
}

// eventNames checks a list of names and returns the distinct ones.
func eventNames(names []EventName, scope Scope) ([]EventName, error) {
	switch {
	case len(names) == 0:
		return nil, app.Invalid("events", "is required")
	case len(names) > MaxEvents:
		return nil, app.Invalid("events", "can hold at most %d items", MaxEvents)
	}
	var out []EventName
	for i, name := range names {
		if !name.sent() && !name.NotSent() || name.OfServer() && scope != ScopeServer {
			return nil, unknownEvent(i, name)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// nameShape matches names that an error message may repeat.
var nameShape = regexp.MustCompile(`^[A-Za-z0-9._*-]{1,64}$`)

// unknownEvent returns the error for an unknown name, with the name that was probably meant.
func unknownEvent(i int, name EventName) error {
	field := fmt.Sprintf("events[%d]", i)
	if !nameShape.MatchString(string(name)) {
		return app.Invalid(field, "is not the name of an event")
	}
	var names []string
	for _, known := range slices.Concat(EventNames(), notSentYet) {
		names = append(names, string(known))
	}
	const typo = 2 // letters
	if near := nearest.Of(string(name), names); nearest.Distance(string(name), near) <= typo {
		return app.Invalid(field, "is %s, which is not the name of an event: use %s", name, near)
	}
	return app.Invalid(field, "is %s, which is not an event of this service: remove it", name)
}

// checkEndpoint checks that text is a valid endpoint: https, or http if its address may be in an
// allowed range. The address of a name is checked when it is dialled.
func checkEndpoint(text string, allow []netip.Prefix) error {
	switch {
	case text == "":
		return app.Invalid("endpoint", "is required")
	case len(text) > MaxEndpoint:
		return app.Invalid("endpoint", "can be at most %d bytes long", MaxEndpoint)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return app.Invalid("endpoint", "must have no white space or control characters")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return app.Invalid("endpoint", "must be an address like https://example.com/webhooks")
	}
	switch {
	case u.User != nil:
		return app.Invalid("endpoint", "must have no user name or password")
	case strings.Contains(text, "#"):
		return app.Invalid("endpoint", "must have no fragment")
	case !plainHost(u.Hostname()):
		return app.Invalid("endpoint", "must name a host")
	case !plainPort(u):
		return app.Invalid("endpoint", "must have a port from 1 to 65535, or none")
	}
	return checkTarget(u, allow)
}

// checkTarget refuses addresses that would be refused when they are dialled.
func checkTarget(u *url.URL, allow []netip.Prefix) error {
	address, err := netip.ParseAddr(u.Hostname())
	literal := err == nil
	allowed := literal && slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
	switch {
	case allowed:
	case literal && !publicip.Is(address):
		return app.Invalid("endpoint", "must be a public address")
	case u.Scheme == "http" && (literal || len(allow) == 0):
		return app.Invalid("endpoint", "must begin with https://")
	}
	return nil
}

// plainHost reports whether a host is an IP address without a zone, or a name of letters, digits,
// hyphens and underscores between dots.
func plainHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Zone() == ""
	}
	if len(host) > app.MaxDomain {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_.", r)
	})
}

func plainPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// SigningSecret is a secret that signs deliveries.
type SigningSecret struct {
	Key   []byte `json:"key"`
	Until int64  `json:"until,omitzero"` // Unix milliseconds until which it signs; 0: no end
}

const (
	secretPrefix  = "whsec_"
	newSecretSize = 32
)

// The size of a signing secret in bytes, as in Standard Webhooks.
const (
	MinSecretSize = 24
	MaxSecretSize = 64
)

// String formats the secret for its owner.
func (s SigningSecret) String() string {
	return secretPrefix + base64.StdEncoding.EncodeToString(s.Key)
}

// secretOf parses a given secret, or generates one if text is empty.
func secretOf(text string) (SigningSecret, error) {
	if text == "" {
		return newSecret(), nil
	}
	return ParseSecret(text)
}

// ParseSecret parses a secret in the format of String. Errors: CodeValidation.
func ParseSecret(text string) (SigningSecret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || strings.ContainsAny(encoded, "\r\n") || len(key) < MinSecretSize || len(key) > MaxSecretSize {
		return SigningSecret{}, app.Invalid("signing_secret", "must be whsec_ and the base64 of %d to %d bytes", MinSecretSize, MaxSecretSize)
	}
	return SigningSecret{Key: key}, nil
}

// Rotation replaces the signing secret of a webhook.
type Rotation struct {
	OverlapHours *int   // how long the old secret signs too: 0 to 72; nil: 24
	Secret       string // whsec_…; empty: generated
}

// How long the old secret signs together with the new one, in hours.
const (
	DefaultOverlapHours = 24
	MaxOverlapHours     = 72
)

const maxSecrets = 10 // of one webhook, including old ones

// Apply returns the secrets of a webhook after the rotation. No old secret signs longer than the
// overlap.
func (r *Rotation) Apply(secrets []SigningSecret, now time.Time) ([]SigningSecret, error) {
	hours := DefaultOverlapHours
	if r.OverlapHours != nil {
		hours = *r.OverlapHours
	}
	if hours < 0 || hours > MaxOverlapHours {
		return nil, app.Invalid("overlap_hours", "must be a number from 0 to %d", MaxOverlapHours)
	}
	secret, err := secretOf(r.Secret)
	if err != nil {
		return nil, err
	}
	out := []SigningSecret{secret}
	end := now.Add(time.Duration(hours) * time.Hour).UnixMilli()
	for _, old := range secrets {
		if old.Until == 0 || old.Until > end {
			old.Until = end
		}
		if old.Until > now.UnixMilli() && len(out) < maxSecrets {
			out = append(out, old)
		}
	}
	return out, nil
}
