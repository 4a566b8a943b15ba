package transfer

import (
	"mailer/app"
	"mailer/app/rules/archive"
)

// Report is what an import would do or did. It counts only changes of this run.
type Report struct {
	Source       string        `json:"source"`
	Applied      bool          `json:"applied"`
	Contacts     ContactCounts `json:"contacts"`
	OptedOut     int           `json:"opted_out"`     // contacts that became unsubscribed
	TopicChoices int           `json:"topic_choices"` // choices written
	// MembershipsEnded counts segments that contacts left at the source and leave here.
	MembershipsEnded int                 `json:"memberships_ended"`
	Suppressions     SuppressionCounts   `json:"suppressions"`
	Properties       []Thing             `json:"properties"`
	Segments         []Thing             `json:"segments"`
	Topics           []Thing             `json:"topics"`
	Images           ImageCounts         `json:"images"`
	Blocks           []Thing             `json:"blocks"`
	Templates        []Thing             `json:"templates"`
	Forms            []Thing             `json:"forms"`
	OptIns           ItemCounts          `json:"opt_ins"`  // pending and refused
	Consents         ItemCounts          `json:"consents"` // records of what contacts agreed to
	Broadcasts       []Thing             `json:"broadcasts"`
	Issues           ItemCounts          `json:"issues"` // in the archives of topics
	Feeds            []Thing             `json:"feeds"`
	Domains          []Thing             `json:"domains"`
	Webhooks         []Thing             `json:"webhooks"`
	Routes           []Thing             `json:"routes"` // for received mail
	CustomEvents     []Thing             `json:"custom_events"`
	Automations      []Thing             `json:"automations"`
	AutomationStarts ItemCounts          `json:"automation_starts"` // of automations for contacts
	Keys             []Thing             `json:"keys"`
	Emails           EmailCounts         `json:"emails"`
	Consent          []archive.Consent   `json:"consent"` // columns of files that decide who gets mail
	Cannot           []archive.Unmovable `json:"cannot"`
	Refused          []archive.Refusal   `json:"refused"`
}

// ContactCounts counts contacts by result. A contact that occurs more than once in the source
// counts once as new and then as existing.
type ContactCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
	Refused  int `json:"refused"`
}

// SuppressionCounts counts added suppressions by origin.
type SuppressionCounts struct {
	Bounce      int `json:"bounce"`
	Complaint   int `json:"complaint"`
	Unsubscribe int `json:"unsubscribe"`
	Manual      int `json:"manual"`
	Left        int `json:"left"` // ignored entries of the source: soft bounces and blocks
}

// add counts a suppression.
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

// EmailCounts counts imported emails.
type EmailCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
}

// ImageCounts counts imported images.
type ImageCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
}

// ItemCounts counts imported items.
type ItemCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
}

func (c *ItemCounts) add(created bool) {
	if created {
		c.New++
	} else {
		c.Existing++
	}
}

// Thing is an object of a kind of which a source has few.
type Thing struct {
	Name string `json:"name"`
	New  bool   `json:"new"` // it did not exist
	// Draft: a template or broadcast that was imported as a draft.
	Draft bool `json:"draft,omitzero"`
	// Records are the DNS records to publish for a domain. Those of a new key are known only after
	// --apply.
	Records []app.DNSRecord `json:"records,omitzero"`
	// Status is the status of a domain, webhook or automation, or the state of a feed.
	Status string `json:"status,omitzero"`
}

// newReport returns a report with empty lists, not nil ones.
func newReport(source string, applied bool) *Report {
	return &Report{
		Source: source, Applied: applied, Properties: []Thing{}, Segments: []Thing{}, Topics: []Thing{}, Blocks: []Thing{}, Templates: []Thing{}, Forms: []Thing{}, Broadcasts: []Thing{}, Feeds: []Thing{},
		Domains: []Thing{}, Webhooks: []Thing{}, Routes: []Thing{}, CustomEvents: []Thing{}, Automations: []Thing{}, Keys: []Thing{}, Consent: []archive.Consent{}, Cannot: []archive.Unmovable{}, Refused: []archive.Refusal{},
	}
}
