package cli

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"
)

// byteSize is a flag for a number of bytes, like 500MB or 1GiB.
type byteSize int64

// BytesFlag adds a flag for a number of bytes.
func BytesFlag(flags *pflag.FlagSet, to *int64, name string, value int64, usage string) {
	*to = value
	flags.Var((*byteSize)(to), name, usage)
}

// String implements pflag.Value.
func (b *byteSize) String() string {
	for _, unit := range []struct {
		name string
		size byteSize
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if *b >= unit.size && *b%unit.size == 0 {
			return fmt.Sprintf("%d%s", *b/unit.size, unit.name)
		}
	}
	return fmt.Sprint(int64(*b))
}

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64/2 {
		return fmt.Errorf("must be a number of bytes like 500MB or 1GiB")
	}
	*b = byteSize(n)
	return nil
}

// Type implements pflag.Value.
func (b *byteSize) Type() string { return "bytes" }
