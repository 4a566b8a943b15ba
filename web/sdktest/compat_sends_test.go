package sdktest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// compatSend is a send that one of the modes may refuse: its members besides from, to, subject and
// html, and the field that the error names; empty: it is accepted.
type compatSend struct {
	name           string
	members        map[string]any
	strict, resend string
}

func headers(pairs ...string) map[string]any {
	h := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1]
	}
	return map[string]any{"headers": h}
}

func attached(members ...string) map[string]any {
	a := map[string]any{}
	for i := 0; i+1 < len(members); i += 2 {
		a[members[i]] = members[i+1]
	}
	return map[string]any{"attachments": []any{a}}
}

var compatSends = []compatSend{
	{"PHP's empty headers", map[string]any{"headers": []any{}, "tags": []any{}, "template": []any{}}, "", ""},
	{"headers as a list", map[string]any{"headers": []any{map[string]string{"name": "X-A", "value": "1"}}}, "", ""},
	{"Symfony's reply-to", map[string]any{"reply_to": "r@example.com", "headers": map[string]string{"Reply-To": "R <r@example.com>"}}, "", ""},
	{"another reply-to", map[string]any{"reply_to": "r@example.com", "headers": map[string]string{"Reply-To": "s@example.com"}}, "headers.Reply-To", "headers.Reply-To"},
	{"name with a comma", map[string]any{"from": "Acme, Inc. <a@example.com>"}, "", ""},
	{"name with an @", map[string]any{"from": "a@evil.test <a@example.com>"}, "from", "from"},
	{"encoded word for a local part", map[string]any{"cc": "=?utf-8?q?a=40evil.test=00?=@example.org"}, "cc[0]", "cc[0]"},
	{"a name that ends DKIM's list", headers("X-A;b", "1"), "headers", "headers"},
	{"order to SendGrid", headers("X-SMTPAPI", `{"to":["x@evil.test"]}`), "headers.X-SMTPAPI", "headers.X-SMTPAPI"},
	{"order to Postmark", headers("x-pm-message-stream", "x"), "headers.x-pm-message-stream", "headers.x-pm-message-stream"},
	{"order to Mandrill", headers("X-MC-BccAddress", "x@evil.test"), "headers.X-MC-BccAddress", "headers.X-MC-BccAddress"},
	{"Auto-Submitted", headers("Auto-Submitted", "auto-generated"), "headers.Auto-Submitted", ""},
	{"Message-ID", headers("Message-ID", "<x@y>"), "headers.Message-ID", ""},
	{"From again", headers("From", "Other <a@example.com>"), "headers.From", ""},
	{"another From", headers("From", "x@evil.test"), "headers.From", "headers.From"},
	{"Bcc", headers("Bcc", "x@evil.test"), "headers.Bcc", "headers.Bcc"},
	{"Content-Type", headers("Content-Type", "text/plain"), "headers.Content-Type", "headers.Content-Type"},
	{"List-Unsubscribe alone", headers("List-Unsubscribe", "<mailto:u@example.com>"), "headers.List-Unsubscribe", ""},
	{"no base64", attached("filename", "a.txt", "content", "hello world"), "attachments[0].content", "attachments[0].content"},
	{"no padding", attached("filename", "a.txt", "content", "aGk"), "attachments[0].content", "attachments[0].content"},
	{"calendar as text", attached("filename", "a.ics", "content", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"), "attachments[0].content", ""},
	{"inline image", attached("filename", "a.png", "content", "aGk=", "content_id", "logo"), "attachments[0].content_id", ""},
	{"inline image by the old name", attached("filename", "a.png", "content", "aGk=", "inline_content_id", "logo"), "attachments[0].content_id", ""},
	{"line break in a content id", attached("filename", "a.png", "content", "aGk=", "content_id", "a\r\nX: y"), "attachments[0].content_id", "attachments[0].content_id"},
	{"path", attached("filename", "a.png", "path", "https://example.com/a.png"), "attachments[0].path", "attachments[0].path"},
}

func (s *compatSend) body() map[string]any {
	body := map[string]any{"from": "a@example.com", "to": "b@example.org", "subject": s.name, "html": `<img src="cid:logo">`}
	for name, value := range s.members {
		body[name] = value
	}
	return body
}

// TestCompatModeSends: one by one and in a batch, in both modes, on the binary.
func TestCompatModeSends(t *testing.T) {
	part(t, "clients")
	for _, mode := range []string{"strict", "resend"} {
		t.Run(mode, func(t *testing.T) {
			in := startBare(t, "--compat", mode)
			in.addDomain(t, "example.com")
			c := client{url: in.url, key: in.newKey(t)}
			var batch []any
			var refused []string
			for i, s := range compatSends {
				want := s.strict
				if mode == "resend" {
					want = s.resend
				}
				status, b := c.do(t, "POST", "/emails", s.body())
				checkMode(t, s.name, want, status, b)
				batch = append(batch, s.body())
				if want != "" {
					refused = append(refused, fmt.Sprintf("%d `%s`", i, want))
				}
			}
			status, b, err := c.try("POST", "/emails/batch", batch, "x-batch-validation", "permissive")
			var answer struct {
				Data   []any
				Errors []struct {
					Index   int
					Message string
				}
			}
			if err = errors.Join(err, json.Unmarshal(b, &answer)); err != nil || status != 200 || len(answer.Data) != len(batch)-len(refused) || len(answer.Errors) != len(refused) {
				t.Fatalf("batch: %d %s, %v; want %d refused", status, b, err, len(refused))
			}
			for i, e := range answer.Errors {
				if got := fmt.Sprintf("%d %s", e.Index, e.Message); !strings.HasPrefix(got, refused[i]) {
					t.Errorf("batch: %s, want %s", got, refused[i])
				}
			}
		})
	}
}

// checkMode wants a success, or a refusal that names a field.
func checkMode(t *testing.T, name, field string, status int, b []byte) {
	t.Helper()
	if field == "" {
		if status != 200 {
			t.Errorf("%s: %d %s", name, status, b)
		}
		return
	}
	var e apiError
	if err := json.Unmarshal(b, &e); err != nil || status != 422 || e.Name != "validation_error" || !strings.HasPrefix(e.Message, "`"+field+"` ") {
		t.Errorf("%s: %d %s, want 422 naming %s", name, status, b, field)
	}
}

// TestMultipartOnTheWire: what a relay receives of a send that uses all of --compat resend, and
// what the API shows of it.
func TestMultipartOnTheWire(t *testing.T) {
	part(t, "clients")
	s := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", "smtp://"+s.addr+"?tls=off", "--compat", "resend")
	in.addDomain(t, "example.com")
	c := client{url: in.url, key: in.newKey(t)}
	encoded := base64.StdEncoding.EncodeToString
	id := c.send(t, map[string]any{
		"from": "Acme, Inc. <a@example.com>", "to": []string{"Jane (via site) <b@example.org>"}, "subject": "many parts",
		"html": `<img src="cid:logo">`, "text": "a logo",
		"headers": map[string]string{"Reply-To": "R, S <r@example.com>", "Feedback-ID": "a:b:c:d", "Auto-Submitted": "auto-generated",
			"Message-ID": "<theirs@example.com>", "Date": "yesterday", "Subject": "many parts"},
		"attachments": []any{
			map[string]string{"filename": "logo.png", "content": encoded([]byte("PNG")), "content_id": "logo"},
			map[string]string{"filename": "a.ics", "content": "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"},
		},
	})
	m := s.wait(t, 1, time.Minute, subjectIs("many parts"))[0]
	for _, name := range []string{"Message-ID", "Date", "From", "To", "Subject", "Reply-To", "Feedback-ID", "Auto-Submitted"} {
		if n := len(m.parsed().Header[textproto.CanonicalMIMEHeaderKey(name)]); n != 1 {
			t.Errorf("%d fields %s", n, name)
		}
	}
	for name, want := range map[string]string{"From": "Acme, Inc.", "To": "Jane (via site)", "Reply-To": "R, S"} {
		list, err := m.parsed().Header.AddressList(name)
		if err != nil || len(list) != 1 || list[0].Name != want {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	if got := m.header("Message-ID"); got != "<"+id+"@example.com>" {
		t.Errorf("Message-ID %s", got)
	}
	parts := m.leaves(t)
	if string(file(t, parts, "logo.png").body) != "PNG" || !strings.HasPrefix(string(file(t, parts, "a.ics").body), "BEGIN:VCALENDAR") ||
		!strings.Contains(string(m.Raw), "\r\nContent-ID: <logo>\r\nContent-Disposition: inline; filename=\"logo.png\"\r\n") ||
		!strings.Contains(string(m.Raw), "multipart/related; type=\"text/html\"") {
		t.Errorf("the parts are not those of the send:\n%s", m.Raw)
	}
	var files struct {
		Data []struct {
			Filename    string
			ContentID   string `json:"content_id"`
			Disposition string `json:"content_disposition"`
		}
	}
	c.get(t, "/emails/"+id+"/attachments", &files)
	if got := fmt.Sprint(files.Data); !strings.Contains(got, "{logo.png logo inline}") || !strings.Contains(got, "{a.ics  attachment}") {
		t.Errorf("attachments: %s", got)
	}
	in.run(t, "send", "--from", "a@example.com", "--to", "B, b <b@example.org>", "--subject", "by hand", "--text", "x")
	if got := s.wait(t, 1, time.Minute, subjectIs("by hand"))[0].header("To"); got != `"B, b" <b@example.org>` {
		t.Errorf("mailer send: To: %s", got)
	}
	needPythonDKIM(t)
	checkDKIM(t, in, &m, "example.com")
}
