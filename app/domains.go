package app

import (
	"time"
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

// Rhythm of the checks of a domain (decisions.md 7).
const (
	// RecheckEvery is how often a domain that is verified or pending is checked.
	RecheckEvery = 15 * time.Minute
	// GiveUpVerifying is how long a domain may be pending before it has failed.
	GiveUpVerifying = 72 * time.Hour
)

// DKIMSelector is the selector of a domain's first key; those after a rotation
// are mailer2, mailer3 and so on.
const DKIMSelector = "mailer"

// DefaultReturnPath is the label of a domain's return path where none is given.
const DefaultReturnPath = "send"

// Domain is a domain that a team sends from. Names are lower-case A-labels.
type Domain struct {
	ID                string
	TeamID            string
	Name              string
	Status            DomainStatus
	Trusted           bool // by the operator: no check takes its verification away
	Region            string
	ReturnPath        string // one label; the return path is ReturnPath.Name
	OpenTracking      bool
	ClickTracking     bool
	TrackingSubdomain string        // labels under Name; empty: none
	Keys              []DKIMPair    // signing first, then next, then retired
	Checks            []RecordCheck // what the last check found
	CheckedAt         time.Time     // zero: never
	CheckAt           time.Time     // zero: not due
	PendingSince      time.Time     // when the 72 hours began; zero: not pending
	CreatedAt         time.Time
}

// DKIMState says what a key pair is for.
type DKIMState string

// The states of a key pair.
const (
	DKIMSigning DKIMState = "signing"
	DKIMNext    DKIMState = "next"    // signs once its record is live
	DKIMRetired DKIMState = "retired" // its record is still needed by mail on its way
)

// DKIMRetention is how long the record of a retired key stays listed: mail that
// it signed may be retried for two days and read later.
const DKIMRetention = 7 * 24 * time.Hour

// DKIMPair is a key pair of a domain.
type DKIMPair struct {
	Selector  string
	State     DKIMState
	Public    string // base64 of the SubjectPublicKeyInfo (RFC 6376 3.6.1)
	Sealed    []byte // PKCS #8, sealed with the master key
	CreatedAt time.Time
	RetiredAt time.Time
}

// Live says what the DNS holds where a record should be.
type Live string

// The values (decisions.md 7).
const (
	LiveFound    Live = "found"
	LiveMissing  Live = "missing"
	LiveMismatch Live = "mismatch"
	LiveUnknown  Live = "unknown" // never asked, or no server answered
)

// RecordCheck is what one check found about one record, which is named by its
// kind, name and type.
type RecordCheck struct {
	Record        string `json:"record"`
	Name          string `json:"name"`
	Type          string `json:"type"`
	Live          Live   `json:"live"`
	Detail        string `json:"detail,omitzero"` // in words: what was found instead, and what to change
	InheritedFrom string `json:"inherited_from,omitzero"`
	Policy        string `json:"policy,omitzero"`
}

// DNSRecord is a row that the owner of a domain publishes (api.md, Domain).
type DNSRecord struct {
	Record        string // SPF, DKIM, DMARC, Tracking
	Name          string
	Type          string // TXT, MX, CNAME
	TTL           string
	Status        DomainStatus
	Value         string
	Priority      int // MX only
	Live          Live
	Detail        string
	InheritedFrom string // DMARC: the organisational domain whose record counts
	Policy        string // DMARC: the policy in force
	Required      bool   // gates sending
}

// RelayNeeds is what a relay wants in the DNS of the domains that use it.
type RelayNeeds struct {
	SPF      string // a mechanism, like "include:amazonses.com" (RFC 7208 5); empty: any sound record will do
	Feedback string // host of the MX of the return path; empty: none
}

// DefaultTeam is the name of the team that exists from the start.
const DefaultTeam = "Default"

// Team owns everything else: no row of one team is seen by another.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
}
