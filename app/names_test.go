package app

import "testing"

func TestNamesRefuseHiddenCharacters(t *testing.T) {
	for _, name := range []string{"pay\u202efdp.exe", "a\u2067b", "a\u200bb", "a\u2060b", "a\ufeffb", "a\u2029b", "a\x7fb"} {
		if CodeOf(CheckKeyName(name)) != CodeValidation {
			t.Errorf("a key is called %q", name)
		}
		patch := BroadcastPatch{Name: Change[string]{Set: true, Value: name}}
		if _, err := patch.Validate(); CodeOf(err) != CodeValidation {
			t.Errorf("a broadcast is called %q: %v", name, err)
		}
	}
	for _, name := range []string{"Ключ", "مفتاح\u200f", "می\u200cخواهم", "👩\u200d💻"} {
		if err := CheckKeyName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
