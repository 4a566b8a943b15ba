package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	resendv2 "github.com/resend/resend-go/v2"
	resendv3 "github.com/resend/resend-go/v3"
)

// recorder keeps the last refusal: the Go clients show its message alone.
type recorder struct {
	calls *coverage
	mu    sync.Mutex
	last  apiError
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	noteGoMethods(r.calls)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = apiError{}
	_ = json.Unmarshal(body, &r.last)
	return res, err
}

func parseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	must(t, err)
	return u
}

func v3Client(t *testing.T, base, key string) (*resendv3.Client, *recorder) {
	r := &recorder{calls: calls}
	c := resendv3.NewCustomClient(&http.Client{Transport: r, Timeout: time.Minute}, key)
	c.BaseURL = parseURL(t, base)
	return c, r
}

func v2Client(t *testing.T, base, key string) (*resendv2.Client, *recorder) {
	r := &recorder{calls: calls}
	c := resendv2.NewCustomClient(&http.Client{Transport: r, Timeout: time.Minute}, key)
	c.BaseURL = parseURL(t, base)
	return c, r
}

func TestGoV3ClientFlow(t *testing.T) {
	part(t, "clients", shortForm)
	inBothModes(t, goV3ClientFlow)
}

func goV3ClientFlow(t *testing.T, mode compat) {
	needPythonDKIM(t)
	w := newFixture(t, &fixtureOptions{compat: mode})
	c, _ := v3Client(t, w.in.url, w.key)
	sent, err := c.Emails.SendWithOptions(t.Context(), &resendv3.SendEmailRequest{
		From: "Shop <shop@example.test>", To: []string{"Ann Example <ann@example.com>", "bob@example.com"},
		Cc: []string{"carl@example.com"}, Bcc: []string{"dora@example.com"}, ReplyTo: "support@example.test",
		Subject: "Ça va, Go?", Html: "<p>héllo</p>", Text: "héllo",
		Headers:     map[string]string{"X-Entity-Ref-ID": "ref-3"},
		Tags:        []resendv3.Tag{{Name: "category", Value: "welcome"}},
		Attachments: []*resendv3.Attachment{{Filename: "data.bin", Content: everyByte(), ContentType: "application/octet-stream"}},
	}, &resendv3.SendEmailOptions{IdempotencyKey: "go-v3"})
	must(t, err)
	var got *resendv3.Email
	eventually(t, time.Minute, "emails.get says sent", func() (bool, string) {
		got, err = c.Emails.Get(sent.Id)
		must(t, err)
		return got.LastEvent == "sent", got.LastEvent
	})
	if got.Object != "email" || got.From != "Shop <shop@example.test>" || !slices.Equal(got.To, []string{"Ann Example <ann@example.com>", "bob@example.com"}) ||
		!slices.Equal(got.Bcc, []string{"dora@example.com"}) || !slices.Equal(got.ReplyTo, []string{"support@example.test"}) ||
		got.Subject != "Ça va, Go?" || got.Html != "<p>héllo</p>" || got.Text != "héllo" ||
		strings.Trim(got.MessageId, "<>") != sent.Id+"@example.test" {
		t.Errorf("emails.get: %+v", got)
	}
	list, err := c.Emails.List()
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Id != sent.Id || list.HasMore || list.Object != "list" {
		t.Errorf("emails.list: %+v", list)
	}
	checkV3Attachments(t, c, sent.Id)
	w.checkArrived(t, arrival{
		id: sent.Id, subject: "Ça va, Go?", from: "shop@example.test",
		envelope: []string{"ann@example.com", "bob@example.com", "carl@example.com", "dora@example.com"},
		header:   map[string]string{"X-Entity-Ref-ID": "ref-3", "To": "ann@example.com bob@example.com", "Cc": "carl@example.com", "Reply-To": "support@example.test"},
		html:     "<p>héllo</p>", text: "héllo", files: map[string][]byte{"data.bin": everyByte()},
	})
}

func checkV3Attachments(t *testing.T, c *resendv3.Client, id string) {
	t.Helper()
	list, err := c.Emails.ListAttachments(id)
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Filename != "data.bin" {
		t.Fatalf("attachments: %+v", list)
	}
	one, err := c.Emails.GetAttachment(id, list.Data[0].Id)
	must(t, err)
	if one.Object != "attachment" || one.ContentType != "application/octet-stream" || one.ExpiresAt == "" {
		t.Errorf("attachment: %+v", one)
	}
	res, err := http.Get(one.DownloadUrl)
	must(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !bytes.Equal(data, everyByte()) {
		t.Errorf("download: %s, %d bytes, %v", res.Status, len(data), err)
	}
}

func TestGoV3ClientErrors(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientErrors)
}

func goV3ClientErrors(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	const nobody = "019e0000-0000-7000-8000-000000000000"
	email := resendv3.SendEmailRequest{From: "a@example.test", To: []string{"b@example.com"}, Subject: "refused", Text: "refused"}
	unverified, path := email, email
	unverified.From = "a@unverified.test"
	path.Attachments = []*resendv3.Attachment{{Filename: "a", Path: "https://example.com/a"}}
	send := func(m resendv3.SendEmailRequest) func(*resendv3.Client) error {
		return func(c *resendv3.Client) error { _, err := c.Emails.Send(&m); return err }
	}
	restricted := w.in.newKey(t, "--permission", "sending_access")
	cases := []struct {
		name, key string
		call      func(*resendv3.Client) error
		status    int
		code      string
	}{
		{"no key", "", send(email), 401, "missing_api_key"},
		{"wrong key", forgedKey(w.key), send(email), 401, "invalid_api_key"},
		{"restricted key", restricted, func(c *resendv3.Client) error { _, err := c.Emails.Get(nobody); return err }, 403, "restricted_api_key"},
		{"unverified", w.key, send(unverified), 422, "validation_error"},
		{"attachment by path", w.key, send(path), 422, "validation_error"},
		{"not found", w.key, func(c *resendv3.Client) error { _, err := c.Emails.Get(nobody); return err }, 404, "not_found"},
		{"unknown field", w.key, func(c *resendv3.Client) error {
			req, err := c.NewRequest(t.Context(), "POST", "emails", map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "s", "text": "t", "no_such_field": 1})
			must(t, err)
			_, err = c.Perform(req, nil)
			return err
		}, 422, "validation_error"},
	}
	for _, tc := range cases {
		c, seen := v3Client(t, w.in.url, tc.key)
		err := tc.call(c)
		if err == nil {
			t.Errorf("%s: no error", tc.name)
			continue
		}
		if seen.last.StatusCode != tc.status || seen.last.Name != tc.code || !strings.Contains(fmt.Sprint(err), seen.last.Message) {
			t.Errorf("%s: wire %+v, client %q, want %d %s", tc.name, seen.last, err, tc.status, tc.code)
		}
	}
}

func TestGoV2ClientFlow(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientFlow)
}

func goV2ClientFlow(t *testing.T, mode compat) {
	needPythonDKIM(t)
	w := newFixture(t, &fixtureOptions{compat: mode})
	c, _ := v2Client(t, w.in.url, w.key)
	sent, err := c.Emails.Send(&resendv2.SendEmailRequest{
		From: "shop@example.test", To: []string{"ann@example.com"}, Bcc: []string{"dora@example.com"},
		Subject: "from v2", Html: "<p>hello</p>", Text: "hello",
		Attachments: []*resendv2.Attachment{{Filename: "data.bin", Content: everyByte()}},
	})
	must(t, err)
	eventually(t, time.Minute, "emails.get says sent", func() (bool, string) {
		got, err := c.Emails.Get(sent.Id)
		must(t, err)
		return got.LastEvent == "sent" && got.From == "shop@example.test", fmt.Sprintf("%+v", got)
	})
	list, err := c.Emails.List()
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Id != sent.Id {
		t.Errorf("emails.list: %+v", list)
	}
	w.checkArrived(t, arrival{
		id: sent.Id, subject: "from v2", from: "shop@example.test",
		envelope: []string{"ann@example.com", "dora@example.com"},
		html:     "<p>hello</p>", text: "hello", files: map[string][]byte{"data.bin": everyByte()},
	})
	unknown, _ := v2Client(t, w.in.url, forgedKey(w.key))
	if _, err := unknown.Emails.Get(sent.Id); err == nil {
		t.Error("a wrong key reads an email")
	}
}
