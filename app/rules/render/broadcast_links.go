package render

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/tracking"
)

// mayTrack reports whether a link can be tracked for at least one recipient. target may contain
// marks.
func (h *htmlCompiler) mayTrack(target string) bool {
	before, p, after, found := h.marks.cut(target)
	if !found {
		return tracking.Trackable(target)
	}
	rest := h.marks.replaced(after, func(mark) string { return "x" })
	if _, ok := app.CutScheme(before); ok {
		return tracking.Trackable(htmltext.NormalizeLink(before + "x" + rest))
	}
	lower := strings.ToLower(before)
	begins := strings.HasPrefix("https://", lower) || strings.HasPrefix("http://", lower)
	page := before == "" && app.IsPageKey(p.Key) // never tracked
	return begins && !page && tracking.Trackable(htmltext.NormalizeLink("https://x/"+rest))
}

// numberedLink is a link with the number of its target.
type numberedLink struct {
	tracking.LinkValue
	number int
}

// numbered numbers the distinct targets and returns their links.
func (h *htmlCompiler) numbered(links []tracking.LinkValue) (out []numberedLink) {
	numbers := map[string]int{}
	for _, link := range links {
		if tracking.IsPage(h.mail.tracking, link.Target) {
			continue
		}
		n, known := numbers[link.Target]
		if !known {
			n = len(numbers)
			numbers[link.Target] = n
			h.mail.links = append(h.mail.links, h.marks.replaced(link.Target, mark.String))
		}
		out = append(out, numberedLink{link, n})
	}
	return out
}

// link compiles a tracked link.
func (h *htmlCompiler) link(link numberedLink) {
	before, after := html.EscapeString(h.mail.tracking.Base+tracking.ClickPath), ""
	if link.Bare {
		before, after = `"`+before, `"`
	}
	if _, _, _, filled := h.marks.cut(link.Target); filled {
		h.variableLink(h.filledLink(link, before, after))
		return
	}
	if h.mail.deriveText {
		source := h.source[link.From:link.To]
		h.out.step(textStep{source: &source, fill: func(f *fillState) string { return before + f.clickToken(link.number, link.Target) + after }})
		return
	}
	h.out.add(before)
	h.out.fill(func(f *fillState) string { return f.clickToken(link.number, link.Target) })
	h.out.add(after)
}

// targetToken is the token of a link to a target.
type targetToken struct{ target, token string }

// clickToken returns the token of a link.
func (f *fillState) clickToken(number int, target string) string {
	if f.tokens == nil {
		f.tokens = make([]targetToken, len(f.mail.links))
	}
	if known := &f.tokens[number]; known.token == "" || known.target != target { // a link in a loop has several targets
		*known = targetToken{target, tracking.ClickToken(f.sealer, tracking.ClickLink{
			TeamID: f.mail.teamID, EmailID: f.recipient.ID, Host: f.mail.trackHost, Link: f.mail.linkNumber(number), Links: len(f.tokens), Target: target})}
	}
	return f.tokens[number].token
}

// variableLink adds a link whose target depends on the recipient.
func (h *htmlCompiler) variableLink(l *filledLink) {
	if !h.mail.deriveText && !slices.ContainsFunc(l.value, func(p textPart) bool { return p.token != nil }) {
		h.out.fill(l.fill)
		return
	}
	h.out.step(textStep{link: l})
	for _, p := range l.value {
		h.out.part(p)
	}
	h.out.step(textStep{linkEnd: true})
}

// filledLink is a link whose target depends on the recipient.
type filledLink struct {
	before, after string     // around its token
	value         []textPart // as written in the source
	target        []textPart // decoded target; nil: known only when filled
	number        int
}

// halfEntity matches a character reference that the following text could complete.
var halfEntity = regexp.MustCompile(`&[#0-9A-Za-z]*$`)

func (h *htmlCompiler) filledLink(link numberedLink, before, after string) *filledLink {
	l := &filledLink{before: before, after: after, number: link.number, value: h.parts(link.From, link.To)}
	rest := link.Target
	for _, part := range l.value {
		if part.token != nil || part.slot != nil && h.broadcast.Syntax == app.LiquidSyntax { // known in encoded form only
			l.target = nil
			return l
		}
		if part.slot == nil {
			l.target = append(l.target, textPart{text: rest})
			return l
		}
		if halfEntity.MatchString(part.text) || strings.Contains(part.slot.fallback, "&") {
			l.target = nil
			return l
		}
		text, _, after, _ := h.marks.cut(rest)
		l.target = append(l.target, textPart{text: text, slot: part.slot})
		rest = after
	}
	return l
}

// fill returns the value of the link: tracked if its target can be, otherwise as written.
func (l *filledLink) fill(f *fillState) string {
	var value strings.Builder
	for _, p := range l.value {
		value.WriteString(p.text)
		if p.slot != nil {
			value.WriteString(p.slot.escaped(f))
		}
	}
	return l.tracked(f, value.String(), l.targetOf(f, value.String()))
}

// tracked returns the tracked link to a target, or value if it can't be tracked.
func (l *filledLink) tracked(f *fillState, value, target string) string {
	target = htmltext.NormalizeLink(target)
	if !tracking.Trackable(target) || tracking.IsPage(f.mail.tracking, target) || target == f.page {
		return value
	}
	return l.before + f.clickToken(l.number, target) + l.after
}

// targetOf returns the decoded target of a filled value.
func (l *filledLink) targetOf(f *fillState, value string) string {
	if l.target == nil {
		return htmltext.AttributeText(value)
	}
	var b strings.Builder
	for _, p := range l.target {
		b.WriteString(p.text)
		if p.slot != nil {
			b.WriteString(p.slot.plain(f))
		}
	}
	return b.String()
}
