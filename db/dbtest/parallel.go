package dbtest

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// Tests allocate much and keep little: with the default GOGC a quarter of their CPU time is garbage
// collection.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// RaiseParallelism lets four times as many tests run in parallel as there are CPUs, unless
// -parallel was given, because most database tests wait for I/O. TestMain calls it.
func RaiseParallelism() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0))) // cannot fail for a number
	}
}
