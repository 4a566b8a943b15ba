package web

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/web/rest"
)

const (
	// DefaultRateLimit is how many requests a second a key may make where nothing
	// else is configured.
	DefaultRateLimit = 100
	// teamKeys is how many keys' limit a team has where nothing else is configured.
	teamKeys = 5
)

// Bounds are what callers may ask of the server.
type Bounds struct {
	// RateLimit is how many requests a second each key may make; 0: no limit,
	// and no ratelimit headers.
	RateLimit int
	// TeamRateLimit is how many all keys of a team may make together; 0: no limit.
	TeamRateLimit int
	// MaxConnections is how many connections there may be at once; 0: the default.
	MaxConnections int
	// Memory is how many bytes the process may have; 0: as many as there are.
	Memory int64
	// TrustedProxies are the addresses whose X-Forwarded-For is believed; none: those
	// of this machine.
	TrustedProxies []netip.Prefix
}

// BoundFlags are the flags that say the bounds of a server.
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

// Bounds returns what the flags say. Errors name the flag.
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
