package engine

import (
	"runtime"
	"time"
)

// nestedAfter is how long a Write waits before it checks whether it was called inside a closure.
// The check walks the stack, which is too expensive to do each time.
const nestedAfter = 2 * time.Second

const nestedWrite = "db: Write called inside a Write closure; pass the *Tx on instead"

// The names of the functions that the goroutines of a writer run, in package runtime.
const (
	writerName = "mailer/db/engine.(*DB).writeLoop"
	syncerName = "mailer/db/engine.(*DB).syncLoop"
)

// onWriter reports whether the caller runs on a goroutine of a writer: inside a closure, or in a
// function that runs after its commit. It looks at the stack, because a closure may pass any
// context on.
func onWriter() bool {
	callers := make([]uintptr, 64)
	n := runtime.Callers(2, callers)
	for n == len(callers) {
		callers = make([]uintptr, 2*n)
		n = runtime.Callers(2, callers)
	}
	frames := runtime.CallersFrames(callers[:n])
	for {
		frame, more := frames.Next()
		if frame.Function == writerName || frame.Function == syncerName {
			return true
		}
		if !more {
			return false
		}
	}
}
