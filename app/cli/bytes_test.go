package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestBytesFlag(t *testing.T) {
	var n int64
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	BytesFlag(flags, &n, "max", 1<<30, "")
	if flag := flags.Lookup("max"); n != 1<<30 || flag.DefValue != "1GiB" {
		t.Errorf("%d %s", n, flag.DefValue)
	}
	for text, want := range map[string]struct {
		n     int64
		shown string
	}{"500MB": {500_000_000, "500000000"}, "2 MiB": {2 << 20, "2MiB"}, "1.5GiB": {3 << 29, "1536MiB"}, "1025": {1025, "1025"}, "4K": {4000, "4000"}} {
		if err := flags.Set("max", text); err != nil || n != want.n || flags.Lookup("max").Value.String() != want.shown {
			t.Errorf("%s: %d %s %v", text, n, flags.Lookup("max").Value, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "1 parsec", "99999999999GB"} {
		if flags.Set("max", text) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
