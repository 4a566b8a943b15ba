// Package sns receives messages of Amazon SNS over HTTP: it verifies that they come from one of
// the operator's topics, and confirms subscriptions.
//
// Failure policy: nothing is used before all checks have passed, the cheap checks first, so that a
// forged message causes no request to another host. A refusal is an *app.Error
// (CodeInvalidPayload, CodeForbidden) that wraps the reason for the log. Any other error is
// temporary, and the sender should retry.
package sns

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/cache"
	"mailer/app/kit/clock"
	"mailer/app/kit/window"
	"mailer/app/rules/feedback"
)

// maxEnvelope is the maximum size of an envelope in bytes: SNS carries 256 KiB, and JSON within
// JSON is longer.
const maxEnvelope = 1 << 20

// How old, and how far ahead of our clock, a message may be. SNS retries for at most an hour with
// the original timestamp.
const (
	maxAge   = 70 * time.Minute
	maxAhead = 10 * time.Minute
)

// malformed returns the error for an invalid envelope. The reason is for the log and may quote the
// message on one line, as for forged.
func malformed(format string, args ...any) error {
	return &app.Error{Code: app.CodeInvalidPayload, Message: "This is not a message of Amazon SNS", Err: fmt.Errorf(format, args...)}
}

// forged returns the error for a message that is not authentic, too old, or of an unknown topic.
func forged(format string, args ...any) error {
	return &app.Error{Code: app.CodeForbidden, Message: "This message is not believed", Err: fmt.Errorf(format, args...)}
}

// Receiver verifies messages of some topics. It is safe for concurrent use.
type Receiver struct {
	topics []topic
	client *http.Client
	now    func() time.Time
	certs  *cache.Cache[string, *x509.Certificate] // by URL

	mu        sync.Mutex
	downloads window.Counter // downloads of certificates
}

// New returns a Receiver for the topics with the given ARNs. client connects to Amazon and should
// refuse private addresses; redirects are not followed. Error: an invalid ARN.
func New(arns []string, client *http.Client) (*Receiver, error) {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	r := &Receiver{client: &own, now: clock.Now, certs: cache.New[string, *x509.Certificate](maxCertificates, certificateTTL)}
	r.certs.Now = func() time.Time { return r.now() }
	for _, arn := range arns {
		topic, err := parseTopic(arn)
		if err != nil {
			return nil, err
		}
		r.topics = append(r.topics, topic)
	}
	return r, nil
}

// Receive verifies a message and returns the SES reports in it, none for a message that is not
// about mail. It confirms subscriptions of the listed topics. note describes any other message for
// the log. Errors: CodeInvalidPayload, CodeForbidden; others are temporary.
func (r *Receiver) Receive(ctx context.Context, body []byte) (reports []feedback.Report, note string, err error) {
	e, err := parseEnvelope(body)
	if err != nil {
		return nil, "", err
	}
	topic, err := r.admit(e)
	if err != nil {
		return nil, "", err
	}
	if err := r.verify(ctx, topic, e); err != nil {
		return nil, "", err
	}
	switch e.Type {
	case typeSubscription:
		if err := r.confirm(ctx, topic, e.Token); err != nil {
			return nil, "", err
		}
		return nil, "subscription confirmed: " + topic.ARN, nil
	case typeUnsubscription:
		return nil, "the subscription was ended, no more events will come: " + topic.ARN, nil
	}
	reports, err = feedback.ReadSES(e.MessageID, []byte(e.Message))
	if err != nil { // authentic, so a retry would change nothing
		return nil, "a message that is no event of SES: " + feedback.PrintableLine(e.Message, 100), nil
	}
	return reports, "", nil
}

// admit makes the checks that need no request: topic, time, and the URL of the certificate.
func (r *Receiver) admit(e *envelope) (topic, error) {
	at := slices.IndexFunc(r.topics, func(t topic) bool { return t.ARN == e.TopicArn })
	if at < 0 {
		return topic{}, forged("the topic is not on the list of --sns-topic: %s", feedback.PrintableLine(e.TopicArn, 200))
	}
	switch age := r.now().Sub(e.sent); {
	case age > maxAge:
		return topic{}, forged("the message is %s old", age.Round(time.Second))
	case age < -maxAhead:
		return topic{}, forged("the message comes from %s ahead of this server's clock", (-age).Round(time.Second))
	}
	if err := r.topics[at].checkCertificateURL(e.SigningCertURL); err != nil {
		return topic{}, err
	}
	return r.topics[at], nil
}
