package contactfile

import (
	"os"
	"regexp"
	"testing"
)

// TestDashboardHeadings: the dashboard and the server recognize the same headings.
func TestDashboardHeadings(t *testing.T) {
	source, err := os.ReadFile("../../../web/dashboard/csv-head.js")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)const meanings = \{(.*?)\n\};`).FindSubmatch(source)
	if list == nil {
		t.Fatal("there is no list of headings")
	}
	known := map[string]string{}
	for _, m := range regexp.MustCompile(`(\p{L}+): '(\w+)'`).FindAllSubmatch(list[1], -1) {
		known[string(m[1])] = string(m[2])
		if got := (headingSet{string(m[1])}).field(0); got != string(m[2]) {
			t.Errorf("the heading %s is %q here, and %s in the dashboard", m[1], got, m[2])
		}
	}
	for _, all := range []map[string]string{fieldHeadings, presetHeadings} {
		for heading := range all {
			if field := (headingSet{heading}).field(0); field != "" && known[heading] != field {
				t.Errorf("the heading %s is %s here, and %q in the dashboard", heading, field, known[heading])
			}
		}
	}
	if both := (headingSet{"Email", "Mail"}); both.field(0) != "email" || both.field(1) != "" {
		t.Errorf("with Email, Mail is %q", both.field(1))
	}
}
