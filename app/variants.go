package app

import (
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"mailer/app/kit/htmltext"
)

// Syntax is the template language of the texts of a template or broadcast.
type Syntax string

// The syntaxes. A document without a syntax is plain.
const (
	PlainSyntax  Syntax = ""       // placeholders {{{KEY}}} alone
	LiquidSyntax Syntax = "liquid" // Liquid and placeholders
)

// plainName is the name of PlainSyntax in requests and answers.
const plainName = "plain"

// ParseSyntax reads a syntax; an empty text is PlainSyntax. Errors: CodeValidation.
func ParseSyntax(s string) (Syntax, error) {
	switch s {
	case "", plainName:
		return PlainSyntax, nil
	case string(LiquidSyntax):
		return LiquidSyntax, nil
	}
	return PlainSyntax, Invalid("syntax", "must be plain or liquid")
}

// String returns the name of the syntax.
func (s Syntax) String() string {
	if s == PlainSyntax {
		return plainName
	}
	return string(s)
}

// Variant is a document in another language. An empty part is that of the document itself.
type Variant struct {
	Subject string  `json:"subject,omitzero"`
	Preview string  `json:"preview,omitzero"` // of a broadcast
	HTML    string  `json:"html,omitzero"`
	Text    *string `json:"text,omitzero"`   // nil: derived from HTML if the variant has HTML; empty: none
	Design  string  `json:"design,omitzero"` // JSON document of the visual editor that HTML was made from; empty: none
}

// equal reports whether two variants have the same parts.
func (v Variant) equal(o Variant) bool {
	return v.Subject == o.Subject && v.Preview == o.Preview && v.HTML == o.HTML && v.Design == o.Design && equalPtr(v.Text, o.Text)
}

// size returns the bytes of both bodies.
func (v *Variant) size() int {
	if v.Text == nil {
		return len(v.HTML)
	}
	return len(v.HTML) + len(*v.Text)
}

// Variants are the variants of a document by language, a tag that CanonicalLanguage returns.
type Variants map[string]Variant

// Languages returns the languages in sorted order.
func (v Variants) Languages() []string { return SortedKeys(v) }

// Equal reports whether two documents have the same variants.
func (v Variants) Equal(o Variants) bool { return maps.EqualFunc(v, o, Variant.equal) }

// Size returns the bytes of all bodies.
func (v Variants) Size() (n int) {
	for _, variant := range v {
		n += variant.size()
	}
	return n
}

// fill replaces the parts of a document by those of a variant. The text of a variant with HTML is
// derived from that HTML, unless it has a text of its own or the document has none.
func (v *Variant) fill(subject, preview, html *string, text **string, design *string) {
	for _, part := range []struct {
		to   *string
		from string
	}{{subject, v.Subject}, {preview, v.Preview}, {html, v.HTML}} {
		if part.from != "" {
			*part.to = part.from
		}
	}
	if v.HTML != "" {
		*design = v.Design
		if *text != nil && **text != "" {
			*text = nil
		}
	}
	if v.Text != nil {
		*text = v.Text
	}
}

// maxLanguageTag is the longest language tag in bytes: enough for any with a script, a region and
// two variants (RFC 5646 4.4.1).
const maxLanguageTag = 35

// CanonicalLanguage returns the canonical form of a BCP 47 language tag; ok is false for other texts
// and for "und". It also reads tags with an underscore and in other case.
func CanonicalLanguage(s string) (tag string, ok bool) {
	tag, ok, known := readLanguage(s)
	return tag, ok && known && tag != ""
}

// WantedLanguage reads the language that a recipient wants. Unknown subtags are left out, so that tag
// may be empty; ok is false for a text that is no language tag.
func WantedLanguage(s string) (tag string, ok bool) {
	tag, ok, _ = readLanguage(s)
	return tag, ok
}

// readLanguage reads a language tag. known reports whether all of its subtags are.
func readLanguage(s string) (tag string, ok, known bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxLanguageTag {
		return "", false, false
	}
	parsed, err := language.Parse(s)
	var unknown language.ValueError
	if err != nil && !errors.As(err, &unknown) {
		return "", false, false
	}
	tag = parsed.String()
	if tag == "und" || strings.HasPrefix(tag, "und-") { // without a language
		return "", true, false
	}
	return tag, true, err == nil && len(tag) <= maxLanguageTag
}

// VariantPatch changes a variant. In a Change, null and an empty text clear a part, except that an
// empty Text means none.
type VariantPatch struct {
	Subject, Preview, HTML, Text, Design Change[string]
}

// apply returns the variant with the changes.
func (p *VariantPatch) apply(v Variant) Variant {
	set := func(to *string, c Change[string]) {
		if c.Set {
			*to = c.Value
		}
	}
	was := v.HTML
	set(&v.Subject, p.Subject)
	set(&v.Preview, p.Preview)
	if set(&v.HTML, p.HTML); v.HTML != was {
		v.Design = ""
	}
	set(&v.Design, p.Design)
	switch {
	case p.Text.Null:
		v.Text = nil
	case p.Text.Set:
		v.Text = &p.Text.Value
	}
	return v
}

// VariantChanges change the variants of a document, by language. null removes one.
type VariantChanges map[string]Change[VariantPatch]

// ChangeVariants returns variants with changes applied, under canonical languages. It does not modify
// old. null removes all before that. Errors: CodeValidation.
func ChangeVariants(old Variants, changes Change[VariantChanges]) (Variants, error) {
	if changes.Null {
		old = nil
	}
	if len(changes.Value) == 0 {
		return old, nil
	}
	out := maps.Clone(old)
	if out == nil {
		out = Variants{}
	}
	seen := map[string]string{}
	for _, given := range SortedKeys(changes.Value) {
		field := "variants." + Excerpt(given)
		lang, ok := CanonicalLanguage(given)
		if !ok {
			return nil, Invalid(field, "is not a language tag like de or pt-BR")
		}
		if other := seen[lang]; other != "" {
			return nil, Invalid(field, "is the same language as %s", Excerpt(other))
		}
		seen[lang] = given
		change := changes.Value[given]
		if change.Null {
			delete(out, lang)
			continue
		}
		out[lang] = change.Value.apply(out[lang])
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// ReplaceVariants returns the change that replaces all variants of a document.
func ReplaceVariants(with Variants) Change[VariantChanges] {
	changes := VariantChanges{}
	for lang, v := range with {
		changes[lang] = Change[VariantPatch]{Set: true, Value: v.patch()}
	}
	return Change[VariantChanges]{Set: true, Null: true, Value: changes}
}

// patch returns the change that makes any variant equal to v.
func (v *Variant) patch() VariantPatch {
	whole := func(s string) Change[string] { return Change[string]{Set: true, Value: s} }
	p := VariantPatch{Subject: whole(v.Subject), Preview: whole(v.Preview), HTML: whole(v.HTML), Design: whole(v.Design), Text: Change[string]{Set: true, Null: v.Text == nil}}
	if v.Text != nil {
		p.Text.Value = *v.Text
	}
	return p
}

// Part is one text of a document, with its field in requests: subject, preview_text, html or text, or
// one of these in a variant.
type Part struct{ Field, Text string }

// InHeader reports whether the part is a subject or a preview text: one line without links to pages.
func (p Part) InHeader() bool { return inHeader(p.Field) }

func inHeader(field string) bool {
	return strings.HasSuffix(field, "subject") || strings.HasSuffix(field, "preview_text")
}

// parts returns the texts of the variants in order.
func (v Variants) parts() (out []Part) {
	for _, lang := range v.Languages() {
		variant, field := v[lang], "variants."+lang+"."
		out = append(out, Part{field + "subject", variant.Subject}, Part{field + "preview_text", variant.Preview}, Part{field + "html", variant.HTML})
		if variant.Text != nil {
			out = append(out, Part{field + "text", *variant.Text})
		}
	}
	return out
}

// Parts returns the texts of the content and its variants.
func (c *TemplateContent) Parts() []Part {
	return allParts([]Part{{"subject", c.Subject}, {"html", c.HTML}}, c.Text, c.Variants)
}

// Parts returns the texts of the broadcast and its variants.
func (b *Broadcast) Parts() []Part {
	return allParts([]Part{{"subject", b.Subject}, {"preview_text", b.Preview}, {"html", b.HTML}}, b.Text, b.Variants)
}

func allParts(own []Part, text *string, variants Variants) []Part {
	if text != nil {
		own = append(own, Part{"text", *text})
	}
	return append(own, variants.parts()...)
}

// check checks the variants without their template language and their size. Errors: CodeValidation.
func (v Variants) check() error {
	for _, lang := range v.Languages() {
		variant, field := v[lang], "variants."+lang+"."
		if variant.Subject != "" {
			if err := checkSubject(field+"subject", variant.Subject); err != nil {
				return err
			}
		}
		if utf8.RuneCountInString(variant.Preview) > MaxPreview {
			return Invalid(field+"preview_text", "can have at most %d characters", MaxPreview)
		}
	}
	for _, part := range v.parts() {
		if err := checkBody(part.Field, part.Text); err != nil {
			return err
		}
	}
	return nil
}

// maxVariantDesigns is the maximum of the designs of all variants of a document together, in bytes.
const maxVariantDesigns = 4 << 20

// checkTotal checks the number of variants and their size. own is the size of the bodies of the
// document itself, and limit that of all bodies.
func (v Variants) checkTotal(own, limit int) error {
	if len(v) > MaxVariants {
		return Invalid("variants", "can hold at most %d languages", MaxVariants)
	}
	if own+v.Size() > limit {
		return Invalid("variants", "must not make the html and text of all languages longer than %d bytes together", limit)
	}
	designs := 0
	for _, variant := range v {
		designs += len(variant.Design)
	}
	if designs > maxVariantDesigns {
		return Invalid("variants", "must not hold designs of more than %d bytes together", maxVariantDesigns)
	}
	return nil
}

// In returns the content in the language of a variant; an empty or unknown language: the content
// itself. It has no variants.
func (c *TemplateContent) In(lang string) *TemplateContent {
	out := *c
	out.Variants = nil
	if v, ok := c.Variants[lang]; ok {
		v.fill(&out.Subject, new(string), &out.HTML, &out.Text, &out.Design)
	}
	return &out
}

// In returns the broadcast in the language of a variant; an empty or unknown language: the broadcast
// itself. It has no variants.
func (b *Broadcast) In(lang string) *Broadcast {
	out := *b
	out.Variants = nil
	if v, ok := b.Variants[lang]; ok {
		v.fill(&out.Subject, &out.Preview, &out.HTML, &out.Text, &out.Design)
	}
	return &out
}

// CheckPlaceholders checks the placeholders of a broadcast in plain syntax. Errors: CodeValidation.
func (b *Broadcast) CheckPlaceholders() error {
	if b.Syntax != PlainSyntax {
		return nil
	}
	for _, part := range b.Parts() {
		text := part.Text
		if !strings.HasSuffix(part.Field, "subject") {
			text = htmltext.RepairPageLinks(text)
		}
		if err := CheckBroadcastPlaceholders(part.Field, text); err != nil {
			return err
		}
	}
	return nil
}
