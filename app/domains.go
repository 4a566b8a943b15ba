package app

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// DomainStatus is how far the DNS records of a domain are proven.
type DomainStatus string

// The states of a domain (decisions.md 7).
const (
	DomainNotStarted DomainStatus = "not_started"
	DomainPending    DomainStatus = "pending"
	DomainVerified   DomainStatus = "verified"
	DomainFailed     DomainStatus = "failed"
)

// DKIMSelector is the selector of a domain's first key.
const DKIMSelector = "mailer"

// Domain is a domain that a team sends from. Names are lower-case A-labels.
type Domain struct {
	ID         string
	TeamID     string
	Name       string
	Status     DomainStatus
	Region     string
	ReturnPath string // one label; the return path is ReturnPath.Name
	CreatedAt  time.Time
	Selector   string
	DKIMPublic string // base64 of the SubjectPublicKeyInfo (RFC 6376 3.6.1)
	DKIMSealed []byte // PKCS #8, sealed with the master key
}

// DNSRecord is a row that the owner of a domain publishes.
type DNSRecord struct {
	Record   string `json:"record"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	TTL      string `json:"ttl"`
	Status   string `json:"status"`
	Value    string `json:"value"`
	Priority int    `json:"priority,omitempty"`
}

// DefaultTeam is the name of the team that exists from the start.
const DefaultTeam = "Default"

// Team owns everything else: no row of one team is seen by another.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// Records are the rows that a domain's owner publishes (decisions.md 7).
func (d *Domain) Records() []DNSRecord {
	status := string(d.Status)
	return []DNSRecord{
		{Record: "DKIM", Name: d.Selector + "._domainkey." + d.Name, Type: "TXT", TTL: "Auto", Status: status,
			Value: "v=DKIM1; k=rsa; p=" + d.DKIMPublic},
		{Record: "DMARC", Name: "_dmarc." + d.Name, Type: "TXT", TTL: "Auto", Status: status, Value: "v=DMARC1; p=none"},
	}
}

// ParseDomain checks a domain name and gives it in lower-case A-labels (RFC
// 5890): at least two labels, each of 1 to 63 characters, 253 in all.
func ParseDomain(s string) (string, error) {
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(strings.TrimSpace(s), "."))
	if err != nil {
		return "", fmt.Errorf("%q is not a domain name", s)
	}
	name = strings.ToLower(name)
	labels := strings.Split(name, ".")
	if len(labels) < 2 || len(name) > 253 {
		return "", fmt.Errorf("%q is not a domain name with at least two labels and 253 characters at most", s)
	}
	for _, label := range labels {
		if len(label) < 1 || len(label) > 63 {
			return "", fmt.Errorf("%q is not a domain name: a label has 1 to 63 characters", s)
		}
	}
	return name, nil
}
