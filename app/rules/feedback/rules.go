package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/rules/bounce"
	"mailer/app/rules/tracking"
)

// ReportRetention is how long a report is remembered so that it counts once.
const ReportRetention = 30 * 24 * time.Hour

// ReturnPathRetention is how long after its acceptance reports come to an email's return path: it
// may leave a month later and wait for a month, and its bounces take a week at most. A return
// path stands in the header of the message, so whoever gets hold of that has it for good.
const ReturnPathRetention = 90 * 24 * time.Hour

// ProviderIDRetention is how long after its acceptance an email is found by its
// provider's id: it may leave a month later, and be reported of for some weeks.
const ProviderIDRetention = 90 * 24 * time.Hour

// Bounds of what is kept of a report, in bytes.
const (
	maxDiagnostic   = 500
	maxFeedbackLink = 2048
	maxSubType      = 64
)

// LastEvent is the value of last_event that a report leads to; empty for a kind
// that is none.
func (k Kind) LastEvent() app.LastEvent {
	switch k {
	case Accepted:
		return app.Sent
	case Delivered:
		return app.Delivered
	case Delayed:
		return app.DeliveryDelayed
	case Bounced:
		return app.Bounced
	case Complained:
		return app.Complained
	case Opened:
		return app.Opened
	case Clicked:
		return app.Clicked
	case Failed:
		return app.Failed
	}
	return ""
}

// RecipientState is the state that a timeline's event moves its recipient to at
// least. Whoever loads a picture has the mail; where a scanner did, somebody on
// the way took it.
func RecipientState(t app.EventType) app.LastEvent {
	switch t {
	case app.EventType(app.Opened), app.EventType(app.Clicked):
		return app.Delivered
	case app.EventPrefetched:
		return app.Sent
	}
	return app.LastEvent(t)
}

// addressSubTypes are the words of providers for bounces that condemn an address, and what
// they mean. The last two: the address is on the provider's own list, after such a bounce.
var addressSubTypes = map[string]bounce.Reason{bounce.NoEmail: bounce.NoMailbox, "Suppressed": bounce.ProviderList, "OnAccountSuppressionList": bounce.ProviderList}

// Suppresses reports whether a report takes its recipient off further mail: complaints, and
// bounces that package bounce judges Hard.
func Suppresses(f Report) bool {
	switch f.Kind {
	case Complained:
		return true
	case Bounced:
		f.classifyOnce()
		return f.Class == bounce.Hard
	}
	return false
}

// classifyOnce judges a bounce that was not judged yet, by what its fields say.
func (f *Report) classifyOnce() {
	if f.Kind == Bounced && f.Class == "" {
		j := bounce.Classify(f.evidence())
		f.Class, f.Reason = j.Class, j.Reason
	}
}

// evidence is what the fields of a report say. A type of bounce that is not Permanent never
// condemns the address.
func (f *Report) evidence() bounce.Evidence {
	e := bounce.Evidence{Reply: f.Diagnostic, Status: f.Enhanced, Temporary: f.Bounce == app.BounceTransient || f.Bounce == app.BounceUndetermined}
	if f.Bounce == app.BouncePermanent {
		e.ReportedClass = addressSubTypes[f.SubType]
	}
	return e
}

// classify fills in what evidence says of a bounce.
func (f *Report) classify(e bounce.Evidence) {
	j := bounce.Classify(e)
	f.Class, f.Reason, f.Bounce, f.SubType, f.Enhanced = j.Class, j.Reason, j.Bounce, j.SubType, j.Status
}

// SuppressionOrigin is the origin of the suppression that a report leads to.
func (k Kind) SuppressionOrigin() app.SuppressionOrigin {
	if k == Complained {
		return app.OriginComplaint
	}
	return app.OriginBounce
}

// Bound makes a report fit to be stored: texts of one line and bounded, an id
// where there is none, a time that lies between the acceptance of the email and
// now. accepted is zero where the email is not known.
func (f Report) Bound(accepted, now time.Time) Report {
	if f.ID == "" {
		f.ID = f.fingerprint()
	}
	f.classifyOnce() // by all words of the server
	f.SubType = PrintableLine(f.SubType, maxSubType)
	f.Diagnostic = PrintableLine(f.Diagnostic, maxDiagnostic)
	f.Link = PrintableLine(f.Link, maxFeedbackLink)
	f.UserAgent = tracking.AgentText(f.UserAgent)
	if !app.IsEnhancedCode(f.Enhanced) {
		f.Enhanced = ""
	}
	if _, err := netip.ParseAddr(f.IPAddress); err != nil {
		f.IPAddress = ""
	}
	if f.Kind == Bounced && f.Bounce == "" {
		f.Bounce = bounceTypeOf(f.Enhanced)
	}
	if f.At.IsZero() || f.At.After(now) {
		f.At = now
	}
	if f.At.Before(accepted) {
		f.At = accepted
	}
	return f
}

func bounceTypeOf(enhanced string) app.BounceType {
	switch {
	case strings.HasPrefix(enhanced, "5."):
		return app.BouncePermanent
	case strings.HasPrefix(enhanced, "4."):
		return app.BounceTransient
	}
	return app.BounceUndetermined
}

// fingerprint stands for an id where the sender of a report has none: the same
// words make the same one.
func (f Report) fingerprint() string {
	h := sha256.New()
	for _, part := range []string{string(f.Kind), f.EmailID, f.ProviderID, f.MessageID, f.Recipient, string(f.Bounce), f.SubType,
		f.Enhanced, f.Diagnostic, f.Link, f.UserAgent, f.IPAddress, strconv.FormatInt(f.At.UnixMilli(), 10)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PrintableLine is foreign text as one printable line of at most most bytes.
func PrintableLine(s string, most int) string {
	s = s[:min(len(s), 4*most)]
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return firstBytes(strings.Join(strings.Fields(s), " "), most)
}

// sesReply is how Amazon SES answers the final dot.
const sesReply = "Ok "

// ProviderIDIn returns the id that a provider's relay names in its reply to the
// final dot, "Ok <id>"; empty: it names none.
func ProviderIDIn(reply string) string {
	id, ok := strings.CutPrefix(reply, sesReply)
	if !ok || len(id) < 16 || len(id) > 128 || strings.Trim(id, idCharacters) != "" {
		return ""
	}
	return id
}

const idCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
