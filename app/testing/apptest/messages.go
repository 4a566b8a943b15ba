package apptest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"mime/quotedprintable"
	"strings"
)

// GeneratedMessage returns a message from an address of a domain as programs submit it by SMTP: a
// tree of parts with every transfer encoding, inline images, calendars, signed and encrypted
// parts, attached messages and other parts of mail.
func GeneratedMessage(r *rand.Rand, domain string) string {
	g := &messages{Rand: r}
	header := []string{
		g.of("From: Ann <ann@"+domain+">", "FROM:ann@"+domain, "From: =?utf-8?q?J=C3=B6rg?=\r\n <ann@"+domain+">", "from: \"Ann, of Acme\"\r\n\t<ann@"+domain+">"),
		g.of("To: Bob <bob@example.net>, carol@example.net", "To: undisclosed-recipients:;", "To:bob@example.net", "To: \"Bob\"\r\n  <bob@example.net>,\r\n\tdave@example.net"),
		g.of("Subject: Hello", "Subject: =?iso-8859-1?Q?Gr=FC=DFe?=", "Subject:", "SUBJECT:  two  spaces \t and a tab ", "Subject: Grüße aus Köln"),
	}
	for _, field := range []string{"Date: Mon, 23 Nov 2026 08:00:00 +0100", "Message-ID: <" + g.word() + "@tool.example>", "X-Mailer: tool (1.0)", "Sender: other@elsewhere.example",
		"References: <1@tool.example>\r\n <2@tool.example>", "DKIM-Signature: v=1; d=elsewhere.example; s=mailer; b=abc", "Received: from a\r\n\tby b; Mon, 23 Nov 2026 08:00:00 +0100",
		"Auto-Submitted: auto-generated", "X-Long: " + strings.Repeat("x", 900), "Keywords: " + strings.Repeat("word ", 100) + "end", "Cc: eve@example.net", "X-Empty:", "MIME-Version: 1.0 (made by hand)"} {
		if g.IntN(2) == 0 {
			header = append(header, field)
		}
	}
	g.Shuffle(len(header), func(i, j int) { header[i], header[j] = header[j], header[i] })
	message := strings.Join(header, "\r\n") + "\r\n" + g.entity(4)
	if !strings.HasSuffix(message, "\r\n") {
		message += "\r\n"
	}
	return message
}

// messages generates parts.
type messages struct {
	*rand.Rand
	boundaries int
}

func (g *messages) of(list ...string) string { return list[g.IntN(len(list))] }

func (g *messages) word() string { return fmt.Sprintf("w%x", g.Uint32()) }

// entity returns the content fields of a part, an empty line and its body.
func (g *messages) entity(depth int) string {
	if depth > 0 && g.IntN(3) > 0 {
		return g.multipart(depth)
	}
	return g.leaf(depth)
}

func (g *messages) multipart(depth int) string {
	kind := g.of("mixed", "alternative", "related; type=\"text/html\"", "report; report-type=delivery-status", "digest", "signed; micalg=\"pgp-sha256\"; protocol=\"application/pgp-signature\"",
		"encrypted; protocol=\"application/pgp-encrypted\"", "parallel")
	g.boundaries++
	boundary := fmt.Sprintf("%s%d%s", g.of("=_", "----=_Part_", "b'()+_,-./:=?", ""), g.boundaries, g.word())
	var b strings.Builder
	fmt.Fprintf(&b, "%s: multipart/%s;%sboundary=\"%s\"\r\n", g.of("Content-Type", "content-type", "CONTENT-TYPE"), kind, g.of(" ", "\r\n ", "\r\n\t"), boundary)
	b.WriteString(g.of("", "", "Content-Transfer-Encoding: 8bit\r\n"))
	b.WriteString("\r\n" + g.of("", "This is a message in MIME format.\r\n\r\n", "--not a delimiter\r\n"))
	for range 1 + g.IntN(3) {
		b.WriteString("--" + boundary + g.of("", " ", "\t") + "\r\n")
		if strings.HasPrefix(kind, "digest") {
			b.WriteString("\r\n" + g.inner())
		} else {
			b.WriteString(g.entity(depth - 1))
		}
		b.WriteString("\r\n")
	}
	if g.IntN(8) > 0 {
		b.WriteString("--" + boundary + "--" + g.of("\r\n", "\r\nan epilogue\r\n", " \r\n\r\n"))
	}
	return b.String()
}

// inner returns an attached message.
func (g *messages) inner() string {
	return "From: x@elsewhere.example\r\nSubject: inner\r\nBcc: kept@elsewhere.example\r\nX-Mailer-Tag: kept=too\r\n" + g.leaf(0)
}

func (g *messages) leaf(depth int) string {
	switch g.IntN(9) {
	case 0:
		return "Content-Type: message/rfc822\r\n\r\n" + g.inner()
	case 1:
		return "Content-Type: image/png; name=\"logo.png\"\r\nContent-ID: <" + g.word() + "@x>\r\nContent-Disposition: inline;\r\n filename*=utf-8''lo%C3%A9go.png\r\n" + g.encoded(g.bytes(), "base64")
	case 2:
		return "Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\n" + g.encoded("BEGIN:VCALENDAR\r\nSUMMARY:Größe\r\nEND:VCALENDAR\r\n", g.of("base64", "quoted-printable", "8bit"))
	case 3:
		return g.of("Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\n", "Content-Type: application/pgp-signature\r\n", "Content-Type: application/octet-stream\r\n"+
			"Content-Disposition: attachment; filename=\"=?utf-8?q?r=C3=A9sum=C3=A9?=.bin\"\r\n") + g.encoded(g.bytes(), "base64")
	case 4:
		return "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGr\xfc\xdfe\r\n"
	case 5:
		return g.of("", "Content-Type: TEXT/PLAIN\r\n", "Content-Type: text\r\n") + "\r\n" + g.lines()
	case 6:
		return "\r\n"
	}
	return fmt.Sprintf("Content-Type: text/%s; charset=\"utf-8\"%s\r\n", g.of("plain", "html"), g.of("", "; format=flowed")) + g.encoded(g.lines(), g.of("7bit", "8bit", "quoted-printable", "base64", "binary"))
}

// lines returns text that is difficult for gateways.
func (g *messages) lines() string {
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteString(g.of("Hello", ".", "..", ".dot first", "From here on", "trailing blanks  \t", "", strings.Repeat("long ", 190), "--", "-- ", "Grüße, 世界", "<a href=\"https://example.com/\">x</a>", "=3D", "\tTab") + "\r\n")
	}
	return b.String()
}

func (g *messages) bytes() string {
	b := make([]byte, g.IntN(3000))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return string(b)
}

// encoded returns the field of an encoding, the empty line and the content.
func (g *messages) encoded(content, encoding string) string {
	field := "Content-Transfer-Encoding: " + g.of(encoding, strings.ToUpper(encoding)) + "\r\n\r\n"
	switch encoding {
	case "base64":
		text, width := base64.StdEncoding.EncodeToString([]byte(content)), 4*(1+g.IntN(19))
		var b strings.Builder
		for len(text) > width {
			b.WriteString(text[:width] + "\r\n")
			text = text[width:]
		}
		return field + b.String() + text + g.of("", "\r\n")
	case "quoted-printable":
		var b strings.Builder
		w := quotedprintable.NewWriter(&b)
		_, _ = w.Write([]byte(content))
		_ = w.Close()
		return field + b.String()
	}
	return field + content
}
