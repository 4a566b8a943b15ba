package pages

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/brand"
)

// texts returns the texts of a language by the names of their fields.
func texts(v reflect.Value) map[string]string {
	out := map[string]string{}
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer {
			maps.Copy(out, texts(v.Field(i).Elem()))
			continue
		}
		out[v.Type().Field(i).Name] = v.Field(i).String()
	}
	return out
}

func TestTextsAreComplete(t *testing.T) {
	names := regexp.MustCompile(`\{[a-z]*\}`)
	all := pageTexts()
	first := texts(reflect.ValueOf(all[0]).Elem())
	var langs []string
	for _, text := range all {
		langs = append(langs, text.lang)
		for field, got := range texts(reflect.ValueOf(text).Elem()) {
			english := first[field]
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
	if !slices.Equal(langs, brand.PageLanguages) || !slices.Equal(langs, app.Languages) {
		t.Errorf("languages %q", langs)
	}
}
