// Package quiet drops a line that github.com/VictoriaMetrics/metrics logs before main begins in
// every command, if the kernel or the container has no pressure figures (PSI). Importing the
// package is enough.
//
// Failure policy: all other lines are logged unchanged.
package quiet

import (
	"bytes"
	"io"
	"log"
	"os"
)

// The package has so few imports that it is initialized before the library, which imports
// net/http: of the packages that are ready, Go initializes the one whose path sorts first.
func init() { log.SetOutput(filter{os.Stderr}) }

var dropped = []byte("INFO: metrics: disable exposing PSI metrics")

// filter drops the line and passes on all others.
type filter struct{ to io.Writer }

// Write implements io.Writer.
func (f filter) Write(line []byte) (int, error) {
	if bytes.Contains(line, dropped) {
		return len(line), nil
	}
	return f.to.Write(line)
}
