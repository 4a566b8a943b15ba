package render

import (
	"strings"

	"mailer/app"
)

// LanguageField is the field of a recipient with the language that the contact wants: the property
// language.
const LanguageField = app.PropertyPrefix + "language"

// Language returns the language of the variant for a recipient that wants a language (BCP 47): the same
// one, or else the longest one that wanted begins with, like pt for pt-BR (RFC 4647 3.4); empty: the
// document itself. A wanted text that is no language tag counts as none.
func Language(variants app.Variants, wanted string) string {
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
