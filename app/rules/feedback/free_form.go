package feedback

import (
	"slices"
	"strings"

	"mailer/app/rules/bounce"
)

// readFreeForm reads a bounce without a readable delivery status, by the words of common mail
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

// freeClaim judges what a text says of a recipient; empty: it names nobody.
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

// textEvidence is what a text for people says. Where the reply in it says nothing, the rest of
// the text does.
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

// copyMarks are the lines after which a bounce repeats the message that came back. What stands
// there is its author's.
var copyMarks = []string{"--- below this line is a copy", "------ this is a copy of", "-----original message", "----- original message", "----- transcript of original", "---- original message", "--- original message", "original message headers", "original message header", "----- message header follows",
	"--- the header of the original", "------- original message", "received: from ", "return-path:", "-------- ursprüngliche nachricht", "-----ursprüngliche nachricht", "----- unsent message follows", "----- unsent message below", "message headers follow", "--- the following is a copy", "content-type: message/rfc822", "en-têtes de message d'origine", "ursprüngliche nachrichtenkopfzeilen", "ursprüngliche nachrichtenkopf"}

// beforeCopy leaves off the copy of the message that came back, and quoted lines.
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

// section is what a text says of one recipient: it begins with a line that is an address.
type section struct{ address, text string }

// sectionsOf finds the parts of a text that are about one recipient each (qmail, Exim, IONOS).
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

// lineAddress returns the address that a line consists of, with or without angle brackets, a
// bullet before and a colon behind it. A line with more text after "<address>:" counts too.
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

// sectionOf returns the text about an address; empty: there is none.
func sectionOf(sections []section, address string) (text string) {
	for _, s := range sections {
		if s.address == address {
			text += s.text + "\n"
		}
	}
	return text
}

// saysDifferentThings reports whether the codes in a text mean different things for further
// mail, so that nobody knows which of several recipients they are about.
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

// listedAddresses reads addresses with commas between.
func listedAddresses(list string) (named []string) {
	for part := range strings.SplitSeq(firstBytes(list, maxBouncePart), ",") {
		if address := plainAddress(part); address != "" && len(named) < maxBounceGroups {
			named = append(named, address)
		}
	}
	return named
}

// aroundCode cuts a text down to the paragraph around its first code of a failure that says
// why: what stands elsewhere is polite.
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
