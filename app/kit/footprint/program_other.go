//go:build !linux

package footprint

// releaseProgramPages does nothing on other systems.
func releaseProgramPages() {}
