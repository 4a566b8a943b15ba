package smtpout

import (
	"net/mail"
	"strings"
	"testing"
	"unicode/utf8"

	"mailer/app"
)

// FuzzCompose: a mail that Validate accepts reads back unchanged.
func FuzzCompose(f *testing.F) {
	f.Add("Acme <a@b.co>", "c@d.org", "Subject", "<p>x</p>", "text", "X-Foo", "value", "file.pdf", "application/pdf", "", []byte("x"))
	f.Add("=?utf-8?q?J=C3=B6rg?= <a@b.co>", `"x, y" <c@d.org>`, "=?utf-8?q?x?=", "", "\r.\r\n", "Comments", "é  é", "é.pdf", "", "logo@b.co", []byte{0})
	f.Add("a@b.co", "ü@ü.example", " x ", "<b>\r", "From x", "References", strings.Repeat("x", 997), strings.Repeat("é", 127), "text/plain; x*=utf-8''%41", "<x>", []byte{})
	f.Add("a@b.co", "c@d.org", "a\tb", "", "--=_mixed_"+testID, "X-A", "a   b", `"`, `text/plain; name="a; b"`, "!#$%&'*+", []byte("\r\n"))
	f.Fuzz(func(t *testing.T, from, to, subject, html, text, name, value, filename, contentType, contentID string, content []byte) {
		if content == nil {
			content = []byte{}
		}
		in := app.EmailInput{
			From: from, To: []string{to, to}, Cc: []string{to}, ReplyTo: []string{from}, Subject: subject, HTML: html, Text: &text,
			Headers:     map[string]string{name: value},
			Attachments: []app.Attachment{{Filename: filename, ContentType: contentType, ContentID: contentID, Content: content}, {Filename: "b", Content: content}},
		}
		if filename == "" {
			in.Attachments = nil
		}
		if contentID != "" {
			in.Compat = app.CompatResend
		}
		valid, err := in.Validate()
		for range 10 { // refused fields are replaced, so that the others are tried
			if err == nil {
				break
			}
			if app.CodeOf(err) != app.CodeValidation || !utf8.ValidString(err.Error()) {
				t.Fatalf("not a readable refusal: %q", err)
			}
			repair(&in, err)
			valid, err = in.Validate()
		}
		if err != nil {
			t.Fatalf("not repaired: %v", err)
		}
		m := transaction(valid)
		b, err := compose(m)
		if err != nil {
			t.Fatalf("valid, but not composed: %v", err)
		}
		checkWire(t, b)
		checkReadsBack(t, m, b)
	})
}

// FuzzMailboxHeader: every reader of the header reads an accepted address as one address with one
// name, also in a list.
func FuzzMailboxHeader(f *testing.F) {
	for _, s := range []string{
		"Acme, Inc. <a@b.co>", "Jane (via site) <a@b.co>", "[Acme] X <a@b.co>", "Acme: Support <a@b.co>", `A\B <a@b.co>`, `5" pipe <a@b.co>`,
		"Müller, Jörg <ü@b.co>", "Acme, =?utf-8?q?=3D=3Fx=3F=3D?= <a@b.co>", strings.Repeat("long, ", 40) + "<a@b.co>", "a: b; \"c <a@b.co>", "= ? <a@b.co>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := app.ParseAddress(s)
		if err != nil {
			return
		}
		other := app.Address{Name: "x, y", Local: "c", Domain: "d.org"}
		var w headerWriter
		w.addresses("To", []app.Address{other, want, other})
		m, err := mail.ReadMessage(strings.NewReader(string(w.buf) + "\r\n"))
		if err != nil {
			t.Fatalf("%q gives %q: %v", s, w.buf, err)
		}
		got, err := m.Header.AddressList("To")
		if err != nil || len(got) != 3 || got[1].Name != want.Name || got[1].Address != want.Mailbox() || got[2].Name != other.Name {
			t.Errorf("%q as %q is %v, %v", s, w.buf, got, err)
		}
	})
}

// repair replaces the field that err names; an address becomes a display name if possible.
func repair(in *app.EmailInput, err error) {
	asName := func(s string) string {
		named := app.QuoteString(s) + " <a@b.co>"
		if _, err := app.ParseAddress(named); err != nil {
			return "a@b.co"
		}
		return named
	}
	_, message, _ := strings.Cut(err.Error(), "`")
	field, _, _ := strings.Cut(message, "`")
	switch name, _, _ := strings.Cut(field, "["); name {
	case "from":
		in.From = asName(in.From)
	case "to", "cc", "bcc":
		in.To = []string{asName(strings.Join(in.To, "")), "c@d.org"}
		in.Cc = nil
	case "reply_to":
		in.ReplyTo = nil
	case "subject":
		in.Subject = "s"
	case "html":
		in.HTML = "<p>x</p>"
	case "text":
		in.Text = nil
	case "attachments":
		in.Attachments = nil
	default:
		in.Headers = nil
	}
}

func benchmarkMail(b testing.TB) *app.Outgoing {
	paragraph := `<p style="margin:0 0 16px;font-family:Helvetica,Arial,sans-serif;font-size:16px">Hello Ann, your order is on its way – see <a href="https://acme.test/orders/4711">details</a>.</p>` + "\n"
	return outgoing(b, app.EmailInput{
		From: "Acme <hi@acme.test>", To: []string{"Ann <ann@example.org>"}, Subject: "Your order 4711 is on its way",
		HTML: strings.Repeat(paragraph, 5000/len(paragraph)),
	})
}

func BenchmarkCompose(b *testing.B) {
	m := benchmarkMail(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compose(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComposeAttachment10MB(b *testing.B) {
	m := benchmarkMail(b)
	m.Mail.Attachments = []app.Attachment{{Filename: "a.bin", ContentType: "application/octet-stream", Size: 10 << 20, Content: make([]byte, 10<<20)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compose(m); err != nil {
			b.Fatal(err)
		}
	}
}
