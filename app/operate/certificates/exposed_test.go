package certificates

import (
	"os"
	"strings"
	"testing"
)

// TestWorldReadableKeyIsReported: a group may read the key, as certificate packages set it up.
func TestWorldReadableKeyIsReported(t *testing.T) {
	cert, key := writePair(t, t.TempDir(), 1)
	c := configOf(t, "--tls-cert", cert, "--tls-key", key)
	for mode, exposed := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: false, 0o644: true, 0o604: true, 0o602: true} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		finding := c.exposed()
		if exposed != strings.HasPrefix(finding, KeyExposed) || exposed && !strings.Contains(finding, key) {
			t.Errorf("%04o: %q", mode, finding)
		}
	}
}
