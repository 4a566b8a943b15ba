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

// ReportRetention is how long report ids are stored for deduplication.
const ReportRetention = 30 * 24 * time.Hour

// ReturnPathRetention is how long after its acceptance an email's return path is valid: it may be
// sent a month later and wait for a month, and bounces take up to a week. The return path is in
// the message header, so everyone who gets the message knows it.
const ReturnPathRetention = 90 * 24 * time.Hour

// ProviderIDRetention is how long after its acceptance an email is found by its provider's id: it
// may be sent a month later, and reports may follow for some weeks.
const ProviderIDRetention = 90 * 24 * time.Hour

// Limits of stored values, in bytes.
const (
	maxDiagnostic   = 500
	maxFeedbackLink = 2048
	maxSubType      = 64
)

// LastEvent returns the value of last_event for a report; empty: none.
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

// RecipientState returns the minimum state of a recipient after an event. Loading an image proves
// delivery; a scanner that loads it proves acceptance.
func RecipientState(t app.EventType) app.LastEvent {
	switch t {
	case app.EventType(app.Opened), app.EventType(app.Clicked):
		return app.Delivered
	case app.EventPrefetched:
		return app.Sent
	}
	return app.LastEvent(t)
}

// addressSubTypes maps provider subtypes of permanent bounces to reasons. The last two mean that
// the address is on the provider's own list.
var addressSubTypes = map[string]bounce.Reason{bounce.NoEmail: bounce.NoMailbox, "Suppressed": bounce.ProviderList, "OnAccountSuppressionList": bounce.ProviderList}

// Suppresses reports whether a report suppresses its recipient: complaints, and bounces of class
// Hard.
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

// classifyOnce classifies a bounce that was not classified yet by its fields.
func (f *Report) classifyOnce() {
	if f.Kind == Bounced && f.Class == "" {
		j := bounce.Classify(f.evidence())
		f.Class, f.Reason = j.Class, j.Reason
	}
}

// evidence returns the evidence in the fields of a report. A bounce that is not Permanent never
// suppresses the address.
func (f *Report) evidence() bounce.Evidence {
	e := bounce.Evidence{Reply: f.Diagnostic, Status: f.Enhanced, Temporary: f.Bounce == app.BounceTransient || f.Bounce == app.BounceUndetermined}
	if f.Bounce == app.BouncePermanent {
		e.ReportedClass = addressSubTypes[f.SubType]
	}
	return e
}

// classify sets the classification of a bounce.
func (f *Report) classify(e bounce.Evidence) {
	j := bounce.Classify(e)
	f.Class, f.Reason, f.Bounce, f.SubType, f.Enhanced = j.Class, j.Reason, j.Bounce, j.SubType, j.Status
}

// SuppressionOrigin returns the origin of the suppression that a report causes.
func (k Kind) SuppressionOrigin() app.SuppressionOrigin {
	if k == Complained {
		return app.OriginComplaint
	}
	return app.OriginBounce
}

// Bound returns the report in storable form: texts on one line and of limited length, an id, and a
// time between the acceptance of the email and now. accepted is zero if the email is unknown.
func (f Report) Bound(accepted, now time.Time) Report {
	if f.ID == "" {
		f.ID = f.fingerprint()
	}
	f.classifyOnce() // with the whole text of the server
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

// fingerprint returns an id for reports without one: a hash of the report.
func (f Report) fingerprint() string {
	h := sha256.New()
	for _, part := range []string{string(f.Kind), f.EmailID, f.ProviderID, f.MessageID, f.Recipient, string(f.Bounce), f.SubType,
		f.Enhanced, f.Diagnostic, f.Link, f.UserAgent, f.IPAddress, strconv.FormatInt(f.At.UnixMilli(), 10)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PrintableLine returns untrusted text as one printable line of at most maxBytes bytes.
func PrintableLine(s string, maxBytes int) string {
	s = s[:min(len(s), 4*maxBytes)]
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return firstBytes(strings.Join(strings.Fields(s), " "), maxBytes)
}

// sesReply begins the reply of Amazon SES to the final dot.
const sesReply = "Ok "

// ProviderIDIn returns the provider's id in the reply to the final dot, "Ok <id>"; empty: none.
func ProviderIDIn(reply string) string {
	id, ok := strings.CutPrefix(reply, sesReply)
	if !ok || len(id) < 16 || len(id) > 128 || strings.Trim(id, idCharacters) != "" {
		return ""
	}
	return id
}

const idCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
