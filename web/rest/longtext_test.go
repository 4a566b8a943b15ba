package rest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

type longTexts struct {
	A LongText  `json:"a"`
	B *LongText `json:"b"`
}

type stdStrings struct {
	A string  `json:"a"`
	B *string `json:"b"`
}

// sameString decodes a value as LongText and as string and compares the results.
func sameString(t *testing.T, value string) {
	t.Helper()
	body := []byte(`{"a":` + value + `,"b":` + value + `}`)
	var long longTexts
	var short stdStrings
	err, want := DecodeBody(body, &long), DecodeBody(body, &short)
	if err == nil != (want == nil) || err != nil && err.Error() != want.Error() {
		t.Fatalf("%s: %v, want %v", value, err, want)
	}
	if err != nil {
		return
	}
	if string(long.A) != short.A || (long.B == nil) != (short.B == nil) || long.B != nil && string(*long.B) != *short.B {
		t.Fatalf("%s: %q, want %q", value, long.A, short.A)
	}
}

var stringValues = []string{
	`""`, `"a"`, `"a\nb\tc\rd\be\ff\"g\\h\/i"`, `"\\"`, `"\\\\n"`, `"\u0041\u00e9\u20ac"`, `"\ud83d\ude00"`, `"x\uD83D\uDE00y\u0000"`, `"\\u0041"`, `"ü€😀"`,
	`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\ud83d\ude00"`, `"\u12"`, `"\x"`, `"\`, "\"\n\"", "\"\xff\"", `"a`, `null`, `true`, `1`, `[]`, `["a"]`, `{}`, `{"a":"b"}`, ``, `nul`, `"a" "b"`,
}

func TestLongTextDecodesAsString(t *testing.T) {
	for _, v := range stringValues {
		sameString(t, v)
	}
	r, _ := json.Marshal(strings.Repeat("<p class=\"x\">Grüße 😀\u2028</p>\n", 1000))
	sameString(t, string(r))
}

func FuzzLongText(f *testing.F) {
	for _, v := range stringValues {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		sameString(t, v)
		if !strings.ContainsAny(v, "\"\n") {
			sameString(t, `"`+v+`"`)
		}
	})
}
