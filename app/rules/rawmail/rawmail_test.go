package rawmail

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func lines(s ...string) []byte { return []byte(strings.Join(s, "\r\n") + "\r\n") }

func parsed(t *testing.T, s ...string) *Message {
	t.Helper()
	m, err := Parse(lines(s...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse(t *testing.T) {
	m := parsed(t, `From: =?iso-8859-15?q?Jos=E9_=A4?= <jose@example.com>`, `To: "Doe, Jane" <jane@example.net>, team: a@example.net, B <b@[192.0.2.1]>;`, "Cc: root@localhost",
		"Reply-To: r@example.org", "Subject: =?utf-8?q?Gr=C3=BC?=\r\n =?windows-1252?q?=DFe?= \t now", "Message-ID: <1@x>", `Content-Type: multipart/mixed; boundary="a b"`, "",
		"preamble", "--a b", "Content-Type: multipart/alternative; boundary=ab", "", "--ab", "Content-Type: text/plain; charset=windows-1252", "Content-Transfer-Encoding: quoted-printable", "", "100 =80", "--ab",
		"Content-Type: text/html", "Content-Transfer-Encoding: base64", "", "PGI+aGk8L2I+", "--ab--", "--a b",
		"Content-Type: image/png", "Content-ID: <logo@x>", "Content-Disposition: inline; filename*0*=utf-8''l%C3%A9; filename*1=go.png", "Content-Transfer-Encoding: base64", "", "aW1n", "aWQ=", "--a b",
		"Content-Type: text/plain; name=\"=?utf-8?q?..=2Fn=C3=B6te.txt?=\"", "", "second", "--a b--", "epilogue")
	var files []string
	for _, a := range m.Attachments {
		files = append(files, a.Filename+" "+a.ContentType+" "+a.ContentID+" "+string(a.Content))
	}
	got := []string{m.From.String(), m.Subject, m.Text, m.HTML, m.ID, app.Address.String(m.ReplyTo[0]), app.Address.String(m.Cc[0])}
	want := []string{"José € <jose@example.com>", "Grüße   now", "100 €", "<b>hi</b>", "1@x", "r@example.org", "root@localhost"}
	if !slices.Equal(got, want) {
		t.Errorf("says %q\nwant %q", got, want)
	}
	if len(m.To) != 3 || m.To[0].Name != "Doe, Jane" || m.To[2].Domain != "[192.0.2.1]" {
		t.Errorf("to %v", m.To)
	}
	if want := []string{"légo.png image/png logo@x imgid", ".._nöte.txt text/plain  second"}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	if m.Protected {
		t.Error("nobody sealed it")
	}
}

func TestSignedAndEncryptedMessagesAreProtected(t *testing.T) {
	for name, c := range map[string][]string{
		"PGP/MIME":  {"Content-Type: multipart/encrypted; boundary=b", "", "--b", "", "x", "--b--"},
		"S/MIME":    {"Content-Type: application/pkcs7-mime; smime-type=signed-data", "Content-Transfer-Encoding: base64", "", "eA=="},
		"inner":     {"Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: multipart/signed; boundary=c", "", "--c", "", "x", "--c--", "--b--"},
		"PGP alone": {"", "-----BEGIN PGP MESSAGE-----", "", "x"},
	} {
		if m := parsed(t, append([]string{"From: a@example.com"}, c...)...); !m.Protected {
			t.Errorf("%s is not sealed", name)
		}
	}
}

func TestPartLimits(t *testing.T) {
	deep := []string{"From: a@example.com"}
	for i := range 40 {
		b := strings.Repeat("x", i+1)
		deep = append(deep, "Content-Type: multipart/mixed; boundary="+b, "", "--"+b)
	}
	many := append([]string{"From: a@example.com", "Content-Type: multipart/mixed; boundary=b", ""}, slices.Repeat([]string{"--b", "", "x"}, 2000)...)
	for name, message := range map[string][]byte{"deep": lines(deep...), "many": lines(many...), "fields": lines(append([]string{"From: a@example.com"}, slices.Repeat([]string{"X: y"}, 1001)...)...),
		"header": lines("From: a@example.com", "X: "+strings.Repeat(strings.Repeat("x", 900)+"\r\n ", 300))} {
		if _, err := Parse(message); app.CodeOf(err) != app.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStrip(t *testing.T) {
	m := parsed(t, "Return-Path: <x@example.com>", "From: a@example.com", "BCC: eve@example.net,", "\tmallory@example.net", "DKIM-Signature: v=1; d=example.com;", " s=mailer2; b=x", "DKIM-Signature: v=1; d=example.com; s=other",
		"X-Mailer: tool", "X-Mailer-Topic: 1", "X-Mailer-Unknown: 1", "X-SMTPAPI: {}", "x-ses-source-arn: a", "X-PM-Tag: t", "List-Unsubscribe: <mailto:u@example.com>", "Subject:  two  ", "", "body Bcc: x")
	orders := m.Strip(true)
	if want := "From: a@example.com\r\nDKIM-Signature: v=1; d=example.com; s=other\r\nX-Mailer: tool\r\nSubject:  two  \r\n\r\nbody Bcc: x\r\n"; string(m.Raw) != want {
		t.Errorf("left %q\nwant %q", m.Raw, want)
	}
	if want := []string{"X-Mailer-Unknown", "X-SMTPAPI", "x-ses-source-arn"}; !slices.Equal(orders, want) {
		t.Errorf("orders %q, want %q", orders, want)
	}
	if string(m.Raw[m.Body:]) != "body Bcc: x\r\n" {
		t.Errorf("body at %d", m.Body)
	}
	for _, f := range m.Fields {
		if !bytes.HasPrefix(m.Raw[f.From:], []byte(f.Name+":")) {
			t.Errorf("field %+v", f)
		}
	}
}

// wellFormed checks the invariants of parsed messages.
func wellFormed(t *testing.T, raw []byte) {
	m, err := Parse(bytes.Clone(raw))
	if err != nil {
		if app.CodeOf(err) != app.CodeValidation {
			t.Fatalf("%v", err)
		}
		return
	}
	body := bytes.Clone(m.Raw[m.Body:])
	m.Strip(true)
	if !bytes.Equal(m.Raw[m.Body:], body) || !bytes.HasSuffix(raw, body) && !bytes.HasSuffix(append(bytes.Clone(raw), crlf...), body) {
		t.Fatalf("the body changed: %q", body)
	}
	again, err := Parse(bytes.Clone(m.Raw))
	if err != nil {
		t.Fatalf("what was stripped is refused: %v", err)
	}
	if again.From != m.From || again.Text != m.Text || again.HTML != m.HTML || count(again.Fields, "Bcc")+count(again.Fields, "X-Mailer-Topic") > 0 {
		t.Fatalf("%+v\nis not\n%+v", again, m)
	}
	if plain, err := SevenBit(m.Raw); err == nil {
		if _, at := Fields(plain); !isASCII(plain[at:]) {
			t.Fatalf("not ASCII: %q", plain)
		}
		if _, err := Parse(plain); err != nil && !strings.Contains(err.Error(), "998") {
			t.Fatalf("%v\n%q", err, plain)
		}
	}
}

func TestParseGeneratedMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2026))
	for range 300 {
		wellFormed(t, []byte(apptest.GeneratedMessage(random, "example.com")))
	}
}

func FuzzParse(f *testing.F) {
	random := rand.New(rand.NewPCG(2, 2026))
	for range 30 {
		f.Add([]byte(apptest.GeneratedMessage(random, "example.com")))
	}
	f.Add(lines("From: a@example.com", "Content-Type: multipart/mixed; boundary=", "", "--", "--"))
	f.Add(lines("From: a@example.com", "X-Mailer-Tag: a=b", "Bcc:", "", "\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) { wellFormed(t, raw) })
}

func TestInvalidMessageIDCountsAsMissing(t *testing.T) {
	for line, id := range map[string]string{
		"Message-ID: <1.2@host.test>": "1.2@host.test", "message-id: \r\n <1@[192.0.2.1]>": "1@[192.0.2.1]",
		"Message-ID: <123@>": "", "Message-ID: <123>": "", "Message-ID: 1@host.test": "", "Message-ID:": "", "Message-ID: <>": "", "Message-ID: <@host.test>": "",
		"Message-ID: <a b@host.test>": "", "Message-ID: <a@b@host.test>": "", "Message-ID: <1@host.test> <2@host.test>": "", "Message-ID: <<1@host.test>>": "", "Message-ID: <ü@host.test>": "",
	} {
		m, err := Parse([]byte("From: a@example.com\r\n" + line + "\r\n\r\nhi\r\n"))
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		m.Strip(false)
		if kept := m.Get("Message-ID") != ""; m.ID != id || kept != (id != "") {
			t.Errorf("%q: id %q, kept %t", line, m.ID, kept)
		}
	}
}

func TestLooseAddressLists(t *testing.T) {
	for value, want := range map[string]string{
		"ann@x.test <ann@x.test>":                          "ann@x.test|ann@x.test",
		"'ann@x.test' <ann@x.test>":                        "ann@x.test|ann@x.test",
		"ann@x.test; bo@x.test":                            "|ann@x.test |bo@x.test",
		"Ann <ann@x.test>; Bo <bo@x.test>;":                "Ann|ann@x.test Bo|bo@x.test",
		"a@y.test <ann@x.test>, b@y.test <bo@x.test>":      "a@y.test|ann@x.test b@y.test|bo@x.test",
		"Doe, Ann (a@y.test) <ann@x.test>":                 "Doe, Ann (a@y.test)|ann@x.test",
		"=?utf-8?q?Gr=C3=BC=C3=9F?= a@y.test <ann@x.test>": "Grüß a@y.test|ann@x.test",
		`"A; B" <ann@x.test>, b@y.test <bo@x.test>`:        "A; B|ann@x.test b@y.test|bo@x.test",
		`"a@y.test" <ann@x.test>; "A; B" <bo@x.test>`:      "a@y.test|ann@x.test A; B|bo@x.test",
		"ann@x.test bo@x.test":                             "|ann@x.test |bo@x.test",
		"Ann ann@x.test":                                   "|ann@x.test",
		`"Doe, Ann" ann@x.test`:                            "|ann@x.test",
		"<ann@x.test":                                      "|ann@x.test",
		"ann@x.test>, bo@x.test":                           "|ann@x.test |bo@x.test",
		"<<ann@x.test>>":                                   "|ann@x.test",
		"[ann@x.test]":                                     "|ann@x.test",
		"ann@x.test (work":                                 "|ann@x.test",
		"MAILTO:ann@x.test, Bo <mailto:bo@x.test>":         "|ann@x.test |bo@x.test",
		"an..n.@x.test":                                    "|an..n.@x.test",
		"ann@x.test <":                                     "|ann@x.test",
		"ann@x.test <bo>":                                  "|ann@x.test",
		"@@":                                               "", "ann": "", "ann@": "", "@x.test": "", "; ;": "", "a@b@c": "",
	} {
		list, err := parseLoose("To", value)
		var got []string
		for _, a := range list {
			got = append(got, a.Name+"|"+a.Mailbox())
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}
