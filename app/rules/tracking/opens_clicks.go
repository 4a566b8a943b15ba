package tracking

import (
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Rules of counting opens and clicks.
const (
	// scannerDelay is how soon after the relay took the mail nobody can have read it.
	scannerDelay = 10 * time.Second
	// burstWindow is how close together a scanner opens all links of an email.
	burstWindow = 10 * time.Second
	// burstGap is how long a hit waits for others of its email, from the last
	// link that was new on.
	burstGap = 3 * time.Second
	// maxWait is how long it waits at most.
	maxWait = 12 * time.Second
	// RepeatWindow is how long the same hit again counts as the same.
	RepeatWindow = time.Minute
	// MaxHitEvents is how many opens, clicks and prefetches the timeline of an
	// email keeps; MaxPrefetchEvents of them may be prefetches, so that a
	// scanner can't take the place of readers.
	MaxHitEvents      = 100
	MaxPrefetchEvents = 50
	// maxUserAgent is how much of a User-Agent is kept, in bytes.
	maxUserAgent = 300
)

// Visitor is who made a request, as far as it says so.
type Visitor struct {
	UserAgent string
	IPAddress string // empty: unknown
}

// Hit is one request for the pixel or a tracked link of an email.
type Hit struct {
	ID        string // of its event
	EmailID   string
	Link      int    // number of the link
	Links     int    // how many distinct links the email has; 0: it asked for the pixel
	Target    string // of the link
	Scanner   string // who it is known to be; empty: a reader, for all that is known
	UserAgent string // at most 300 bytes, printable
	IPAddress string
	At        time.Time
}

// NewHit is the hit of a link; of the pixel where l has no Links.
func NewHit(l ClickLink, v Visitor, at time.Time) Hit {
	return Hit{
		ID: app.NewID(), EmailID: l.EmailID, Link: l.Link, Links: l.Links, Target: l.Target, Scanner: ScannerName(v.UserAgent),
		UserAgent: AgentText(v.UserAgent), IPAddress: v.IPAddress, At: at,
	}
}

// AgentText is a User-Agent without what could disturb a reader.
func AgentText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s[:min(len(s), maxUserAgent)])
}

// HitKey is what hits have in common that count once.
type HitKey struct {
	EmailID string
	Link    int // -1: the pixel
	Scanner bool
}

// Key returns what the hit has in common with those that count as the same.
func (h *Hit) Key() HitKey {
	k := HitKey{h.EmailID, h.Link, h.Scanner != ""}
	if h.Links == 0 {
		k.Link = -1
	}
	return k
}

// Judge returns as what a hit is recorded, and why in words. taken is the last
// time, not after the hit, that the relay took the mail or may have taken it;
// zero: it had not. burst says that all links of the email were hit at once.
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

// TimelineFits reports whether the timeline of an email takes one more event of a
// kind; all and prefetched count those that it has.
func TimelineFits(kind app.EventType, all, prefetched int) bool {
	return all < MaxHitEvents && (kind != app.EventPrefetched || prefetched < MaxPrefetchEvents)
}

// Pending are the hits of one email that wait to be judged together: what
// they have in common shows only after the last. The zero value is empty.
type Pending struct {
	hits  []Hit // each key once
	due   time.Time
	end   time.Time // due at most
	first map[int]time.Time
	last  map[int]time.Time
	links int
}

// Add puts a hit to the others. It reports whether it is a new one, and not the same
// as one that waits.
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

// Due is when the hits are to be judged.
func (p *Pending) Due() time.Time { return p.due }

// Hits are those that wait, each HitKey once, in the order of Add.
func (p *Pending) Hits() []Hit { return p.hits }

// Burst reports whether all links of an email that has several were hit within
// burstWindow of each other, by whomever.
func (p *Pending) Burst() bool {
	if p.links < 2 || len(p.first) < p.links {
		return false
	}
	return span(p.first) <= burstWindow || span(p.last) <= burstWindow
}

// span is the time from the first to the last of some times.
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
