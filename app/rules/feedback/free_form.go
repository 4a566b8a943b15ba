package feedback

import (
	"slices"
	"strings"

	"mailer/app/rules/bounce"
)

// readFreeForm reads a bounce without a readable delivery status by phrases of common mail
// programs.
func (p *bounceParts) readFreeForm(null bool) []Claim {
	text := beforeCopy(p.text)
	kind := p.notice(text, null)
	if kind == "" {
		return nil
	}
	sections := sectionsOf(text)
	named := listedAddresses(p.header.get("x-failed-recipients"))
	if len(named) == 0 {
		for _, s := range sections {
			if !slices.Contains(named, s.address) {
				named = append(named, s.address)
			}
		}
	}
	if len(named) == 0 {
		return []Claim{p.freeClaim(kind, text, "")}
	}
	var claims []Claim
	for _, address := range named[:min(len(named), maxBounceGroups)] {
		about := text
		switch {
		case len(sections) > 1 || len(sections) == 1 && len(named) > 1:
			about = sectionOf(sections, address)
		case len(named) > 1 && saysDifferentThings(text):
			about = ""
		}
		claims = append(claims, p.freeClaim(kind, about, address))
	}
	return claims
}

// freeClaim classifies what a text says about a recipient; address is empty if it names none.
func (p *bounceParts) freeClaim(kind notice, text, address string) Claim {
	around := aroundCode(text)
	c := Claim{Report: Report{Kind: Bounced, Diagnostic: firstBytes(bounceLine(around), maxDiagnostic)}}
	if address != "" {
		c.Addresses = []string{address}
	}
	if !p.report && p.header.get("x-failed-recipients") == "" {
		if from := typedAddress(p.header.get("from")); len(from) > 0 {
			c.sender = from[0]
		}
	}
	if kind == noticeDelay {
		c.Kind, c.Enhanced = Delayed, bounce.StatusIn(bounceLine(around))
		return c
	}
	c.classify(textEvidence(around, text))
	return c
}

// textEvidence returns the evidence in a text. If the quoted reply is not conclusive, the rest of
// the text decides.
func textEvidence(around, text string) bounce.Evidence {
	line := bounceLine(around)
	e := bounce.Evidence{Reply: line, ReplyCode: bounce.ReplyIn(line)}
	if bounce.Classify(e).Class == bounce.Unknown && around != text {
		whole := bounce.Evidence{Reply: bounceLine(text), ReplyCode: e.ReplyCode, Status: bounce.StatusIn(line)}
		if bounce.Classify(whole).Class != bounce.Unknown {
			return whole
		}
	}
	return e
}

// copyMarks are the lines before a copy of the returned message, which its author wrote.
var copyMarks = []string{"--- below this line is a copy", "------ this is a copy of", "-----original message", "----- original message", "----- transcript of original", "---- original message", "--- original message", "original message headers", "original message header", "----- message header follows",
	"--- the header of the original", "------- original message", "received: from ", "return-path:", "-------- ursprüngliche nachricht", "-----ursprüngliche nachricht", "----- unsent message follows", "----- unsent message below", "message headers follow", "--- the following is a copy", "content-type: message/rfc822", "en-têtes de message d'origine", "ursprüngliche nachrichtenkopfzeilen", "ursprüngliche nachrichtenkopf"}

// beforeCopy removes the copy of the returned message, and quoted lines.
func beforeCopy(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		start := strings.ToLower(firstBytes(strings.TrimLeft(line, " \t*"), 60))
		if hasAnyPrefix(start, copyMarks) {
			break
		}
		if !strings.HasPrefix(start, ">") || strings.HasPrefix(start, ">>>") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// section is the text about one recipient. It begins with a line that is an address.
type section struct{ address, text string }

// sectionsOf returns the sections of a text that are about one recipient each (qmail, Exim,
// IONOS).
func sectionsOf(text string) (sections []section) {
	start := 0
	end := func(at int) {
		if len(sections) > 0 {
			sections[len(sections)-1].text = text[start:at]
		}
	}
	at := 0
	for line := range strings.Lines(text) {
		if address := lineAddress(line); address != "" && len(sections) < maxBounceGroups {
			end(at)
			sections, start = append(sections, section{address: address}), at
		}
		at += len(line)
	}
	end(len(text))
	return sections
}

// lineAddress returns the address that a line consists of, with optional angle brackets, a bullet
// before and a colon after it, or text after "<address>:".
func lineAddress(line string) string {
	line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(firstBytes(line, 1000)), "*-•·"))
	if inside, ok := strings.CutPrefix(line, "<"); ok {
		if address, rest, ok := strings.Cut(inside, ">"); ok && (rest == "" || strings.HasPrefix(rest, ":")) {
			return plainAddress(address)
		}
		return ""
	}
	if word, _, ok := strings.Cut(line, " "); ok && strings.Contains(word, "@") && strings.ContainsAny(word[len(word)-1:], ":,") {
		line = strings.TrimSuffix(word, ",") // OpenSMTPD, Zoho
	}
	line = strings.TrimSuffix(line, ":")
	if strings.ContainsAny(line, "<>=\"'/") {
		return ""
	}
	return plainAddress(line)
}

// sectionOf returns the text about an address; empty: none.
func sectionOf(sections []section, address string) (text string) {
	for _, s := range sections {
		if s.address == address {
			text += s.text + "\n"
		}
	}
	return text
}

// saysDifferentThings reports whether the codes in a text have different meanings, so that it is
// unknown which recipient each is about.
func saysDifferentThings(text string) bool {
	var first bounce.Class
	for line := range strings.Lines(text) {
		if bounce.StatusIn(line) == "" && bounce.ReplyIn(line) == 0 {
			continue
		}
		switch v := bounce.Classify(bounce.Evidence{Reply: bounceLine(line)}).Class; {
		case first == "":
			first = v
		case v != first:
			return true
		}
	}
	return false
}

// listedAddresses parses comma-separated addresses.
func listedAddresses(list string) (named []string) {
	for part := range strings.SplitSeq(firstBytes(list, maxBouncePart), ",") {
		if address := plainAddress(part); address != "" && len(named) < maxBounceGroups {
			named = append(named, address)
		}
	}
	return named
}

// aroundCode returns the paragraph with the first conclusive failure code: the rest is generic.
func aroundCode(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := -1
	for i, line := range lines {
		status := bounce.StatusIn(line)
		if status != "" && bounce.SaysWhy(status) {
			at = i
			break
		}
		if at < 0 && (status != "" || bounce.ReplyIn(line) != 0) {
			at = i
		}
	}
	if at < 0 {
		return text
	}
	from, to := at, at+1
	for from > 0 && from > at-2 && strings.TrimSpace(lines[from-1]) != "" {
		from--
	}
	for to < len(lines) && to < at+6 && strings.TrimSpace(lines[to]) != "" {
		to++
	}
	return strings.Join(lines[from:to], "")
}
