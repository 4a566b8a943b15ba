package render

import (
	"testing"

	"mailer/app"
)

func TestLanguage(t *testing.T) {
	variants := app.Variants{"pt": {}, "pt-BR": {}, "zh-Hant": {}, "de-AT": {}}
	for wanted, want := range map[string]string{
		"pt": "pt", "pt-BR": "pt-BR", "pt_br": "pt-BR", "pt-PT": "pt", "pt-Latn-PT": "pt", "PT-ao": "pt", "pt-XQ-foobar": "pt",
		"zh": "", "zh-Hant-TW": "zh-Hant", "zh-TW": "", "de": "", "de-DE": "", "de-AT-1996": "de-AT",
		"": "", "fr": "", "portuguese": "", "p": "", "-": "", "pt-": "", "42": "",
	} {
		if got := Language(variants, wanted); got != want {
			t.Errorf("%q gets %q, want %q", wanted, got, want)
		}
	}
	if got := Language(nil, "pt"); got != "" {
		t.Error(got)
	}
}
