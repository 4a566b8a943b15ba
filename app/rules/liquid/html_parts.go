package liquid

import (
	"slices"
	"strings"

	"mailer/app/kit/htmltext"
)

// dashes is the set of positions within the end mark of a comment at which the text may be, one bit
// each. Several are possible after a value, which may be empty, and after branches.
type dashes uint8

const (
	noDash         dashes = 1 << iota
	oneDash               // -
	twoDashes             // --
	bang                  // --!
	dashesAtStart         // <!--
	dashAfterStart        // <!---
)

// next reads a character. ends is whether the comment ends; clear is false if that depends on the
// position.
func (d *dashes) next(c byte) (ends, clear bool) {
	const ending = twoDashes | bang | dashesAtStart | dashAfterStart
	set, to := *d, dashes(0)
	move := func(from, target dashes) {
		if set&from != 0 {
			to |= target
		}
	}
	switch c {
	case '-':
		move(noDash|bang, oneDash)
		move(oneDash|twoDashes|dashAfterStart, twoDashes)
		move(dashesAtStart, dashAfterStart)
	case '!':
		move(twoDashes, bang)
		move(^twoDashes, noDash)
	case '>':
		if set&ending != 0 {
			return true, set&^ending == 0
		}
		to = noDash
	default:
		to = noDash
	}
	*d = to
	return false, true
}

// value adds a value of unknown length.
func (d *dashes) value() {
	if *d != 0 {
		*d |= noDash
	}
}

// attributeKind is the meaning of an attribute's value.
type attributeKind uint8

const (
	textAttribute attributeKind = iota
	addressAttribute
	styleAttribute
	refusedAttribute // no value can stand in it
)

// Names with a meaning.
var (
	// refusedTags have no attribute that a value can stand in.
	refusedTags = []string{
		"script", "meta", "base", "link", "iframe", "frame", "object", "embed", "applet", "param",
		"set", "animate", "animatemotion", "animatetransform",
	}
	addressNames = []string{
		"action", "archive", "background", "cite", "classid", "codebase", "data", "formaction", "icon", "longdesc", "manifest",
		"ping", "poster", "profile", "usemap",
	}
)

// kindOf returns the kind of an attribute. Names in foreign or private name spaces count like those
// without.
func kindOf(tag, name string) attributeKind {
	local := name[strings.LastIndexByte(name, ':')+1:]
	local = strings.TrimPrefix(local, "data-")
	contains := func(part string) bool { return strings.Contains(local, part) }
	switch {
	case slices.Contains(refusedTags, tag), strings.HasPrefix(name, "on"), strings.HasPrefix(local, "on"), strings.HasPrefix(name, "xmlns"),
		contains("srcset"), contains("srcdoc"), len(name) == maxName:
		return refusedAttribute
	case local == "style":
		return styleAttribute
	case slices.Contains(addressNames, local), contains("src"), contains("href"), contains("url"), contains("uri"):
		return addressAttribute
	}
	return textAttribute
}

// addressPosition is a position in an address.
type addressPosition struct {
	part   addressPart
	scheme string // of inScheme: what may become the scheme
}

type addressPart uint8

const (
	atStart addressPart = iota
	inScheme
	afterSlash  // after one slash at the start
	beforeHost  // after the slashes before the host
	inHost      // no value can stand in it
	inPath      // behind the host
	inQuery     // in the query or the fragment
	inRest      // behind mailto: or tel:
	inRelative  // in a path without a host
	inOther     // in an address of another scheme
	afterFiller // after a placeholder that may be all before the path
	afterWhole  // after a value that is the whole address
)

var addressStart = addressPosition{}

const maxScheme = 20

// next reads a character of an address, as browsers do (WHATWG URL 4.4). It reports whether the
// character is allowed.
func (p *addressPosition) next(r rune) bool {
	slash, query := r == '/' || r == '\\', r == '?' || r == '#'
	switch {
	case r == '\t' || r == '\n' || r == '\r' || r <= ' ' && (p.part == atStart || p.part == afterWhole):
	case p.part == afterWhole:
		return false
	case p.part == inOther || p.part == inQuery:
	case p.part == inScheme && r == ':':
		p.part = schemes[strings.ToLower(p.scheme)]
		if p.scheme = ""; p.part == atStart {
			p.part = inOther
		}
	case query:
		*p = addressPosition{part: inQuery}
	case p.part == atStart && slash:
		p.part = afterSlash
	case p.part == atStart && r < 0x80 && htmltext.IsLetter(byte(r)):
		*p = addressPosition{inScheme, string(r)}
	case p.part == inScheme && (isWordRune(r) || r == '+' || r == '-' || r == '.'):
		if p.scheme += string(r); len(p.scheme) > maxScheme {
			*p = addressPosition{part: inOther}
		}
	case p.part == afterSlash && slash:
		p.part = beforeHost
	case p.part == atStart || p.part == inScheme || p.part == afterSlash:
		*p = addressPosition{part: inRelative}
	case p.part == beforeHost && !slash:
		p.part = inHost
	case (p.part == inHost || p.part == afterFiller) && slash:
		p.part = inPath
	}
	return true
}

// schemes are the schemes after which a value can stand.
var schemes = map[string]addressPart{"http": beforeHost, "https": beforeHost, "mailto": inRest, "tel": inRest}

// isBehindHost reports whether the host or the scheme can't change any more.
func (p addressPosition) isBehindHost() bool { return p.part >= inPath && p.part <= inRest }

// merge returns the position after two branches: what is allowed after both.
func (p addressPosition) merge(q addressPosition) addressPosition {
	if p == q {
		return p
	}
	behind := func(p addressPosition) bool { return p.part >= inHost && p.part <= inQuery }
	switch {
	case p.part == afterWhole || q.part == afterWhole:
		return addressPosition{part: afterWhole}
	case behind(p) && behind(q):
		if p.part == inHost || q.part == inHost {
			return addressPosition{part: inHost}
		}
		return addressPosition{part: inQuery}
	}
	return addressPosition{part: inOther}
}

// cutOff returns the index at which a text ends with the beginning of a character reference, or of
// an escape of a style, that other text may complete; marks begin them. An earlier text that ends so
// is continued by letters and digits only: then the index is -1. len(text): neither.
func cutOff(text, marks string) int {
	for i := len(text) - 1; i >= 0; i-- {
		switch c := text[i]; {
		case strings.IndexByte(marks, c) >= 0:
			return i
		case c != '#' && !isWordRune(rune(c)):
			return len(text)
		}
	}
	return -1
}

// isCut returns whether a style is cut off after a text, if it was before.
func isCut(before bool, text, marks string) bool {
	at := cutOff(text, marks)
	return at >= 0 && at < len(text) || at < 0 && before
}

// value reads a part of an attribute's value, which ends before one of some characters.
func (p *position) value(s, ends string) (rest, fault string) {
	n := upTo(s, ends)
	switch text := s[:n]; p.kind {
	case addressAttribute:
		cut := cutOff(text, "&")
		if cut < 0 || n < len(s) {
			cut = n
		}
		for i, part := range []string{text[:cut], text[cut:]} {
			if i > 0 && part != "" && !p.address.isBehindHost() {
				p.address = addressPosition{part: inOther}
			}
			for _, r := range htmltext.AttributeText(part) {
				if !p.address.next(r) {
					return s, "has a value that is the whole address, with something after it"
				}
			}
		}
	case styleAttribute:
		p.cut = isCut(p.cut, text, `&\`) || isCut(p.cut, htmltext.AttributeText(text), `\`)
	}
	if n == len(s) {
		return "", ""
	}
	switch s[n] {
	case '"', '\'':
		p.state = afterValue
		n++
	case '>':
		p.state = beforeName
	default:
		p.state = beforeName
		n++
	}
	p.name, p.kind, p.address, p.cut = "", textAttribute, addressStart, false
	return s[n:], ""
}
