// Package quiet drops a line that github.com/VictoriaMetrics/metrics writes to standard error
// before main begins, in each command, where the kernel or the container has no pressure
// figures of its control group. Importing it is enough.
//
// Failure policy: every other line goes where it went.
package quiet

import (
	"bytes"
	"io"
	"log"
	"os"
)

// The package imports so little that it is initialized before the library, which imports
// net/http: of those that can be, Go initializes the package whose path sorts first.
func init() { log.SetOutput(filter{os.Stderr}) }

var dropped = []byte("INFO: metrics: disable exposing PSI metrics")

// filter writes all lines but the one.
type filter struct{ to io.Writer }

// Write implements io.Writer.
func (f filter) Write(line []byte) (int, error) {
	if bytes.Contains(line, dropped) {
		return len(line), nil
	}
	return f.to.Write(line)
}
