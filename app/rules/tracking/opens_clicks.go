package tracking

import (
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Rules of counting opens and clicks.
const (
	// scannerDelay is how soon after the relay accepted the mail a reader can't have read it yet.
	scannerDelay = 10 * time.Second
	// burstWindow is the period within which a scanner opens all links of an email.
	burstWindow = 10 * time.Second
	// burstGap is how long a hit waits for others of its email, from the last new link.
	burstGap = 3 * time.Second
	// maxWait is how long a hit waits at most.
	maxWait = 12 * time.Second
	// RepeatWindow is the period within which repeated hits count once.
	RepeatWindow = time.Minute
	// MaxHitEvents is how many opens, clicks and prefetches an email's timeline stores. At most
	// MaxPrefetchEvents of them may be prefetches, so that scanners leave space for readers.
	MaxHitEvents      = 100
	MaxPrefetchEvents = 50
	// maxUserAgent is the maximum length of a stored User-Agent in bytes.
	maxUserAgent = 300
)

// Visitor is the client of a request.
type Visitor struct {
	UserAgent string
	IPAddress string // empty: unknown
}

// Hit is a request for the pixel or a tracked link of an email.
type Hit struct {
	ID        string // of its event
	EmailID   string
	Link      int    // number of the link
	Links     int    // number of distinct links of the email; 0: the pixel
	Target    string // of the link
	Scanner   string // name of a known scanner; empty: a reader
	UserAgent string // at most 300 bytes, printable
	IPAddress string
	At        time.Time
}

// NewHit returns the hit of a link, or of the pixel if l has no Links.
func NewHit(l ClickLink, v Visitor, at time.Time) Hit {
	return Hit{
		ID: app.NewID(), EmailID: l.EmailID, Link: l.Link, Links: l.Links, Target: l.Target, Scanner: ScannerName(v.UserAgent),
		UserAgent: AgentText(v.UserAgent), IPAddress: v.IPAddress, At: at,
	}
}

// AgentText returns a User-Agent in printable form.
func AgentText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s[:min(len(s), maxUserAgent)])
}

// HitKey identifies hits that count once.
type HitKey struct {
	EmailID string
	Link    int // -1: the pixel
	Scanner bool
}

// Key returns the key of the hit.
func (h *Hit) Key() HitKey {
	k := HitKey{h.EmailID, h.Link, h.Scanner != ""}
	if h.Links == 0 {
		k.Link = -1
	}
	return k
}

// Judge returns the event type for a hit, and the reason as text. taken is the last time, not
// after the hit, at which the relay accepted or may have accepted the mail; zero: never. burst:
// all links of the email were hit at the same time.
func (h *Hit) Judge(taken time.Time, burst bool) (app.EventType, string) {
	what, done, kind := "The pixel of this email", "loaded", app.EventType(app.Opened)
	if h.Links > 0 {
		what, done, kind = "A link of this email", "followed", app.EventType(app.Clicked)
	}
	const reader = ", which is no reader's doing"
	switch {
	case h.Scanner != "":
		return app.EventPrefetched, what + " was fetched by " + h.Scanner + reader
	case taken.IsZero():
		return app.EventPrefetched, what + " was fetched before the relay had taken the mail" + reader
	case h.At.Sub(taken) < scannerDelay:
		return app.EventPrefetched, what + " was fetched within 10 seconds after the relay took the mail" + reader
	case burst:
		return app.EventPrefetched, what + " was fetched together with all the others" + reader
	}
	return kind, what + " was " + done
}

// TimelineFits reports whether an email's timeline accepts another event. all and prefetched count
// the existing ones.
func TimelineFits(kind app.EventType, all, prefetched int) bool {
	return all < MaxHitEvents && (kind != app.EventPrefetched || prefetched < MaxPrefetchEvents)
}

// Pending holds the hits of one email until they are judged together, since their pattern is
// visible only after the last. The zero value is empty.
type Pending struct {
	hits  []Hit // one for each key
	due   time.Time
	end   time.Time // latest due time
	first map[int]time.Time
	last  map[int]time.Time
	links int
}

// Add adds a hit. It reports whether the hit is new, not a repetition.
func (p *Pending) Add(h Hit) bool {
	if p.first == nil {
		p.due, p.end = h.At.Add(burstGap), h.At.Add(maxWait)
		p.first, p.last = map[int]time.Time{}, map[int]time.Time{}
	}
	if h.Links > 0 {
		p.links = h.Links
		if p.first[h.Link].IsZero() {
			p.first[h.Link] = h.At
			p.due = h.At.Add(burstGap)
			if p.due.After(p.end) {
				p.due = p.end
			}
		}
		p.last[h.Link] = h.At
	}
	if slices.ContainsFunc(p.hits, func(w Hit) bool { return w.Key() == h.Key() }) {
		return false
	}
	p.hits = append(p.hits, h)
	return true
}

// Due returns when the hits are to be judged.
func (p *Pending) Due() time.Time { return p.due }

// Hits returns the pending hits in the order of Add.
func (p *Pending) Hits() []Hit { return p.hits }

// Burst reports whether all links of an email with several were hit within burstWindow.
func (p *Pending) Burst() bool {
	if p.links < 2 || len(p.first) < p.links {
		return false
	}
	return span(p.first) <= burstWindow || span(p.last) <= burstWindow
}

// span returns the duration from the first to the last time.
func span(times map[int]time.Time) time.Duration {
	var first, last time.Time
	for _, at := range times {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(first)
}
