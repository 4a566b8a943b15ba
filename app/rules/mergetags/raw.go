package mergetags

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// RawTag is a tag of another service in a text, which readers would see.
type RawTag struct {
	Tag
	Field string // of the broadcast or template, as in the API
	// Certain: it is certainly a tag. Others may be text.
	Certain bool
}

// Reasons for raw tags.
const (
	whyRawTag   = "Mailer does not fill it: replace it with {{{KEY}}}, or delete it. To show braces to readers, write &#123; for the first one in html, or put a space between two braces"
	whyMayBeRaw = "It looks like a tag of another service, which nothing here fills"
)

// rawForms are forms that are certainly tags. Braces as character references are ignored: they are
// meant to be displayed.
var rawForms = []form{curly, statement, {"*|", "|*"}}

// mailchimpTag matches the content of a Mailchimp tag.
var mailchimpTag = regexp.MustCompile(`^[A-Za-z][^*|<>\n]{0,200}$`)

// maybeRaw matches possible tags: of SendGrid and Postmark, MailerLite, Salesforce, JavaScript
// templates, and ActiveCampaign.
var maybeRaw = regexp.MustCompile(`<%[^<>\n]{1,100}%>|\[%[^\[\]\n]{1,100}%\]|\{\$[A-Za-z_][A-Za-z0-9_.]{0,60}\}|%%[A-Za-z_][A-Za-z0-9_.]{0,60}%%|\$\{[A-Za-z_][A-Za-z0-9_.]{0,60}\}|\[\[[A-Za-z_][A-Za-z0-9_. ]{0,60}\]\]`)

// mayBeRawStarts are the texts with which matches of maybeRaw begin.
var mayBeRawStarts = []string{"<%", "[%", "{$", "%%", "${", "[["}

// FindRaw returns the tags of other services in texts, at most maxNamed of each text and kind, the
// certain ones of a text first. It takes linear time.
func FindRaw(parts ...app.Part) (found []RawTag) {
	for _, p := range parts {
		found = append(found, rawIn(p.Field, p.Text)...)
	}
	return found
}

// RefuseRaw returns an error for tags that are certain, naming the first ones. Errors:
// CodeValidation.
func RefuseRaw(tags []RawTag) error {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t RawTag) bool { return !t.Certain })
	if len(tags) == 0 {
		return nil
	}
	const named = 5
	var words []string
	for _, t := range tags[:min(len(tags), named)] {
		words = append(words, fmt.Sprintf("%s (%s, line %d)", t.Text, t.Field, t.Line))
	}
	if more := len(tags) - named; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return app.Invalid(tags[0].Field, "contains a tag of another service: %s. %s", strings.Join(words, ", "), whyRawTag)
}

func rawIn(field, text string) []RawTag {
	text = htmltext.RepairPageLinks(text)
	s := withoutPlaceholders(text)
	f := &rawFinder{field: field, text: text, line: 1}
	for at := 0; at < len(s); {
		i := strings.IndexAny(s[at:], "{%*")
		if i < 0 {
			break
		}
		at = f.step(s, at+i)
	}
	if !slices.ContainsFunc(mayBeRawStarts, func(start string) bool { return strings.Contains(s, start) }) {
		return f.found // without the regular expression, which is slow on megabytes
	}
	f.at, f.line = 0, 1
	for _, span := range maybeRaw.FindAllStringIndex(s, maxNamed) {
		f.note(span[0], span[1], Tag{Reason: whyMayBeRaw}, false)
	}
	return f.found
}

// withoutPlaceholders returns a text of the same length and lines without placeholders.
func withoutPlaceholders(text string) string {
	var b strings.Builder
	for rest := text; ; {
		before, _, after, found, err := app.NextPlaceholder(rest)
		if err != nil || !found {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(before)
		for _, c := range []byte(rest[len(before) : len(rest)-len(after)]) {
			if c != '\n' {
				c = 'x'
			}
			b.WriteByte(c)
		}
		rest = after
	}
}

// rawFinder finds the tags of a text in order.
type rawFinder struct {
	field, text string
	at, line    int // line is the line of at
	found       []RawTag
}

// step examines a possible beginning of a tag and returns where to continue.
func (f *rawFinder) step(s string, at int) int {
	for _, form := range rawForms {
		inside, end, ok := form.find(s, at)
		if !ok || form.open == "*|" && !mailchimpTag.MatchString(inside) {
			continue
		}
		f.note(at, end, Tag{Reason: whyRawTag}, true)
		return end
	}
	return at + 1
}

// note adds a tag.
func (f *rawFinder) note(from, end int, tag Tag, certain bool) {
	f.line += strings.Count(f.text[f.at:from], "\n")
	f.at = from
	if len(f.found) < maxNamed {
		tag.Line, tag.Text = f.line, app.Excerpt(f.text[from:end])
		f.found = append(f.found, RawTag{Tag: tag, Field: f.field, Certain: certain})
	}
}
