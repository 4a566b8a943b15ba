package web

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/web/rest"
)

const (
	// DefaultRateLimit is the default number of requests per second for a key.
	DefaultRateLimit = 100
	// teamKeys is the default limit of a team, in multiples of a key's limit.
	teamKeys = 5
)

// Bounds are the limits of a server.
type Bounds struct {
	// RateLimit is the number of requests per second for each key; 0: no limit, and no ratelimit
	// headers.
	RateLimit int
	// TeamRateLimit is the number of requests per second for all keys of a team together; 0: no
	// limit.
	TeamRateLimit int
	// MaxConnections is the number of open connections; 0: the default.
	MaxConnections int
	// Memory is the memory of the process in bytes; 0: unlimited.
	Memory int64
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted; none: those of this
	// machine.
	TrustedProxies []netip.Prefix
}

// BoundFlags are the flags of the limits.
type BoundFlags struct {
	bounds  Bounds
	trusted []string
	flags   *pflag.FlagSet
}

// Bind adds the flags to those of a command.
func (f *BoundFlags) Bind(flags *pflag.FlagSet) {
	f.flags = flags
	flags.IntVar(&f.bounds.RateLimit, "rate-limit", DefaultRateLimit, "requests per second and API key; 0: no limit")
	flags.IntVar(&f.bounds.TeamRateLimit, "team-rate-limit", teamKeys*DefaultRateLimit, "requests per second of all API keys of a team; five times --rate-limit if only that is set; 0: no limit")
	flags.IntVar(&f.bounds.MaxConnections, "max-connections", rest.DefaultConnections, "concurrent connections to the HTTP API")
	flags.StringArrayVar(&f.trusted, "trusted-proxy", nil, "IP range (CIDR) of proxies whose X-Forwarded-For header is trusted; repeatable (default: loopback addresses)")
}

// Bounds returns the values of the flags. Errors name the flag.
func (f *BoundFlags) Bounds() (Bounds, error) {
	out := f.bounds
	if f.flags.Changed("rate-limit") && !f.flags.Changed("team-rate-limit") {
		out.TeamRateLimit = teamKeys * out.RateLimit
	}
	if out.MaxConnections < 1 {
		return out, fmt.Errorf("--max-connections must be a number above 0, is %d", out.MaxConnections)
	}
	var err error
	if out.TrustedProxies, err = app.ParseRanges(f.trusted); err != nil {
		return out, fmt.Errorf("--trusted-proxy: %w", err)
	}
	return out, nil
}
