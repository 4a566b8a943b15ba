package web

import (
	"bytes"
	"crypto"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/net/sns"
	"mailer/app/testing/apptest"
)

const (
	sesTopic = "arn:aws:sns:us-east-1:123456789012:events"
	sesCert  = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-ab12.pem"
)

// fakeAmazon serves one certificate, and signs with its key.
type fakeAmazon struct {
	key   *rsa.PrivateKey
	cert  []byte
	asked atomic.Int64
}

func newFakeAmazon(t *testing.T) *fakeAmazon {
	t.Helper()
	key := apptest.RSAKey(0)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeAmazon{key: key, cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a *fakeAmazon) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked.Add(1)
	res := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a.cert)), Request: r}
	if r.URL.String() != sesCert {
		res.StatusCode, res.Body = http.StatusNotFound, http.NoBody
	}
	return res, nil
}

// envelope is a signed notification (signature version 2).
func (a *fakeAmazon) envelope(t *testing.T, id, message string) string {
	t.Helper()
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	text := "Message\n" + message + "\nMessageId\n" + id + "\nTimestamp\n" + at + "\nTopicArn\n" + sesTopic + "\nType\nNotification\n"
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(crand.Reader, a.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{"Type": "Notification", "MessageId": id, "TopicArn": sesTopic, "Message": message, "Timestamp": at,
		"SignatureVersion": "2", "Signature": base64.StdEncoding.EncodeToString(signature), "SigningCertURL": sesCert})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSESEventsCountOnce sends genuine events several times and
// in random orders between forged ones.
func TestSESEventsCountOnce(t *testing.T) {
	t.Parallel()
	amazon := newFakeAmazon(t)
	receiver, err := sns.New([]string{sesTopic}, &http.Client{Transport: amazon})
	if err != nil {
		t.Fatal(err)
	}
	r := newTestAPI(t, relayed(), withSNS(receiver))
	r.domain(r.team.ID, "example.com", true)
	for range 10 {
		address := app.NewID() + "@example.org"
		id := r.send(r.full, `{"from":"a@example.com","to":["`+address+`","other@example.org"],"subject":"s","text":"x"}`)
		r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
		mail := `"mail":{"messageId":"0100","destination":["` + address + `","other@example.org"],"headers":[{"name":"X-Mailer-Email-ID","value":"` + id + `"}]}}`
		var calls []string
		for i, event := range []string{
			`{"eventType":"Send","send":{},` + mail,
			`{"eventType":"DeliveryDelay","deliveryDelay":{"delayedRecipients":[{"emailAddress":"` + address + `","status":"4.4.1"}]},` + mail,
			`{"eventType":"Delivery","delivery":{"recipients":["` + address + `"]},` + mail,
			`{"notificationType":"Bounce","bounce":{"bounceType":"Permanent","bounceSubType":"General","bouncedRecipients":[{"emailAddress":"` + strings.ToUpper(address) + `","status":"5.1.1"}]},` + mail,
			`{"eventType":"Complaint","complaint":{"complainedRecipients":[{"emailAddress":"` + address + `"}]},` + mail,
		} {
			genuine := amazon.envelope(t, id+string(rune('a'+i)), event)
			calls = append(calls, genuine, genuine, strings.Replace(genuine, "eventType", "eventtype", 1), strings.Replace(genuine, id+string(rune('a'+i)), id+"z", 1))
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		answers := map[int]int{}
		for _, body := range calls {
			answers[r.do("POST", "/ingest/ses", body).Code]++
		}
		// A Message that has no eventType to change stays genuine.
		if answers[200] != 11 || answers[403] != 9 {
			t.Errorf("answers %v", answers)
		}
		story := r.as(r.full, "GET", "/emails/"+id+"/events?limit=100", "").Body.String()
		for kind, want := range map[string]int{"sent": 2, "delivery_delayed": 1, "delivered": 1, "bounced": 1, "complained": 1} {
			if n := strings.Count(story, `"type":"`+kind+`"`); n != want {
				t.Errorf("%d events %s: %s", n, kind, story)
			}
		}
		if w := r.as(r.full, "GET", "/emails/"+id, ""); !strings.Contains(w.Body.String(), `"last_event":"complained"`) {
			t.Error(w.Body)
		}
		if w := r.as(r.full, "GET", "/suppressions/"+address, ""); !strings.Contains(w.Body.String(), `"origin":"complaint"`) || !strings.Contains(w.Body.String(), id) {
			t.Error(w.Body)
		}
	}
	wantError(t, r.as(r.full, "GET", "/suppressions/other@example.org", ""), 404, app.CodeNotFound)
	if n := amazon.asked.Load(); n != 1 {
		t.Errorf("Amazon was asked %d times", n)
	}
}
