package footprint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const someMaps = `00400000-010f1000 r-xp 00000000 fe:00 10273509                           /opt/a program (deleted)
Size:              13252 kB
Rss:               12288 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
010f1000-01f33000 r--p 00cf1000 fe:00 10273509                           /opt/a program (deleted)
Anonymous:             0 kB
01f33000-02023000 rw-p 01b33000 fe:00 10273509                           /opt/a program (deleted)
Anonymous:             0 kB
02023000-02033000 r--p 01c33000 fe:00 10273509                           /opt/relocated
Anonymous:             8 kB
02043000-04070000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f6753402000-7f675340a000 r--s 00000000 fe:00 10242074                   /var/m.db-shm
Anonymous:             0 kB
7f6753762000-7f6753764000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
`

// TestCleanMappings finds mappings that can be read from files again, and no others.
func TestCleanMappings(t *testing.T) {
	if got, want := cleanMappings([]byte(someMaps)), []mapping{{0x400000, 0x10f1000}, {0x10f1000, 0x1f33000}}; !slices.Equal(got, want) {
		t.Errorf("found %x, want %x", got, want)
	}
}

// TestReleaseProgramPages keeps running while fewer pages of its program are in memory.
func TestReleaseProgramPages(t *testing.T) {
	before := resident(t)
	releaseProgramPages()
	if after := resident(t); before == 0 || after >= before {
		t.Errorf("in memory were %d kB of the program, and are %d", before, after)
	}
}

// resident returns the resident size of the program's mappings in kB. The totals of the process
// lag behind by some pages for each thread.
func resident(t *testing.T) (kib int) {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	ofFile := false
	for line := range strings.Lines(string(smaps)) {
		var n int
		if fields := strings.Fields(line); len(fields) >= 5 && strings.Contains(fields[0], "-") {
			ofFile = len(fields) > 5 && strings.HasPrefix(fields[5], "/")
		} else if k, _ := fmt.Sscanf(line, "Rss: %d kB", &n); k == 1 && ofFile {
			kib += n
		}
	}
	return kib
}
