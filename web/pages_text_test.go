package web

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPagesSpeakTheReadersLanguage(t *testing.T) {
	b, _ := newPagesBench(t)
	for header, want := range map[string]string{
		"": "en", "de": "de", "de-CH, en;q=0.9": "de", "fr-CA": "fr", "es-419": "es", "pt-PT": "pt", "pt-BR,pt;q=0.9": "pt",
		"it": "it", "nl-BE": "nl", "pl-PL": "pl", "ja": "ja", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "zh-TW": "zh", "da, fr;q=0.5": "fr",
		"de;q=0.1, fr;q=0.9": "fr", "ru": "en", "*": "en", "!!": "en", "en-GB, de": "en",
		strings.Repeat("de,", maxAcceptLanguage): "en",
	} {
		for _, target := range []string{"/unsubscribe/topic", "/preferences/all", "/unsubscribe/x"} {
			w := b.do("GET", target, "", "Accept-Language: "+header)
			if lang := attr(elements(t, w, "html")[0], "lang"); lang != want || w.Header().Get("Content-Language") != want {
				t.Errorf("%.30q is answered in %s", header, lang)
			}
		}
	}
	wantPage(t, b.do("POST", "/preferences/topic", "topic="+weekly, "Accept-Language: de"), 200, "Ihre Auswahl wurde gespeichert.")
}

func TestTextsAreCompleteInEveryLanguage(t *testing.T) {
	names := regexp.MustCompile(`\{[a-z]*\}`)
	texts := pageTexts()
	first := reflect.ValueOf(texts[0])
	var langs []string
	for _, text := range texts {
		langs = append(langs, text.lang)
		v := reflect.ValueOf(text)
		for i := range v.NumField() {
			field, got, english := v.Type().Field(i).Name, v.Field(i).String(), first.Field(i).String()
			if got == "" || strings.TrimSpace(got) != got {
				t.Errorf("%s: %s is %q", text.lang, field, got)
			}
			have, want := names.FindAllString(got, -1), names.FindAllString(english, -1)
			slices.Sort(have)
			slices.Sort(want)
			if !slices.Equal(slices.Compact(have), slices.Compact(want)) || strings.Count(got, "{") != strings.Count(got, "}") {
				t.Errorf("%s: %s has %q, English %q", text.lang, field, have, want)
			}
			if text.lang != "en" && got == english {
				t.Errorf("%s: %s is not translated", text.lang, field)
			}
		}
	}
	if want := []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"}; !slices.Equal(langs, want) {
		t.Errorf("languages %q", langs)
	}
}
