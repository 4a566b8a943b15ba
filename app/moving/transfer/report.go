package transfer

import (
	"mailer/app"
	"mailer/app/rules/archive"
)

// Report is what an import would do, or did. Everything in it was counted by this run:
// what is there already is no change.
type Report struct {
	Source       string        `json:"source"`
	Applied      bool          `json:"applied"`
	Contacts     ContactCounts `json:"contacts"`
	OptedOut     int           `json:"opted_out"`     // contacts that count as unsubscribed now and did not before
	TopicChoices int           `json:"topic_choices"` // choices that were written down
	// MembershipsEnded counts segments that contacts left at the source and leave here.
	MembershipsEnded int                 `json:"memberships_ended"`
	Suppressions     SuppressionCounts   `json:"suppressions"`
	Properties       []Thing             `json:"properties"`
	Segments         []Thing             `json:"segments"`
	Topics           []Thing             `json:"topics"`
	Templates        []Thing             `json:"templates"`
	Broadcasts       []Thing             `json:"broadcasts"`
	Domains          []Thing             `json:"domains"`
	Webhooks         []Thing             `json:"webhooks"`
	Keys             []Thing             `json:"keys"`
	Emails           EmailCounts         `json:"emails"`
	Consent          []archive.Consent   `json:"consent"` // columns of files that decide who gets mail
	Cannot           []archive.Unmovable `json:"cannot"`
	Refused          []archive.Refusal   `json:"refused"`
}

// ContactCounts are contacts by what becomes of them. One that stands in the source more
// than once is new once and existing then.
type ContactCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
	Refused  int `json:"refused"`
}

// SuppressionCounts are suppressions that are added, by their origin.
type SuppressionCounts struct {
	Bounce      int `json:"bounce"`
	Complaint   int `json:"complaint"`
	Unsubscribe int `json:"unsubscribe"`
	Manual      int `json:"manual"`
	Left        int `json:"left"` // of the source that are none here: soft bounces and blocks
}

// add counts one.
func (c *SuppressionCounts) add(origin app.SuppressionOrigin, n int) {
	switch origin {
	case app.OriginBounce:
		c.Bounce += n
	case app.OriginComplaint:
		c.Complaint += n
	case app.OriginUnsubscribe:
		c.Unsubscribe += n
	case app.OriginManual:
		c.Manual += n
	}
}

// EmailCounts are emails of the past.
type EmailCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
}

// Thing is one of what a source has few of.
type Thing struct {
	Name string `json:"name"`
	New  bool   `json:"new"` // it was not there
	// Draft: a template or broadcast comes as a draft.
	Draft bool `json:"draft,omitzero"`
	// Records are what the owner of a domain publishes in the DNS. Of a new domain whose
	// key is made by --apply they are known only then.
	Records []app.DNSRecord `json:"records,omitzero"`
	// Status of a domain or webhook.
	Status string `json:"status,omitzero"`
}

// newReport makes lists that are there, if empty.
func newReport(source string, applied bool) *Report {
	return &Report{
		Source: source, Applied: applied, Properties: []Thing{}, Segments: []Thing{}, Topics: []Thing{}, Templates: []Thing{}, Broadcasts: []Thing{},
		Domains: []Thing{}, Webhooks: []Thing{}, Keys: []Thing{}, Consent: []archive.Consent{}, Cannot: []archive.Unmovable{}, Refused: []archive.Refusal{},
	}
}
