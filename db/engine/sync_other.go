//go:build !linux

package engine

import "os"

// syncData has what was written to a file be on disk.
func syncData(f *os.File) error { return f.Sync() }
