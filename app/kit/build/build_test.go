package build

import (
	"maps"
	"runtime/debug"
	"testing"
)

func TestVersionOfBuild(t *testing.T) {
	noted := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-2026"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}}}
	for _, c := range []struct {
		stamp string
		info  *debug.BuildInfo
		want  map[string]string
	}{
		{"1.2.0 c14 2026-11-23T09:00:00Z", noted, map[string]string{"version": "1.2.0", "commit": "c14", "date": "2026-11-23T09:00:00Z"}},
		{"", noted, map[string]string{"version": "v0.0.0-2026", "commit": "abc", "date": "2026-11-22T10:00:00Z"}},
		{"1.2.0", &debug.BuildInfo{}, map[string]string{"version": "(devel)", "commit": "unknown", "date": "unknown"}},
		{"", nil, map[string]string{"version": "(devel)", "commit": "unknown", "date": "unknown"}},
	} {
		if got := read(c.stamp, c.info); !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.stamp, got, c.want)
		}
	}
}
