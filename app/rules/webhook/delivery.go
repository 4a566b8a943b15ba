package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
)

func newSecret() SigningSecret {
	key := make([]byte, newSecretSize)
	_, _ = rand.Read(key) // never fails: crypto/rand aborts the program instead
	return SigningSecret{Key: key}
}

// DeliveryStatus is the state of a delivery to a webhook.
type DeliveryStatus string

// The statuses. DeliveryAttempting exists only in the server that makes the attempt, and is not
// stored.
const (
	DeliveryPending    DeliveryStatus = "pending" // waiting for the next attempt
	DeliveryAttempting DeliveryStatus = "attempting"
	DeliverySuccess    DeliveryStatus = "success"
	DeliveryFailed     DeliveryStatus = "failed" // no further attempts
)

// Delivery is the delivery of an event to a webhook.
type Delivery struct {
	WebhookID string
	Event     // its payload only if a single event is read
	Status    DeliveryStatus
	Attempts  int       // since the event or its last replay
	NextAt    time.Time // zero: none

	// LastStatus is the HTTP status of the last attempt; 0: no answer; nil: no attempt.
	LastStatus *int
}

// Attempt is an attempt to deliver an event.
type Attempt struct {
	ID         string
	HTTPStatus int    // 0: no answer
	Response   string // beginning of the answer, or the error
	SentAt     time.Time
}

// Success reports whether the endpoint accepted the event.
func (a *Attempt) Success() bool { return a.HTTPStatus >= 200 && a.HTTPStatus < 300 }

// messagePrefix begins the message id of an event.
const messagePrefix = "msg_"

// MessageID returns the id of an event as endpoints see it, the same for each attempt.
func MessageID(eventID string) string { return messagePrefix + eventID }

// ParseMessageID returns the event id of a MessageID.
func ParseMessageID(s string) (eventID string, ok bool) {
	id, ok := strings.CutPrefix(s, messagePrefix)
	if !ok {
		return "", false
	}
	return app.ParseID(id)
}

// Timeout is the timeout of an attempt.
const Timeout = 10 * time.Second

// DisableAfter is how long an endpoint may fail before it is disabled.
const DisableAfter = 5 * 24 * time.Hour

// webhookDelays are the delays after failed attempts.
var webhookDelays = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// MaxDelay is the longest delay between two attempts, which only an endpoint can request.
const MaxDelay = 24 * time.Hour

// NextAttempt returns the time of the next attempt after the n-th attempt (from 1) failed, or zero
// if there is none. retryAfter is the delay that the endpoint requested: it can extend the delay
// of the table up to 24 hours, but not shorten it.
func NextAttempt(n int, now time.Time, retryAfter time.Duration) time.Time {
	if n > len(webhookDelays) {
		return time.Time{}
	}
	delay := webhookDelays[max(n, 1)-1]
	return now.Add(max(delay, min(retryAfter, MaxDelay)))
}

// crashDelay is longer than an attempt, so that a server that takes over does not repeat a running
// attempt.
const crashDelay = 3 * Timeout

// CrashTime returns the time of the next attempt after one that never ended because the process
// died: soon, since the endpoint did not fail.
func CrashTime(began time.Time) time.Time { return began.Add(crashDelay) }

// RetryAfter parses the Retry-After of an answer with status 429 or 503: seconds or a date (RFC
// 9110 10.2.3). It returns 0 for a missing or invalid value, and at most 24 hours.
func RetryAfter(status int, value string, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	value = strings.TrimSpace(value)
	if isDigits(value) {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // only if the number is too large
			return MaxDelay
		}
		return min(time.Duration(n)*time.Second, MaxDelay)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxDelay)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Sign returns the signatures of a message by all secrets valid at a time, in the format of
// Standard Webhooks: "v1,…" separated by spaces.
func Sign(secrets []SigningSecret, messageID string, at time.Time, body []byte) string {
	var out []string
	for _, s := range secrets {
		if s.Until != 0 && s.Until <= at.UnixMilli() {
			continue
		}
		mac := hmac.New(sha256.New, s.Key)
		_, _ = io.WriteString(mac, messageID+"."+strconv.FormatInt(at.Unix(), 10)+".") // a hash never fails
		_, _ = mac.Write(body)
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(out, " ")
}

// SignHeaders sets id, time and signatures of a message in the headers of its request, under the
// names of Standard Webhooks and of Svix.
func SignHeaders(head http.Header, secrets []SigningSecret, messageID string, at time.Time, body []byte) {
	signatures := Sign(secrets, messageID, at, body)
	for _, family := range []string{"Webhook-", "Svix-"} {
		head.Set(family+"Id", messageID)
		head.Set(family+"Timestamp", strconv.FormatInt(at.Unix(), 10))
		head.Set(family+"Signature", signatures)
	}
}

// MaxResponse is how many bytes of an endpoint's answer are stored.
const MaxResponse = 1000

// ResponseExcerpt returns the part of an endpoint's answer that is stored: at most MaxResponse
// bytes of printable text.
func ResponseExcerpt(body []byte) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), MaxResponse)]), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}
