package app

import (
	"strings"
	"testing"
)

// FuzzNames parses any text as each kind of short name. An accepted name must parse again to
// itself and must not contain a line break.
func FuzzNames(f *testing.F) {
	token, _, _ := NewKey()
	for _, seed := range []string{
		"", token, token[:len(token)-1] + "\n", NewID(), strings.ToUpper(NewID()), "Example.COM.", "bücher.example", "xn--bcher-kva.example", "0a\x95.example",
		"co.uk", "links", "links.example.com", "a..b", " a@b.example ", "A <a@b.example>", "ä@bücher.example", "x\r\ny", "\xff", strings.Repeat("a.", 200) + "example",
	} {
		f.Add(seed)
	}
	again := map[string]func(string) (string, error){
		"sending domain": parseSendingDomain,
		"return path":    parseReturnPath,
		"tracking":       func(s string) (string, error) { return parseTrackingSubdomain(s, "example.com") },
		"address": func(s string) (string, error) {
			_, address, err := ParseBareAddress(s)
			return address.String(), err
		},
	}
	f.Fuzz(func(t *testing.T, s string) {
		for what, parse := range again {
			name, err := parse(s)
			if err != nil {
				continue
			}
			if second, err := parse(name); err != nil || second != name {
				t.Errorf("%s of %q is %q, and then %q, %v", what, s, name, second, err)
			}
			if strings.ContainsAny(name, "\r\n\x00 <>") {
				t.Errorf("%s of %q is %q", what, s, name)
			}
		}
		if id, ok := ParseID(s); ok && (id != strings.ToLower(s) || len(id) != 36) {
			t.Errorf("id of %q is %q", s, id)
		}
		if public, hash, ok := ParseKey(s); ok && (len(hash) != 32 || !strings.Contains(s, public+"_")) {
			t.Errorf("key %q: %q", s, public)
		}
	})
}
