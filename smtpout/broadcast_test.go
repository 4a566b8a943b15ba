package smtpout

import (
	"bytes"
	"fmt"
	"io"
	"mime/quotedprintable"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/render"
	"mailer/app/testing/apptest"
)

const (
	testTeam  = "0198c0de-0000-7000-8000-00000000000a"
	testMails = "0198c0de-0000-7000-8000-0000"
)

func testSealer(t testing.TB) *app.Sealer {
	t.Helper()
	return apptest.Sealer(t, 0)
}

// newsletter is a broadcast of 5 KB of HTML with three placeholders and ten links.
func newsletter(tracked bool) *app.Broadcast {
	b := &app.Broadcast{
		TeamID: testTeam, From: app.Address{Name: "Acme News", Local: "news", Domain: "acme.test"}, Subject: "News for {{{FIRST_NAME|you}}}",
		BroadcastContent: app.BroadcastContent{Preview: "What is new in spring", Snapshot: &app.BroadcastSnapshot{Pages: "https://mail.acme.test"}},
	}
	if tracked {
		b.Snapshot.Tracking = &app.Tracking{Base: "https://links.acme.test", Pages: "https://mail.acme.test", Open: true, Click: true}
	}
	var html strings.Builder
	html.WriteString("<!DOCTYPE html><html><head><style>td{color:red}</style></head><body><h1>Hello {{{FIRST_NAME|there}}} of {{{contact.company|your company}}}</h1>\n")
	for i := range 10 {
		fmt.Fprintf(&html, `<p style="margin:0 0 16px;font-family:Helvetica,Arial,sans-serif;font-size:16px;color:#333333">%s<a href="https://shop.acme.test/products/%d?utm_source=mail&amp;utm_campaign=spring">Have a look</a></p>`+"\n", strings.Repeat("Lorem ipsum dolor sit amet, ", 9), i)
	}
	html.WriteString(`<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p></body></html>`)
	b.HTML = html.String()
	return b
}

func compiled(t testing.TB, b *app.Broadcast) *render.Broadcast {
	t.Helper()
	m, err := render.Compile(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// toRecipient is the transaction of a broadcast's n-th recipient.
func toRecipient(s *app.Sealer, m *render.Broadcast, n int64, email string, fields map[string]string) *app.Outgoing {
	id := app.BroadcastEmailID(testMails, n)
	out := transaction(m.Partial(s, &app.BroadcastRecipient{ID: id, Email: email, Fields: fields}))
	out.EmailID, out.MessageID, out.Bulk = id, id+"@acme.test", true
	return out
}

// checkBroadcastMail composes the mail and checks that every reader reads it.
func checkBroadcastMail(t testing.TB, m *app.Outgoing) []byte {
	t.Helper()
	b, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	checkWire(t, b)
	encoding := "quoted-printable"
	if html := m.Mail.Bodies.HTML; html != nil && html.NonASCII {
		encoding = "base64"
	}
	if !bytes.Contains(b, []byte("Content-Transfer-Encoding: "+encoding)) || bytes.Contains(b, []byte("7bit")) || bytes.Contains(b, []byte("\nFrom ")) {
		t.Errorf("not in %s, or with a line that a mailbox file would change:\n%s", encoding, b)
	}
	for line := range bytes.Lines(b[bytes.Index(b, []byte("\r\n\r\n")):]) {
		if len(line) > 76+len("\r\n") && !bytes.Contains(line, []byte("boundary")) {
			t.Fatalf("a line of %d characters in the body: %q", len(line)-2, line)
		}
	}
	whole := *m
	whole.Mail = m.Mail.Flatten()
	checkReadsBack(t, &whole, b)
	return b
}

func TestBroadcastMailReadsBack(t *testing.T) {
	wide := newsletter(true)
	wide.HTML = "<p>" + strings.Repeat("春のお知らせ {{{FIRST_NAME}}}\r\n", 200) + "</p>"
	textOnly, htmlOnly, none := newsletter(false), newsletter(false), ""
	text := "Hello {{{FIRST_NAME}}},\n\nFrom here {{{FIRST_NAME}}} \t\n.{{{contact.company}}}\r\nend {{{UNSUBSCRIBE_URL}}} "
	textOnly.HTML, textOnly.Text, htmlOnly.Text = "", &text, &none
	for name, b := range map[string]*app.Broadcast{"tracked": newsletter(true), "untracked": newsletter(false), "wide": wide, "text only": textOnly, "html only": htmlOnly} {
		t.Run(name, func(t *testing.T) {
			s, m := testSealer(t), compiled(t, b)
			html := toRecipient(s, m, 1, "ann@example.org", nil).Mail.Bodies.HTML
			if (html != nil && html.NonASCII) != (name == "wide") {
				t.Errorf("wide: %v", html)
			}
			for i, value := range []string{"", "Ann", "From me\nFrom you", " ", ".", "日本", "a=b", strings.Repeat("x", 500), "\r\n.\r\n", "\r", "\n", "\t", "{{{FIRST_NAME}}}", "--=_alternative_" + testID} {
				fields := map[string]string{"first_name": value, "property:company": value}
				out := toRecipient(s, m, int64(i), "ann@example.org", fields)
				got := checkBroadcastMail(t, out)
				again, err := compose(toRecipient(s, compiled(t, b), int64(i), "ann@example.org", fields))
				if err != nil || !bytes.Equal(got, again) {
					t.Errorf("%q: a second attempt has other bytes: %v", value, err)
				}
			}
		})
	}
}

func TestEmptySubjectIsSent(t *testing.T) {
	b := newsletter(false)
	b.Subject = "{{{contact.company}}}"
	s, m := testSealer(t), compiled(t, b)
	for _, value := range []string{"", " ", "\r\n", "é"} {
		checkBroadcastMail(t, toRecipient(s, m, 1, "ann@example.org", map[string]string{"property:company": value}))
	}
}

func TestConcurrentComposeFromSharedPieces(t *testing.T) {
	s, m := testSealer(t), compiled(t, newsletter(true))
	alone, err := compose(toRecipient(s, compiled(t, newsletter(true)), 1, "ann@example.org", nil))
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 20 {
				if b, err := compose(toRecipient(s, m, 1, "ann@example.org", nil)); err != nil || !bytes.Equal(b, alone) {
					t.Error("other bytes", err)
				}
			}
		})
	}
	work.Wait()
}

func TestBroadcastSignatureCoversListFields(t *testing.T) {
	key, record := testKey(t)
	s, m := testSealer(t), compiled(t, newsletter(true))
	for _, profile := range []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES} {
		message := checkBroadcastMail(t, toRecipient(s, m, 1, "ann@example.org", map[string]string{"first_name": "Ann "}))
		field, err := sign(message, key, profile)
		if err != nil {
			t.Fatal(err)
		}
		names, err := verifyDKIM(t, append([]byte(field), message...), record)
		if err != nil {
			t.Fatal(err)
		}
		covered := "," + strings.ToLower(strings.Join(names, ",")) + ","
		for _, name := range []string{"list-id", "list-unsubscribe", "list-unsubscribe-post"} {
			if !strings.Contains(covered, ","+name+",") {
				t.Errorf("profile %s: %s is not covered: %s", profile, name, covered)
			}
		}
	}
}

func TestBroadcastHeaderWithLineBreakIsRefused(t *testing.T) {
	b := newsletter(false)
	b.Snapshot.Pages = "https://mail.acme.test/\r\nBcc: x@y.test"
	if _, err := compose(toRecipient(testSealer(t), compiled(t, b), 1, "ann@example.org", nil)); err == nil {
		t.Error("composed")
	}
	m := toRecipient(testSealer(t), compiled(t, newsletter(false)), 1, "ann@example.org", nil)
	m.Mail.Bodies = &app.Bodies{}
	if _, err := compose(m); err == nil {
		t.Error("composed without a body")
	}
}

// The parser of Python's standard library is an independent reader.
func TestPythonReadsBroadcastMail(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3 is missing: %v", err)
		}
		t.Skip("python3 is missing: the independent reading was not made")
	}
	b := newsletter(true)
	m := toRecipient(testSealer(t), compiled(t, b), 1, "ann@example.org", map[string]string{"first_name": "Ånn =?utf-8?q?x?=\t", "property:company": "Bell <&> \"Sons\"\nFrom =3D"})
	message := checkBroadcastMail(t, m)
	dir := t.TempDir()
	files := map[string]string{"m.eml": string(message), "html": m.Mail.Bodies.HTML.String(), "text": m.Mail.Bodies.Text.String(), "subject": m.Mail.Subject}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const script = `
import email, email.policy, sys
d = sys.argv[1] + "/"
m = email.message_from_bytes(open(d + "m.eml", "rb").read(), policy=email.policy.default)
read = lambda n: open(d + n, encoding="utf-8", newline="").read().replace("\r\n", "\n")
assert not m.defects, m.defects
for n, kind in (("html", "html"), ("text", "plain")):
    p = m.get_body((kind,))
    got = p.get_payload(decode=True).decode("utf-8").replace("\r\n", "\n")
    assert got.rstrip("\n") == read(n).rstrip("\n"), (n, got)
assert m["subject"] == read("subject"), m["subject"]
assert m["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
`
	if out, err := exec.CommandContext(t.Context(), python, "-c", script, dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// FuzzPieces: texts cut anywhere, decoded by the standard library, read as if they had not been
// cut.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{"", " ", "\t", "a", "\r", "\n", "\r\n", "=", "From x", strings.Repeat("x", 75), strings.Repeat("x", 76), strings.Repeat("é", 40), "a \nb", "\x00", ".", "a\t", " \r"} {
		f.Add(s, s, s)
		f.Add("x"+s, "", s+"y")
		f.Add(strings.Repeat("-", 74), s, "\n"+s)
		f.Add(strings.Repeat("-", 75)+"From here", s, "From "+s)
		f.Add(s+"\nFrom", " here", "Fr")
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		body := &app.Body{Pieces: []app.Piece{{Shared: &app.SharedText{Text: a}, Personal: b}, {Shared: &app.SharedText{Text: c}, Personal: a}, {Personal: c}, {Shared: &app.SharedText{Text: b}}}}
		for range 2 { // the second time from the cache
			var w messageWriter
			w.pieces(body)
			for line := range strings.Lines(string(w.buf)) {
				if line = strings.TrimSuffix(line, "\r\n"); len(line) > 76 || strings.ContainsAny(line, "\r\n") || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") || strings.HasPrefix(line, "From ") {
					t.Fatalf("line %q", line)
				}
			}
			got, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(w.buf)))
			if err != nil || string(got) != normalLines(body.String()) {
				t.Fatalf("%q + %q + %q: %v %q, want %q", a, b, c, err, got, normalLines(body.String()))
			}
		}
	})
}

func BenchmarkComposeBroadcast(b *testing.B) {
	for _, tracked := range []bool{false, true} {
		b.Run(fmt.Sprintf("tracked=%v", tracked), func(b *testing.B) {
			s, m := testSealer(b), compiled(b, newsletter(tracked))
			fields := map[string]string{"first_name": "Ann", "property:company": "Bell & Sons"}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compose(toRecipient(s, m, 7, "ann@example.org", fields)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSignBroadcast(b *testing.B) {
	key, _ := testKey(b)
	s, m := testSealer(b), compiled(b, newsletter(true))
	message, err := compose(toRecipient(s, m, 7, "ann@example.org", nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sign", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sign(message, key, relayurl.ProfileGeneric); err != nil {
				b.Fatal(err)
			}
		}
	})
}
