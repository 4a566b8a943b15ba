package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// hostile are values that have broken out of fields of other senders of mail.
var hostile = []string{
	"x\r\nX-Evil: 1", "x\nX-Evil: 1", "x\rX-Evil: 1", "\r\n\r\n<b>evil</b>", "x\r\n.\r\nMAIL FROM:<evil@evil.test>\r\n", "x\n.\n", "\r\n.\r\n",
	"x\x00y", "x\x1b[31m", "x\x7f", "x\tX-Evil: 1", "x\u0085X-Evil: 1", "x\u2028X-Evil: 1", "\u202egnp.exe", "\ufeffx", "\u00a0",
	"=?utf-8?q?x=0D=0AX-Evil:_1?=", "=?utf-8?b?WC1FdmlsOiAx?=", "%0d%0aX-Evil: 1", `x" <evil@evil.test>, "y`, "x, evil@evil.test", "<evil@evil.test>",
	"Grüße aus Köln", "漢字かな交じり文", "🙂🙂", "e\u0301", strings.Repeat("é", 400), strings.Repeat("漢", 900),
	strings.Repeat("a", 990), strings.Repeat("a", 1999), strings.Repeat("a", 5000), strings.Repeat("word ", 300), strings.Repeat("=", 1500),
	" ", "", ".", "..", "../../etc/passwd", `C:\evil.exe`, `a";x="b`, "a;b", "boundary=x", "--", strings.Repeat("-", 80), "From evil", "\\", "'", "{{{X}}}",
}

// generated adds pairs of hostile values with something between them, always the
// same ones: what one guard lets pass may be what another stumbles over.
func generated(n int) []string {
	random := rand.New(rand.NewPCG(2026, 11))
	glue := []string{"", " ", "\r\n", "\n", "\r", ";", ", ", "=", "\x00", `"`, "\r\n\t", "\n."}
	out := slices.Clone(hostile)
	for len(out) < n {
		a, b := hostile[random.IntN(len(hostile))], hostile[random.IntN(len(hostile))]
		out = append(out, a+glue[random.IntN(len(glue))]+b)
	}
	return out
}

// positions put a value into a field of a send; the key is the field that an error must name.
var positions = map[string]func(m map[string]any, v string){
	"from ":                       func(m map[string]any, v string) { m["from"] = `"` + v + `" <a@example.com>` },
	"from  ":                      func(m map[string]any, v string) { m["from"] = v + " <a@example.com>" },
	"from   ":                     func(m map[string]any, v string) { m["from"] = v + "@example.com" },
	"from    ":                    func(m map[string]any, v string) { m["from"] = "a@example.com" + v },
	"to":                          func(m map[string]any, v string) { m["to"] = []string{v + "@example.org"} },
	"to ":                         func(m map[string]any, v string) { m["to"] = []string{"b@example.org", `"` + v + `" <c@example.org>`} },
	"to  ":                        func(m map[string]any, v string) { m["to"] = "b@example.org" + v },
	"cc":                          func(m map[string]any, v string) { m["cc"] = v + " <c@example.org>" },
	"bcc":                         func(m map[string]any, v string) { m["bcc"] = v + " <secret@example.org>" },
	"reply_to":                    func(m map[string]any, v string) { m["reply_to"] = v + " <c@example.org>" },
	"subject":                     func(m map[string]any, v string) { m["subject"] = v },
	"headers":                     func(m map[string]any, v string) { m["headers"] = map[string]string{"X-Test": v} },
	"headers ":                    func(m map[string]any, v string) { m["headers"] = map[string]string{"X-" + v: "1"} },
	"headers  ":                   func(m map[string]any, v string) { m["headers"] = map[string]string{v: "1"} },
	"headers.References":          func(m map[string]any, v string) { m["headers"] = map[string]string{"References": v} },
	"headers.List-Unsubscribe":    func(m map[string]any, v string) { m["headers"] = unsubscribe("<https://example.com/" + v + ">") },
	"tags[0].name":                func(m map[string]any, v string) { m["tags"] = []app.Tag{{Name: v, Value: "v"}} },
	"tags[0].value":               func(m map[string]any, v string) { m["tags"] = []app.Tag{{Name: "n", Value: v}} },
	"attachments[0].filename":     func(m map[string]any, v string) { m["attachments"] = file(v, "text/plain") },
	"attachments[0].content_type": func(m map[string]any, v string) { m["attachments"] = file("a.txt", v) },
	"attachments[0].content_type ": func(m map[string]any, v string) {
		m["attachments"] = file("a.txt", `text/plain; name="`+v+`"`)
	},
	"scheduled_at": func(m map[string]any, v string) { m["scheduled_at"] = v },
	"html":         func(m map[string]any, v string) { m["html"] = v },
	"text":         func(m map[string]any, v string) { m["text"] = v },
}

func unsubscribe(targets string) map[string]string {
	return map[string]string{"List-Unsubscribe": targets, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
}

func file(name, contentType string) []map[string]string {
	return []map[string]string{{"filename": name, "content_type": contentType, "content": "aGk="}}
}

// TestHostileValues puts each value into each field: it is refused with the field's name, or sent
// in one well-formed message.
func TestHostileValues(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	d := r.domain(r.team.ID, "example.com", true)
	type email struct{ place, body string }
	sent := map[string]email{} // by id
	values := generated(hostileValues)
	for _, position := range slices.Sorted(maps.Keys(positions)) {
		accepted := 0
		for _, value := range values {
			m := map[string]any{"from": "a@example.com", "to": "b@example.org", "subject": "Hi", "html": "<p>x</p>", "text": "x"}
			positions[position](m, value)
			body, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			w := r.as(r.full, "POST", "/emails", string(body))
			if w.Code == http.StatusOK {
				accepted++
				sent[idOf(t, w.Body.Bytes())] = email{position, string(body)}
				continue
			}
			field, _, _ := strings.Cut(strings.TrimSpace(position), ".")
			wantError(t, w, 422, app.CodeValidation, "`"+strings.TrimSuffix(field, "[0]"))
			// Of the input, only field names are repeated, printable.
			if name := strings.HasPrefix(position, "headers"); strings.Contains(w.Body.String(), "evil@") && !name || strings.ContainsAny(w.Body.String(), "\x00\x1b\r") {
				t.Errorf("%s: the refusal echoes %q", position, w.Body)
			}
		}
		if accepted == len(values) {
			t.Logf("%s takes everything", position)
		}
	}
	txt := "v=DKIM1; k=rsa; p=" + d.Keys[0].Public
	for id, e := range sent {
		w := r.eventually(r.full, "/emails/"+id+"/raw", "DKIM-Signature")
		var raw struct{ Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
		// A mailbox that is not ASCII is sent unchanged to relays with SMTPUTF8 (RFC 6532).
		mailbox := slices.Contains([]string{"from   ", "to"}, e.place)
		for _, fault := range faults(raw.Message, txt, mailbox) {
			t.Errorf("%s: %s\n%.300s\ngives\n%.2500s", e.place, fault, e.body, raw.Message)
		}
		wantStatus(t, r.as(r.full, "GET", "/emails/"+id, ""), 200)
	}
	t.Logf("%d of %d went out", len(sent), len(positions)*len(values))
}

func idOf(t *testing.T, body []byte) string {
	t.Helper()
	var created struct{ ID string }
	if err := json.Unmarshal(body, &created); err != nil {
		t.Fatal(err)
	}
	return created.ID
}

// once are the headers that every message has once; maybe are those that it may have once.
var (
	once  = []string{"Dkim-Signature", "Date", "From", "To", "Subject", "Message-Id", "Mime-Version", "Content-Type", "X-Mailer-Email-Id"}
	maybe = []string{"Cc", "Reply-To", "Content-Transfer-Encoding", "References", "List-Unsubscribe", "List-Unsubscribe-Post"}
)

// faults returns the defects of a message as sent to the relay.
func faults(message, txt string, utf8Header bool) (out []string) {
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !utf8.ValidString(message) || strings.ContainsAny(message, "\x00\ufffd") {
		bad("NUL or broken UTF-8")
	}
	if strings.ContainsAny(strings.ReplaceAll(message, "\r\n", ""), "\r\n") {
		bad("a bare CR or LF")
	}
	if !strings.HasSuffix(message, "\r\n") {
		bad("no line end at the end")
	}
	for line := range strings.SplitSeq(message, "\r\n") {
		if len(line) > 998 {
			bad("a line of %d bytes", len(line))
		}
	}
	head, _, _ := strings.Cut(message, "\r\n\r\n")
	if strings.IndexFunc(head, func(r rune) bool {
		return r > 0x7e && !utf8Header || r == 0x7f || r < ' ' && r != '\t' && r != '\r' && r != '\n'
	}) >= 0 {
		bad("a character in the header that is not printable ASCII")
	}
	m, err := mail.ReadMessage(strings.NewReader(message))
	if err != nil {
		bad("unreadable: %v", err)
		return out
	}
	for _, fault := range headerFaults(m.Header) {
		bad("%s", fault)
	}
	if err := readParts(m.Header.Get("Content-Type"), m.Body); err != nil {
		bad("body: %v", err)
	}
	if from, _ := m.Header.AddressList("From"); len(from) == 1 && !strings.HasSuffix(from[0].Address, "@example.com") {
		return out // signed with a key that is nowhere published
	}
	checks, err := dkim.VerifyWithOptions(strings.NewReader(message), &dkim.VerifyOptions{LookupTXT: func(string) ([]string, error) { return []string{txt}, nil }})
	if err != nil || len(checks) != 1 || checks[0].Err != nil {
		bad("DKIM: %v %+v", err, checks)
	}
	return out
}

func headerFaults(h mail.Header) (out []string) {
	for _, name := range once {
		if len(h[name]) != 1 {
			out = append(out, fmt.Sprintf("%d fields %s", len(h[name]), name))
		}
	}
	for name, values := range h {
		custom := strings.HasPrefix(name, "X-") && name != "X-Evil"
		if !slices.Contains(once, name) && !slices.Contains(maybe, name) && !custom || len(values) != 1 {
			out = append(out, "an extra field "+name)
		}
	}
	for _, name := range []string{"From", "To", "Cc", "Reply-To"} {
		list, err := h.AddressList(name)
		if h.Get(name) != "" && err != nil {
			out = append(out, fmt.Sprintf("%s: %v", name, err))
		}
		for _, a := range list {
			if strings.HasSuffix(a.Address, "@evil.test") {
				out = append(out, "an address "+a.Address+" in "+name)
			}
		}
	}
	if _, err := h.Date(); err != nil {
		out = append(out, "Date: "+err.Error())
	}
	return out
}

// readParts reads a body including its innermost parts.
func readParts(contentType string, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("content type %q: %w", contentType, err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		_, err := io.Copy(io.Discard, body)
		return err
	}
	parts := multipart.NewReader(body, params["boundary"])
	for n := 0; ; n++ {
		p, err := parts.NextPart()
		if err == io.EOF {
			if n == 0 {
				return fmt.Errorf("%s without parts", kind)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if p.Header.Get("X-Evil") != "" {
			return fmt.Errorf("a part with an extra field")
		}
		if err := readParts(p.Header.Get("Content-Type"), p); err != nil {
			return err
		}
	}
}

// TestFaultsAreFound: the check above can fail.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	const good = "DKIM-Signature: x\r\nDate: Mon, 17 Aug 2026 12:00:00 +0000\r\nFrom: a@example.com\r\nTo: b@example.org\r\nSubject: s\r\n" +
		"Message-ID: <x@example.com>\r\nMIME-Version: 1.0\r\nX-Mailer-Email-ID: x\r\nContent-Type: text/plain\r\n\r\nx\r\n"
	count := func(s string) int { return len(faults(s, "", false)) }
	if got := faults(good, "", false); len(got) != 1 || !strings.HasPrefix(got[0], "DKIM") {
		t.Fatalf("a good message without a good signature: %q", got)
	}
	for name, change := range map[string][2]string{
		"extra field": {"Subject: s", "Subject: s\r\nX-Evil: 1"}, "second subject": {"Subject: s", "Subject: s\r\nSubject: t"},
		"bcc": {"Subject: s", "Bcc: c@example.org\r\nSubject: s"}, "bare LF": {"\r\n\r\nx", "\r\n\r\nx\ny"}, "bare CR": {"\r\n\r\nx", "\r\n\r\nx\ry"},
		"long line": {"\r\n\r\nx", "\r\n\r\n" + strings.Repeat("x", 999)}, "NUL": {"\r\n\r\nx", "\r\n\r\n\x00"}, "UTF-8 in the header": {"Subject: s", "Subject: ü"},
		"other recipient": {"b@example.org", "b@example.org, evil@evil.test"}, "no parts": {"text/plain", "multipart/mixed; boundary=b"},
	} {
		if count(strings.Replace(good, change[0], change[1], 1)) < 2 {
			t.Errorf("%s is not seen", name)
		}
	}
}

func TestHostileTextRoundTrip(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	for _, text := range []string{"line\n.\n..\nFrom me\n", "a\r\nb\rc\n", strings.Repeat("long ", 1000), "Grüße 漢字 🙂\t=20", " lead and trail \n\n"} {
		body, err := json.Marshal(map[string]string{"from": "a@example.com", "to": "b@example.org", "subject": "s", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		id := r.send(r.full, string(body))
		var record struct{ Text string }
		w := r.as(r.full, "GET", "/emails/"+id, "")
		if err := json.Unmarshal(w.Body.Bytes(), &record); err != nil || record.Text != text {
			t.Errorf("%q is kept as %q, %v", text, record.Text, err)
		}
	}
	invalid := append([]byte(`{"from":"a@example.com","to":"b@example.org","subject":"`), 0xff, 0xfe)
	wantError(t, r.as(r.full, "POST", "/emails", string(append(invalid, []byte(`","text":"x"}`)...))), 400, app.CodeInvalidPayload)
	var half struct{ Subject string }
	id := r.send(r.full, string(bytes.ReplaceAll([]byte(validSend), []byte("Hi"), []byte(`Hi \ud83d`)))) // an emoji that was cut in two
	if w := r.as(r.full, "GET", "/emails/"+id, ""); json.Unmarshal(w.Body.Bytes(), &half) != nil || half.Subject != "Hi \ufffd" {
		t.Errorf("%s", w.Body)
	}
}
