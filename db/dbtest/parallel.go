package dbtest

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// Tests allocate much and keep little: with the default, a quarter of their processor time is
// the garbage collector's.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// RaiseParallelism lets four times as many tests run side by side as there are processors,
// unless -parallel was given: most tests with a database wait for it. A TestMain calls it.
func RaiseParallelism() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0))) // a number is never refused
	}
}
