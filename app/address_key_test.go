package app

import "testing"

// TestAddressKeyIgnoresSpelling uses spellings that people, files and other servers write.
func TestAddressKeyIgnoresSpelling(t *testing.T) {
	for want, spellings := range map[string][]string{
		"ann@shop.example": {"ann@shop.example", "Ann@Shop.EXAMPLE", " ann@shop.example\r\n", "<ann@shop.example>", "Ann <ANN@shop.example>", "ann@shop.example."},
		"jörg@xn--bcher-kva.example": {"jörg@bücher.example", "jörg@xn--bcher-kva.example", "JÖRG@BÜCHER.example", "jörg@XN--BCHER-KVA.Example",
			"jo\u0308rg@bu\u0308cher.example", "JO\u0308RG@BU\u0308CHER.EXAMPLE", "jörg@bücher。example", "jörg@bücher.example.", "Jörg <jörg@bücher.example>",
			"<jo\u0308rg@xn--bcher-kva.example>"},
		"a@xn--strae-oqa.example": {"a@straße.example", "a@STRAßE.example", "A@xn--strae-oqa.example"},
		"a@xn--fiqs8s":            {"a@中国", "a@xn--fiqs8s"},
		"[erased]":                {Erased},
		"":                        {"", " "},
	} {
		for _, s := range spellings {
			if got := KeyOf(s); got.String() != want {
				t.Errorf("the key of %q is %q, want %q", s, got, want)
			}
			if got := KeyOf(KeyOf(s).String()); got.String() != want {
				t.Errorf("the key of the key of %q is %q, want %q", s, got, want)
			}
			if a, err := ParseAddress(s); err == nil && a.Key() != KeyOf(s) {
				t.Errorf("%q has the key %q where it is parsed, %q elsewhere", s, a.Key(), KeyOf(s))
			}
		}
	}
	different := []string{"a@bücher.example", "a@bucher.example", "b@bücher.example", "a@bücher.test", "a@xn--a.example", "a@xn--b.example", "a", "bücher.example"}
	keys := map[AddressKey]string{}
	for _, s := range different {
		if other, ok := keys[KeyOf(s)]; ok {
			t.Errorf("%q and %q have one key", s, other)
		}
		keys[KeyOf(s)] = s
	}
}
