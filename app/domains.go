package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DomainStatus is the verification state of a domain.
type DomainStatus string

// The states of a domain.
const (
	DomainNotStarted DomainStatus = "not_started"
	DomainPending    DomainStatus = "pending"
	DomainVerified   DomainStatus = "verified"
	DomainFailed     DomainStatus = "failed"
)

// Intervals of the checks of a domain.
const (
	// RecheckEvery is the interval of checks of a verified or pending domain.
	RecheckEvery = 15 * time.Minute
	// RecheckSoon is the interval for a domain that has been pending for at most RecheckSoonFor:
	// its owner is publishing the records and watching the page.
	RecheckSoon, RecheckSoonFor = time.Minute, time.Hour
	// GiveUpVerifying is how long a domain may be pending before it becomes failed.
	GiveUpVerifying = 72 * time.Hour
)

// DKIMSelector is the selector of a domain's first key. Keys of later rotations have mailer2,
// mailer3 and so on.
const DKIMSelector = "mailer"

// defaultReturnPath is the label of the return path if the caller gives none.
const defaultReturnPath = "send"

// Domain is a sending domain of a team. Names are lower-case A-labels.
type Domain struct {
	ID                string
	TeamID            string
	Name              string
	Status            DomainStatus
	Trusted           bool // by the operator: checks do not end its verification
	Region            string
	ReturnPath        string // one label; the host of the return path is ReturnPath.Name
	OpenTracking      bool
	ClickTracking     bool
	TrackingSubdomain string         // labels under Name; empty: none
	Keys              []DKIMPair     // in no particular order
	Checks            []RecordCheck  // results of the last check
	NoDMARC           bool           // LacksDMARC, set only by the store's DomainStatus
	ReplyAddresses    bool           // it receives, and the team wants reply addresses; set only by the store's DomainStatus
	CheckedAt         time.Time      // zero: never
	CheckAt           time.Time      // zero: not due
	PendingSince      time.Time      // start of the 72 hours; zero: not pending
	Pauses            []RelayTrouble // relays that currently accept nothing of this domain; only read for one domain
	DNS               RememberedDNS  // not read for lists
	Receiving         bool           // the team wants its mail
	Receives          bool           // the last check found what receiving needs: only set while Receiving
	ReceivesAt        time.Time      // when a check last found it; zero: never
	CreatedAt         time.Time
}

// RememberedDNS says that what opens the DNS zone of a domain is stored, sealed; the zero value: it
// is not.
type RememberedDNS struct {
	Provider string
	Since    time.Time
}

// MaxPublishedValue is the largest value of a DNS record, in bytes, that is remembered as published
// by this server.
const MaxPublishedValue = 1500

// DKIMState is the use of a key pair.
type DKIMState string

// The states of a key pair.
const (
	DKIMSigning DKIMState = "signing"
	DKIMNext    DKIMState = "next"    // signs once its record is published
	DKIMRetired DKIMState = "retired" // mail in transit still needs its record
)

// DKIMRetention is how long the record of a retired key stays listed. Mail that the key signed may
// be retried for two days and verified later.
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

// LacksDMARC reports whether the last check proved that the domain has no DMARC policy.
func (d *Domain) LacksDMARC() bool {
	return slices.ContainsFunc(d.Checks, func(c RecordCheck) bool {
		return c.Record == RecordDMARC && (c.Live == LiveMissing || c.Live == LiveMismatch)
	})
}

// Live is what the DNS has for a record.
type Live string

// The values of Live.
const (
	LiveFound    Live = "found"
	LiveMissing  Live = "missing"
	LiveMismatch Live = "mismatch"
	LiveUnknown  Live = "unknown" // never checked, or no server answered
)

// RecordCheck is the result of a check for one record, identified by kind, name and type.
type RecordCheck struct {
	Record        string `json:"record"`
	Name          string `json:"name"`
	Type          string `json:"type"`
	Live          Live   `json:"live"`
	Detail        string `json:"detail,omitzero"` // what was found instead, and what to change
	InheritedFrom string `json:"inherited_from,omitzero"`
	Policy        string `json:"policy,omitzero"`
	Proposed      string `json:"proposed,omitzero"` // value to publish in place of a record that exists; empty: that of WantedRecords

	// Of the SPF record of a return path: the mechanism that made it valid, or AnySPF, and the
	// mechanisms of the region's relays that it has and that it lacks.
	ValidBy string   `json:"valid_by,omitzero"`
	Has     []string `json:"has,omitzero"`
	Lacks   []string `json:"lacks,omitzero"`
}

// AnySPF is the value of RecordCheck.ValidBy if the relay needed no mechanism.
const AnySPF = "any"

// SPFCheck returns the result of the last check of the SPF record of the return path.
func (d *Domain) SPFCheck() RecordCheck {
	return d.checkOf(RecordSPF, d.ReturnPathName())
}

// checkOf returns the result of the last check of a TXT record.
func (d *Domain) checkOf(record, name string) RecordCheck {
	for _, c := range d.Checks {
		if c.Record == record && c.Name == name && c.Type == string(DNSText) {
			return c
		}
	}
	return RecordCheck{}
}

// DMARCPolicy returns the DMARC policy of the domain that the last check found; empty: it found none.
func (d *Domain) DMARCPolicy() string { return d.checkOf(RecordDMARC, DmarcName(d.Name)).Policy }

// StrictDMARC returns the DMARC policy of the domain if receivers don't accept mail that fails it:
// quarantine or reject. Otherwise, and if no check found the policy, it returns "".
func (d *Domain) StrictDMARC() string {
	if p := d.checkOf(RecordDMARC, DmarcName(d.Name)).Policy; p == "quarantine" || p == "reject" {
		return p
	}
	return ""
}

// DNSRecord is a record that the owner of a domain publishes.
type DNSRecord struct {
	Record        string       `json:"record" enum:"DKIM,SPF,DMARC,Tracking,Receiving,TLSRPT"`
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

// RelayNeeds are the DNS records that a relay requires of the domains that use it.
type RelayNeeds struct {
	SPF      string // a mechanism, like "include:amazonses.com" (RFC 7208 5); empty: any valid record
	Feedback string // host for the MX of the return path; empty: none
	// ReserveSPF are the mechanisms of the region's reserves. A record without them is valid.
	ReserveSPF []string `json:",omitzero"`
	// Unsigned are the reserves, by their full names, through which messages have no DKIM signature.
	Unsigned []string `json:",omitzero"`
	// Receiver is the host of this server that receives mail, whatever the relay is; empty: none.
	Receiver string `json:"-"`
	// Reports and TLSReports are the addresses for reports about the domain; empty: this server takes none.
	Reports    string `json:"-"`
	TLSReports string `json:"-"`
}

// Key returns the key pair in a state; nil: none.
func (d *Domain) Key(state DKIMState) *DKIMPair {
	for i := range d.Keys {
		if d.Keys[i].State == state {
			return &d.Keys[i]
		}
	}
	return nil
}

// NextSelector returns the selector for the domain's next key.
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
	Trusted           bool // only by the operator on the command line
	Receiving         bool
}

// DomainPatch changes a domain.
type DomainPatch struct {
	OpenTracking      *bool
	ClickTracking     *bool
	TrackingSubdomain Change[string] // null and empty clear
	Receiving         *bool
}

// DomainCapabilities says what a domain can be used for.
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

// Data returns the data of a domain's webhook events with these records.
func (d *Domain) Data(records []DNSRecord) DomainData {
	return DomainData{ID: d.ID, Name: d.Name, Status: d.Status, CreatedAt: FormatTime(d.CreatedAt), Region: d.Region,
		Capabilities: d.Capabilities(), Records: records}
}

// DefaultTeam is the name of the team that exists from the start.
const DefaultTeam = "Default"

// Team owns all other resources: no team sees rows of another.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// Retention is how long finished mail is kept after its last result; 0: no limit.
type Retention struct {
	Content    time.Duration // bodies, attachments, captured messages
	Emails     time.Duration // the whole email
	Broadcasts time.Duration // recipients of broadcasts; their counts are kept
	OptIns     time.Duration // opt-ins, of the server alone; 0: the default of package signup
	Received   time.Duration // mail of other servers, of the server alone
	Reports    time.Duration // about domains, of the server alone; 0: ReportRetention
}

// KeptReports returns how long reports about domains are kept.
func (r *Retention) KeptReports() time.Duration { return cmp.Or(r.Reports, ReportRetention) }

// MarshalText implements encoding.TextMarshaler. The text is five durations in nanoseconds.
func (r Retention) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %d %d %d %d %d", r.Content, r.Emails, r.Broadcasts, r.OptIns, r.Received, r.Reports), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. A server of an earlier version wrote three or four
// durations.
func (r *Retention) UnmarshalText(text []byte) error {
	n, err := fmt.Sscan(string(text), (*int64)(&r.Content), (*int64)(&r.Emails), (*int64)(&r.Broadcasts), (*int64)(&r.OptIns), (*int64)(&r.Received), (*int64)(&r.Reports))
	if n >= 3 {
		err = nil
	}
	return err
}

// TeamRetention is the retention of a team; nil: the server's.
type TeamRetention struct {
	TeamID, Team                string
	Content, Emails, Broadcasts *time.Duration
}

// Over returns the effective retention of a team on a server with the given retention.
func (t *TeamRetention) Over(server Retention) Retention {
	for _, f := range []struct{ own, kept *time.Duration }{{t.Content, &server.Content}, {t.Emails, &server.Emails}, {t.Broadcasts, &server.Broadcasts}} {
		if f.own != nil {
			*f.kept = *f.own
		}
	}
	return server
}

// Capabilities returns what the domain can be used for.
func (d *Domain) Capabilities() DomainCapabilities {
	if d.Receiving {
		return DomainCapabilities{Sending: CapabilityEnabled, Receiving: CapabilityEnabled}
	}
	return DomainCapabilities{Sending: CapabilityEnabled, Receiving: CapabilityDisabled}
}

// The values of capabilities.
const (
	CapabilityEnabled  = "enabled"
	CapabilityDisabled = "disabled"
)

// Validate checks the input. regions are those that the server has relays for, the default first;
// empty accepts any region (a command before the first server). It returns the domain without id,
// team, keys, status and time. Errors: CodeValidation.
func (in *DomainInput) Validate(regions []string) (Domain, error) {
	if in.Name == "" {
		return Domain{}, Invalid("name", "is required")
	}
	name, err := parseSendingDomain(in.Name)
	if err != nil {
		return Domain{}, Invalid("name", "%s", err)
	}
	d := Domain{Name: name, OpenTracking: in.OpenTracking, ClickTracking: in.ClickTracking, Trusted: in.Trusted, Receiving: in.Receiving}
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

// chooseRegion returns the region of a domain.
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

// Apply returns the domain with the patch applied. Errors: CodeValidation.
func (p *DomainPatch) Apply(d Domain) (Domain, error) {
	if p.OpenTracking != nil {
		d.OpenTracking = *p.OpenTracking
	}
	if p.ClickTracking != nil {
		d.ClickTracking = *p.ClickTracking
	}
	if p.Receiving != nil {
		d.Receiving = *p.Receiving
		d.Receives = d.Receives && d.Receiving
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

// DefaultRegion is the region of a relay that is configured without one.
const DefaultRegion = "us-east-1"

// CaptureRegion is the relay name of the capture transport, which is used if no relay is
// configured. It sends nothing.
const CaptureRegion = "capture"

// IsRegion reports whether s is a valid region: 1 to 40 lower-case ASCII letters, digits and
// dashes.
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
