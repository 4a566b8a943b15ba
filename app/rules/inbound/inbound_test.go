package inbound

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

func parse(s string) *Message { return Parse([]byte(s)) }

// describe formats the files of a message.
func describe(m *Message) string {
	var lines []string
	for _, f := range m.Files {
		inline := ""
		if f.Inline {
			inline = " inline"
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s %d %s%s", f.Part, f.Filename, f.ContentType, f.Size, f.ContentID, inline)))
	}
	return strings.Join(lines, "|")
}

const pixel = "R0lGODlhAQABAAAAACw="

func TestParseReadsBodiesAndFiles(t *testing.T) {
	for name, tt := range map[string]struct{ raw, text, html, files string }{
		"text":               {raw: "Subject: a\n\nHello\nyou\n", text: "Hello\nyou\n"},
		"text with CR alone": {raw: "Subject: a\r\rHello\ryou\r", text: "Hello\nyou\n"},
		"HTML alone":         {raw: "Content-Type: text/html\n\n<p>Hello <b>you</b></p>", text: "Hello you", html: "<p>Hello <b>you</b></p>"},
		"alternative": {raw: "Content-Type: multipart/alternative; boundary=x\n\npreamble\n--x\nContent-Type: text/plain\n\nplain\n--x\nContent-Type: text/html\n\n<p>rich</p>\n--x--\nepilogue",
			text: "plain", html: "<p>rich</p>"},
		"alternative with a calendar and AMP": {raw: "Content-Type: multipart/alternative; boundary=x\n\n--x\n\nplain\n--x\nContent-Type: text/x-amp-html\n\n<amp>\n--x\nContent-Type: text/html\n\n<p>rich</p>\n--x\nContent-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\n--x--",
			text: "plain", html: "<p>rich</p>", files: "3 part-4.ics text/calendar 15"},
		"text around a file (Apple Mail)": {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nabove\n--x\nContent-Disposition: inline; filename=a.gif\nContent-Type: image/gif\nContent-Transfer-Encoding: base64\n\n" + pixel + "\n--x\nContent-Type: text/plain\n\nbelow\n--x--",
			text: "above\nbelow", files: "1 a.gif image/gif 14"},
		"HTML around a file (Apple Mail)": {raw: "Content-Type: multipart/alternative; boundary=y\n\n--y\n\nplain\n--y\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>above</p>\n--x\nContent-Disposition: attachment; filename=a.pdf\nContent-Type: application/pdf\n\nPDF\n--x\nContent-Type: text/html\n\n<p>below</p>\n--x--\n--y--",
			text: "plain", html: "<p>above</p><p>below</p>", files: "2 a.pdf application/pdf 3"},
		"lines of a mailing list": {raw: "Content-Type: multipart/mixed; boundary=y\n\n--y\nContent-Type: multipart/alternative; boundary=x\n\n--x\n\nplain\n--x\nContent-Type: text/html\n\n<p>rich</p>\n--x--\n\n--y\nContent-Type: text/plain\n\nlist <l@x>\n--y--",
			text: "plain\nlist <l@x>", html: `<p>rich</p><div style="white-space:pre-wrap">list &lt;l@x&gt;</div>`},
		"images in HTML": {raw: "Content-Type: multipart/related; boundary=x\n\n--x\nContent-Type: text/html\n\n<img src='cid:a%40b'><img src=\"cid:c\">\n--x\nContent-ID: <a@b>\nContent-Type: image/gif; name=\"one.gif\"\nContent-Transfer-Encoding: base64\n\n" + pixel + "\n--x\nContent-ID: c\nContent-Disposition: attachment; filename=two.gif\nContent-Type: image/gif\n\nx\n--x\nContent-ID: <d>\nContent-Disposition: attachment\nContent-Type: image/png\n\nx\n--x--",
			html: "<img src='cid:a%40b'><img src=\"cid:c\">", files: "1 one.gif image/gif 14 a@b inline|2 two.gif image/gif 1 c inline|3 part-4.png image/png 1 d"},
		"a message as a file": {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nsee\n--x\nContent-Type: message/rfc822\n\nSubject: in\nContent-Type: multipart/mixed; boundary=z\n\n--z\n\ninner\n--z--\n--x--",
			text: "see", files: "1 part-2.eml message/rfc822 71"},
		"a digest":                      {raw: "Content-Type: multipart/digest; boundary=x\n\n--x\n\nSubject: one\n\na\n--x\n\nSubject: two\n\nb\n--x--", files: "0 part-1.eml message/rfc822 15|1 part-2.eml message/rfc822 15"},
		"a text file":                   {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nsee\n--x\nContent-Type: text/plain; name=notes.txt\n\nnotes\n--x--", text: "see", files: "1 notes.txt text/plain 5"},
		"only a file":                   {raw: "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nAAAA", files: "0 a.pdf application/pdf 3"},
		"signed":                        {raw: "Content-Type: multipart/signed; boundary=x\n\n--x\n\nplain\n--x\nContent-Type: application/pgp-signature\n\nsig\n--x--", text: "plain", files: "1 part-2.asc application/pgp-signature 3"},
		"no last delimiter":             {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nplain", text: "plain"},
		"the inner one never ends":      {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: multipart/mixed; boundary=y\n\n--y\n\nin\n--x\nContent-Type: text/csv\n\n1;2\n--x--", text: "in", files: "1 part-2.csv text/csv 3"},
		"a wrong boundary":              {raw: "Content-Type: multipart/mixed; boundary=wrong\n\n--x\nContent-Type: text/html\n\n<p>hi</p>\n--x--", text: "hi", html: "<p>hi</p>"},
		"no boundary":                   {raw: "Content-Type: multipart/mixed\n\n--x\nContent-Type: text/html\n\n<p>hi</p>\n--x--", text: "hi", html: "<p>hi</p>"},
		"no parts":                      {raw: "Content-Type: multipart/mixed; boundary=x\n\nnothing\n--\nelse", text: "nothing\n--\nelse"},
		"a delimiter that is a prefix":  {raw: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--xy\ntwo\n--x--", text: "one\n--xy\ntwo"},
		"a delimiter with blanks":       {raw: "Content-Type: multipart/mixed; boundary=\"x\"\r\n\r\n--x \t\r\n\r\none\r\n--x-- \r\n", text: "one"},
		"no empty line":                 {raw: "Subject: a\nHello there\nyou: and me", text: "Hello there\nyou: and me"},
		"no header":                     {raw: "Hello there\n\nyou", text: "Hello there\n\nyou"},
		"only a header":                 {raw: "Subject: a"},
		"nothing":                       {},
		"lines that are no fields":      {raw: "From ann@x.example Mon\nSubject: a\nno field\nContent-Type: text/html\n\n<p>a</p>", text: "a", html: "<p>a</p>"},
		"quoted-printable with cuts":    {raw: "Content-Transfer-Encoding: Quoted-Printable (x)\n\na=C3=A4=\nb=\r\n=zz =3", text: "aäb=zz =3"},
		"base64 with garbage":           {raw: "Content-Transfer-Encoding: \"base64\"\n\nSGVs!!\n\x00bG8=IHlvdQ==--", text: "Hello you"},
		"base64 that is cut":            {raw: "Content-Transfer-Encoding: base64\n\nSGVsbG8geW91IQ", text: "Hello you!"},
		"an unknown encoding":           {raw: "Content-Transfer-Encoding: x-new\n\nabc", text: "abc"},
		"NUL":                           {raw: "Subject: a\n\na\x00b", text: "a\uFFFDb"},
		"the first of two types counts": {raw: "Content-Type: text/plain\nContent-Type: text/html\n\n<p>", text: "<p>"},
		"the old type":                  {raw: "Content-Type: text\n\na", text: "a"},
		"a broken type":                 {raw: "Content-Type: a b/c\n\na", files: "0 part-1.bin application/octet-stream 1"},
		"an empty text beside HTML":     {raw: "Content-Type: multipart/alternative; boundary=x\n\n--x\n\n \n--x\nContent-Type: text/html\n\n<p>rich</p>\n--x--", text: "rich", html: "<p>rich</p>"},
	} {
		for _, ends := range []string{"\n", "\r\n"} {
			raw := tt.raw
			if !strings.Contains(raw, "\r") {
				raw = strings.ReplaceAll(raw, "\n", ends)
			}
			m := parse(raw)
			files := describe(m)
			if ends == "\r\n" && (strings.Contains(files, "message/")) {
				continue // other sizes
			}
			if m.Text != tt.text && !(tt.text == "" && tt.html != "") || strings.ReplaceAll(m.HTML, "\r\n", "\n") != tt.html || files != tt.files || m.Cut {
				t.Errorf("%s (%q):\n%q\n%q\n%s", name, ends, m.Text, m.HTML, files)
			}
		}
	}
}

func TestPartReturnsTheContentOfAFile(t *testing.T) {
	raw := []byte("Content-Type: multipart/mixed; boundary=x\n\n--x\n\nsee\n--x\nContent-Type: image/gif\nContent-Transfer-Encoding: base64\n\n" + pixel + "\n--x\nContent-Type: text/csv\nContent-Transfer-Encoding: quoted-printable\n\na=3Db\n--x--")
	want := [][]byte{[]byte("see"), nil, []byte("a=b")}
	want[1], _ = base64.StdEncoding.DecodeString(pixel)
	for n, content := range want {
		if got, ok := Part(raw, n); !ok || string(got) != string(content) {
			t.Errorf("%d: %q, %v", n, got, ok)
		}
	}
	for _, n := range []int{-1, 3, 1 << 40} {
		if _, ok := Part(raw, n); ok {
			t.Error(n)
		}
	}
}

func TestParseReadsFields(t *testing.T) {
	for header, want := range map[string]Message{
		`From: Ann <Ann@Example.COM>`:                      {From: "Ann <Ann@example.com>", FromEmail: "ann@example.com"},
		`From: ann@bücher.example`:                         {From: "ann@xn--bcher-kva.example", FromEmail: "ann@xn--bcher-kva.example"},
		`From: "Doe, Ann" <a@b.example>`:                   {From: `"Doe, Ann" <a@b.example>`, FromEmail: "a@b.example"},
		`From: a@b.example (Ann)`:                          {From: "Ann <a@b.example>", FromEmail: "a@b.example"},
		`From: "bank@good.example" <x@evil.example>`:       {From: `"bank@good.example" <x@evil.example>`, FromEmail: "x@evil.example"},
		`From: bank@good.example <x@evil.example>`:         {From: `"bank@good.example" <x@evil.example>`, FromEmail: "x@evil.example"},
		`From: =?utf-8?q?a=40good.example?= <x@b.example>`: {From: `"a@good.example" <x@b.example>`, FromEmail: "x@b.example"},
		`From: <a@b.example> <x@evil.example>`:             {From: "a@b.example, x@evil.example"},
		`From: a@b.example, c@d.example`:                   {From: "a@b.example, c@d.example"},
		"From: a@b.example\nFrom: a@b.example":             {From: "a@b.example, a@b.example"},
		`From: docomo.user.@docomo.example`:                {From: "docomo.user.@docomo.example", FromEmail: "docomo.user.@docomo.example"},
		`From: Ann`:                                        {From: "Ann"},
		`From:`:                                            {},
		`From: <>`:                                         {},
		`From: @`:                                          {From: "@"},
		`From: Ann <a@b.example`:                           {From: "Ann <a@b.example>", FromEmail: "a@b.example"},
		`From: "Ann <a@b.example>`:                         {From: "Ann <a@b.example>", FromEmail: "a@b.example"},
		"From: Ann\u202egnp <a@b.example>":                 {From: "Anngnp <a@b.example>", FromEmail: "a@b.example"},
		`From: =?iso-8859-1?Q?J=FCrgen?= <j@b.example>`:    {From: "Jürgen <j@b.example>", FromEmail: "j@b.example"},
		`From: "=?utf-8?B?SsO8cmdlbg==?=" <j@b.example>`:   {From: "Jürgen <j@b.example>", FromEmail: "j@b.example"},
		"From: J\xfcrgen <j@b.example>":                    {From: "Jürgen <j@b.example>", FromEmail: "j@b.example"},
		`To: Team: a@b.example, Bo <c@d.example>;`:         {To: []string{"a@b.example", "Bo <c@d.example>"}},
		`To: undisclosed-recipients:;`:                     {},
		`To: a@b.example; c@d.example e@f.example`:         {To: []string{"a@b.example", "c@d.example", "e@f.example"}},
		"To: a@b.example\nTo: c@d.example\nCc: e@f.example\nBcc: g@h.example\nReply-To: mailto:i@j.example": {To: []string{"a@b.example", "c@d.example"}, Cc: []string{"e@f.example"}, Bcc: []string{"g@h.example"}, ReplyTo: []string{"i@j.example"}},
		`Sender: <list@b.example>`: {Sender: "list@b.example"},
		`To: all customers`:        {To: []string{"all customers"}},

		"Subject: folded\n text": {Subject: "folded text"},
		"Subject: =?utf-8?Q?caf=C3?= =?utf-8?Q?=A9_?=\n =?utf-8?B?b3Blbg?=": {Subject: "café open"},
		`Subject: =?utf-8?Q?Really? yes?=`:                                  {Subject: "Really? yes"},
		`Subject: x=?utf-8?Q?a?=y =?utf-8*en?q?b?= =?x`:                     {Subject: "xay b =?x"},
		`Subject: =?no-such-set?Q?caf=C3=A9?=`:                              {Subject: "café"},
		`Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?=`:                       {Subject: "日本"},
		"Subject: \x1b$BF|K\\\x1b(B":                                        {Subject: "日本"},
		"Subject: a\x00b\x07c":                                              {Subject: "a\uFFFDb c"},
		"Content-Type: text/plain; charset=koi8-r\nSubject: \xf0\xd2":       {Subject: "Пр"},

		`Message-ID: <a@b>`:                  {MessageID: "<a@b>"},
		`Message-ID: a@b`:                    {MessageID: "<a@b>"},
		`Message-ID: <no at>`:                {MessageID: "<noat>"},
		`Message-ID: garbage`:                {},
		"References: <a@b>\n <c@\n d> <a@b>": {References: []string{"a@b", "c@d"}},
		`In-Reply-To: Mail of Ann <a@b>`:     {InReplyTo: []string{"a@b"}},
		`In-Reply-To: <<a@b>`:                {InReplyTo: []string{"a@b"}},
		`In-Reply-To: a@b of Monday`:         {InReplyTo: []string{"a@b"}},
	} {
		m := parse(header + "\n\n")
		got := Message{From: m.From, FromEmail: m.FromEmail, Sender: m.Sender, To: m.To, Cc: m.Cc, Bcc: m.Bcc, ReplyTo: m.ReplyTo, Subject: m.Subject, MessageID: m.MessageID, InReplyTo: m.InReplyTo, References: m.References}
		if len(got.InReplyTo) == 0 {
			got.InReplyTo = nil
		}
		if len(got.References) == 0 {
			got.References = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n%+v\nwant\n%+v", header, got, want)
		}
	}
	m := parse("References:" + strings.Repeat(" <a@b>", 3) + " <1@x>" + manyIDs(300) + "\n\n")
	if n := len(m.References); n != maxReferences || m.References[n-1] != "300@y" {
		t.Error(n, m.References[n-1])
	}
	if m := parse("X-A: 1\nX-A: =?utf-8?q?=C3=A4?=\n b\n\n"); fmt.Sprint(m.Headers) != "[{X-A 1} {X-A ä b}]" {
		t.Error(m.Headers)
	}
}

func manyIDs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " <%d@y>", i+1)
	}
	return b.String()
}

func TestParseReadsNamesOfFiles(t *testing.T) {
	for field, want := range map[string]string{
		`attachment; filename=a.pdf`:                                          "a.pdf",
		`attachment; filename="a \"b\".pdf"`:                                  `a "b".pdf`,
		`attachment; filename=my file.pdf`:                                    "my file.pdf",
		`attachment; filename="open.pdf`:                                      "open.pdf",
		`attachment; filename*=UTF-8''caf%C3%A9.pdf`:                          "café.pdf",
		`attachment; filename=cafe.pdf; filename*=iso-8859-1'fr'caf%E9.pdf`:   "café.pdf",
		`attachment; filename*1*=%A9.pdf; filename*0*=utf-8''caf%C3`:          "café.pdf",
		`attachment; filename*0="long "; filename*1="name.pdf"`:               "long name.pdf",
		`attachment; filename*0*=utf-8''%C3%A4; filename*1="b%20.pdf"`:        "äb%20.pdf",
		`attachment; filename="=?utf-8?Q?caf=C3=A9=2Epdf?="`:                  "café.pdf",
		`attachment; filename==?utf-8?B?Y2Fmw6kucGRm?=`:                       "café.pdf",
		"attachment; filename=\"=?utf-8?Q?caf=C3?=\n =?utf-8?Q?=A9=2Epdf?=\"": "café.pdf",
		"attachment; filename=\"caf\xe9.pdf\"":                                "café.pdf",
		"attachment; filename=\"café.pdf\"":                                   "café.pdf",
		`attachment; filename="C:\dir\a.pdf"`:                                 "C:_dir_a.pdf",
		`attachment; filename="../../etc/passwd"`:                             ".._.._etc_passwd",
		`attachment; filename=".."`:                                           "part-1.pdf",
		"attachment; filename=\"a\u202efdp.exe\"":                             "afdp.exe",
		`attachment; filename*=broken`:                                        "broken",
		`attachment; filename*99999999999999999999=a; filename*-1=b`:          "ab",
		`ATTACHMENT;;; FileName = a.pdf ; size=3`:                             "a.pdf",
		`attachment`: "type.pdf",
		``:           "type.pdf",
	} {
		if want == "part-1.pdf" {
			field += "\nX: "
		}
		raw := "Content-Type: application/pdf; name=type.pdf\nContent-Disposition: " + field + "\n\nx"
		if want == "part-1.pdf" {
			raw = strings.Replace(raw, "; name=type.pdf", "", 1)
		}
		if m := parse(raw); len(m.Files) != 1 || m.Files[0].Filename != want {
			t.Errorf("%q: %+v", field, m.Files)
		}
	}
	if m := parse("Content-Type: image/png; name=\"" + strings.Repeat("ä", 300) + "\"\n\nx"); len(m.Files[0].Filename) > maxFilename || !utf8.ValidString(m.Files[0].Filename) {
		t.Error(len(m.Files[0].Filename))
	}
}

// TestParseReadsCharacterSets: every encoding of the WHATWG standard is read under its name.
func TestParseReadsCharacterSets(t *testing.T) {
	for name, text := range map[string]string{
		"utf-8": "Grüße 日本 🙂", "ibm866": "Привет", "iso-8859-2": "žluťoučký", "iso-8859-3": "ĝis", "iso-8859-4": "ķēniņš", "iso-8859-5": "Привет", "iso-8859-6": "مرحبا", "iso-8859-7": "γειά", "iso-8859-8": "שלום", "iso-8859-8-i": "שלום",
		"iso-8859-10": "ķīļi", "iso-8859-13": "ąžuolas", "iso-8859-14": "ŵy", "iso-8859-15": "€uro", "iso-8859-16": "țară", "koi8-r": "Привет", "koi8-u": "Привіт", "macintosh": "Grüße", "windows-874": "สวัสดี", "windows-1250": "žluť", "windows-1251": "Привет",
		"windows-1252": "Grüße €", "windows-1253": "γειά", "windows-1254": "ığş", "windows-1255": "שלום", "windows-1256": "مرحبا", "windows-1257": "ąžuolas", "windows-1258": "đô", "x-mac-cyrillic": "Привет", "gbk": "你好", "gb18030": "你好🙂", "big5": "你好",
		"euc-jp": "日本語", "iso-2022-jp": "日本語", "shift_jis": "日本語", "euc-kr": "안녕", "utf-16be": "日本", "utf-16le": "日本", "gb2312": "你好", "ks_c_5601-1987": "안녕", "latin1": "Grüße", "cp1252": "Grüße", "cp932": "日本語", "ibm850": "Grüße", "us-ascii": "Grüße", "": "Grüße", "x-no-such": "Grüße"} {
		set, err := htmlindex.Get(aliasOf(name))
		content := []byte(text)
		if err == nil {
			if content, err = set.NewEncoder().Bytes(content); err != nil {
				t.Fatal(name, err)
			}
		}
		if name == "ibm850" {
			content = []byte("Gr\x81\xe1e")
		}
		raw := "Content-Type: text/plain; charset=\"" + strings.ToUpper(name) + "\"\nContent-Transfer-Encoding: base64\nSubject: =?" + name + "?b?" + base64.StdEncoding.EncodeToString(content) + "?=\n\n" + base64.StdEncoding.EncodeToString(content)
		m := parse(raw)
		if m.Text != text || name != "" && m.Subject != text {
			t.Errorf("%s: %q, %q", name, m.Text, m.Subject)
		}
	}
}

func aliasOf(name string) string {
	if a := aliases[name]; a != "" {
		return a
	}
	return name
}

func TestParseReadsWrongCharacterSets(t *testing.T) {
	for name, tt := range map[string]struct{ label, content, want string }{
		"UTF-8 called Western":        {"iso-8859-1", "Grüße", "Grüße"},
		"Western called UTF-8":        {"utf-8", "Gr\xfc\xdfe", "Grüße"},
		"Western called ASCII":        {"us-ascii", "Gr\xfc\xdfe", "Grüße"},
		"Western without a name":      {"", "\x80 Gr\xfc\xdfe", "€ Grüße"},
		"UTF-8 that is cut":           {"", "Grüße \xc3", "Grüße \uFFFD"},
		"UTF-8 called so that is cut": {"utf-8", "Grüße \xe2\x82", "Grüße \uFFFD"},
		"Japanese without a name":     {"us-ascii", "\x1b$BF|K\\\x1b(B", "日本"},
		"a mark of the byte order":    {"utf-8", "\ufeffhi", "hi"},
		"an encoding that was barred": {"iso-2022-kr", "hi", "hi"},
	} {
		if m := parse("Content-Type: text/plain; charset=" + tt.label + "\n\n" + tt.content); m.Text != tt.want {
			t.Errorf("%s: %q", name, m.Text)
		}
	}
	if m := parse("Content-Type: text/html\n\n<meta charset=koi8-r>\xf0\xd2"); m.Text != "Пр" {
		t.Errorf("%q", m.Text)
	}
}

// TestParseReadsOurOwnMail reads the messages that the composer writes.
func TestParseReadsOurOwnMail(t *testing.T) {
	files, err := filepath.Glob("../../../smtpout/testdata/*.eml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := Parse(raw); m.FromEmail == "" || m.Text == "" && m.HTML == "" || m.MessageID == "" || m.Cut {
			t.Errorf("%s: %+v", file, m)
		}
	}
}
