package web

import (
	"strings"
	"testing"
)

func TestPagesSpeakTheReadersLanguage(t *testing.T) {
	b, _ := newPagesBench(t)
	for header, want := range map[string]string{
		"": "en", "de": "de", "de-CH, en;q=0.9": "de", "fr-CA": "fr", "es-419": "es", "pt-PT": "pt", "pt-BR,pt;q=0.9": "pt",
		"it": "it", "nl-BE": "nl", "pl-PL": "pl", "ja": "ja", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "zh-TW": "zh", "da, fr;q=0.5": "fr",
		"de;q=0.1, fr;q=0.9": "fr", "ru": "en", "*": "en", "!!": "en", "en-GB, de": "en",
		strings.Repeat("de,", 1<<10): "en",
	} {
		for _, target := range []string{"/unsubscribe/topic", "/preferences/all", "/unsubscribe/x"} {
			w := b.do("GET", target, "", "Accept-Language: "+header)
			if lang := attr(elements(t, w, "html")[0], "lang"); lang != want || w.Header().Get("Content-Language") != want {
				t.Errorf("%.30q is answered in %s", header, lang)
			}
		}
	}
	w := b.do("GET", "/preferences/all?language=ja", "", "Accept-Language: de")
	if lang := attr(elements(t, w, "html")[0], "lang"); lang != "ja" {
		t.Errorf("A page asked for in Japanese is answered in %s", lang)
	}
	wantPage(t, b.do("POST", "/preferences/topic", "topic="+weekly, "Accept-Language: de"), 200, "Ihre Auswahl wurde gespeichert.")
}
