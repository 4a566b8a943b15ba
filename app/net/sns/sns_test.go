package sns

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/testing/apptest"
)

const (
	topicARN = "arn:aws:sns:eu-west-1:123456789012:ses-events"
	certURL  = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
)

// amazon is a fake SNS: it serves certificates, confirms subscriptions and records the requests.
type amazon struct {
	mu      sync.Mutex
	asked   []string
	answers map[string]string // by URL without query
	status  int
}

func (a *amazon) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.String())
	address := *r.URL
	address.RawQuery = ""
	text, ok := a.answers[address.String()]
	status := a.status
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{"Location": {"https://evil.example/"}}, Request: r}, nil
}

func (a *amazon) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// signer signs as the documentation of SNS describes, independent of the code under test.
type signer struct {
	key *rsa.PrivateKey
	pem string
}

func newSigner(t *testing.T, key *rsa.PrivateKey, from, until time.Time) signer {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return signer{key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// sign sets Signature.
func (s signer) sign(t *testing.T, m map[string]string) {
	t.Helper()
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text string
	for _, name := range names {
		if value, ok := m[name]; ok {
			text += name + "\n" + value + "\n"
		}
	}
	hash, sum := crypto.SHA256, []byte(nil)
	if m["SignatureVersion"] == "1" {
		hash = crypto.SHA1
		digest := sha1.Sum([]byte(text))
		sum = digest[:]
	} else {
		digest := sha256.Sum256([]byte(text))
		sum = digest[:]
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, hash, sum)
	if err != nil {
		t.Fatal(err)
	}
	m["Signature"] = base64.StdEncoding.EncodeToString(signature)
}

// harness is a receiver with a fake SNS and a fake clock.
type harness struct {
	*Receiver
	t      *testing.T
	amazon *amazon
	signer signer
	clock  time.Time
}

func newHarness(t *testing.T, topics ...string) *harness {
	t.Helper()
	d := &harness{t: t, clock: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	d.signer = newSigner(t, apptest.RSAKey(0), d.clock.AddDate(0, -1, 0), d.clock.AddDate(0, 1, 0))
	d.amazon = &amazon{status: http.StatusOK, answers: map[string]string{certURL: d.signer.pem, "https://sns.eu-west-1.amazonaws.com/": "<ConfirmSubscriptionResponse/>"}}
	if len(topics) == 0 {
		topics = []string{topicARN}
	}
	var err error
	if d.Receiver, err = New(topics, &http.Client{Transport: d.amazon}); err != nil {
		t.Fatal(err)
	}
	d.now = func() time.Time { return d.clock }
	return d
}

// notification returns a valid message, not yet signed.
func (d *harness) notification() map[string]string {
	return map[string]string{
		"Type": "Notification", "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324", "TopicArn": topicARN, "Subject": "Amazon SES Email Event Notification",
		"Message":   `{"eventType":"Delivery","mail":{"messageId":"0100"},"delivery":{"recipients":["bob@example.net"]}}` + "\n",
		"Timestamp": d.clock.Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": "2", "SigningCertURL": certURL,
		"UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
	}
}

func (d *harness) subscription() map[string]string {
	m := d.notification()
	delete(m, "Subject")
	maps.Copy(m, map[string]string{"Type": "SubscriptionConfirmation", "Token": "2336412f37f&b=c", "SubscribeURL": "https://evil.example/confirm"})
	return m
}

func (d *harness) receive(m map[string]string) ([]feedback.Report, string, error) {
	d.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Receive(d.t.Context(), body)
}

func (d *harness) wantRefused(name string, m map[string]string, want app.Code) {
	d.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		d.t.Fatal(err)
	}
	d.wantRefusedBody(name, body, want)
}

func (d *harness) wantRefusedBody(name string, body []byte, want app.Code) {
	d.t.Helper()
	reports, note, err := d.Receive(d.t.Context(), body)
	var refusal *app.Error
	if !errors.As(err, &refusal) || refusal.Code != want || refusal.Err == nil || reports != nil || note != "" {
		d.t.Errorf("%s: %v, %q, error %v, want %s", name, reports, note, err, want)
	}
}

func TestValidSignaturesOfBothVersions(t *testing.T) {
	d := newHarness(t)
	for _, version := range []string{"1", "2"} {
		for _, subject := range []string{"absent", "present", "empty"} {
			m := d.notification()
			m["SignatureVersion"] = version
			switch subject {
			case "absent":
				delete(m, "Subject")
			case "empty":
				m["Subject"] = ""
			}
			d.signer.sign(t, m)
			reports, note, err := d.receive(m)
			if err != nil || note != "" || len(reports) != 1 || reports[0].Kind != feedback.Delivered || !strings.HasPrefix(reports[0].ID, m["MessageId"]) {
				t.Errorf("version %s, subject %s: %+v, %q, %v", version, subject, reports, note, err)
			}
		}
	}
	if got := d.amazon.requests(); len(got) != 1 || got[0] != "GET "+certURL {
		t.Errorf("asked %q, want the certificate once", got)
	}
}

func TestMessageWithoutEventIsAcceptedWithNote(t *testing.T) {
	d := newHarness(t)
	m := d.notification()
	m["Message"] = "Successfully validated SNS topic for Amazon SES event publishing.\r\nlevel=ERROR"
	d.signer.sign(t, m)
	reports, note, err := d.receive(m)
	if err != nil || len(reports) > 0 || !strings.Contains(note, "Successfully validated") || strings.ContainsAny(note, "\r\n") {
		t.Errorf("%v, %q, %v", reports, note, err)
	}
}

func TestSubscriptionIsConfirmedAtTopicHost(t *testing.T) {
	d := newHarness(t)
	m := d.subscription()
	d.signer.sign(t, m)
	if _, note, err := d.receive(m); err != nil || !strings.Contains(note, topicARN) {
		t.Fatalf("%q, %v", note, err)
	}
	const want = "GET https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37f%26b%3Dc&TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Ases-events&Version=2010-03-31"
	if got := d.amazon.requests(); len(got) != 2 || got[1] != want {
		t.Errorf("asked %q", got)
	}
	d.amazon.status = http.StatusFound
	if _, _, err := d.receive(m); err == nil || strings.Contains(err.Error(), "2336412f37f") || strings.Contains(strings.Join(d.amazon.requests(), " "), "evil") {
		t.Errorf("after a redirect: %v, asked %q", err, d.amazon.requests())
	}
	m["Type"] = "UnsubscribeConfirmation"
	d.signer.sign(t, m)
	before := len(d.amazon.requests())
	if _, note, err := d.receive(m); err != nil || !strings.Contains(note, "ended") || len(d.amazon.requests()) != before {
		t.Errorf("%q, %v", note, err)
	}
}

// TestForgedEnvelopesAreRefused modifies valid envelopes in a hundred ways. None is accepted, and
// none causes a request to a host other than that of the certificate.
func TestForgedEnvelopesAreRefused(t *testing.T) {
	d := newHarness(t)
	good := d.notification()
	d.signer.sign(t, good)
	n := 0
	forge := func(name string, code app.Code, change func(m map[string]string)) {
		t.Helper()
		n++
		m := maps.Clone(good)
		change(m)
		d.wantRefused(name, m, code)
	}
	for _, field := range []string{"Message", "MessageId", "Timestamp", "TopicArn", "SigningCertURL", "Signature", "SignatureVersion", "Type"} {
		forge("without "+field, app.CodeInvalidPayload, func(m map[string]string) { delete(m, field) })
	}
	for _, field := range []string{"Message", "MessageId", "Subject"} {
		for _, suffix := range []string{"x", " ", "\n", "\x00", "\nSubject\nother"} {
			forge(field+" with "+suffix, app.CodeForbidden, func(m map[string]string) { m[field] += suffix })
		}
		forge("lower case "+field, app.CodeForbidden, func(m map[string]string) { m[field] = strings.ToUpper(m[field]) + "A" })
	}
	forge("another subject", app.CodeForbidden, func(m map[string]string) { delete(m, "Subject") })
	forge("no last line end", app.CodeForbidden, func(m map[string]string) { m["Message"] = strings.TrimSuffix(m["Message"], "\n") })
	for _, arn := range []string{
		"arn:aws:sns:eu-west-1:123456789012:ses-events2", "arn:aws:sns:eu-west-1:999999999999:ses-events", "arn:aws:sns:us-east-1:123456789012:ses-events",
		"arn:aws-cn:sns:eu-west-1:123456789012:ses-events", " " + topicARN, topicARN + " ", strings.ToUpper(topicARN), topicARN + "\n", "*", "arn:aws:sns:*:*:*",
	} {
		forge("topic "+arn, app.CodeForbidden, func(m map[string]string) { m["TopicArn"] = arn; d.signer.sign(t, m) })
	}
	for _, age := range []time.Duration{71 * time.Minute, 24 * time.Hour, 1000 * 24 * time.Hour, -11 * time.Minute, -24 * time.Hour} {
		forge("age "+age.String(), app.CodeForbidden, func(m map[string]string) {
			m["Timestamp"] = d.clock.Add(-age).Format("2006-01-02T15:04:05.000Z")
			d.signer.sign(t, m)
		})
	}
	for _, at := range []string{"now", "0", "1777636800", "2026-05-01", "2026-05-01 12:00:00", "2026-13-01T12:00:00Z"} {
		forge("time "+at, app.CodeInvalidPayload, func(m map[string]string) { m["Timestamp"] = at; d.signer.sign(t, m) })
	}
	for _, version := range []string{"0", "3", "v2", "1.0", " 2"} {
		forge("version "+version, app.CodeInvalidPayload, func(m map[string]string) { m["SignatureVersion"] = version })
	}
	forge("the other version", app.CodeForbidden, func(m map[string]string) { m["SignatureVersion"] = "1" })
	for _, kind := range []string{"notification", "Notification ", "SubscriptionConfirmation", "UnsubscribeConfirmation", "Raw"} {
		forge("type "+kind, app.CodeInvalidPayload, func(m map[string]string) { m["Type"] = kind })
	}
	signature, _ := base64.StdEncoding.DecodeString(good["Signature"])
	for i := range 32 {
		bad := bytes.Clone(signature)
		bad[i*8] ^= 1 << (i % 8)
		forge("a bit of the signature", app.CodeForbidden, func(m map[string]string) { m["Signature"] = base64.StdEncoding.EncodeToString(bad) })
	}
	for _, s := range []string{"AAAA", strings.Repeat("A", 344), base64.StdEncoding.EncodeToString(signature[:255]), base64.StdEncoding.EncodeToString(append(bytes.Clone(signature), 0))} {
		forge("signature "+s[:4], app.CodeForbidden, func(m map[string]string) { m["Signature"] = s })
	}
	for _, s := range []string{"=", "%%", good["Signature"] + "=", good["Signature"] + "!"} {
		forge("no base64 "+s[:1], app.CodeInvalidPayload, func(m map[string]string) { m["Signature"] = s })
	}
	other := newSigner(t, apptest.RSAKey(1), d.clock.AddDate(0, -1, 0), d.clock.AddDate(0, 1, 0))
	forge("another key", app.CodeForbidden, func(m map[string]string) { other.sign(t, m) })
	forge("a notification as confirmation", app.CodeForbidden, func(m map[string]string) {
		m["Type"], m["Token"], m["SubscribeURL"] = "SubscriptionConfirmation", "abc", "https://evil.example"
	})
	if n < 100 {
		t.Errorf("only %d forgeries", n)
	}
	for _, asked := range d.amazon.requests() {
		if asked != "GET "+certURL {
			t.Errorf("asked %s", asked)
		}
	}
	if _, _, err := d.receive(good); err != nil {
		t.Errorf("the genuine one: %v", err)
	}
}

// TestFieldBoundariesAreSigned: the signed text is lines of names and values. A value with several
// lines would allow another message with the same signature.
func TestFieldBoundariesAreSigned(t *testing.T) {
	d := newHarness(t)
	good := d.notification()
	good["Message"] += "MessageId\nforged\nSubject\nforged" // SNS signs any published text
	d.signer.sign(t, good)
	if reports, note, err := d.receive(good); err != nil || len(reports) != 0 || note == "" {
		t.Errorf("a message of several lines: %v, %q, %v", reports, note, err)
	}
	cut := maps.Clone(good)
	cut["Message"], _, _ = strings.Cut(good["Message"], "\nMessageId\n")
	cut["MessageId"] = "forged\nSubject\nforged\nMessageId\n" + good["MessageId"]
	d.wantRefused("the Message ends sooner", cut, app.CodeForbidden)
	cut = maps.Clone(good)
	cut["MessageId"] += "\nSubject\n" + cut["Subject"]
	delete(cut, "Subject")
	d.wantRefused("the Subject within the MessageId", cut, app.CodeForbidden)
}

func TestLineBreaksInSignedFieldsAreRefused(t *testing.T) {
	d := newHarness(t)
	for _, field := range []string{"MessageId", "Subject", "Timestamp", "TopicArn", "Type", "SubscribeURL", "Token"} {
		for _, lines := range []string{"\n", "\r", "\r\n", "\nTopicArn\n" + topicARN} {
			m := d.subscription()
			if field == "Subject" {
				m = d.notification()
			}
			m[field] += lines
			d.signer.sign(t, m)
			want := app.CodeForbidden
			if field == "Timestamp" || field == "Type" { // these have a fixed format
				want = app.CodeInvalidPayload
			}
			d.wantRefused(field, m, want)
		}
	}
	if asked := d.amazon.requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

func TestDuplicateAndOversizedEnvelopesAreRefused(t *testing.T) {
	d := newHarness(t)
	m := d.notification()
	d.signer.sign(t, m)
	body, _ := json.Marshal(m)
	twice := bytes.Replace(body, []byte(`{`), []byte(`{"Message":"forged",`), 1)
	for name, bad := range map[string][]byte{
		"twice": twice, "empty": nil, "array": []byte("[]"), "null": []byte("null"), "text": []byte("x"), "two": append(bytes.Clone(body), body...),
		"large": append(bytes.Clone(body), bytes.Repeat([]byte(" "), maxEnvelope)...), "number": bytes.Replace(body, []byte(`"2"`), []byte(`2`), 1),
		"bytes": bytes.Replace(body, []byte("Delivery"), []byte("\xff\xfe"), 1),
	} {
		d.wantRefusedBody(name, bad, app.CodeInvalidPayload)
	}
	// A name in another case is another name, whose value is not used.
	other := bytes.Replace(body, []byte(`{`), []byte(`{"message":"forged","topicarn":"x",`), 1)
	if reports, _, err := d.Receive(t.Context(), other); err != nil || len(reports) != 1 {
		t.Errorf("%v, %v", reports, err)
	}
	if n := len(d.amazon.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestForeignCertificateURLsAreNotFetched(t *testing.T) {
	const path = "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
	hostile := []string{
		"http://sns.eu-west-1.amazonaws.com" + path, "HTTPS://sns.eu-west-1.amazonaws.com" + path, "https:sns.eu-west-1.amazonaws.com" + path,
		"//sns.eu-west-1.amazonaws.com" + path, "ftp://sns.eu-west-1.amazonaws.com" + path, "file:///etc/ssl/cert.pem", "data:,x.pem",
		"https://evil.example" + path, "https://sns.eu-west-1.amazonaws.com.evil.example" + path, "https://evil.example/sns.eu-west-1.amazonaws.com/x.pem",
		"https://sns.eu-west-1.amazonaws.com@evil.example" + path, "https://user@sns.eu-west-1.amazonaws.com" + path, "https://u:p@sns.eu-west-1.amazonaws.com" + path,
		"https://sns.eu-west-1.amazonaws.com:443" + path, "https://sns.eu-west-1.amazonaws.com:8443" + path, "https://sns.eu-west-1.amazonaws.com." + path,
		"https://SNS.eu-west-1.amazonaws.com" + path, "https://sns.us-east-1.amazonaws.com" + path, "https://sns.eu-west-1.amazonaws.com.cn" + path,
		"https://sns.eu-west-1amazonaws.com" + path, "https://snsXeu-west-1.amazonaws.com" + path, "https://sns.s3-eu-west-1.amazonaws.com" + path,
		"https://sns.s3.amazonaws.com" + path, "https://s3.amazonaws.com/sns.eu-west-1.amazonaws.com/x.pem", "https://sns.eu-west-1.s3.amazonaws.com" + path,
		"https://x.sns.eu-west-1.amazonaws.com" + path, "https://sns.eu-west-1.amazonaws.com" + path + "?x=1", "https://sns.eu-west-1.amazonaws.com" + path + "#x",
		"https://sns.eu-west-1.amazonaws.com" + path + "?", "https://sns.eu-west-1.amazonaws.com/?Action=Publish&x=.pem", "https://sns.eu-west-1.amazonaws.com/a/b.pem",
		"https://sns.eu-west-1.amazonaws.com/../b.pem", "https://sns.eu-west-1.amazonaws.com/%2e%2e%2fb.pem", "https://sns.eu-west-1.amazonaws.com/x.pem/",
		"https://sns.eu-west-1.amazonaws.com/x.PEM", "https://sns.eu-west-1.amazonaws.com/x", "https://sns.eu-west-1.amazonaws.com/.pem", "https://sns.eu-west-1.amazonaws.com/x.pem.txt",
		"https://sns.eu-west-1.amazonaws.com\\@evil.example" + path, "https://evil.example\\.sns.eu-west-1.amazonaws.com" + path, "https://sns.eu-west-1.amazonaws.com\t" + path,
		"https://sns.eu-west-1.amazonaws.com\n" + path, " https://sns.eu-west-1.amazonaws.com" + path, "https://sns.eu-west-1.amazonaws.com" + path + "\n",
		"https://127.0.0.1" + path, "https://[::1]" + path, "https://169.254.169.254/x.pem", "https://ѕns.eu-west-1.amazonaws.com" + path, "https://sns%2eeu-west-1.amazonaws.com" + path,
		"https://sns.eu-west-1.amazonaws.com" + path + "\x00", "https://" + strings.Repeat("a", 600) + path,
	}
	if len(hostile) < 40 {
		t.Fatalf("only %d addresses", len(hostile))
	}
	d := newHarness(t)
	for _, address := range hostile {
		m := d.notification()
		m["SigningCertURL"] = address
		d.signer.sign(t, m)
		_, _, err := d.receive(m)
		var refusal *app.Error
		if !errors.As(err, &refusal) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if asked := d.amazon.requests(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

func TestInvalidCertificatesAreRefused(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, s := range map[string]signer{
		"over":    newSigner(t, apptest.RSAKey(1), now.AddDate(-1, 0, 0), now.Add(-time.Minute)),
		"not yet": newSigner(t, apptest.RSAKey(1), now.Add(time.Minute), now.AddDate(1, 0, 0)),
		"short":   newSigner(t, short, now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)),
	} {
		d := newHarness(t)
		d.amazon.answers[certURL] = s.pem
		m := d.notification()
		s.sign(t, m)
		d.wantRefused(name, m, app.CodeForbidden)
	}
	for name, text := range map[string]string{"empty": "", "no certificate": "-----BEGIN X-----\n-----END X-----\n", "garbage": "x", "large": strings.Repeat("x", maxAnswer+1),
		"damaged": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		d := newHarness(t)
		d.amazon.answers[certURL] = text
		m := d.notification()
		d.signer.sign(t, m)
		var refusal *app.Error
		if _, _, err := d.receive(m); err == nil || errors.As(err, &refusal) {
			t.Errorf("%s: %v, want trouble that may pass", name, err)
		}
	}
}

func TestCertificateFetchesAreLimited(t *testing.T) {
	d := newHarness(t)
	m := d.notification()
	for i := range 50 {
		m["SigningCertURL"] = strings.Replace(certURL, "0123456789abcdef", strings.Repeat(string(rune('a'+i%26)), 1+i), 1)
		d.signer.sign(t, m)
		if _, _, err := d.receive(m); err == nil {
			t.Fatal("believed without a certificate")
		}
	}
	if n := len(d.amazon.requests()); n != maxFetchesPerMinute {
		t.Errorf("%d fetches in a minute", n)
	}
	d.clock = d.clock.Add(time.Minute)
	good := d.notification()
	d.signer.sign(t, good)
	if _, _, err := d.receive(good); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	d.clock = d.clock.Add(25 * time.Hour)
	d.amazon.status = http.StatusInternalServerError
	late := d.notification()
	d.signer.sign(t, late)
	if _, _, err := d.receive(late); err != nil {
		t.Errorf("with the certificate of yesterday: %v", err)
	}
}

func TestInvalidTopicsAreRefused(t *testing.T) {
	for arn, host := range map[string]string{
		topicARN: "sns.eu-west-1.amazonaws.com",
		"arn:aws-cn:sns:cn-north-1:123456789012:x":          "sns.cn-north-1.amazonaws.com.cn",
		"arn:aws-us-gov:sns:us-gov-west-1:123456789012:x_y": "sns.us-gov-west-1.amazonaws.com",
		"arn:aws:sns:ap-southeast-2:123456789012:x.fifo":    "sns.ap-southeast-2.amazonaws.com",
	} {
		if topic, err := parseTopic(arn); err != nil || topic.host() != host {
			t.Errorf("%s: %s, %v", arn, topic.host(), err)
		}
	}
	for _, arn := range []string{"", "x", "arn:aws:sqs:eu-west-1:123456789012:x", "arn:aws:sns:eu-west-1.evil.example/:123456789012:x", "arn:aws:sns:eu-west-1:123:x",
		"arn:aws:sns:s3-eu:123456789012:x", "arn:aws:sns::123456789012:x", topicARN + ":0b4a5d5c-subscription", topicARN + "\n", "arn:aws:sns:@evil-1:123456789012:x"} {
		if _, err := New([]string{arn}, &http.Client{}); err == nil {
			t.Errorf("%q is taken", arn)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"Type":"Notification","MessageId":"a","TopicArn":"` + topicARN + `","Message":"{}","Timestamp":"2026-05-01T12:00:00.000Z","SignatureVersion":"1","Signature":"AAAA","SigningCertURL":"` + certURL + `"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		web := &amazon{status: http.StatusNotFound}
		r, err := New([]string{topicARN}, &http.Client{Transport: web})
		if err != nil {
			t.Fatal(err)
		}
		r.now = func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }
		if reports, note, err := r.Receive(context.Background(), body); err == nil || reports != nil || note != "" {
			t.Fatalf("believed: %q", body)
		}
		for _, asked := range web.asked {
			if !strings.HasPrefix(asked, "GET https://sns.eu-west-1.amazonaws.com/") {
				t.Fatalf("asked %s", asked)
			}
		}
	})
}
