//go:build !linux

package footprint

// forgetProgram does nothing here.
func forgetProgram() {}
