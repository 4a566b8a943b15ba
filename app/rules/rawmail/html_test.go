package rawmail

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

// tracked simulates the result of tracking.
func tracked(html string) string {
	html = strings.ReplaceAll(html, "https://a.test/", "https://links.example.com/"+strings.Repeat("x", 90)+"/")
	at := strings.Index(html, "</body>")
	if at < 0 {
		at = len(html)
	}
	return html[:at] + `<img src="p">` + html[at:]
}

// changed is ChangeHTML with checks of what must not change; empty: unchanged.
func changed(t *testing.T, raw []byte) string {
	t.Helper()
	given := bytes.Clone(raw)
	c, ok := ChangeHTML(raw, tracked)
	again, twice := ChangeHTML(raw, tracked)
	if ok != twice || !bytes.Equal(c.with, again.with) {
		t.Fatalf("the same message becomes %q and %q", c.with, again.with)
	}
	if !ok {
		return ""
	}
	out := c.In(raw)
	if !bytes.Equal(raw, given) || !bytes.HasPrefix(out, raw[:c.from]) || !bytes.HasSuffix(out, raw[c.to:]) {
		t.Fatalf("more than the part changed:\n%q\n%q", given, out)
	}
	before, err := Parse(bytes.Clone(raw))
	if err != nil {
		t.Fatal(err)
	}
	after, err := Parse(bytes.Clone(out))
	if err != nil {
		t.Fatalf("%v\n%q", err, out)
	}
	if want := tracked(before.HTML); after.HTML != want && after.HTML != want+"\r\n" {
		t.Fatalf("the text is\n%q\nwant\n%q", after.HTML, want)
	}
	if after.Text != before.Text || after.Protected || before.Protected || after.Subject != before.Subject || len(after.Attachments) != len(before.Attachments) {
		t.Fatalf("%q\nbecame\n%q", given, out)
	}
	for i, a := range after.Attachments {
		if b := before.Attachments[i]; !bytes.Equal(a.Content, b.Content) || a.Filename != b.Filename {
			t.Fatalf("file %d became %+v", i, a)
		}
	}
	return string(out)
}

func TestChangeHTML(t *testing.T) {
	const longLink = "https://links.example.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/1"
	for name, c := range map[string]struct {
		fields     []string
		body, want string
	}{
		"7bit":       {nil, `<body><a href="https://a.test/1">x</a></body>`, `<body><a href="` + longLink + `">x</a><img src="p"></body>`},
		"8bit":       {[]string{"charset=utf-8", "8BIT"}, "<a href=https://a.test/1>Grüße</a>\r\n.\r\n</body>", "<a href=" + longLink + ">Grüße</a>\r\n.\r\n<img src=\"p\"></body>"},
		"Latin-1":    {[]string{"charset=iso-8859-1", "8bit"}, "<a href='https://a.test/1'>Gr\xfc\xdfe \x80</a>", "<a href='" + longLink + "'>Gr\xfc\xdfe \x80</a><img src=\"p\">"},
		"Latin-9":    {[]string{`charset="ISO-8859-15"`, "quoted-printable"}, "=A4</body>", `=A4<img src=3D"p"></body>`},
		"ASCII":      {[]string{"charset=us-ascii", ""}, "<p>x", `<p>x<img src="p">`},
		"no body":    {[]string{"", "7bit"}, "x\r\n\r\n", "x\r\n\r\n<img src=\"p\">"},
		"quoted":     {[]string{"charset=utf-8", "Quoted-Printable"}, "Gr=c3=bc=C3=9Fe =\r\nx =20\r\n=0Ay=0D=0A=3D</body>", "Gr=C3=BC=C3=9Fe x =20\r\n=0Ay\r\n=3D<img src=3D\"p\"></body>"},
		"base64":     {[]string{"charset=utf-8", "base64"}, "PGI+aGk8L2I+", "PGI+aGk8L2I+PGltZyBzcmM9InAiPg=="},
		"base64 end": {[]string{"charset=utf-8", "base64"}, "PGI+\r\naGk8L2I+\r\n", "PGI+aGk8L2I+PGltZyBzcmM9InAiPg==\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			part := "content-TYPE:  Text/HTML"
			if c.fields != nil {
				if c.fields[0] != "" {
					part += ";\r\n\t" + c.fields[0]
				}
				if c.fields[1] != "" {
					part += "\r\nContent-Transfer-Encoding: " + c.fields[1]
				}
			}
			part += "\r\n\r\n"
			before := "From: a@example.com\r\nX-A:  odd  blanks \r\nContent-Type: multipart/mixed; boundary=m\r\n\r\npre\r\n--m\r\nContent-Type: multipart/alternative; boundary=\"a b\"\r\n\r\n" +
				"--a b\r\n\r\nplain https://a.test/1 \r\n--a b \r\n" + part
			after := "\r\n--a b--\r\n--m\r\nContent-Type: message/rfc822\r\n\r\nContent-Type: text/html\r\n\r\n<a href=https://a.test/1>\r\n--m\r\nContent-Type: image/png\r\n\r\n\xff\r\n--m--\r\nepilogue\r\n"
			if got := changed(t, []byte(before+c.body+after)); got != before+c.want+after {
				t.Errorf("became\n%q\nwant\n%q", got, before+c.want+after)
			}
			// A part at the end of the message ends with a line break, like the message.
			ended := func(s string) string { return strings.TrimSuffix(s, "\r\n") + "\r\n" }
			whole := "From: a@example.com\r\n" + part
			if got := changed(t, []byte(whole+ended(c.body))); !strings.HasPrefix(got, whole) || !strings.HasSuffix(got, "\r\n") {
				t.Errorf("alone it became %q", got)
			}
		})
	}
}

func TestProtectedPartsAreUnchanged(t *testing.T) {
	html := func(fields ...string) []string {
		return append(append([]string{"Content-Type: text/html"}, fields...), "", `<a href="https://a.test/1">x</a>`)
	}
	multipart := func(kind string, parts ...[]string) []string {
		out := []string{"Content-Type: multipart/" + kind + "; boundary=b" + kind, ""}
		for _, p := range parts {
			out = append(append(out, "--b"+kind), p...)
		}
		return append(out, "--b"+kind+"--")
	}
	plain := []string{"", "plain"}
	for name, message := range map[string][]string{
		"no HTML":              plain,
		"signed":               multipart("signed", html(), []string{"Content-Type: application/pgp-signature", "", "x"}),
		"signed inside":        multipart("mixed", multipart("signed", html(), plain), plain),
		"signed beside":        multipart("mixed", html(), multipart("signed", plain, plain)),
		"encrypted":            multipart("encrypted", []string{"Content-Type: application/pgp-encrypted", "", "Version: 1"}, html()),
		"S/MIME beside":        multipart("mixed", html(), []string{"Content-Type: application/pkcs7-mime", "", "x"}),
		"a signature":          multipart("mixed", html(), []string{"Content-Type: application/x-pkcs7-signature", "", "x"}),
		"PGP in the text":      multipart("alternative", []string{"Content-Transfer-Encoding: base64", "", base64.StdEncoding.EncodeToString([]byte("-----BEGIN PGP SIGNED MESSAGE-----"))}, html()),
		"PGP in the HTML":      {"Content-Type: text/html", "", "<pre>-----BEGIN PGP MESSAGE-----"},
		"DKIM":                 append([]string{"DKIM-Signature: v=1; d=other.example; b=x"}, html()...),
		"two HTML parts":       multipart("mixed", html(), html()),
		"an HTML file beside":  multipart("mixed", html(), html("Content-Disposition: attachment")),
		"an HTML file":         multipart("mixed", plain, html("Content-Disposition: attachment")),
		"a named HTML file":    multipart("mixed", plain, html("Content-Disposition: inline; filename=a.html")),
		"named by its type":    multipart("mixed", plain, []string{"Content-Type: text/html; name=a.html", "", "x"}),
		"in a message":         multipart("mixed", plain, append([]string{"Content-Type: message/rfc822", "", "Subject: x"}, html()...)),
		"in a digest":          multipart("digest", append([]string{""}, html()...)),
		"binary":               html("Content-Transfer-Encoding: binary"),
		"unknown encoding":     html("Content-Transfer-Encoding: x-uuencode"),
		"two encodings":        multipart("mixed", html("Content-Transfer-Encoding: 7bit", "Content-Transfer-Encoding: base64")),
		"two types":            multipart("mixed", html("Content-Type: text/plain")),
		"an encoded multipart": {"Content-Type: multipart/mixed; boundary=b", "Content-Transfer-Encoding: base64", "", "--b", "Content-Type: text/html", "", "x", "--b--"},
		"broken base64":        {"Content-Type: text/html", "Content-Transfer-Encoding: base64", "", "PGI+aGk8L2I"},
		"base64 after its end": {"Content-Type: text/html", "Content-Transfer-Encoding: base64", "", "PGI=", "PGI="},
		"broken quoted":        {"Content-Type: text/html", "Content-Transfer-Encoding: quoted-printable", "", "<a href=https://a.test/1>"},
		"UTF-16":               {"Content-Type: text/html; charset=utf-16", "", "x"},
		"not UTF-8":            {"Content-Type: text/html; charset=utf-8", "", "\xff"},
		"no ASCII":             {"Content-Type: text/html", "", "\xff"},
		"nothing in Latin-1":   {"Content-Type: text/html; charset=windows-1252", "", "\x81"},
		"twice in Latin-9":     {"Content-Type: text/html; charset=iso-8859-15", "", "\x80"},
		"a long line":          {"Content-Type: text/html", "", strings.Repeat("x", 900) + "https://a.test/1"},
		"a delimiter":          multipart("mixed", []string{"Content-Type: text/html", "Content-Transfer-Encoding: quoted-printable", "", "x=0D=0A-=", "-bmixed"}),
	} {
		t.Run(name, func(t *testing.T) {
			if got := changed(t, lines(append([]string{"From: a@example.com"}, message...)...)); got != "" {
				t.Errorf("became %q", got)
			}
		})
	}
}

func TestChangeHTMLOfGeneratedMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 2026))
	all := 0
	for range 1500 {
		raw := []byte(apptest.GeneratedMessage(random, "example.com"))
		if changed(t, raw) != "" {
			all++
		}
	}
	if all < 20 {
		t.Errorf("only %d messages changed", all)
	}
}

func TestQuotedPrintableRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 2026))
	pieces := []string{"a", " ", "\t", "=", "\r\n", "\r", "\n", "ü", ".", "From ", strings.Repeat("y", 80), "--"}
	for range 2000 {
		var text []byte
		for range random.IntN(40) {
			text = append(text, pieces[random.IntN(len(pieces))]...)
		}
		out := encode("quoted-printable", text)
		if back, ok := decodeStrictly("quoted-printable", out); !ok || !bytes.Equal(back, text) {
			t.Fatalf("%q became %q, read as %q", text, out, back)
		}
		if checkLines(out) != nil || slices.ContainsFunc(bytes.Split(out, crlf), func(line []byte) bool { return len(line) > 76 }) {
			t.Fatalf("%q became %q", text, out)
		}
	}
}
