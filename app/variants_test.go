package app_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

func TestCanonicalLanguage(t *testing.T) {
	for s, want := range map[string][2]string{ // canonical and wanted; "-": none
		"de": {"de", "de"}, " DE_de ": {"de-DE", "de-DE"}, "pt-br": {"pt-BR", "pt-BR"}, "zh-hant-tw": {"zh-Hant-TW", "zh-Hant-TW"}, "iw": {"he", "he"},
		"xx": {"-", ""}, "de-XQ-foobar": {"-", "de-XQ"}, "und": {"-", ""}, "und-DE": {"-", ""}, "root": {"-", ""},
		"C": {"-", "-"}, "english": {"-", "-"}, "": {"-", "-"}, "de\x00": {"-", "-"}, "en_US.UTF-8": {"-", "-"}, strings.Repeat("de-", 100): {"-", "-"},
	} {
		if got, ok := app.CanonicalLanguage(s); ok != (want[0] != "-") || ok && got != want[0] {
			t.Errorf("%q is %q, %v", s, got, ok)
		}
		if got, ok := app.WantedLanguage(s); ok != (want[1] != "-") || ok && got != want[1] {
			t.Errorf("%q wants %q, %v", s, got, ok)
		}
	}
}

func set(s string) app.Change[string] { return app.Change[string]{Set: true, Value: s} }

func TestChangeVariants(t *testing.T) {
	german := app.Variant{Subject: "Hallo", HTML: "<p>h</p>", Text: new("t"), Design: "{}"}
	old := app.Variants{"de": german, "fr": {Subject: "Salut"}}
	change := func(c app.VariantChanges) app.Change[app.VariantChanges] {
		return app.Change[app.VariantChanges]{Set: true, Value: c}
	}
	null := app.Change[app.VariantPatch]{Set: true, Null: true}
	for name, c := range map[string]struct {
		change app.Change[app.VariantChanges]
		want   app.Variants
	}{
		"absent":        {app.Change[app.VariantChanges]{}, old},
		"null":          {app.Change[app.VariantChanges]{Set: true, Null: true}, nil},
		"one removed":   {change(app.VariantChanges{"FR": null}), app.Variants{"de": german}},
		"all removed":   {change(app.VariantChanges{"fr": null, "de": null, "es": null}), nil},
		"a part":        {change(app.VariantChanges{"de": {Set: true, Value: app.VariantPatch{Subject: set("Hey")}}, "fr": null}), app.Variants{"de": {Subject: "Hey", HTML: german.HTML, Text: german.Text, Design: "{}"}}},
		"other HTML":    {change(app.VariantChanges{"de": {Set: true, Value: app.VariantPatch{HTML: set("x"), Text: app.Change[string]{Set: true, Null: true}}}, "fr": null}), app.Variants{"de": {Subject: "Hallo", HTML: "x"}}},
		"a new one":     {change(app.VariantChanges{"pt_br": {Set: true, Value: app.VariantPatch{Text: set("")}}, "de": null, "fr": null}), app.Variants{"pt-BR": {Text: new("")}}},
		"all replaced":  {app.ReplaceVariants(app.Variants{"es": german}), app.Variants{"es": german}},
		"none replaced": {app.ReplaceVariants(nil), nil},
	} {
		got, err := app.ChangeVariants(old, c.change)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if len(old) != 2 || !reflect.DeepEqual(old["de"], german) {
		t.Errorf("the change modified what it was applied to: %+v", old)
	}
	for words, keys := range map[string][]string{"`variants.x y` is not a language tag": {"x y"}, "is the same language as": {"de-DE", "de_de"}} {
		changes := app.VariantChanges{}
		for _, key := range keys {
			changes[key] = app.Change[app.VariantPatch]{Set: true}
		}
		if _, err := app.ChangeVariants(nil, change(changes)); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", keys, err)
		}
	}
}

// An absent part of a variant is that of the document, except that the text goes with the HTML.
func TestVariantParts(t *testing.T) {
	for name, c := range map[string]struct {
		own  *string
		v    app.Variant
		html string
		text *string
	}{
		"subject alone":            {new("own"), app.Variant{Subject: "s"}, "<p>own</p>", new("own")},
		"html":                     {nil, app.Variant{HTML: "v"}, "v", nil},
		"html, document with text": {new("own"), app.Variant{HTML: "v"}, "v", nil},
		"html, document without":   {new(""), app.Variant{HTML: "v"}, "v", new("")},
		"html and text":            {new("own"), app.Variant{HTML: "v", Text: new("vt")}, "v", new("vt")},
		"html without text":        {new("own"), app.Variant{HTML: "v", Text: new("")}, "v", new("")},
		"text alone":               {nil, app.Variant{Text: new("vt")}, "<p>own</p>", new("vt")},
	} {
		b := app.Broadcast{Subject: "own", BroadcastContent: app.BroadcastContent{Preview: "own", HTML: "<p>own</p>", Text: c.own, Variants: app.Variants{"de": c.v}}}
		content := app.TemplateContent{Subject: "own", HTML: "<p>own</p>", Text: c.own, Variants: b.Variants}
		in, of := b.In("de"), content.In("de")
		if in.HTML != c.html || !reflect.DeepEqual(in.Text, c.text) || in.Preview != "own" || (in.Subject == "own") == (c.v.Subject != "") || in.Variants != nil {
			t.Errorf("%s: broadcast %+v", name, in)
		}
		if of.HTML != c.html || !reflect.DeepEqual(of.Text, c.text) || of.Subject != in.Subject {
			t.Errorf("%s: template %+v", name, of)
		}
		if got := b.In("fr"); got.HTML != "<p>own</p>" || got.Text != c.own {
			t.Errorf("%s: an unknown language is %+v", name, got)
		}
	}
}

func TestJSONValue(t *testing.T) {
	for in, want := range map[string]app.PropertyValue{
		`"a\u00e9"`: {Type: app.StringProperty, Text: "aé"}, `-1.5e3`: {Type: app.NumberProperty, Number: -1500}, `true`: {Type: app.BooleanVariable, Text: "true"},
		`[1, {"a" : null}]`: {Type: app.ListVariable, Text: `[1,{"a":null}]`}, `{ "z":1,"a":[[[[]]]]}`: {Type: app.ObjectVariable, Text: `{"z":1,"a":[[[[]]]]}`},
	} {
		if got, err := app.JSONValue(jsontext.Value(in)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{`null`, `1e999`, `[[[[[[]]]]]]`, `{"a":{"a":{"a":{"a":{"a":{}}}}}}`} {
		if got, err := app.JSONValue(jsontext.Value(in)); err == nil {
			t.Errorf("%s: %+v", in, got)
		}
	}
}
