package archive

import (
	"strings"
	"testing"
)

// TestFormulasBehindSeparatorsAreEscaped: spreadsheets in many languages split cells at
// semicolons, even within quotes.
func TestFormulasBehindSeparatorsAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		";=1+1":                        ";'=1+1",
		"x;  =HYPERLINK(\"a\")":        "x;  '=HYPERLINK(\"a\")",
		"a\t@SUM(1)":                   "a\t'@SUM(1)",
		"a\n=1":                        "a\n'=1",
		"a\r\n＝1":                      "a\r\n'＝1",
		";-2+3+cmd|' /C calc'!A0;=2":   ";'-2+3+cmd|' /C calc'!A0;'=2",
		"=1;=2":                        "'=1;'=2",
		";":                            ";",
		"hello ;-) and a list:\n- one": "hello ;-) and a list:\n- one",
		"call; +49 170 1":              "call; +49 170 1",
		"a=b; c":                       "a=b; c",
	} {
		if got := EscapeFormula(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if long := strings.Repeat(";-", 1<<19); EscapeFormula(long) != long {
		t.Error("a long text changed")
	}
}
