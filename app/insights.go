package app

import (
	"slices"
)

// ScoreVersion is the version of the scoring rules.
const ScoreVersion = 1

// Severity is the severity of a penalty.
type Severity string

// The severities. Minor penalties together cost at most maxMinor.
const (
	Critical Severity = "critical"
	Major    Severity = "major"
	Minor    Severity = "minor"
)

// fullScore, maxMinor and the points of penalties are in hundredths.
const (
	fullScore = 1000
	maxMinor  = 150
)

// Penalty is a property of an email that lowers its chance to reach inboxes.
type Penalty struct {
	ID       string
	Severity Severity
	Points   float64
	Message  string
}

// penalties lists all penalties in display order.
var penalties = []struct {
	id       string
	severity Severity
	points   int
	words    string
}{
	{"no_dmarc", Critical, 350, "The sender's domain has no DMARC policy; publish the DMARC record that the domain's page shows"},
	{"no_one_click", Major, 150, "Marketing mail without List-Unsubscribe and List-Unsubscribe-Post: send it with a topic_id, or bring the pair"},
	{"no_sender_link", Major, 125, "No link leads to the sender's domain; link to your own site"},
	{"link_shortener", Major, 125, "A link goes through a link shortener; link to its target"},
	{"html_too_large", Major, 100, "The html is over 100 KB, so that some readers cut it off"},
	{"no_text_part", Major, 100, "There is no text part; leave `text` out to have it made from the html"},
	{"no_unsubscribe_link", Major, 100, "Marketing mail without a visible unsubscribe link; put {{{UNSUBSCRIBE_URL}}} in a link"},
	{"phishing_link", Major, 100, "A link looks like phishing: it leads to an IP address, or its text names another domain than its target"},
	{"no_reply_sender", Minor, 50, "Recipients can't reply to the sender; use an address that is read"},
	{"svg", Minor, 50, "There is an SVG image, which many readers do not show and filters distrust"},
	{"marketing_attachments", Minor, 50, "Marketing mail with attachments; link to the files"},
	{"images_without_text", Minor, 40, "There are images and no text beside them"},
	{"foreign_tracking", Minor, 40, "Links and the pixel lead to a host outside of the sender's domain; set a tracking subdomain"},
	{"bare_domain", Minor, 25, "Marketing mail from the bare domain; a subdomain keeps the reputation of your other mail apart"},
	{"http_links", Minor, 25, "A link is not encrypted; use https"},
	{"shouting_subject", Minor, 25, "The subject shouts: capitals, or several exclamation marks"},
}

// Insights are the findings in an email. They never change once they are stored.
type Insights struct {
	Version int      `json:"version"`
	Found   []string `json:"found,omitzero"` // ids of penalties in display order
}

// Points returns the score in hundredths: 0 to 1,000.
func (i *Insights) Points() int64 {
	points, minor := fullScore, 0
	for _, p := range penalties {
		switch {
		case !slices.Contains(i.Found, p.id):
		case p.severity == Minor:
			minor += p.points
		default:
			points -= p.points
		}
	}
	return int64(max(0, points-min(minor, maxMinor)))
}

// Score returns the score: 0 to 10, 10 is best.
func (i *Insights) Score() float64 { return float64(i.Points()) / 100 }

// Penalties returns the findings with their messages.
func (i *Insights) Penalties() []Penalty {
	out := []Penalty{}
	for _, p := range penalties {
		if slices.Contains(i.Found, p.id) {
			out = append(out, Penalty{p.id, p.severity, float64(p.points) / 100, p.words})
		}
	}
	return out
}

// Band is a range of scores.
type Band string

// The bands, best first.
const (
	Excellent      Band = "excellent"       // from 9
	Good           Band = "good"            // from 7
	NeedsAttention Band = "needs_attention" // from 5
	AtRisk         Band = "at_risk"
)

// BandOf returns the band of a score.
func BandOf(score float64) Band {
	switch {
	case score >= 9:
		return Excellent
	case score >= 7:
		return Good
	case score >= 5:
		return NeedsAttention
	}
	return AtRisk
}

// ForDomain adds the findings that depend on the sending domain: a missing DMARC policy, and the
// hosts of tracked links and the pixel. t is nil if nothing is tracked.
func (i *Insights) ForDomain(domain string, noDMARC bool, t *Tracking) *Insights {
	found := slices.DeleteFunc(slices.Clone(i.Found), func(id string) bool { return id == "no_dmarc" || id == "foreign_tracking" })
	if noDMARC {
		found = append(found, "no_dmarc")
	}
	if t != nil && !OwnHost(HostOfLink(t.Base), domain) {
		found = append(found, "foreign_tracking")
	}
	return NewInsights(found)
}

// NewInsights returns insights with the given penalties. Order does not matter; unknown ids are
// ignored.
func NewInsights(found []string) *Insights {
	i := &Insights{Version: ScoreVersion}
	for _, p := range penalties {
		if slices.Contains(found, p.id) {
			i.Found = append(i.Found, p.id)
		}
	}
	return i
}
