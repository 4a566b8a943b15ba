package app

import "time"

// Issue is a broadcast in the archive of its topic, rendered for nobody.
type Issue struct {
	ID          string
	TeamID      string
	TopicID     string
	BroadcastID string // which may be deleted
	Subject     string
	Preview     string // the first words
	Language    string // empty: unknown
	HTML        string // empty in lists
	SentAt      time.Time
}

// Limits of archives.
const (
	MaxIssuePreview = 300 // characters
	// SignUpLink stands in the HTML of an issue for the links of a recipient. Pages show the URL of a
	// form, or of the archive, in its place.
	SignUpLink = "https://sign-up.invalid/"
)
