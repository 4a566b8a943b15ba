// Package zones is time zones by name on machines that have none of their own: the
// database of IANA in gzip, a fifth of what time/tzdata adds to a binary. It knows
// nothing of ours.
package zones

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"mailer/app/pack"
)

// packed has the content (RFC 9636) of each zone under its name.
//
//go:embed zones.gz
var packed []byte

// Load returns the zone of a name of IANA's database, like Europe/Berlin: the machine's
// where it has it, else the one in the binary. Errors: there is none of that name.
// "Local" and the empty name are none.
func Load(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("time zone %q is no name", name)
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	if content := find(name); content != nil {
		return time.LoadLocationFromTZData(name, content)
	}
	return nil, err
}

// find is the content of a zone; nil: there is none.
func find(name string) (content []byte) {
	// The tests have read the pack to its end.
	_ = pack.Each(packed, func(n string, c []byte) bool {
		if n == name {
			content = c
		}
		return content == nil
	})
	return content
}
