package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app/operate/health"
	"mailer/app/testing/testserver"
)

// notifications are what an operator got.
type notifications struct {
	t       *testing.T
	mails   []string // subject, a line end, text
	posts   []map[string]any
	signed  string
	fails   bool // no relay works
	refused int  // status of the webhook if not 200
}

func (o *notifications) mail(_ context.Context, to, subject, text string) error {
	if to != "ops@example.com" {
		o.t.Errorf("a mail to %s", to)
	}
	if o.fails {
		return errors.New("no relay works")
	}
	o.mails = append(o.mails, subject+"\n"+text)
	return nil
}

func (o *notifications) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.refused != 0 {
		return &http.Response{StatusCode: o.refused, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{"Location": {"https://elsewhere.example/"}}}, nil
	}
	var got map[string]any
	raw, err := io.ReadAll(r.Body)
	testserver.Must(o.t, errors.Join(err, json.Unmarshal(raw, &got)))
	o.posts, o.signed = append(o.posts, got), r.Header.Get("Webhook-Signature")
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

const alertSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// alerting returns an alerter as after a start of the server.
func alerting(w *testserver.Server, o *notifications) *health.Alerter {
	w.T.Helper()
	to := health.Alerts{Webhook: "https://hooks.example.com/x", Secret: alertSecret, Email: "ops@example.com"}
	testserver.Must(w.T, to.Check())
	a, err := w.Services.Health.NewAlerter(w.T.Context(), to, o, o.mail)
	testserver.Must(w.T, err)
	return a
}

func (o *notifications) want(when string, mails, posts int) {
	o.t.Helper()
	if len(o.mails) != mails || len(o.posts) != posts {
		o.t.Fatalf("%s: %d mails and %d posts, want %d and %d: %q", when, len(o.mails), len(o.posts), mails, posts, o.mails)
	}
}

// TestAlertOncePerDay: also over a restart, and not for warnings.
func TestAlertOncePerDay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, o := testserver.New(t), &notifications{t: t}
		a := alerting(w, o)
		relay := health.FindingOf("relay_failing", "us-east-1", "relay", "us-east-1", "host", "smtp.example.com:587", "reason", "said of shop.example: no")
		domain := health.FindingOf("domain_record", "0198", "id", "0198", "domain", "secret-name.example", "team", "Acme", "record", "SPF", "name", "send", "live", "missing", "detail", "")
		backup := health.FindingOf("backup_none", "")
		began := time.Now()
		a.Step(t.Context(), []health.Finding{relay, domain, backup})
		o.want("two are red", 2, 2)
		for _, alert := range append(o.mails, fmt.Sprint(o.posts)) {
			for _, word := range []string{"secret-name", "Acme", "shop.example"} {
				if strings.Contains(alert, word) {
					t.Errorf("%s of a tenant occurs in %q", word, alert)
				}
			}
		}
		if !strings.HasPrefix(o.mails[0], "Mailer: A relay fails (us-east-1)\n") || !strings.Contains(o.mails[1], "A domain lacks a DNS record (0198)") || o.signed == "" {
			t.Errorf("%q, signed %q", o.mails, o.signed)
		}
		a.Step(t.Context(), []health.Finding{relay, domain, backup})
		alerting(w, o).Step(t.Context(), []health.Finding{relay, domain, backup})
		o.want("nothing is new, and a restart", 2, 2)
		a = alerting(w, o)
		a.Step(t.Context(), nil)
		a.Step(t.Context(), []health.Finding{relay})
		o.want("it is over and comes back within a day", 2, 2)
		time.Sleep(24*time.Hour - time.Since(began))
		a.Step(t.Context(), []health.Finding{relay})
		o.want("it came back and stays", 3, 3)
		time.Sleep(30 * time.Hour)
		a.Step(t.Context(), []health.Finding{relay})
		o.want("it never went", 3, 3)
	})
}

func TestAlertMailIsRetried(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, o := testserver.New(t), &notifications{t: t, fails: true, refused: 302}
		a := alerting(w, o)
		relay := []health.Finding{health.FindingOf("relay_connect", "us-east-1", "relay", "us-east-1", "host", "h", "said", "s")}
		at := time.Now().UTC().Format("2006-01-02T15:04")
		a.Step(t.Context(), relay)
		o.want("nothing works", 0, 0)
		time.Sleep(3 * time.Hour)
		o.fails, o.refused = false, 0
		a = alerting(w, o) // after a crash
		a.Step(t.Context(), nil)
		o.want("both work again", 1, 1)
		if !strings.Contains(o.mails[0], "Found at "+at) || !strings.HasPrefix(o.posts[0]["created_at"].(string), at) {
			t.Errorf("not of %s: %q, %v", at, o.mails, o.posts)
		}
		a.Step(t.Context(), nil)
		o.want("and once", 1, 1)
	})
}

func TestManyAlertsBecomeDigest(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, o := testserver.New(t), &notifications{t: t}
		a := alerting(w, o)
		var many []health.Finding
		for i := range 25 {
			many = append(many, health.FindingOf("domain_unverified", fmt.Sprint("id", i), "id", fmt.Sprint(i)))
		}
		a.Step(t.Context(), many)
		o.want("25 at once", 10, 25)
		a = alerting(w, o)
		time.Sleep(23 * time.Hour)
		a.Step(t.Context(), many)
		o.want("the same day", 10, 25)
		time.Sleep(time.Hour)
		a.Step(t.Context(), many)
		o.want("the next", 11, 25)
		if !strings.HasPrefix(o.mails[10], "Mailer: 15 more findings\n") || strings.Count(o.mails[10], "A domain is not verified") != 15 {
			t.Errorf("%s", o.mails[10])
		}
	})
}

func TestInvalidAlertSettingsAreRefused(t *testing.T) {
	for _, c := range []struct {
		to    health.Alerts
		words string
	}{
		{health.Alerts{Webhook: "ftp://x"}, "--alert-webhook is not"},
		{health.Alerts{Webhook: "https://x", Secret: "short"}, "--alert-webhook-secret must"},
		{health.Alerts{Secret: alertSecret}, "of no use without"},
		{health.Alerts{Email: "nobody"}, "--alert-email"},
		{health.Alerts{Webhook: "http://10.0.0.1/x", Secret: alertSecret, Email: "ops@example.com"}, ""},
	} {
		if err := c.to.Check(); (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v", c.to, err)
		}
	}
}
