package render

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
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

// A mail waits for the memory of its own language alone, and the cache counts all languages, with the
// attachments once.
func TestSizeOfLanguages(t *testing.T) {
	b := apptest.Broadcast("<p>short</p>")
	b.Text, b.Attachments = new(""), []app.Attachment{{Size: 3000}}
	alone := compileTest(t, b).Size()
	b.Variants = app.Variants{"de": {HTML: strings.Repeat("long", 10_000)}, "fr": {}}
	m := compileTest(t, b)
	if m.MailSize("") != alone || m.MailSize("fr") != alone || m.MailSize("de") < 3*40_000 || m.MailSize("es") != alone {
		t.Errorf("sizes %d %d %d, want %d", m.MailSize(""), m.MailSize("fr"), m.MailSize("de"), alone)
	}
	if want := m.MailSize("") + m.MailSize("de") + m.MailSize("fr") - 2*4000; m.Size() != want {
		t.Errorf("size %d, want %d", m.Size(), want)
	}
}
