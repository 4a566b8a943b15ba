package render

import (
	"strings"

	"mailer/app"
)

// languageField is the contact's field with the language that it wants: the property language.
const languageField = app.PropertyPrefix + "language"

// Language returns the language of the variant for a recipient that wants a language (BCP 47): the same
// one, or else the longest one that wanted begins with, like pt for pt-BR (RFC 4647 3.4); empty: the
// document itself. A wanted text that is no language tag counts as none.
func Language(variants app.Variants, wanted string) string { return languageOf(variants, wanted) }

// LanguageOf is Language for a contact.
func LanguageOf(variants app.Variants, c *app.Contact) string {
	return languageOf(variants, contactValue(c, languageField))
}

func languageOf[V any](variants map[string]V, wanted string) string {
	if len(variants) == 0 || wanted == "" {
		return ""
	}
	tag, _ := app.WantedLanguage(wanted)
	for tag != "" {
		if _, ok := variants[tag]; ok {
			return tag
		}
		tag = tag[:max(0, strings.LastIndexByte(tag, '-'))]
	}
	return ""
}

// maxSharedLinks bounds the numbers of links of all languages of a broadcast, so that they fit into
// the tokens of links.
const maxSharedLinks = 1<<15 - 1

// compileLanguages compiles a broadcast and each of its variants. Equal links of several languages have
// the same number.
func compileLanguages(b *app.Broadcast) (*Broadcast, error) {
	out, err := compileContent(b.In(""))
	if err != nil {
		return nil, err
	}
	out.variants = map[string]*Broadcast{}
	for _, lang := range b.Variants.Languages() {
		if out.variants[lang], err = compileContent(b.In(lang)); err != nil {
			return nil, err
		}
	}
	numbers := map[string]int{}
	for _, m := range out.all() {
		for _, link := range m.links {
			n, known := numbers[link]
			if !known {
				n = len(numbers)
				numbers[link] = n
				if n < maxSharedLinks {
					out.shared = append(out.shared, link)
				}
			}
			m.position = append(m.position, min(n, maxSharedLinks))
		}
	}
	return out, nil
}

// all returns the broadcast and its variants by language.
func (b *Broadcast) all() []*Broadcast {
	out := []*Broadcast{b}
	for _, lang := range app.SortedKeys(b.variants) {
		out = append(out, b.variants[lang])
	}
	return out
}

// in returns the variant in a language, or the broadcast itself.
func (b *Broadcast) in(lang string) *Broadcast {
	if v := b.variants[lang]; v != nil {
		return v
	}
	return b
}

// Languages returns the languages of the variants in sorted order.
func (b *Broadcast) Languages() []string { return app.SortedKeys(b.variants) }

// Language returns the language of the variant for a contact; empty: the broadcast itself.
func (b *Broadcast) Language(c *app.Contact) string {
	if len(b.variants) == 0 {
		return ""
	}
	return languageOf(b.variants, contactValue(c, languageField))
}

// linkNumber returns the number of a link among those of all languages.
func (b *Broadcast) linkNumber(n int) int {
	if b.position == nil {
		return n
	}
	return b.position[n]
}
