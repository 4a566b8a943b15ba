package inbound

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// seeds is how many hostile files are generated at random.
const seeds = 100

// hostileFiles returns all hostile files: the listed ones, and generated ones.
func hostileFiles() map[string]func(n int) string {
	all := maps.Clone(hostile)
	maps.Copy(all, moreHostile)
	for seed := range uint64(seeds) {
		all[fmt.Sprint("seed ", seed)] = func(n int) string { return generate(seed, n) }
	}
	return all
}

// fill returns a pattern again and again, about n bytes.
func fill(pattern string, n int) string { return strings.Repeat(pattern, max(1, n/len(pattern))) }

// inHeader, inBody, inHTML and inPart return files of a pattern in one place.
func inHeader(name, pattern string) func(n int) string {
	return func(n int) string { return name + ": " + fill(pattern, n) + "\r\n\r\nx" }
}

func inBody(header, pattern string) func(n int) string {
	return func(n int) string { return header + "\r\n\r\n" + fill(pattern, n) }
}

func inHTML(pattern string) func(n int) string { return inBody("Content-Type: text/html", pattern) }

func inPart(header, pattern string) func(n int) string {
	return func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b\r\n"+header+"\r\n\r\n"+pattern+"\r\n", n) + "--b--\r\n"
	}
}

// encoded returns files whose body is a pattern in base64.
func encoded(header, pattern string) func(n int) string {
	return func(n int) string {
		return header + "\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(fill(pattern, n*3/4)))
	}
}

// moreHostile are messages of about n bytes that are broken, or that mean something else to another reader.
var moreHostile = map[string]func(n int) string{
	"nothing":                 func(int) string { return "" },
	"one line break":          func(int) string { return "\r\n" },
	"a colon":                 func(int) string { return ":" },
	"10,000 parts of nothing": inPart("", ""),
	"10,000 headers of parts without bodies": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b\r\nContent-Type: text/plain\r\n", n)
	},
	"10,000 files of one name":          inPart("Content-Disposition: attachment; filename=a", "x"),
	"10,000 files of one content id":    inPart("Content-Type: image/png\r\nContent-ID: <a@b>", "x"),
	"multiparts that are empty":         inPart("Content-Type: multipart/mixed; boundary=c", ""),
	"multiparts with the same boundary": inPart("Content-Type: multipart/mixed; boundary=b", "--b\r\n\r\nx"),
	"alternatives in alternatives":      inPart("Content-Type: multipart/alternative; boundary=c", "--c\r\nContent-Type: text/html\r\n\r\n<p>x\r\n--c--"),
	"related without a root":            inPart("Content-Type: multipart/related; boundary=c; start=\"<none>\"", "--c\r\nContent-Type: image/png\r\n\r\nx\r\n--c--"),
	"messages in messages":              func(n int) string { return fill("Content-Type: message/rfc822\r\n\r\n", n) },
	"partial messages":                  inPart("Content-Type: message/partial; number=1; total=99999999; id=a", "x"),
	"external bodies":                   inPart("Content-Type: message/external-body; access-type=URL; URL=\"http://127.0.0.1/\"", "x"),
	"reports":                           inPart("Content-Type: multipart/report; report-type=delivery-status; boundary=c", "--c\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822; a@b\r\nAction: failed\r\n--c--"),
	"digests": func(n int) string {
		return "Content-Type: multipart/digest; boundary=b\r\n\r\n" + fill("--b\r\n\r\nSubject: x\r\n\r\ny\r\n", n)
	},
	"a boundary that begins another": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b\r\nContent-Type: multipart/mixed; boundary=bb\r\n\r\n--bb\r\n\r\nx\r\n--bb--\r\n", n)
	},
	"a boundary of blanks": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=\"   \"\r\n\r\n" + fill("--   \r\n\r\nx\r\n", n)
	},
	"a boundary of dashes": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=\"--\"\r\n\r\n" + fill("----\r\n\r\nx\r\n------\r\n", n)
	},
	"two boundaries": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=a; boundary=b\r\n\r\n" + fill("--a\r\n\r\nx\r\n--b\r\n\r\ny\r\n", n)
	},
	"two content types": func(n int) string {
		return "Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b\r\n\r\nx\r\n", n)
	},
	"a boundary in pieces": func(n int) string {
		return "Content-Type: multipart/mixed; boundary*0=a; boundary*1=b\r\n\r\n" + fill("--ab\r\n\r\nx\r\n", n)
	},
	"a boundary with NUL": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=\"a\x00b\"\r\n\r\n" + fill("--a\x00b\r\n\r\nx\r\n", n)
	},
	"a boundary as an encoded word": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=\"=?utf-8?q?b?=\"\r\n\r\n" + fill("--=?utf-8?q?b?=\r\n\r\nx\r\n--b\r\n\r\ny\r\n", n)
	},
	"an end before the start": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b--\r\n" + fill("--b\r\n\r\nx\r\n", n)
	},
	"many ends": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n" + fill("--b--\r\n", n)
	},
	"delimiters with blanks": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b \t \r\n\r\nx\r\n", n)
	},
	"delimiters with bare LF and CR": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("--b\n\nx\r--b\r\ry\n", n)
	},
	"delimiters in a header": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\nX-A: " + fill("\r\n --b", n) + "\r\n\r\n--b\r\n\r\nx"
	},
	"a preamble without end": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + fill("Content-Type: text/html\r\n", n)
	},
	"a guessed boundary": func(n int) string {
		return "Content-Type: multipart/mixed\r\n\r\n" + fill("--x\r\nContent-Type: text/plain\r\n\r\na\r\n", n)
	},
	"boundaries to guess":           func(n int) string { return "Content-Type: multipart/mixed\r\n\r\n" + fill("--x\r\n", n) },
	"1 MB header line":              inHeader("X-A", "a"),
	"1 MB field name":               func(n int) string { return fill("a", n) + ": b\r\n\r\nx" },
	"names with blanks":             func(n int) string { return fill("a : b\r\n", n) + "\r\nx" },
	"10,000 folds of one character": inHeader("Subject", "\r\n a"),
	"folds of blanks":               inHeader("Subject", "\r\n \t"),
	"a fold at the start":           func(n int) string { return fill(" a\r\n", n) + "\r\nx" },
	"bare CR in a header":           inHeader("Subject", "a\rBcc: b@c.test\r"),
	"bare LF in a header":           inHeader("Subject", "a\nX-B: c\n"),
	"NUL in a header":               inHeader("Subject", "a\x00"),
	"8 bit in a header":             inHeader("Subject", "\xc3\xff\x80"),
	"other direction in a header":   inHeader("From", "\u202egnp.\u202d\u2066 <a@b.test>, "),
	"100,000 recipients":            inHeader("To", "Ann <a@b.test>, "),
	"100,000 fields of recipients":  func(n int) string { return fill("To: a@b.test\r\n", n) + "\r\nx" },
	"groups of recipients":          inHeader("To", "a: b@c.test, "),
	"groups in groups":              inHeader("To", "a:"),
	"routes":                        inHeader("To", "<@a,@b:c@d.test>, "),
	"recipients of encoded words":   inHeader("To", "=?utf-8?b?YUBiLnRlc3Q=?= <c@d.test>, "),
	"an author in an encoded word":  inHeader("From", "=?utf-8?q?a=40b.test?= "),
	"10,000 authors":                inHeader("From", "a@b.test, "),
	"fields of authors": func(n int) string {
		return fill("From: a@b.test\r\nfrom: c@d.test\r\nFROM : e@f.test\r\n", n) + "\r\nx"
	},
	"unpaired quotes of recipients": inHeader("To", `"a <b@c.test>, `),
	"backslashes":                   inHeader("To", `\`),
	"comments in comments":          inHeader("To", "(()(("),
	"domains of literals":           inHeader("From", "a@[127.0.0.1], b@[IPv6:::1], "),
	"domains of labels":             inHeader("From", "a."),
	"message ids of message ids":    inHeader("References", "<<a@b>"),
	"message ids of encoded words":  inHeader("In-Reply-To", "=?utf-8?q?<a@b>?= "),
	"one long message id":           inHeader("Message-ID", "<a@b"),
	"duplicates of each field": func(n int) string {
		return fill("Subject: a\r\nDate: b\r\nMessage-ID: <c@d>\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n", n) + "\r\nx"
	},
	"pieces of a name in disorder": func(n int) string {
		return "Content-Disposition: attachment" + pieces(n, func(i int) string { return fmt.Sprintf("; filename*%d*=%%41", 1000-i) }) + "\r\n\r\nx"
	},
	"pieces of a name with huge numbers": func(n int) string {
		return "Content-Disposition: attachment" + pieces(n, func(i int) string { return fmt.Sprintf("; filename*%d=a", 1<<40+i) }) + "\r\n\r\nx"
	},
	"pieces of a name with wrong sets": func(n int) string {
		return "Content-Disposition: attachment; filename*0*=utf-16'x'%00" + pieces(n, func(i int) string { return fmt.Sprintf("; filename*%d*=koi8-r''%%ff", i+1) }) + "\r\n\r\nx"
	},
	"parameters of parameters":      inHeader("Content-Type", `text/plain; a="b;c=d"; `),
	"percent signs in a name":       inHeader("Content-Disposition", "attachment; filename*=utf-8''%%%4"),
	"a name of slashes":             inHeader("Content-Disposition", "attachment; filename=../../"),
	"names without end":             inHeader("Content-Type", `text/plain; name="a\"`),
	"words of words":                inHeader("Subject", "=?utf-8?q?=3D=3Futf-8=3Fq=3Fa=3F=3D?= "),
	"words in unknown sets":         inHeader("Subject", "=?x-none?b?/+8=?= "),
	"words cut within characters":   inHeader("Subject", "=?utf-8?b?4g==?= =?utf-8?b?gqw=?= "),
	"words of Japanese":             inHeader("Subject", "=?iso-2022-jp?b?GyRC?= "),
	"words with languages":          inHeader("Subject", "=?utf-8*"+strings.Repeat("e", 70)+"?q?a?= "),
	"words with NUL":                inHeader("Subject", "=?utf-8?q?=00=0D=0ABcc:?= "),
	"UTF-7":                         inBody("Content-Type: text/html; charset=utf-7", "+ADw-script+AD4-"),
	"UTF-16 of half characters":     encoded("Content-Type: text/plain; charset=utf-16", "\xd8\x00"),
	"UTF-16 in the other order":     encoded("Content-Type: text/plain; charset=utf-16le", "\xff\xfe\x00"),
	"UTF-32":                        encoded("Content-Type: text/plain; charset=utf-32", "\x00\x11\xff\xff"),
	"Japanese without end":          inBody("Content-Type: text/plain; charset=iso-2022-jp", "\x1b$B\x21"),
	"Chinese cut within characters": inBody("Content-Type: text/plain; charset=gb18030", "\x81\x30\x81"),
	"Korean shifts":                 inBody("Content-Type: text/plain; charset=iso-2022-kr", "\x0e\x0f"),
	"HZ":                            inBody("Content-Type: text/plain; charset=hz-gb-2312", "~{"),
	"growth by a character set":     inBody("Content-Type: text/plain; charset=windows-874", "\xa1"),
	"growth by NUL":                 encoded("Content-Type: text/plain", "\x00"),
	"growth by quotes in HTML": func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>\r\n--b\r\n\r\n" + fill(`"`, n) + "\r\n--b--"
	},
	"an unknown set":                  inBody("Content-Type: text/plain; charset="+strings.Repeat("x", 500), "\xff"),
	"a set named in the HTML":         inHTML("<meta charset=utf-16>\xff"),
	"truncated base64":                func(n int) string { return "Content-Transfer-Encoding: base64\r\n\r\n" + fill("QUJD", n) + "Q" },
	"padding within base64":           inBody("Content-Transfer-Encoding: base64", "QQ==QQ=Q="),
	"lines of base64 without breaks":  inBody("Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64", "A"),
	"base64 in base64":                inBody("Content-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: base64", "LS1iDQo="),
	"quoted-printable that grows":     inBody("Content-Transfer-Encoding: quoted-printable", "=3D=\r\n"),
	"quoted-printable of soft breaks": inBody("Content-Transfer-Encoding: quoted-printable", "=\r\n"),
	"quoted-printable of half codes":  inBody("Content-Transfer-Encoding: quoted-printable", "=4=G1=\x00"),
	"uuencode":                        inBody("Content-Transfer-Encoding: x-uuencode", "begin 644 a\r\nM\r\nend\r\n"),
	"two transfer encodings":          inBody("Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: quoted-printable", "=41QUJD"),
	"yEnc":                            inBody("Content-Transfer-Encoding: yenc", "=ybegin line=128 size=1 name=a\r\n"),
	"elements without end":            inHTML("<div><table><tr><td>"),
	"ends without elements":           inHTML("</div></table></blockquote>"),
	"rules in HTML":                   inHTML("<hr>"),
	"lists in lists":                  inHTML("<ul><li>a"),
	"attributes without end":          inHTML("<a href=\"x"),
	"attributes":                      inHTML("<a b=c "),
	"comments without end in HTML":    inHTML("<!--"),
	"scripts without end":             inHTML("<script>"),
	"conditional comments":            inHTML("<!--[if mso]><![endif]-->"),
	"entities":                        inHTML("&CounterClockwiseContourIntegral;&#0;&#xD800;&#99999999999;"),
	"entities without end":            inHTML("&amp"),
	"styles in HTML":                  inHTML("<style>a{b:c}"),
	"gmail quotes":                    inHTML("<div class=gmail_quote><div class=gmail_attr>x</div>"),
	"hidden text":                     inHTML("<div style=\"display:none\">x"),
	"quotes in quotes":                inBody("", "> > > x\r\n>\r\n"),
	"lines before quotes in HTML":     inHTML("On Mon, Ann wrote:<br><blockquote>x</blockquote>"),
	"from lines":                      func(n int) string { return fill("From a@b.test Mon Mar  2 10:00:00 2026\r\n", n) },
	"dots":                            inBody("", ".\r\n..\r\n"),
	"form feeds and tabs":             inBody("", "\f\v\t\x1c\x85"),
	"control characters of terminals": inBody("", "\x1b[2J\x1b]0;x\x07"),
	"line separators":                 inBody("", "\u2028\u2029\u0085"),
	"marks on marks":                  inBody("", "a\u0301\u0301\u0301"),
	"joined emoji":                    inBody("", "👩\u200d"),
}

// pieces returns parts of a value, about n bytes.
func pieces(n int, piece func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(piece(i))
	}
	return b.String()
}

// generator writes a message at random.
type generator struct {
	*rand.Rand
	strings.Builder
	n int // bytes that are wanted
}

// generate returns a message of about n bytes of a seed: nested parts with broken headers and bodies.
func generate(seed uint64, n int) string {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 0)), n: n}
	for first := true; first || g.Len() < n; first = false {
		g.entity(0)
	}
	return g.String()
}

// one returns one of some texts.
func (g *generator) one(texts ...string) string { return texts[g.IntN(len(texts))] }

// often writes a text up to some times.
func (g *generator) often(most int, text func() string) {
	for range g.IntN(most + 1) {
		g.WriteString(text())
	}
}

func (g *generator) end() string {
	return g.one("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n", "\r\n ", "\x00\r\n")
}

func (g *generator) bytes() string {
	return g.one("x", " ", "=", "\"", "<", ">", "@", ",", ";", "(", "\\", "--", "\x00", "\xff", "é", "\u202e", "=?utf-8?q?a?=", "=41", "QUJD", "\r", "\n", "&lt;", "%41", "*0*=", "\x1b$B", "+ADw-", "日本")
}

func (g *generator) value() string {
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteString(g.bytes())
	}
	return b.String()
}

// entity writes a part with a header and a body.
func (g *generator) entity(depth int) {
	g.often(4, func() string {
		return g.one("Subject", "From", "To", "Cc", "Reply-To", "Message-ID", "References", "In-Reply-To", "X-A", "Auto-Submitted", "Content-ID", "Content-Disposition", "MIME-Version", "", "Date", "List-Id") + g.one(": ", ":", " : ", "") + g.value() + g.end()
	})
	boundary := g.one("b", "bb", "b b", "--", "=_x", "é", g.value())
	main := g.one("text/plain", "text/html", "image/png", "message/rfc822", "text/calendar", "TEXT", "/", "multipart/mixed", "multipart/alternative", "multipart/related", "multipart/report", "multipart/signed", "multipart/digest")
	g.WriteString("Content-Type: " + main + g.one("; boundary="+boundary, "; boundary=\""+boundary+"\"", "; boundary*0="+boundary, "") + g.one("", "; charset=", "; name=") + g.one("utf-8", "windows-874", "utf-16", "iso-2022-jp", "utf-7", "x", g.value()) + g.end())
	if g.IntN(2) == 0 {
		g.WriteString("Content-Transfer-Encoding: " + g.one("base64", "quoted-printable", "8bit", "7bit", "x", g.value()) + g.end())
	}
	g.WriteString(g.one("\r\n", "\r\n", "\r\n", "\n", ""))
	for range g.IntN(6) {
		if strings.HasPrefix(main, "multipart/") && depth < 2*maxDepth {
			g.WriteString(g.end() + "--" + boundary + g.one("", "", "", "--", " ") + g.end())
			if g.Len() < g.n {
				g.entity(depth + 1)
			}
			continue
		}
		for range g.IntN(30) {
			g.WriteString(g.bytes())
		}
		g.WriteString(g.end())
	}
}

// TestHostileFilesTakeLinearWork: ten times the bytes take at most about ten times the work and the memory. What is read
// is bounded, and is text.
func TestHostileFilesTakeLinearWork(t *testing.T) {
	files := hostileFiles()
	if len(files) < 200 {
		t.Errorf("%d files", len(files))
	}
	const n = 4 << 10
	for name, file := range files {
		small, large := []byte(file(n)), []byte(file(10*n))
		checkMessage(t, small)
		checkMessage(t, large)
		times := 1.5 * float64(len(large)) / float64(max(1, len(small)))
		if strings.HasPrefix(name, "seed ") { // the larger file has other parts
			times *= 2
		}
		workOf := func(raw []byte) (work int, allocated float64) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := Parse(raw)
			_, work = replyText(m)
			runtime.ReadMemStats(&after)
			r := newReader(raw)
			r.entity(0, len(raw), 0, "text/plain")
			if kept := len(m.Text) + len(m.HTML) + headerBytes(m); kept > 15*len(raw)+1<<10 {
				t.Errorf("%s: %d bytes become %d", name, len(raw), kept)
			}
			return work + r.work, float64(after.TotalAlloc - before.TotalAlloc)
		}
		work, allocated := workOf(small)
		work10, allocated10 := workOf(large)
		if float64(work10) > times*float64(work)+1<<12 {
			t.Errorf("%s: %d bytes take work of %d, and %d bytes of %d", name, len(small), work, len(large), work10)
		}
		if allocated10 > times*allocated+1<<17 {
			t.Errorf("%s: %d bytes take %.0f bytes of memory, and %d bytes %.0f", name, len(small), allocated, len(large), allocated10)
		}
	}
}

// TestLongBodiesAreCut: a text is read up to a limit, also one that grows as it is decoded. No character is divided.
func TestLongBodiesAreCut(t *testing.T) {
	for _, name := range []string{"growth by a character set", "growth by NUL", "growth by quotes in HTML", "lists in lists", "joined emoji", "rules in HTML"} {
		m := parse(moreHostile[name](MaxBodies + MaxBodies/2))
		if !m.Cut || len(m.Text) > MaxBodies || len(m.HTML) > MaxBodies || len(m.Text)+len(m.HTML) < MaxBodies/2 || strings.Contains(m.Text, "\ufffd") && name != "growth by NUL" {
			t.Errorf("%s: %d bytes of text, %d of HTML, cut %v", name, len(m.Text), len(m.HTML), m.Cut)
		}
	}
	m := parse("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + strings.Repeat("x", MaxBodies-1) + "\n--b\n\nyz\n--b\n\nlost\n--b\nContent-Type: image/png\n\nfile\n--b--")
	if !m.Cut || len(m.Text) != MaxBodies || len(m.Files) != 1 || m.Files[0].Size != 4 {
		t.Errorf("%d bytes, %+v", len(m.Text), m.Files)
	}
	if m = parse("\n" + strings.Repeat("x", MaxBodies)); m.Cut || len(m.Text) != MaxBodies {
		t.Errorf("of the limit: %d bytes, cut %v", len(m.Text), m.Cut)
	}
}
