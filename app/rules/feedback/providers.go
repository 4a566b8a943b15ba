package feedback

import (
	"net/http"
	"time"

	"mailer/app"
)

// Proof is how a request with reports is authenticated.
type Proof string

// The proofs. All but ProofSNS need the secret in the path too.
const (
	ProofSNS       Proof = "sns"       // signature of Amazon SNS, without a secret
	ProofURL       Proof = "url"       // nothing but the secret in the path
	ProofPassword  Proof = "password"  // Authorization header with a password of ours: Basic or Bearer
	ProofSignature Proof = "signature" // signature with a key of the provider
)

// PasswordUser is the user name in the Authorization header of ProofPassword.
const PasswordUser = "mailer"

// Provider is a provider that accepts mail by SMTP and reports what happened to it. Its file
// defines it, and the table providers lists it: commands, API, dashboard and the recognition of
// relays read that table.
type Provider struct {
	Source string // of its reports, and its name in /ingest/{provider}
	Name   string // as the provider writes it; empty: the generic format
	Proof  Proof
	// CredentialsInURL: the provider takes user and password of ProofPassword only as part of the
	// URL.
	CredentialsInURL bool
	// Hosts are its SMTP hosts; empty: the user's own.
	Hosts []SMTPHost
	User  string // its SMTP user, if that is the same for all customers
	// relayDomains are the organizational domains of its SMTP hosts; empty: not recognised by host.
	relayDomains []string
	// SPF is the mechanism that the provider documents for mail sent through those hosts.
	SPF string
	// IDHeader returns the header that makes the provider's reports name the email; nil: they
	// contain all headers, or the Message-ID.
	IDHeader func(emailID string) app.Header
	// read parses the reports; nil: they have an endpoint of their own.
	read func(body []byte) (Reading, error)
	// checkKey checks the key of ProofSignature and returns it in the form that verify takes.
	checkKey func(key string) (string, error)
	// verify checks a signature by a result of checkKey. Its error is for the log.
	verify func(key string, header http.Header, body []byte, now time.Time) error
}

// SMTPHost is an SMTP host of a provider.
type SMTPHost struct{ Host, Area string }

// providers are all providers, in the order in which operators see them.
var providers = [...]*Provider{
	&ses, &postmark, &mailgun, &sendgrid, &mailjet, &brevo, &sparkpost, &azure, &postal, &lettermint, &smtp2go, &elasticEmail, &generic,
}

// Providers returns all providers, in the order in which operators see them.
func Providers() []*Provider { return providers[:] }

// Sources returns the sources whose reports need the secret in the path, in the order in which
// operators see them. Reports of Amazon SES are signed instead.
func Sources() (sources []string) {
	for _, p := range providers {
		if p.read != nil {
			sources = append(sources, p.Source)
		}
	}
	return sources
}

// ProviderByHost returns the provider with an SMTP host; the zero value: unknown.
func ProviderByHost(host string) Provider {
	domain := app.OrganizationalDomain(host)
	for _, p := range providers {
		for _, d := range p.relayDomains {
			if d == domain {
				return *p
			}
		}
	}
	return Provider{}
}

// ProviderBySource returns the provider with a source; the zero value: unknown.
func ProviderBySource(source string) Provider {
	for _, p := range providers {
		if p.Source == source {
			return *p
		}
	}
	return Provider{}
}

// CheckKey checks a key that verifies a provider's signatures, and returns it in the form that
// Verify takes. Error: CodeValidation.
func (p *Provider) CheckKey(key string) (string, error) {
	if p.checkKey == nil {
		return "", app.Errorf(app.CodeValidation, "Reports of %q are not signed with a key", p.Source)
	}
	return p.checkKey(key)
}

// Verify checks the signature of a request of a provider with ProofSignature. key is a result of
// CheckKey. The error is for the log.
func (p *Provider) Verify(key string, header http.Header, body []byte, now time.Time) error {
	return p.verify(key, header, body, now)
}

// headerNamed returns a function that puts the email's id into a header.
func headerNamed(name string) func(emailID string) app.Header {
	return func(emailID string) app.Header { return app.Header{Name: name, Value: emailID} }
}

// headerWith is headerNamed with text around the id.
func headerWith(name, before, after string) func(emailID string) app.Header {
	return func(emailID string) app.Header { return app.Header{Name: name, Value: before + emailID + after} }
}
