package inbound

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile are messages of about n bytes that look for costly work.
var hostile = map[string]func(n int) string{
	"deep nesting": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
		}
		return b.String()
	},
	"one boundary at all depths": func(n int) string {
		return strings.Repeat("Content-Type: multipart/mixed; boundary=b\n\n--b\n", n/47)
	},
	"100,000 parts": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", n/7)
	},
	"1,000 parts in each of many": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=a\n\n" + strings.Repeat("--a\nContent-Type: multipart/mixed; boundary=b\n\n"+strings.Repeat("--b\n\nx\n", 100), n/750)
	},
	"delimiters that are none": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + strings.Repeat("--bx\n", n/5)
	},
	"a boundary without end": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=" + strings.Repeat("b", n) + "\n\n--b\n\nx"
	},
	"no delimiter at any depth": func(n int) string { return deepWith(strings.Repeat("x\n", n/2)) },
	"a header at each depth":    func(n int) string { return deepWith(strings.Repeat("a: b\n", n/5)) },
	"a broken header at each":   func(n int) string { return deepWith("a: b\n?\n" + strings.Repeat("a: b\n", n/5)) },
	"many fields":               func(n int) string { return strings.Repeat("a: b\n", n/5) + "\nx" },
	"a long field":              func(n int) string { return "Subject: " + strings.Repeat("a", n) + "\n\nx" },
	"a field of many lines":     func(n int) string { return "Subject:" + strings.Repeat("\n a", n/3) + "\n\nx" },
	"encoded words":             func(n int) string { return "Subject: " + strings.Repeat("=?a?q?", n/6) + "\n\nx" },
	"encoded words without end": func(n int) string { return "Subject: " + strings.Repeat("=?a?q?=?", n/8) + "?=\n\nx" },
	"addresses":                 func(n int) string { return "To: " + strings.Repeat("a@b,", n/4) + "\n\nx" },
	"quotes":                    func(n int) string { return "To: \"" + strings.Repeat("\\\"", n/2) + "\n\nx" },
	"comments":                  func(n int) string { return "To: " + strings.Repeat("(", n) + "\n\nx" },
	"angle brackets": func(n int) string {
		return "To: " + strings.Repeat("<", n) + "\nReferences: " + strings.Repeat("<", n) + "\n\nx"
	},
	"references":            func(n int) string { return "References: " + manyIDs(n/8) + "\n\nx" },
	"parameters":            func(n int) string { return "Content-Type: text/plain" + strings.Repeat("; a=b", n/5) + "\n\nx" },
	"pieces of a parameter": func(n int) string { return "Content-Type: text/plain" + strings.Repeat("; a*1=b", n/7) + "\n\nx" },
	"base64 garbage":        func(n int) string { return "Content-Transfer-Encoding: base64\n\n" + strings.Repeat("=A", n/2) },
	"quoted-printable cuts": func(n int) string {
		return "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("=  ", n/3)
	},
	"NUL":                    func(n int) string { return strings.Repeat("\x00", n) },
	"CR alone":               func(n int) string { return strings.Repeat("\r", n) },
	"escapes of Japanese":    func(n int) string { return "\n" + strings.Repeat("\x1b$B", n/3) },
	"quoted lines":           func(n int) string { return "\n" + strings.Repeat(">\n", n/2) },
	"lines before quotes":    func(n int) string { return "\n" + strings.Repeat("On 1 May 2026 a@b wrote:\n>\n", n/27) },
	"lines with colons":      func(n int) string { return "\n" + strings.Repeat("on 2026 "+strings.Repeat("x", 80)+":\n", n/91) },
	"long lines with colons": func(n int) string { return "\n" + strings.Repeat("on 2026 "+strings.Repeat("x", 900)+"\n:\n", n/912) },
	"fields in the text":     func(n int) string { return "\n" + strings.Repeat("From: a\nTo: b\n", n/14) },
	"dates in the text":      func(n int) string { return "\n" + strings.Repeat("Date: b\n", n/8) },
	"blank lines":            func(n int) string { return "\n" + strings.Repeat("\n", n) },
	"blanks":                 func(n int) string { return "\nx" + strings.Repeat(" ", n) + "y" },
	"signatures":             func(n int) string { return "\n" + strings.Repeat("-- \n>\n", n/6) },
	"lines of telephones":    func(n int) string { return "\n" + strings.Repeat("Sent from my iPhone\n\n", n/21) },
	"quotes in HTML": func(n int) string {
		return "Content-Type: text/html\n\n" + strings.Repeat("<blockquote type=cite>", n/22)
	},
	"tags in HTML": func(n int) string {
		return "Content-Type: text/html\n\n" + strings.Repeat("<div class='gmail_attr x y'></div>", n/34)
	},
	"classes in HTML": func(n int) string {
		return "Content-Type: text/html\n\n<div class='" + strings.Repeat("x ", n/2) + "'>"
	},
	"references to parts": func(n int) string { return "Content-Type: text/html\n\n" + strings.Repeat("cid:", n/4) },
}

// deepWith returns nested multiparts around a body. The innermost have no parts.
func deepWith(body string) string {
	var b strings.Builder
	for i := range maxDepth + 5 {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	return b.String() + body
}

// TestHostileMailTakesBoundedWork: the bytes that are looked at grow with the message, and the
// limits hold.
func TestHostileMailTakesBoundedWork(t *testing.T) {
	for name, make := range hostile {
		var before int
		for i, n := range []int{1 << 15, 1 << 16, 1 << 17} {
			raw := make(n)
			r := newReader([]byte(raw))
			root := r.entity(0, len(r.raw), 0, "text/plain")
			m := parse(raw)
			_, work := replyText(m)
			work += r.work
			// Each of the 20 levels is looked at a few times, and a line of an answer with those around it.
			if limit := 5*(maxDepth+1)*len(raw) + 1<<16; work > limit {
				t.Errorf("%s: %d bytes take work of %d, more than %d", name, len(raw), work, limit)
			}
			if i > 0 && work > 2*before+before/4+1<<12 {
				t.Errorf("%s: twice the bytes take work of %d, before %d", name, work, before)
			}
			before = work
			if depth := depthOf(root); r.parts > maxParts || depth > maxDepth+1 || len(m.Headers) > maxFields || headerBytes(m) > 3*maxHeader || len(m.To) > maxAddresses || len(m.References) > maxReferences {
				t.Errorf("%s: %d parts, depth %d, %d fields, %d recipients", name, r.parts, depth, len(m.Headers), len(m.To))
			}
		}
	}
	for name, cut := range map[string]bool{"deep nesting": true, "100,000 parts": true, "1,000 parts in each of many": true, "many fields": true, "a long field": true, "quoted lines": false, "base64 garbage": false} {
		if m := parse(hostile[name](1 << 19)); m.Cut != cut {
			t.Errorf("%s: Cut is %v", name, m.Cut)
		}
	}
}

func depthOf(p *part) (depth int) {
	for _, child := range p.parts {
		depth = max(depth, depthOf(child))
	}
	return depth + 1
}

func headerBytes(m *Message) (n int) {
	for _, h := range m.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// TestHeadersAfterTheLimitAreLeftOut: the body is still found.
func TestHeadersAfterTheLimitAreLeftOut(t *testing.T) {
	m := parse("Subject: first\nX-Big: " + strings.Repeat("a", maxHeader) + "\nTo: a@b.example\n\nbody")
	if m.Subject != "first" || m.Text != "body" || !m.Cut || len(m.To) != 1 {
		t.Errorf("%q, %q, %v, %v", m.Subject, m.Text, m.Cut, m.To)
	}
	m = parse(strings.Repeat("X-A: b\n", maxFields) + "Subject: last\n\nbody")
	if m.Subject != "" || m.Text != "body" || !m.Cut || len(m.Headers) != maxFields {
		t.Errorf("%q, %q, %v, %d", m.Subject, m.Text, m.Cut, len(m.Headers))
	}
}

// checkMessage fails t if a message is not what Parse promises.
func checkMessage(t *testing.T, raw []byte) {
	t.Helper()
	m := Parse(raw)
	texts := []string{m.From, m.FromEmail, m.Sender, m.Subject, m.MessageID, m.Text, m.HTML, ReplyText(m)}
	for _, list := range [][]string{m.To, m.Cc, m.Bcc, m.ReplyTo, m.InReplyTo, m.References} {
		texts = append(texts, list...)
	}
	for _, h := range m.Headers {
		texts = append(texts, h.Name, h.Value)
	}
	for i, f := range m.Files {
		texts = append(texts, f.Filename, f.ContentType, f.ContentID)
		if f.Filename == "" || len(f.Filename) > maxFilename || strings.ContainsAny(f.Filename, "/\\\r\n") || !isMediaType(f.ContentType) || i > 0 && f.Part <= m.Files[i-1].Part {
			t.Errorf("file %d: %+v", i, f)
		}
		if i < 10 {
			if content, ok := Part(raw, f.Part); !ok || int64(len(content)) != f.Size {
				t.Errorf("%+v has %d bytes, %v", f, len(content), ok)
			}
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("invalid text: %.100q", s)
		}
	}
	if strings.ContainsAny(m.From+m.FromEmail+m.Subject+m.MessageID, "\r\n") {
		t.Errorf("line break: %q %q %q", m.From, m.Subject, m.MessageID)
	}
	m.AutoSubmitted(true)
}

func TestHostileMailIsReadAsText(t *testing.T) {
	for _, make := range hostile {
		checkMessage(t, []byte(make(1<<14)))
	}
}

func FuzzParse(f *testing.F) {
	for _, make := range hostile {
		f.Add([]byte(make(300)))
	}
	for _, l := range languages {
		f.Add([]byte("Subject: Re: x\n\n" + textReplies(l)["Gmail"]))
		f.Add([]byte("Content-Type: text/html\n\n" + htmlReplies(l)["Outlook on the web"]))
	}
	f.Add([]byte("From: =?utf-8?q?a?= <a@b.test>\nContent-Type: multipart/related; boundary=\"x\"\n\n--x\nContent-Type: text/html\n\n<img src=cid:a>\n--x\nContent-ID: <a>\nContent-Disposition: inline; filename*0*=utf-8''%C3; filename*1=b\nContent-Transfer-Encoding: base64\n\nAA==\n--x--"))
	f.Add([]byte("Auto-Submitted: auto-replied\nX-Failed-Recipients: a@b\nContent-Type: multipart/report; boundary=b\n\n--b\n\nx\n--b--"))
	f.Fuzz(func(t *testing.T, raw []byte) { checkMessage(t, raw) })
}
