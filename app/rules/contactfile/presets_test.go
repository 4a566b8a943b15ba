package contactfile

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listIn returns the presets that pattern finds in the part of a file that part finds.
func listIn(t *testing.T, path, part, pattern string) (out []string) {
	t.Helper()
	source, err := os.ReadFile("../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(part).FindSubmatch(source)
	if found == nil {
		t.Fatalf("%s: nothing matches %s", path, part)
	}
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(found[1], -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// TestPresetLists: the API and the dashboard offer all presets.
func TestPresetLists(t *testing.T) {
	var all []string
	for _, p := range Presets {
		all = append(all, string(p))
	}
	if got := listIn(t, "web/audience/imports.go", `query:"preset" enum:"([^"]*)"`, `(\w+)`); !slices.Equal(got, all) {
		t.Errorf("the API has the presets %q, not %q", got, all)
	}
	if got := listIn(t, "web/dashboard/csv-head.js", `export const services = (.*);`, `\['(\w+)', `); !slices.Equal(got, all) {
		t.Errorf("the dashboard has the presets %q, not %q", got, all)
	}
	if PresetNames != "mailchimp, brevo, sendgrid, postmark, hubspot, mailerlite, resend or listmonk" {
		t.Errorf("messages list %s", PresetNames)
	}
}

// TestDashboardMarks: the dashboard detects presets by the same headings.
func TestDashboardMarks(t *testing.T) {
	var all []string
	for _, m := range marks {
		all = append(all, string(m.preset)+"', '"+m.all)
	}
	got := listIn(t, "web/dashboard/csv-head.js", `(?s)const marks = \[\n(.*?)\n\];`, `\['([^\]]*)'\]`)
	if !slices.Equal(got, all) {
		t.Errorf("the dashboard has the headings\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
}
