package app

import "time"

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
