package app

import (
	"slices"
	"testing"
)

func TestParseRanges(t *testing.T) {
	got, err := ParseRanges([]string{"10.1.2.3/8,127.0.0.1", " ::1  fd00::1/8 ", "::ffff:192.168.0.1"})
	want := []string{"10.0.0.0/8", "127.0.0.1/32", "::1/128", "fd00::/8", "192.168.0.1/32"}
	var texts []string
	for _, p := range got {
		texts = append(texts, p.String())
	}
	if err != nil || !slices.Equal(texts, want) {
		t.Errorf("%q %v", texts, err)
	}
	for _, bad := range []string{"10.0.0.0/33", "localhost", "10.0.0.0/8/8", "fe80::1%eth0", "::ffff:10.0.0.0/104", "10.0.0"} {
		if _, err := ParseRanges([]string{bad}); err == nil {
			t.Errorf("%s is a range", bad)
		}
	}
	if none, err := ParseRanges(nil); err != nil || none != nil {
		t.Errorf("of nothing: %v %v", none, err)
	}
}
