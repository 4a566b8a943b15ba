//go:build !linux

package footprint

// releaseProgramPages does nothing here.
func releaseProgramPages() {}
