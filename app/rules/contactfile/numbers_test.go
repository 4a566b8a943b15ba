package contactfile

import "testing"

func TestLocalNumbers(t *testing.T) {
	for _, tt := range []struct {
		text, kind string
		want       float64
		ok         bool
	}{
		{"1.234,50", decimalComma, 1234.5, true},
		{"1.234.567", decimalComma, 1234567, true},
		{"-0,5", decimalComma, -0.5, true},
		{"1 234,5", decimalComma, 1234.5, true},
		{"1\u202f234,5", decimalComma, 1234.5, true},
		{"1234", decimalComma, 1234, true},
		{"1,234.50", decimalComma, 0, false},
		{"12.34", decimalComma, 0, false}, // neither groups of three nor a decimal comma
		{"1.234,5,0", decimalComma, 0, false},
		{"1,234.50", decimalPoint, 1234.5, true},
		{"1'234.50", decimalPoint, 1234.5, true},
		{"1’234’567", decimalPoint, 1234567, true},
		{"+7", decimalPoint, 7, true},
		{"1.234,50", decimalPoint, 0, false},
		{"1,234'567", decimalPoint, 0, false},
		{"12,50", decimalPoint, 0, false},
		{"1e9", decimalPoint, 0, false},
		{"", decimalPoint, 0, false},
		{"1,234", "number", 0, false}, // can be either: the type says which
		{"1e3", "number", 1000, true},
	} {
		got, err := parseNumber(tt.text, tt.kind)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q as %s: %v %v, want %v", tt.text, tt.kind, got, err, tt.want)
		}
	}
}
