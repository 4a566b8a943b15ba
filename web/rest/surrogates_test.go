package rest

import (
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestReplaceLoneSurrogates(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"Happy \ud83d"}`:                `{"a":"Happy \ufffd"}`,
		`{"a":"\udf89 off"}`:                  `{"a":"\ufffd off"}`,
		`{"a":"\ud83d\ud83c\udf89"}`:          `{"a":"\ufffd\ud83c\udf89"}`,
		`{"a":"\uD83C\uDF89","\ud83d":1}`:     `{"a":"\uD83C\uDF89","\ufffd":1}`,
		`{"a":"\ud83d\u0041\udf89"}`:          `{"a":"\ufffd\u0041\ufffd"}`,
		`{"a":"\\ud83d \\\ud83d"}`:            `{"a":"\\ud83d \\\ufffd"}`,
		`{"a":"\n\ud83dx\uzzzz"}`:             `{"a":"\n\ufffdx\uzzzz"}`,
		`"\ud83d`:                             `"\ufffd`,
		`{"a":"\ud83c\udf89\ud83d"}`:          `{"a":"\ud83c\udf89\ufffd"}`,
		`"\ud8`:                               `"\ud8`,
		`\`:                                   `\`,
		`no escape 🎉`:                         `no escape 🎉`,
		`{"a":"\ud83d\`:                       `{"a":"\ufffd\`,
		`{"subject":"\ud83c\udf89 \u00e9\t"}`: `{"subject":"\ud83c\udf89 \u00e9\t"}`,
	} {
		got := []byte(text)
		if ReplaceLoneSurrogates(got); string(got) != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func FuzzReplaceLoneSurrogates(f *testing.F) {
	f.Add(`"\ud83d\udf89\ud83d"`)
	f.Fuzz(func(t *testing.T, s string) {
		text, err := json.Marshal(s)
		if err != nil || !utf8.ValidString(s) {
			return
		}
		mended := append([]byte(nil), text...)
		if ReplaceLoneSurrogates(mended); string(mended) != string(text) {
			t.Errorf("%s becomes %s", text, mended)
		}
		raw := []byte(`"` + s + `"`)
		sound := jsontext.Value(raw).IsValid()
		ReplaceLoneSurrogates(raw)
		if sound && !jsontext.Value(raw).IsValid() {
			t.Errorf("%q is no JSON any more", raw)
		}
	})
}
