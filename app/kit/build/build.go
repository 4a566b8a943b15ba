// Package build tells which version of the program this is.
package build

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// stamp is "VERSION COMMIT DATE" in a release, set by its linker (.ci/release: -X
// mailer/app/kit/build.stamp=…), and empty in other builds. It is a variable because a linker can set
// nothing else; it is never assigned.
var stamp string

// Info returns the version, the commit with its date (UTC), and the given version of SQLite.
func Info(sqlite string) map[string]string {
	info, _ := debug.ReadBuildInfo()
	v := read(stamp, info)
	v["sqlite"] = sqlite
	return v
}

// Version returns the version.
func Version() string { return Info("")["version"] }

// Text returns the version for a person.
func Text() string {
	v := Info("")
	if v["commit"] == "unknown" {
		return v["version"] + ", of an unknown commit"
	}
	return fmt.Sprintf("%s, commit %s of %s", v["version"], v["commit"], v["date"])
}

// read reads a release's stamp, or Go's own build information; info may be nil.
func read(stamp string, info *debug.BuildInfo) map[string]string {
	v := map[string]string{"version": "(devel)", "commit": "unknown", "date": "unknown"}
	if release := strings.Fields(stamp); len(release) == 3 {
		v["version"], v["commit"], v["date"] = release[0], release[1], release[2]
		return v
	}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v["version"] = info.Main.Version
	}
	names := map[string]string{"vcs.revision": "commit", "vcs.time": "date"}
	for _, s := range info.Settings {
		if name, ok := names[s.Key]; ok {
			v[name] = s.Value
		}
	}
	return v
}
