// Package sns takes messages of Amazon SNS at an HTTP door: it proves that they
// come from a topic of the operator's, and confirms subscriptions.
//
// Failure policy: nothing is believed before all checks have passed, the cheap
// ones first, so that a forged message reaches no other host. A refusal is an
// *app.Error (CodeInvalidPayload, CodeForbidden) that wraps why, for the log; any
// other error is trouble of ours or of Amazon's, and the sender should try again.
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

// maxEnvelope is how large an envelope can be, in bytes: SNS carries 256 KiB, and
// JSON in JSON grows.
const maxEnvelope = 1 << 20

// Freshness: how old and how far ahead of our clock a message may be. SNS repeats
// for an hour at most what it could not deliver, under its first time.
const (
	maxAge   = 70 * time.Minute
	maxAhead = 10 * time.Minute
)

// malformed refuses what is no envelope of SNS. The reason is for the log, as is
// that of forged: it may quote the message, on one line.
func malformed(format string, args ...any) error {
	return &app.Error{Code: app.CodeInvalidPayload, Message: "This is not a message of Amazon SNS", Err: fmt.Errorf(format, args...)}
}

// forged refuses what is not proven, not fresh, or not from a topic on the list.
func forged(format string, args ...any) error {
	return &app.Error{Code: app.CodeForbidden, Message: "This message is not believed", Err: fmt.Errorf(format, args...)}
}

// Receiver believes messages of some topics. It is safe for concurrent use.
type Receiver struct {
	topics []topic
	client *http.Client
	now    func() time.Time
	certs  *cache.Cache[string, *x509.Certificate] // by their address

	mu        sync.Mutex
	downloads window.Counter // of certificates
}

// New makes a Receiver for the topics with those ARNs. client reaches Amazon and
// should refuse private addresses; it follows no redirects here. Error: an ARN
// that is none of a topic.
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

// Receive proves a message and returns what SES says in it: nothing for a message
// that is not about mail. It confirms the subscription of a topic on the list.
// note says in words what else it was, for the log. Errors: CodeInvalidPayload,
// CodeForbidden; else trouble that may pass.
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
	if err != nil { // authentic, so sending it again would change nothing
		return nil, "a message that is no event of SES: " + feedback.PrintableLine(e.Message, 100), nil
	}
	return reports, "", nil
}

// admit asks all that needs no other host: the topic, the time, the certificate's
// address.
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
