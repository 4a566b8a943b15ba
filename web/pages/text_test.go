package pages

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app/rules/brand"
)

func TestTextsAreComplete(t *testing.T) {
	names := regexp.MustCompile(`\{[a-z]*\}`)
	texts := pageTexts()
	first := reflect.ValueOf(texts[0]).Elem()
	var langs []string
	for _, text := range texts {
		langs = append(langs, text.lang)
		v := reflect.ValueOf(text).Elem()
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
	if !slices.Equal(langs, brand.PageLanguages) {
		t.Errorf("languages %q", langs)
	}
}
