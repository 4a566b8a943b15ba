package app

import (
	"net/url"
	"time"

	"mailer/app/kit/schedule"
)

// FeedState says whether a feed makes issues.
type FeedState string

// The states of a feed. A feed is held after a restore and after an import.
const (
	ActiveFeed FeedState = "active"
	PausedFeed FeedState = "paused"
	HeldFeed   FeedState = "held"
)

// FeedImported is the reason why a feed is held that was active on the server that it was moved from.
const FeedImported = "imported"

// Limits of feeds.
const (
	MaxFeeds    = 50 // of a team
	MaxFeedURL  = 2000
	MaxFeedSize = 5 << 20 // bytes
	// MaxFeedItems is how many items of a feed are read, and MaxFeedSeen how many are remembered.
	MaxFeedItems = 100
	MaxFeedSeen  = 1000
)

// Feed is a feed of which broadcasts are made.
type Feed struct {
	ID     string
	TeamID string
	URL    string
	FeedDefinition
	State           FeedState
	Held            string // reason; empty: not held
	NextAt          time.Time
	Position        FeedPosition
	LastError       string
	LastBroadcastID string
	CheckedAt       time.Time // zero: never
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// FeedDefinition is what a team decides about a feed.
type FeedDefinition struct {
	TopicID    string `json:"topic_id"`
	TemplateID string `json:"template_id"`
	From       string `json:"from,omitzero"` // empty: that of the template
	Schedule   string `json:"schedule"`
	Zone       string `json:"zone"`
	Mode       string `json:"mode"` // draft or send
	SkipEmpty  bool   `json:"skip_empty,omitzero"`
}

// FeedPosition is what is known of the items of a feed.
type FeedPosition struct {
	Seen  []string  `json:"seen,omitzero"` // hashes of items that were in an issue or are too old for one, the last ones last
	Since time.Time `json:"since"`
	Read  bool      `json:"read,omitzero"`  // the feed was read since then: items without a date that are not in Seen are new
	Tries int       `json:"tries,omitzero"` // failures in a row
	// Version is that of the feed when it was last read without an error.
	Version FileVersion `json:"version,omitzero"`
}

// FeedPatch changes a feed. Empty texts mean absent.
type FeedPatch struct {
	URL, TopicID, TemplateID, Schedule, Zone, Mode string
	From                                           Change[string]
	SkipEmpty                                      *bool
	State                                          FeedState // active or paused
}

// Apply returns the feed with the patch applied. Errors: CodeValidation.
func (p *FeedPatch) Apply(f Feed) (Feed, error) {
	for _, part := range []struct {
		to   *string
		from string
	}{{&f.URL, p.URL}, {&f.TopicID, p.TopicID}, {&f.TemplateID, p.TemplateID}, {&f.Schedule, p.Schedule}, {&f.Zone, p.Zone}, {&f.Mode, p.Mode}} {
		if part.from != "" {
			*part.to = part.from
		}
	}
	if p.From.Set {
		f.From = p.From.Value
	}
	if p.SkipEmpty != nil {
		f.SkipEmpty = *p.SkipEmpty
	}
	switch p.State {
	case "":
	case ActiveFeed, PausedFeed:
		f.State, f.Held = p.State, ""
	default:
		return f, Invalid("state", "must be active or paused")
	}
	return f, f.check()
}

func (f *Feed) check() error {
	u, err := url.Parse(f.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(f.URL) > MaxFeedURL:
		return Invalid("url", "must be an https URL of at most %d characters", MaxFeedURL)
	case f.TopicID == "":
		return Invalid("topic_id", "is required")
	case f.TemplateID == "":
		return Invalid("template_id", "is required")
	case f.Mode != "draft" && f.Mode != "send":
		return Invalid("mode", "must be draft or send")
	}
	id, ok := ParseID(f.TopicID)
	if !ok {
		return Invalid("topic_id", "must be the id of a topic")
	}
	f.TopicID = id
	if f.From != "" {
		if _, err := ParseAddress(f.From); err != nil {
			return Invalid("from", "%v", err)
		}
	}
	r, err := schedule.ParseRecurring(f.Schedule)
	if err != nil {
		return Invalid("schedule", "%v", err)
	}
	f.Schedule = r.String()
	if _, err := time.LoadLocation(f.Zone); err != nil || f.Zone == "Local" {
		return Invalid("zone", "must be a time zone like Europe/Berlin or UTC")
	}
	return nil
}

// Next returns when the feed makes its first issue after a time.
func (d *FeedDefinition) Next(after time.Time) time.Time {
	r, err := schedule.ParseRecurring(d.Schedule)
	zone, zoneErr := time.LoadLocation(d.Zone)
	if err != nil || zoneErr != nil {
		return after.Add(24 * time.Hour) // not possible for a stored feed
	}
	return r.Next(after, zone)
}
