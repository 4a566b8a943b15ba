package app

import (
	"regexp"
	"testing"
)

func TestIsEnhancedCode(t *testing.T) {
	for code, want := range map[string]bool{
		"2.0.0": true, "4.2.2": true, "5.1.1": true, "5.7.26": true, "5.999.999": true, "5.0.10": true,
		"5.01.1": false, "5.1.01": false, "5.00.0": false, "05.1.1": false, "3.1.1": false, "1.0.0": false, "5.1": false, "5.1.1.1": false,
		"5.1000.1": false, "5.1.": false, ".1.1": false, "5..1": false, "5.1.1 ": false, " 5.1.1": false, "5.-1.1": false, "5.+1.1": false,
		"5.1.1\n": false, "5.1.x": false, "5.１.1": false, "": false,
	} {
		if IsEnhancedCode(code) != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}

var enhancedForm = regexp.MustCompile(`\A[245]\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})\z`)

func FuzzEnhancedCode(f *testing.F) {
	for _, s := range []string{"5.1.1", "5.01.1", "#4.2.2.", "5.1.1.7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if IsEnhancedCode(s) != enhancedForm.MatchString(s) {
			t.Errorf("%q: %v", s, IsEnhancedCode(s))
		}
	})
}
