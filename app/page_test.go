package app

import (
	"strings"
	"testing"
)

func TestPageNamesInvalidField(t *testing.T) {
	const id = "0198C0DE-0000-7000-8000-00000000000A"
	for _, tt := range []struct {
		page Page
		want string // field; empty: valid
	}{
		{Page{Limit: 1}, ""},
		{Page{Limit: MaxLimit, After: id}, ""},
		{Page{Limit: DefaultLimit, Before: id}, ""},
		{Page{}, "limit"},
		{Page{Limit: MaxLimit + 1}, "limit"},
		{Page{Limit: 1, After: "x"}, "after"},
		{Page{Limit: 1, Before: "x"}, "before"},
		{Page{Limit: 0, After: "x"}, "limit"},
		{Page{Limit: 1, After: "x", Before: "x"}, "after"},
		{Page{Limit: 1, After: id, Before: id}, "after"},
	} {
		for range 20 { // repeated, since map order must not matter
			p := tt.page
			switch err := p.Validate(); {
			case tt.want == "" && (err != nil || p.After != strings.ToLower(tt.page.After) || p.Before != strings.ToLower(tt.page.Before)):
				t.Fatalf("%+v: %v, made %+v", tt.page, err, p)
			case tt.want != "" && (CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), "`"+tt.want+"`")):
				t.Fatalf("%+v: %v, want %s", tt.page, err, tt.want)
			}
		}
	}
}
