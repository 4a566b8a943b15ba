package smtpout

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mailer/app"
)

func compose(m *app.Outgoing) ([]byte, error) { return appendMessage(nil, m) }

var update = flag.Bool("update", false, "write the golden files anew")

const testID = "0198c0de-0000-7000-8000-000000000001"

// outgoing validates in and makes an Outgoing of it, as package mail does.
func outgoing(t testing.TB, in app.EmailInput) *app.Outgoing {
	t.Helper()
	m, err := in.Validate()
	if err != nil {
		t.Fatalf("Validate: %v", err)
	}
	return transaction(m)
}

func transaction(m *app.Mail) *app.Outgoing {
	return &app.Outgoing{
		EmailID:      testID,
		EnvelopeFrom: "bounce@send.acme.test",
		Recipients:   m.Recipients(),
		MessageID:    testID + "@" + m.From.Domain,
		Date:         time.Date(2026, 8, 17, 14, 0, 0, 0, time.FixedZone("", 7200)),
		Mail:         m,
	}
}

// goldenInputs are mails whose bytes are in testdata.
func goldenInputs() map[string]app.EmailInput {
	return map[string]app.EmailInput{
		"text": {
			From: "Acme Inc. <hi@acme.test>", To: []string{"ann@example.org"},
			Subject: "Your receipt", Text: new("Hello Ann,\n\nthank you.\n"),
		},
		"html_only": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: "Hello", HTML: "<p>Grüße aus Köln</p>", Text: new(""),
		},
		"alternative": {
			From: "Jörg Müller <joerg@acme.test>", To: []string{"Ann O'Neil <ann@example.org>", `"Bell, Bob" <bob@example.org>`},
			Cc: []string{"carl@bücher.example"}, Bcc: []string{"secret@example.org"},
			ReplyTo: []string{"Support <support@acme.test>"},
			Subject: "Grüße aus Köln: Ihre Bestellung 4711 ist unterwegs und kommt voraussichtlich am Donnerstag",
			HTML:    `<h1>Grüße</h1><p>Siehe <a href="https://acme.test/o/4711">Ihre Bestellung</a>.</p>`,
		},
		"attachments": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: "=?utf-8?q?not_encoded?= and  two spaces ",
			Text:    new("see below"), HTML: "<p>see below</p>",
			Attachments: []app.Attachment{
				{Filename: "invoice.pdf", Content: bytes.Repeat([]byte("%PDF"), 50)},
				{Filename: "Rechnung für März.pdf", Content: []byte("x")},
				{Filename: strings.Repeat("長い名前", 12) + ".txt", ContentType: "text/plain; charset=utf-8; format=flowed", Content: []byte("y\n")},
				{Filename: `a "quoted" name; with=signs.txt`, Content: []byte{}},
			},
		},
		"headers": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: strings.TrimSpace(strings.Repeat("word ", 60)), Text: new("日本語のメール。\r\n改行\rと\n改行"),
			Headers: map[string]string{
				"X-Entity-Ref-ID": "123", "X-Note": "Grüße " + strings.Repeat("é", 100),
				"References":            "<1@acme.test> <2@acme.test> <" + strings.Repeat("3", 120) + "@acme.test>",
				"X-Long":                strings.Repeat("x", 990),
				"List-Unsubscribe":      "<https://acme.test/u/" + strings.Repeat("t", 120) + ">, <mailto:u@acme.test>",
				"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
			},
		},
		"inline": {
			From: `Acme, Inc. (news) <hi@acme.test>`, To: []string{"[Ann] A. <ann@example.org>", "Bell: Bob <bob@example.org>"},
			Subject: "Our logo", Text: new("see the logo"), HTML: `<p>see <img src="cid:logo"> and <img src="cid:b@acme.test"></p>`,
			Attachments: []app.Attachment{
				{Filename: "invoice.pdf", Content: []byte("%PDF")},
				{Filename: "logo.png", ContentID: "logo", Content: bytes.Repeat([]byte("PNG"), 30)},
				{Filename: "日本.gif", ContentID: "b@acme.test", Content: []byte("GIF")},
			},
			Compat: app.CompatResend,
		},
		"inline_alone": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: "Our logo", Text: new(""), HTML: `<p>see <img src="cid:logo"></p>`,
			Attachments: []app.Attachment{{Filename: "logo.png", ContentID: "logo", Content: []byte("PNG")}},
			Compat:      app.CompatResend,
		},
		"inline_without_html": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: "Our logo", Text: new("see below"),
			Attachments: []app.Attachment{{Filename: "logo.png", ContentID: strings.Repeat("x", 128), Content: []byte("PNG")}},
			Compat:      app.CompatResend,
		},
		"headers_wide": {
			From: "hi@acme.test", To: []string{"ann@example.org"},
			Subject: "Nightly report", Text: new("all is well"),
			Headers: map[string]string{
				"Auto-Submitted": "auto-generated", "Feedback-ID": "report:acme:nightly:x", "Precedence": "bulk", "List-Id": "<reports.acme.test>",
				"List-Unsubscribe": "<mailto:u@acme.test>", "List-Help": "<https://acme.test/help>", "Thread-Topic": "Grüße",
				"Date": "Mon, 1 Jan 2001 00:00:00 +0000", "Message-ID": "<theirs@acme.test>", "Return-Path": "<x@acme.test>", "Sender": "x@acme.test",
				"From": "Acme <hi@acme.test>", "To": "ann@example.org", "Subject": "Nightly report",
			},
			Compat: app.CompatResend,
		},
		"smtputf8": {
			From: "用户 <用户@acme.test>", To: []string{"jörg@example.org"},
			Subject: "x", Text: new("From here\nFrom there"),
		},
	}
}

func TestGolden(t *testing.T) {
	for name, in := range goldenInputs() {
		t.Run(name, func(t *testing.T) {
			m := outgoing(t, in)
			for i := range m.Mail.Attachments {
				m.Mail.Attachments[i].ID = ""
			}
			got, err := compose(m)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".eml")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("differs from %s (-want +got):\n%s", path, d)
			}
			again, _ := compose(m)
			if !bytes.Equal(got, again) {
				t.Error("a second call gives other bytes")
			}
			checkWire(t, got)
			checkReadsBack(t, m, got)
		})
	}
}

// checkWire checks what every relay relies on.
func checkWire(t testing.TB, b []byte) {
	t.Helper()
	if !bytes.HasSuffix(b, []byte("\r\n")) {
		t.Fatal("does not end with CRLF")
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\r\n"), "\r\n") {
		if strings.ContainsAny(line, "\r\n\x00") {
			t.Fatalf("line %d has a bare CR, bare LF or NUL: %q", i+1, line)
		}
		if len(line) > 998 {
			t.Fatalf("line %d has %d octets", i+1, len(line))
		}
	}
	header, body, found := bytes.Cut(b, []byte("\r\n\r\n"))
	if !found {
		t.Fatal("no end of header")
	}
	for i, line := range strings.Split(string(header), "\r\n") {
		if strings.TrimSpace(line) == "" {
			t.Fatalf("header line %d is blank", i+1)
		}
	}
	if i := bytes.IndexFunc(body, func(r rune) bool { return r >= 0x7f || r == 0 }); i >= 0 {
		t.Fatalf("the body is not 7-bit at %d: %q", i, body[i:min(len(body), i+20)])
	}
}

// readFile is a file of a message; ID is empty for one that is not inline.
type readFile struct{ Name, Type, Content, ID string }

type readMail struct {
	Header     mail.Header
	Text, HTML []string
	Files      []readFile
}

// readBack parses with the standard library only.
func readBack(t testing.TB, b []byte) readMail {
	t.Helper()
	msg, err := mail.ReadMessage(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("ReadMessage: %v\n%s", err, b)
	}
	out := readMail{Header: msg.Header}
	out.entity(t, textproto.MIMEHeader(msg.Header), msg.Body)
	return out
}

func (r *readMail) entity(t testing.TB, h textproto.MIMEHeader, body io.Reader) {
	t.Helper()
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		t.Fatalf("Content-Type %q: %v", h.Get("Content-Type"), err)
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.entity(t, p.Header, p)
		}
	}
	switch h.Get("Content-Transfer-Encoding") {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "7bit":
	default:
		t.Fatalf("unknown encoding %q", h.Get("Content-Transfer-Encoding"))
	}
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if d := h.Get("Content-Disposition"); d != "" {
		kind, params, err := mime.ParseMediaType(d)
		id := strings.TrimSuffix(strings.TrimPrefix(h.Get("Content-ID"), "<"), ">")
		if err != nil || kind != "attachment" && kind != "inline" || (kind == "inline") != (id != "") || strings.Trim(h.Get("Content-ID"), "<>") != id {
			t.Fatalf("Content-Disposition %q, Content-ID %q: %v", d, h.Get("Content-ID"), err)
		}
		r.Files = append(r.Files, readFile{params["filename"], h.Get("Content-Type"), string(content), id})
		return
	}
	switch mediaType {
	case "text/plain":
		r.Text = append(r.Text, string(content))
	case "text/html":
		r.HTML = append(r.HTML, string(content))
	default:
		t.Fatalf("part of type %s", mediaType)
	}
}

// checkReadsBack checks that the message has exactly the content of the mail.
func checkReadsBack(t testing.TB, m *app.Outgoing, b []byte) {
	t.Helper()
	got := readBack(t, b)
	wantHeader := map[string]int{
		"Date": 1, "From": 1, "To": 1, "Subject": 1, "Message-Id": 1, "X-Mailer-Email-Id": 1,
		"Mime-Version": 1, "Content-Type": 1,
	}
	if len(m.Mail.Attachments) == 0 && (m.Mail.Text == "" || m.Mail.HTML == "") {
		wantHeader["Content-Transfer-Encoding"] = 1
	}
	lists := map[string][]app.Address{"From": {m.Mail.From}, "To": m.Mail.To, "Cc": m.Mail.Cc, "Reply-To": m.Mail.ReplyTo}
	for name, want := range lists {
		if len(want) == 0 {
			continue
		}
		wantHeader[name] = 1
		list, err := got.Header.AddressList(name)
		if err != nil {
			t.Fatalf("%s %q: %v", name, got.Header.Get(name), err)
		}
		var read []app.Address
		for _, a := range list {
			local, domain, _ := strings.Cut(a.Address, "@")
			read = append(read, app.Address{Name: a.Name, Local: local, Domain: domain})
		}
		if d := cmp.Diff(want, read); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	for _, h := range m.Mail.Headers {
		wantHeader[textproto.CanonicalMIMEHeaderKey(h.Name)]++
		read := decodeWords(t, got.Header.Get(h.Name))
		if want := h.Value; !isASCII(want) && read != want || isASCII(want) && oneSpace(got.Header.Get(h.Name)) != oneSpace(want) {
			t.Errorf("%s = %q, want %q", h.Name, read, want)
		}
	}
	count := map[string]int{}
	for name, values := range got.Header {
		count[name] = len(values)
	}
	if d := cmp.Diff(wantHeader, count); d != "" {
		t.Errorf("header fields (-want +got):\n%s", d)
	}
	if s := decodeWords(t, got.Header.Get("Subject")); s != m.Mail.Subject {
		t.Errorf("Subject = %q, want %q", s, m.Mail.Subject)
	}
	if s := got.Header.Get("Message-ID"); s != "<"+m.MessageID+">" {
		t.Errorf("Message-ID = %q", s)
	}
	if date, err := got.Header.Date(); err != nil || !date.Equal(m.Date) {
		t.Errorf("Date = %v, %v", date, err)
	}
	checkBody(t, "text", got.Text, m.Mail.Text)
	checkBody(t, "html", got.HTML, m.Mail.HTML)
	var want []readFile
	for _, shown := range []bool{true, false} {
		for _, a := range m.Mail.Attachments {
			if shown == (a.Inline() && m.Mail.HTML != "") {
				want = append(want, readFile{a.Filename, a.ContentType, string(a.Content), a.ContentID})
			}
		}
	}
	if d := cmp.Diff(want, got.Files); d != "" {
		t.Errorf("attachments (-want +got):\n%s", d)
	}
}

// oneSpace joins fields with single spaces, because the standard library turns a fold and the
// spaces around it into one space.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func checkBody(t testing.TB, name string, got []string, want string) {
	t.Helper()
	if want == "" {
		if len(got) != 0 {
			t.Errorf("%s: a part that was not asked for: %q", name, got)
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("%s: %d parts", name, len(got))
	}
	// A message ends with a line end, so one more or less does not matter.
	normal := func(s string) string { return strings.TrimSuffix(normalLines(s), "\r\n") }
	if g, w := normal(got[0]), normal(want); g != w {
		t.Errorf("%s = %q, want %q", name, g, w)
	}
}

func decodeWords(t testing.TB, s string) string {
	t.Helper()
	out, err := new(mime.WordDecoder).DecodeHeader(s)
	if err != nil {
		t.Fatalf("decode %q: %v", s, err)
	}
	return out
}

func TestBccNeverInHeader(t *testing.T) {
	b, err := compose(outgoing(t, goldenInputs()["alternative"]))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("secret@")) || bytes.Contains(bytes.ToLower(b), []byte("\nbcc")) {
		t.Error("the blind copy shows")
	}
}

func TestTextEncoding(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"short\nlines\r\n", "7bit"},
		{"tab\there", "7bit"},
		{strings.Repeat("x", 78) + "\r\n", "7bit"},
		{strings.Repeat("x", 79), "quoted-printable"},
		{"bare\rCR", "quoted-printable"},
		{"From here", "quoted-printable"},
		{"ok\nFrom here", "quoted-printable"},
		{"form\ffeed", "quoted-printable"},
		{"del\x7f", "quoted-printable"},
		{"--=_mixed_" + testID, "quoted-printable"},
		{"Größe und so weiter", "quoted-printable"},
		{"日本語のメール", "base64"},
	} {
		if got := textEncoding(c.in); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// SMTP smuggling uses line ends other than CRLF around a dot. They must not be sent, whatever the
// body contains.
func TestNoSmuggling(t *testing.T) {
	for _, evil := range []string{
		"a\r\n.\r\nMAIL FROM:<x@y.z>", "a\n.\nb", "a\r.\rb", "a\n.\r\nb", "a\r\n.\nb", "a\r.\r\nb", "a\r\n.\rb", "\r\n.\r\n", ".\r\n", "\r", "\n", "x\r",
		"a\r\n\x0b.\r\nb", "é\r\n.\r", strings.Repeat("é", 50) + "\n.\r",
	} {
		m := outgoing(t, app.EmailInput{From: "a@b.test", To: []string{"c@d.test"}, Subject: "s", HTML: evil, Text: &evil})
		b, err := compose(m)
		if err != nil {
			t.Fatal(err)
		}
		checkWire(t, b)
		checkReadsBack(t, m, b)
	}
}

// A missed validation must be stopped here: go-mail and Nodemailer had advisories for each case.
func TestComposeRefuses(t *testing.T) {
	good := func() *app.Outgoing { return outgoing(t, goldenInputs()["attachments"]) }
	for name, spoil := range map[string]func(*app.Outgoing){
		"no mail":                func(m *app.Outgoing) { m.Mail = nil },
		"no to":                  func(m *app.Outgoing) { m.Mail.To = nil },
		"no body":                func(m *app.Outgoing) { m.Mail.HTML, m.Mail.Text = "", "" },
		"id":                     func(m *app.Outgoing) { m.EmailID = "x\r\n--" },
		"empty id":               func(m *app.Outgoing) { m.EmailID = "" },
		"message id":             func(m *app.Outgoing) { m.MessageID = "a@b>\r\nBcc: x@y.z" },
		"empty message id":       func(m *app.Outgoing) { m.MessageID = "" },
		"subject":                func(m *app.Outgoing) { m.Mail.Subject = "x\r\nBcc: x@y.z" },
		"name":                   func(m *app.Outgoing) { m.Mail.From.Name = "x\nBcc: x@y.z" },
		"local part":             func(m *app.Outgoing) { m.Mail.To[0].Local = "x\r" },
		"domain":                 func(m *app.Outgoing) { m.Mail.To[0].Domain = "x> SIZE=1\r\n" },
		"header value":           func(m *app.Outgoing) { m.Mail.Headers = []app.Header{{Name: "X-A", Value: "1\r\nBcc: x"}} },
		"header name":            func(m *app.Outgoing) { m.Mail.Headers = []app.Header{{Name: "X-A: 1\r\nBcc", Value: "1"}} },
		"empty header":           func(m *app.Outgoing) { m.Mail.Headers = []app.Header{{Name: "X-A"}} },
		"file name":              func(m *app.Outgoing) { m.Mail.Attachments[0].Filename = "a\r\n\r\nb" },
		"content type":           func(m *app.Outgoing) { m.Mail.Attachments[0].ContentType = "a/b\r\nX: y" },
		"content id":             func(m *app.Outgoing) { m.Mail.Attachments[0].ContentID = "a\r\nX: y" },
		"bracket in content id":  func(m *app.Outgoing) { m.Mail.Attachments[0].ContentID = "a> (x" },
		"content was not loaded": func(m *app.Outgoing) { m.Mail.Attachments[0].Content = nil },
	} {
		m := good()
		spoil(m)
		if b, err := compose(m); err == nil {
			t.Errorf("%s: composed\n%s", name, b)
		}
	}
}

func TestHeaderLinesAreShort(t *testing.T) {
	in := goldenInputs()["alternative"]
	in.Subject = strings.Repeat("Ünicode wörds ", 120)
	for i := range 40 {
		in.Cc = append(in.Cc, fmt.Sprintf("Person Number %d <person%d@example.org>", i, i))
	}
	m := outgoing(t, in)
	b, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	checkReadsBack(t, m, b)
	header, _, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	for _, line := range strings.Split(string(header), "\r\n") {
		if len(line) > 78 || strings.Contains(line, "=?") && len(line) > 76 {
			t.Errorf("%d octets: %s", len(line), line)
		}
	}
}

func TestSubjectReadsBack(t *testing.T) {
	for _, subject := range []string{
		"x", " leading", "trailing ", "two  spaces", "tab\there", "\x01", "=?utf-8?q?x?=", "=?", "a" + strings.Repeat(" ", 1500) + "b",
		strings.Repeat("x", 2000), strings.Repeat("é", 1000), strings.Repeat("🚀", 500), "ends with =", "a\u2028b", "a@b.co, <c>", "?= =?",
	} {
		in := goldenInputs()["text"]
		in.Subject = subject
		m := outgoing(t, in)
		b, err := compose(m)
		if err != nil {
			t.Fatal(err)
		}
		checkWire(t, b)
		checkReadsBack(t, m, b)
	}
}

// A section of a parameter must contain whole %XX, and sections must be numbered without a gap, for
// readers that decode each section (RFC 2231 section 3).
func TestFilenamePieces(t *testing.T) {
	for shift := range 12 {
		name := strings.Repeat("a", shift) + strings.Repeat("é", 120)
		var w headerWriter
		w.name("Content-Disposition")
		w.word("attachment;")
		w.filename(name)
		w.end()
		for i, line := range strings.Split(strings.TrimSpace(string(w.buf)), "\r\n")[1:] {
			_, value, found := strings.Cut(strings.TrimSuffix(line, ";"), fmt.Sprintf(" filename*%d*=", i))
			if !found || len(line) > 78 {
				t.Errorf("line %d: %q", i, line)
			}
			if _, err := url.PathUnescape(value); err != nil {
				t.Errorf("piece %d: %v", i, err)
			}
		}
		_, params, err := mime.ParseMediaType(strings.TrimPrefix(string(w.buf), "Content-Disposition: "))
		if err != nil || params["filename"] != name {
			t.Errorf("%q is read back as %q, %v", name, params["filename"], err)
		}
	}
}

func TestErasedAddressesAreOmitted(t *testing.T) {
	m := transaction(&app.Mail{
		From: app.Address{Local: "hi", Domain: "acme.test"}, To: []app.Address{{Local: app.Erased}, {Local: "eve", Domain: "example.org"}},
		Cc: []app.Address{{Local: app.Erased}}, ReplyTo: []app.Address{{Local: app.Erased}}, Subject: "Hi", Text: "Hello",
	})
	b, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(b), "\r\n\r\n")
	if !strings.Contains(head, "\r\nTo: eve@example.org\r\n") || strings.Contains(head, "erased") || strings.Contains(head, "Cc:") || strings.Contains(head, "Reply-To:") {
		t.Errorf("header:\n%s", head)
	}
	m.Mail.To = m.Mail.To[:1]
	m.Mail.Cc = []app.Address{{Local: "eve", Domain: "example.org"}}
	if b, err = compose(m); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "\r\nTo: undisclosed-recipients:;\r\n") || !strings.Contains(string(b), "\r\nCc: eve@example.org\r\n") {
		t.Errorf("message:\n%s", b)
	}
	m.Mail.From = app.Address{Local: app.Erased}
	if _, err := compose(m); err == nil {
		t.Error("a message whose sender was erased is made")
	}
}
