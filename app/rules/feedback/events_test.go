package feedback

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// documentedEvent is a block of testdata/events.
type documentedEvent struct{ want, body string }

const documentedID = "0198c0de-0000-7000-8000-000000000001"

// documentedEvents returns the events that a provider documents; none if it has no file.
func documentedEvents(t testing.TB, source string) (events []documentedEvent) {
	b, err := os.ReadFile("testdata/events/" + source + ".txt")
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(b), "\n> ")[1:] {
		want, body, _ := strings.Cut(block, "\n")
		events = append(events, documentedEvent{strings.TrimSpace(want), strings.TrimSpace(strings.ReplaceAll(body, "EMAIL", documentedID))})
	}
	return events
}

func TestDocumentedEvents(t *testing.T) {
	for source, ignored := range map[string]int{"mailjet": 1, "brevo": 2, "sparkpost": 2, "azure": 1, "postal": 2, "lettermint": 2, "smtp2go": 1, "elasticemail": 1} {
		events := documentedEvents(t, source)
		if len(events) < 6 {
			t.Errorf("%s has %d events", source, len(events))
		}
		for _, e := range events {
			out, err := Read(source, []byte(e.body))
			ignored -= out.Ignored
			var got []string
			for _, f := range out.Reports {
				if emailID, _ := app.CutEmailMessageID(f.MessageID); f.EmailID != documentedID && emailID != documentedID || f.Source != source || f.At.IsZero() {
					t.Errorf("%s\n%+v", e.body, f)
				}
				line, bound := brief(f), f.Bound(time.Time{}, time.Now())
				got = append(got, strings.TrimSpace(line+" "+strings.TrimSpace(string(bound.Class)+" "+string(bound.Reason))))
			}
			if err != nil || strings.Join(got, "; ") != e.want {
				t.Errorf("%s: %s\n%q, %v, want %q", source, e.body, strings.Join(got, "; "), err, e.want)
			}
		}
		if ignored != 0 {
			t.Errorf("%s: %d more ignored events are expected", source, ignored)
		}
	}
}

// TestRepeatedEventsHaveOneID and events of other recipients have others.
func TestRepeatedEventsHaveOneID(t *testing.T) {
	for _, p := range providers {
		ids := map[string]string{}
		for _, e := range documentedEvents(t, p.Source) {
			for range 2 {
				reports, err := readReports(p.Source, []byte(e.body))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range reports {
					f = f.Bound(time.Time{}, time.Now())
					if known, found := ids[f.ID]; found && known != e.body {
						t.Errorf("%s and %s have the same id", known, e.body)
					}
					ids[f.ID] = e.body
				}
			}
		}
	}
}

func TestRepeatedFieldsAreNotBelieved(t *testing.T) {
	for source, body := range map[string]string{
		"elasticemail": "status=Sent&to=a%40b.example&postback=" + documentedID + "&postback=other",
		"smtp2go":      `{"event":"delivered","rcpt":"a@b.example","X-Mailer-Email-ID":"` + documentedID + `","x-mailer-email-id":"other"}`,
	} {
		if reports, err := readReports(source, []byte(body)); err != nil || len(reports) != 1 || reports[0].EmailID != "" {
			t.Errorf("%s: %+v, %v", source, reports, err)
		}
	}
}

func TestAzureHandshake(t *testing.T) {
	event := `{"id":"2d1781af-3a4c-4d7c-bd0c-e34b19da4e66","topic":"/subscriptions/s","subject":"","data":{"validationCode":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6","validationUrl":"https://rp-eastus2.eventgrid.azure.net:553/eventsubscriptions/x/validate?id=512d38b6"},"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","eventTime":"2018-01-25T22:12:19.4556811Z","metadataVersion":"1","dataVersion":"1"}`
	out, err := Read("azure", []byte("["+event+"]"))
	if err != nil || out.Challenge != "512d38b6-c7b8-40c8-89fe-f46f9e9622b6" || len(out.Reports) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := Read("azure", []byte("["+event+","+event+"]")); err != nil || out.Challenge != "" || out.Ignored != 2 {
		t.Errorf("two: %+v, %v", out, err)
	}
}

func TestPostalSignature(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(&private.PublicKey)
	encoded := base64.StdEncoding.EncodeToString(der)
	number := base64.RawURLEncoding.EncodeToString
	var key string
	for form, text := range map[string]string{
		"DKIM": "v=DKIM1; t=s; h=sha256; p=" + encoded + ";", "bare": encoded,
		"PEM":  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"JWKS": `{"keys":[{"kty":"RSA","n":"` + number(private.N.Bytes()) + `","e":"` + number(big.NewInt(int64(private.E)).Bytes()) + `","kid":"x","use":"sig","alg":"RS256"}]}`,
	} {
		if key, err = postal.CheckKey(text); err != nil || key != encoded {
			t.Fatalf("%s: %s, %v", form, key, err)
		}
	}
	for _, text := range []string{"", "x", "{}", `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, `{"keys":[{"kty":"EC"}]}`, "p=;"} {
		if _, err := postal.CheckKey(text); err == nil {
			t.Errorf("the key %q is accepted", text)
		}
	}
	sign := func(hash crypto.Hash, sum []byte) string {
		signature, err := rsa.SignPKCS1v15(nil, private, hash, sum)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(signature)
	}
	now := time.Unix(1740935264, 0).Add(time.Hour)
	for _, e := range documentedEvents(t, "postal") {
		body := []byte(e.body)
		sum := sha256.Sum256(body)
		old := sha1.Sum(body)
		right := http.Header{"X-Postal-Signature-256": {sign(crypto.SHA256, sum[:])}}
		if err := postal.Verify(key, right, body, now); err != nil {
			t.Errorf("%s: %v", e.body, err)
		}
		other := sha256.Sum256(append(body, ' '))
		for name, err := range map[string]error{
			"no signature": postal.Verify(key, http.Header{}, body, now),
			"no base64":    postal.Verify(key, http.Header{"X-Postal-Signature-256": {"!"}}, body, now),
			"another body": postal.Verify(key, http.Header{"X-Postal-Signature-256": {sign(crypto.SHA256, other[:])}}, body, now),
			"SHA-1":        postal.Verify(key, http.Header{"X-Postal-Signature": {sign(crypto.SHA1, old[:])}}, body, now),
			"old":          postal.Verify(key, right, body, now.Add(ReportRetention)),
		} {
			if err == nil {
				t.Errorf("%s is believed", name)
			}
		}
	}
}

func TestLettermintSignature(t *testing.T) {
	const secret = "whsec_0123456789abcdef"
	key, err := lettermint.CheckKey(secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "short", strings.Repeat("x", 513), "whsec_0123 456789abcdef"} {
		if _, err := lettermint.CheckKey(text); err == nil {
			t.Errorf("the key %q is accepted", text)
		}
	}
	now := time.Unix(1754684112, 0)
	sign := func(secret, body string, at time.Time) http.Header {
		seconds := strconv.FormatInt(at.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(seconds + "." + body))
		return http.Header{"X-Lettermint-Signature": {"t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))}}
	}
	for _, e := range documentedEvents(t, "lettermint") {
		body := []byte(e.body)
		for _, skew := range []time.Duration{0, 4 * time.Minute, -4 * time.Minute} {
			if err := lettermint.Verify(key, sign(secret, e.body, now.Add(skew)), body, now); err != nil {
				t.Errorf("%s: %v", e.body, err)
			}
		}
		for name, header := range map[string]http.Header{
			"no signature": {}, "another secret": sign(secret+"x", e.body, now), "another body": sign(secret, e.body+" ", now),
			"an old one": sign(secret, e.body, now.Add(-6*time.Minute)), "a future one": sign(secret, e.body, now.Add(6*time.Minute)),
			"no time": {"X-Lettermint-Signature": {"v1=00"}}, "an empty one": {"X-Lettermint-Signature": {"t=1754684112,v1="}},
		} {
			if lettermint.Verify(key, header, body, now) == nil {
				t.Errorf("%s is believed", name)
			}
		}
	}
}
