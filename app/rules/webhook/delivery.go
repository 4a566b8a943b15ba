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

// DeliveryStatus says how far an event has come on its way to a webhook.
type DeliveryStatus string

// The statuses. DeliveryAttempting is known to the server that attempts, and not
// stored.
const (
	DeliveryPending    DeliveryStatus = "pending" // waits for its next attempt
	DeliveryAttempting DeliveryStatus = "attempting"
	DeliverySuccess    DeliveryStatus = "success"
	DeliveryFailed     DeliveryStatus = "failed" // given up
)

// Delivery is an event on its way to a webhook.
type Delivery struct {
	WebhookID string
	Event     // its payload only where one event is asked for
	Status    DeliveryStatus
	Attempts  int       // begun since the event came, or was last replayed
	NextAt    time.Time // zero: there will be none

	// LastStatus is the HTTP status of the last attempt's answer. 0: no answer came; nil:
	// there was no attempt.
	LastStatus *int
}

// Attempt is one attempt to tell a webhook of an event.
type Attempt struct {
	ID         string
	HTTPStatus int    // 0: no answer came
	Response   string // how the answer began, or why none came
	SentAt     time.Time
}

// Success reports whether the webhook took the event.
func (a *Attempt) Success() bool { return a.HTTPStatus >= 200 && a.HTTPStatus < 300 }

// messagePrefix begins the id of an event on its way to webhooks.
const messagePrefix = "msg_"

// MessageID is the id of an event as webhooks see it, the same for each attempt.
func MessageID(eventID string) string { return messagePrefix + eventID }

// ParseMessageID returns the id of the event that MessageID was given.
func ParseMessageID(s string) (eventID string, ok bool) {
	id, ok := strings.CutPrefix(s, messagePrefix)
	if !ok {
		return "", false
	}
	return app.ParseID(id)
}

// Timeout is how long an endpoint may take to answer.
const Timeout = 10 * time.Second

// DisableAfter is how long an endpoint may fail before it is disabled.
const DisableAfter = 5 * 24 * time.Hour

// webhookDelays are the pauses after failed attempts.
var webhookDelays = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// maxRetryAfter bounds how long an endpoint can ask to be left alone.
const maxRetryAfter = 24 * time.Hour

// NextAttempt is when an event is tried again whose attempt, the n-th from
// 1 on, failed; the zero time: never. retryAfter is what the endpoint asked for:
// the table's pause is made longer by it, up to 24 hours, and never shorter.
func NextAttempt(n int, now time.Time, retryAfter time.Duration) time.Time {
	if n > len(webhookDelays) {
		return time.Time{}
	}
	delay := webhookDelays[max(n, 1)-1]
	return now.Add(max(delay, min(retryAfter, maxRetryAfter)))
}

// crashDelay is longer than an attempt takes: one that a server still waits for is doubled by
// no other that took over.
const crashDelay = 3 * Timeout

// CrashTime is when an event is tried again whose attempt began and never ended, since the
// process died: soon, for that is no failure of the endpoint.
func CrashTime(began time.Time) time.Time { return began.Add(crashDelay) }

// RetryAfter reads what an answer with status 429 or 503 says of when to come
// back: seconds or a date (RFC 9110 10.2.3). 0: nothing, or nothing that can be
// read; never more than 24 hours.
func RetryAfter(status int, value string, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	value = strings.TrimSpace(value)
	if isDigits(value) {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // only more than fits
			return maxRetryAfter
		}
		return min(time.Duration(n)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Sign returns the signatures of a message by all secrets that sign at that time,
// as Standard Webhooks has them: "v1,…" with spaces between.
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

// SignHeaders puts id, time and signatures of a message into the header of its
// request, under the names of Standard Webhooks and under Svix's.
func SignHeaders(head http.Header, secrets []SigningSecret, messageID string, at time.Time, body []byte) {
	signatures := Sign(secrets, messageID, at, body)
	for _, family := range []string{"Webhook-", "Svix-"} {
		head.Set(family+"Id", messageID)
		head.Set(family+"Timestamp", strconv.FormatInt(at.Unix(), 10))
		head.Set(family+"Signature", signatures)
	}
}

// MaxResponse is how many bytes of an endpoint's answer are kept.
const MaxResponse = 1000

// ResponseExcerpt makes what is kept of an endpoint's answer: at most MaxResponse
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
