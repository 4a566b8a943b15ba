package dnsplan

import (
	"context"
	"fmt"
	"time"
)

// The providers of DNS that records can be published at.
const (
	Cloudflare = "cloudflare"
	Hetzner    = "hetzner"
	RFC2136    = "rfc2136" // a name server that takes dynamic updates; only the operator may name one
)

// Title returns the name of a provider in messages.
func Title(provider string) string {
	switch provider {
	case Cloudflare:
		return "Cloudflare"
	case Hetzner:
		return "Hetzner"
	case RFC2136:
		return "The name server"
	}
	return provider
}

// Credentials open a zone at a provider.
type Credentials struct {
	Provider string `json:"provider"`
	// Token is an API token, or for RFC2136 a TSIG key as ParseKey of package dnsprovider reads it.
	Token  string `json:"token"`
	Server string `json:"server,omitzero"` // RFC2136: the HOST:PORT that takes updates
}

// Provider changes the records of zones. An implementation is used by one goroutine, for one plan.
// All names are lower case without a final dot. Errors are *ProviderError, or that of ctx.
type Provider interface {
	// Zone returns the longest zone that contains a name.
	Zone(ctx context.Context, name string) (zone string, err error)
	// Records returns all records of a name, of any type, except for SOA.
	Records(ctx context.Context, zone, name string) ([]Record, error)
	// Apply makes one change. It fails if a record that the change replaces or removes is gone.
	Apply(ctx context.Context, zone string, c Change) error
}

// Open returns the Provider for credentials. It makes no connection. Errors: *ProviderError.
type Open func(c Credentials) (Provider, error)

// Failure is why a provider did not do what was requested.
type Failure string

// The failures of providers.
const (
	FailedToken       Failure = "token"        // the token is invalid, or does not allow the request
	FailedZone        Failure = "zone"         // the token opens no zone that contains the name
	FailedRate        Failure = "rate_limited" // too many requests
	FailedUnreachable Failure = "unreachable"  // no answer, or a failure of the provider
	FailedRefused     Failure = "refused"      // the provider does not accept the record
	FailedChanged     Failure = "changed"      // the records changed since they were read
)

// ProviderError is a failure of a provider. It contains no text of the provider, which could repeat
// the token.
type ProviderError struct {
	Provider   string
	Failure    Failure
	Name       string        // of the record or zone; empty: none
	Detail     string        // a code of the provider, or the cause; may be empty
	RetryAfter time.Duration // 0: unknown
}

// Error implements error.
func (e *ProviderError) Error() string {
	who, text := Title(e.Provider), ""
	switch e.Failure {
	case FailedToken:
		text = who + " does not accept the token, or the token does not allow to read the zone and to change its records"
		if e.Provider == RFC2136 {
			text = who + " does not accept the key, or the key does not allow to read and change the zone"
		}
	case FailedZone:
		text = fmt.Sprintf("%s has no zone that contains %s and that the token opens", who, e.Name)
	case FailedRate:
		text = who + " takes no more requests for now; try again later"
		if e.RetryAfter > 0 {
			text = fmt.Sprintf("%s takes no more requests for now; try again in %s", who, e.RetryAfter.Round(time.Second))
		}
	case FailedRefused:
		text = fmt.Sprintf("%s refused the record at %s", who, e.Name)
	case FailedChanged:
		text = fmt.Sprintf("the records at %s changed meanwhile; look at the changes again", e.Name)
	default:
		text = who + " did not answer as expected; try again later"
	}
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}
