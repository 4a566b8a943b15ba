package contactfile

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the words that the dashboard tells columns of consent by")

// TestDashboardConsentWords: the dashboard's list is generated from the tables of this package.
func TestDashboardConsentWords(t *testing.T) {
	const path = "../../../web/dashboard/consent-words.js"
	keys := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	var b strings.Builder
	b.WriteString("// Words that headings of columns about consent are told by, as app/rules/contactfile has them:\n// go test ./app/importing -run Dashboard -update\nexport const consent = {\n")
	for _, list := range []struct {
		name  string
		words []string
	}{
		{"status", keys(genericStatus)}, {"statusStems", statusStems}, {"loose", keys(looseHeadings)}, {"ended", keys(endedHeadings)}, {"other", keys(otherWords)},
		{"blackLists", blackLists}, {"mail", keys(mailWords)}, {"refusal", refusalStems}, {"bounce", bounceStems}, {"complaint", complaintStems},
		{"pending", pendingStems}, {"agreement", agreementStems}, {"negations", keys(negations)}, {"glued", joinedWords}, {"noMail", noMailHeadings},
	} {
		text, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(list.words))))
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("\t" + list.name + ": " + strings.ReplaceAll(strings.ReplaceAll(string(text), `"`, `'`), `','`, `', '`) + ",\n")
	}
	b.WriteString("};\n")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the tables have (go test ./app/importing -run Dashboard -update): %v", path, err)
	}
}
