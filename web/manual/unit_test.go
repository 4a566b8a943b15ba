package manual

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageLines begin lines that a hand-made unit may have differently from the package's: paths,
// relay and user.
var packageLines = []string{"ExecStart=", "LoadCredential=", "Environment=", "DynamicUser=", "  --"}

// unexpectedLines returns the lines of complete service units on a page that the package's unit
// lacks, and the number of such units.
func unexpectedLines(page, unit string) (unexpected []string, shown int) {
	known := strings.Split(unit, "\n")
	for _, block := range regexp.MustCompile("(?ms)^```ini\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(block[1], "\nExecStart=") {
			continue
		}
		shown++
		for _, line := range strings.Split(block[1], "\n") {
			own := slices.ContainsFunc(packageLines, func(begin string) bool { return strings.HasPrefix(line, begin) })
			if !own && !slices.Contains(known, line) {
				unexpected = append(unexpected, line)
			}
		}
	}
	return unexpected, shown
}

// The Debian package uses this unit (.ci/release) with another path of the program.
func TestManualUnitMatchesPackage(t *testing.T) {
	unit := string(read(t, "mailer.service"))
	if !strings.Contains(unit, "\nExecStart=/usr/local/bin/mailer serve --migrate --db /var/lib/mailer/mailer.db\n") {
		t.Error(".ci/release puts /usr/bin/ in the place of /usr/local/bin/, and the package's scripts know the database")
	}
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, name := range append(names, "../../README.md") {
		unexpected, shown := unexpectedLines(string(read(t, name)), unit)
		if all += shown; len(unexpected) > 0 {
			t.Errorf("%s has %q, which mailer.service has not", name, unexpected)
		}
	}
	if all == 0 {
		t.Error("no page shows the service")
	}
	if unexpected, _ := unexpectedLines("```ini\n[Service]\nExecStart=/x\nRestart=never\n```\n", unit); !slices.Equal(unexpected, []string{"Restart=never"}) {
		t.Errorf("of a unit that restarts never it finds %q", unexpected)
	}
}
