package manual

import (
	"regexp"
	"strings"
	"testing"
)

// shownUnits are the units of systemd that a page shows whole.
func shownUnits(page string) (units []string) {
	for _, block := range regexp.MustCompile("(?ms)^```ini\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if strings.Contains(block[1], "[Unit]\n") {
			units = append(units, block[1])
		}
	}
	return units
}

// The Debian package has its unit from here (.ci/release), but for where the program lies.
func TestTheServiceShownIsThatOfThePackage(t *testing.T) {
	for _, name := range []string{"../../README.md"} {
		units := shownUnits(string(read(t, name)))
		if len(units) != 1 || units[0] != string(read(t, "mailer.service")) {
			t.Errorf("%s shows %d units, which must be one, that of mailer.service", name, len(units))
		}
	}
	if !strings.Contains(string(read(t, "mailer.service")), "ExecStart=/usr/local/bin/mailer ") {
		t.Error(".ci/release looks for /usr/local/bin/ to put /usr/bin/ there")
	}
}
