//go:build !linux

package engine

import "os"

// syncData syncs a file.
func syncData(f *os.File) error { return f.Sync() }
