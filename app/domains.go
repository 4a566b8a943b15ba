package app

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DomainStatus is how far the DNS records of a domain are proven.
type DomainStatus string

// The states of a domain.
const (
	DomainNotStarted DomainStatus = "not_started"
	DomainPending    DomainStatus = "pending"
	DomainVerified   DomainStatus = "verified"
	DomainFailed     DomainStatus = "failed"
)

// Rhythm of the checks of a domain.
const (
	// RecheckEvery is how often a domain that is verified or pending is checked.
	RecheckEvery = 15 * time.Minute
	// RecheckSoon is how often one is checked that has been pending for RecheckSoonFor at most:
	// its owner publishes the records, and looks at their page.
	RecheckSoon, RecheckSoonFor = time.Minute, time.Hour
	// GiveUpVerifying is how long a domain may be pending before it has failed.
	GiveUpVerifying = 72 * time.Hour
)

// DKIMSelector is the selector of a domain's first key; those after a rotation
// are mailer2, mailer3 and so on.
const DKIMSelector = "mailer"

// defaultReturnPath is the label of a domain's return path where none is given.
const defaultReturnPath = "send"

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
	TrackingSubdomain string         // labels under Name; empty: none
	Keys              []DKIMPair     // in no order
	Checks            []RecordCheck  // what the last check found
	NoDMARC           bool           // LacksDMARC; only of DomainStatus
	CheckedAt         time.Time      // zero: never
	CheckAt           time.Time      // zero: not due
	PendingSince      time.Time      // when the 72 hours began; zero: not pending
	Pauses            []RelayTrouble // relays that take nothing of it for now; only of one domain
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

// LacksDMARC reports whether the last check proved that receivers find no DMARC policy
// of the domain.
func (d *Domain) LacksDMARC() bool {
	return slices.ContainsFunc(d.Checks, func(c RecordCheck) bool {
		return c.Record == RecordDMARC && (c.Live == LiveMissing || c.Live == LiveMismatch)
	})
}

// Live says what the DNS holds where a record should be.
type Live string

// The values.
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

// DNSRecord is a row that the owner of a domain publishes.
type DNSRecord struct {
	Record        string       `json:"record" enum:"DKIM,SPF,DMARC,Tracking"`
	Name          string       `json:"name" doc:"Fully qualified, without a final dot"`
	Type          string       `json:"type" enum:"TXT,MX,CNAME"`
	TTL           string       `json:"ttl"`
	Status        DomainStatus `json:"status" enum:"not_started,pending,verified,failed"`
	Value         string       `json:"value"`
	Priority      int          `json:"priority,omitempty" doc:"Of MX records"`
	Live          Live         `json:"live" enum:"found,missing,mismatch,unknown" doc:"What the last check found in the DNS"`
	Detail        string       `json:"detail,omitempty" doc:"In words: what was found instead, and what to change"`
	InheritedFrom string       `json:"inherited_from,omitempty" doc:"The domain whose DMARC record counts"`
	Policy        string       `json:"policy,omitempty" doc:"The DMARC policy in force"`
	Key           DKIMState    `json:"dkim_key,omitempty" enum:"signing,next,retired" doc:"Of DKIM: next signs once its record is found; retired signed mail that may be on its way, keep it a week"`
	Required      bool         `json:"required" doc:"Nothing is sent from the domain before it is found"`
}

// RelayNeeds is what a relay wants in the DNS of the domains that use it.
type RelayNeeds struct {
	SPF      string // a mechanism, like "include:amazonses.com" (RFC 7208 5); empty: any sound record will do
	Feedback string // host of the MX of the return path; empty: none
}

// Key returns the key pair of a state; nil: none.
func (d *Domain) Key(state DKIMState) *DKIMPair {
	for i := range d.Keys {
		if d.Keys[i].State == state {
			return &d.Keys[i]
		}
	}
	return nil
}

// NextSelector names the selector after all that the domain has.
func (d *Domain) NextSelector() string {
	highest := 1
	for _, k := range d.Keys {
		if n, err := strconv.Atoi(strings.TrimPrefix(k.Selector, DKIMSelector)); err == nil {
			highest = max(highest, n)
		}
	}
	return DKIMSelector + strconv.Itoa(highest+1)
}

// DomainInput is a domain to add.
type DomainInput struct {
	Name              string
	Region            string // empty: the default region
	ReturnPath        string // empty: defaultReturnPath
	OpenTracking      bool
	ClickTracking     bool
	TrackingSubdomain string
	Trusted           bool // by the operator, from the command line alone
}

// DomainPatch changes a domain.
type DomainPatch struct {
	OpenTracking      *bool
	ClickTracking     *bool
	TrackingSubdomain Change[string] // null and empty clear
}

// DomainCapabilities says what a domain is for.
type DomainCapabilities struct {
	Sending   string `json:"sending" enum:"enabled,disabled"`
	Receiving string `json:"receiving" enum:"enabled,disabled"`
}

// DomainData is the data of domain.created, .updated and .deleted.
type DomainData struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	Status       DomainStatus       `json:"status"`
	CreatedAt    string             `json:"created_at"`
	Region       string             `json:"region"`
	Capabilities DomainCapabilities `json:"capabilities"`
	Records      []DNSRecord        `json:"records"`
}

// Data returns what events say of a domain with these records.
func (d *Domain) Data(records []DNSRecord) DomainData {
	return DomainData{ID: d.ID, Name: d.Name, Status: d.Status, CreatedAt: FormatTime(d.CreatedAt), Region: d.Region,
		Capabilities: SendingOnly(), Records: records}
}

// DefaultTeam is the name of the team that exists from the start.
const DefaultTeam = "Default"

// Team owns everything else: no row of one team is seen by another.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// Retention is for how long finished mail is kept, from its last result on; 0: no limit.
type Retention struct {
	Content    time.Duration // bodies, attachments, captured messages
	Emails     time.Duration // all of an email
	Broadcasts time.Duration // recipients of broadcasts; counts stay
}

// MarshalText implements encoding.TextMarshaler: three numbers of nanoseconds.
func (r Retention) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %d %d", r.Content, r.Emails, r.Broadcasts), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Retention) UnmarshalText(text []byte) error {
	_, err := fmt.Sscan(string(text), (*int64)(&r.Content), (*int64)(&r.Emails), (*int64)(&r.Broadcasts))
	return err
}

// TeamRetention is what a team keeps; nil: as the server does.
type TeamRetention struct {
	TeamID, Team                string
	Content, Emails, Broadcasts *time.Duration
}

// Finished returns what counts for the team on a server that keeps so much.
func (t *TeamRetention) Over(server Retention) Retention {
	for _, f := range []struct{ own, kept *time.Duration }{{t.Content, &server.Content}, {t.Emails, &server.Emails}, {t.Broadcasts, &server.Broadcasts}} {
		if f.own != nil {
			*f.kept = *f.own
		}
	}
	return server
}

// SendingOnly is what every domain can.
func SendingOnly() DomainCapabilities {
	return DomainCapabilities{Sending: "enabled", Receiving: "disabled"}
}

// Validate checks the input against the regions that are served, the first of
// which is the default; none: any is taken (a command before any server). It
// returns the domain without id, team, keys, status and time. Errors:
// CodeValidation.
func (in *DomainInput) Validate(regions []string) (Domain, error) {
	if in.Name == "" {
		return Domain{}, Invalid("name", "is required")
	}
	name, err := parseSendingDomain(in.Name)
	if err != nil {
		return Domain{}, Invalid("name", "%s", err)
	}
	d := Domain{Name: name, OpenTracking: in.OpenTracking, ClickTracking: in.ClickTracking, Trusted: in.Trusted}
	if d.Region, err = chooseRegion(in.Region, regions); err != nil {
		return Domain{}, Invalid("region", "%s", err)
	}
	if d.ReturnPath, err = parseReturnPath(in.ReturnPath); err != nil {
		return Domain{}, Invalid("custom_return_path", "%s", err)
	}
	if d.TrackingSubdomain, err = parseTrackingSubdomain(in.TrackingSubdomain, name); err != nil {
		return Domain{}, Invalid("tracking_subdomain", "%s", err)
	}
	return d, d.checkNames()
}

// chooseRegion returns the region that a domain is for.
func chooseRegion(region string, regions []string) (string, error) {
	switch {
	case len(regions) == 0 && region == "":
		return DefaultRegion, nil
	case len(regions) == 0 && !IsRegion(region):
		return "", errors.New("must be 1 to 40 lower-case letters, digits and dashes")
	case len(regions) == 0:
		return region, nil
	case region == "":
		return regions[0], nil
	case !slices.Contains(regions, region):
		return "", fmt.Errorf("must be one of %s", strings.Join(regions, ", "))
	}
	return region, nil
}

// Apply returns the domain as the patch leaves it. Errors: CodeValidation.
func (p *DomainPatch) Apply(d Domain) (Domain, error) {
	if p.OpenTracking != nil {
		d.OpenTracking = *p.OpenTracking
	}
	if p.ClickTracking != nil {
		d.ClickTracking = *p.ClickTracking
	}
	if !p.TrackingSubdomain.Set {
		return d, nil
	}
	labels, err := parseTrackingSubdomain(p.TrackingSubdomain.Value, d.Name)
	if err != nil {
		return d, Invalid("tracking_subdomain", "%s", err)
	}
	d.TrackingSubdomain = labels
	return d, d.checkNames()
}

// KeyIsLive reports whether the checks found the record of a key pair.
func (d *Domain) KeyIsLive(k *DKIMPair, checks []RecordCheck) bool {
	return liveOf(checks, RecordDKIM, d.DKIMName(k.Selector)) == LiveFound
}

// DefaultRegion is the region of a relay that was given without one.
const DefaultRegion = "us-east-1"

// CaptureRegion is the relay name of the capture transport, where no relay is
// configured and nothing leaves the machine.
const CaptureRegion = "capture"

// IsRegion reports whether s can name a relay: 1 to 40 lower-case ASCII letters,
// digits and dashes.
func IsRegion(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
