package relayurl

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/kit/nearest"
	"mailer/app/kit/schedule"
	"mailer/app/rules/dnscheck"
)

const (
	submissionPort  = 587 // RFC 6409
	submissionsPort = 465 // RFC 8314

	defaultConnections  = 8
	maxConnections      = 256
	defaultRelayTimeout = 30 * time.Second
	maxRelayRate        = 1e6
)

// Parse parses the relays of a server; the region of the first one is the default region. The second
// and later relays of a region are its reserves. An empty list is valid: no mail is sent then.
// Errors name the position of a relay and never its text, which contains a password.
func Parse(list []string) ([]Relay, error) {
	inRegion, seen := make(map[string]int, len(list)), make(map[string]bool, len(list))
	var out []Relay
	for i, s := range list {
		r, err := ParseOne(s)
		if err != nil {
			return nil, fmt.Errorf("relay %d: %w", i+1, err)
		}
		same := r
		if same.Name = ""; slices.ContainsFunc(out, func(o Relay) bool { o.Name = ""; return o == same }) {
			return nil, fmt.Errorf("relay %d: it is given twice", i+1)
		}
		if inRegion[r.Region]++; inRegion[r.Region] > 1 && r.Name == "" {
			r.Name = fmt.Sprintf("%s#%d", r.Region, inRegion[r.Region])
		}
		if seen[r.FullName()] {
			return nil, fmt.Errorf("relay %d: %s is given twice", i+1, r.FullName())
		}
		seen[r.FullName()] = true
		out = append(out, r)
	}
	return out, nil
}

// ParseOne parses `[REGION[/NAME]=]URL`: smtp://user:pass@host:587 or smtps://user:pass@host:465, with
// the options tls, rate, daily, connections, ca, profile, dkim, spf, timeout, soft_bounce, helo
// and max_wait. Errors do not contain any of the text.
func ParseOne(s string) (Relay, error) {
	region, name, address, err := cutRegion(s)
	if err != nil {
		return Relay{}, err
	}
	u, err := url.Parse(address)
	if err != nil { // contains its input: drop it
		return Relay{}, errors.New("is not a valid URL: percent-encode special characters of the password")
	}
	r := Relay{
		Region:      region,
		Name:        name,
		TLS:         TLSRequired,
		Connections: defaultConnections,
		Timeout:     defaultRelayTimeout,
		DKIM:        true,
	}
	steps := []func(*url.URL) error{r.scheme, r.host, r.credentials, r.options}
	for _, step := range steps {
		if err := step(u); err != nil {
			return Relay{}, err
		}
	}
	if r.Password != "" && (r.TLS == TLSOff || r.TLS == TLSOpportunistic) && !isLoopback(r.Host) {
		return Relay{}, errors.New("must have TLS with a password: tls=off and tls=opportunistic need a host on this machine " +
			"(localhost, 127.0.0.1, [::1]), since a password never leaves unencrypted")
	}
	if r.Profile == "" {
		r.Profile = profileOf(r.Host)
	}
	return r, nil
}

// ByRegion returns `REGION[/NAME]=URL` for the full name of a relay and a text that may begin with
// it already. Errors do not contain any of the text.
func ByRegion(name, text string) (string, error) {
	if _, _, err := CutName(name); err != nil {
		return "", err
	}
	scheme, _, _ := strings.Cut(text, "://")
	own, _, named := strings.Cut(scheme, "=")
	switch {
	case !named:
		return name + "=" + text, nil
	case own != name:
		return "", errors.New("has a URL for another relay than " + name)
	}
	return text, nil
}

// CutName splits REGION or REGION/NAME into the region and the full name, which is empty for a region
// alone.
func CutName(full string) (region, name string, err error) {
	region, own, named := strings.Cut(full, "/")
	if !app.IsRegion(region) || named && !app.IsRegion(own) {
		return "", "", errors.New("must have a name of 1 to 40 lower-case letters, digits and dashes, as REGION or REGION/NAME")
	}
	if named {
		name = full
	}
	return region, name, nil
}

// isLoopback reports whether host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// profileOf returns the profile of the one provider that rewrites signed fields.
func profileOf(host string) Profile {
	if strings.HasPrefix(host, "email-smtp") && strings.HasSuffix(host, ".amazonaws.com") {
		return ProfileSES
	}
	return ProfileGeneric
}

// cutRegion splits off the region and the name before the URL.
func cutRegion(s string) (region, name, address string, err error) {
	scheme, _, found := strings.Cut(s, "://")
	if !found {
		return "", "", "", errors.New("must be smtp://HOST or smtps://HOST, with REGION= or REGION/NAME= before it if wanted")
	}
	full, _, named := strings.Cut(scheme, "=")
	if !named {
		return app.DefaultRegion, "", s, nil
	}
	if region, name, err = CutName(full); err != nil {
		return "", "", "", err
	}
	if region == app.CaptureRegion {
		return "", "", "", fmt.Errorf("can't have the region %s, which is reserved", app.CaptureRegion)
	}
	return region, name, s[len(full)+1:], nil
}

func (r *Relay) scheme(u *url.URL) error {
	switch u.Scheme {
	case "smtp":
		r.Port = submissionPort
	case "smtps":
		r.Port, r.TLS = submissionsPort, TLSImplicit
	default:
		return errors.New("must be smtp://HOST or smtps://HOST, with REGION= before it if wanted")
	}
	if u.Opaque != "" || u.Fragment != "" || u.RawFragment != "" || (u.Path != "" && u.Path != "/") {
		return errors.New("must not have a path or a fragment: percent-encode / and # in the password")
	}
	return nil
}

func (r *Relay) host(u *url.URL) error {
	host := u.Hostname()
	if host == "" {
		return errors.New("has no host")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		r.Host = host
	} else if r.Host, err = relayHost(host); err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return errors.New("must have a port from 1 to 65535")
		}
		r.Port = int(n)
	}
	return nil
}

// relayHost accepts names of one label and underscores, which private networks use.
func relayHost(host string) (string, error) {
	if !app.IsASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errors.New("has a host that is not valid")
		}
		host = ascii
	}
	host = strings.ToLower(host)
	if len(host) > app.MaxDomain {
		return "", errors.New("has a host that is not valid")
	}
	for _, label := range strings.Split(host, ".") {
		if !mailbox.IsHostLabel(strings.ReplaceAll(label, "_", "0")) {
			return "", errors.New("has a host that is not valid")
		}
	}
	return host, nil
}

func (r *Relay) credentials(u *url.URL) error {
	if u.User == nil {
		return nil
	}
	r.User = u.User.Username()
	r.Password, _ = u.User.Password()
	if r.User == "" || r.Password == "" {
		return errors.New("must have both user and password, or neither")
	}
	if app.HasControl(r.User) || app.HasControl(r.Password) { // NUL is the separator in AUTH PLAIN (RFC 4616)
		return errors.New("must not have control characters in user and password")
	}
	return nil
}

// options parses the query. url.ParseQuery is not used, since it converts the plus in a file name
// to a space.
func (r *Relay) options(u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	seen := map[string]bool{}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		if err != nil {
			return errors.New("has an option that is not percent-encoded well")
		}
		if err := r.option(key, value); err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("has the option %s twice", key)
		}
		seen[key] = true
	}
	return nil
}

func (r *Relay) option(key, value string) error {
	switch key {
	case "tls":
		return r.tlsOption(value)
	case "rate":
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(rate) || rate <= 0 || rate > maxRelayRate {
			return errors.New("rate must be a number of messages a second above 0")
		}
		r.Rate = rate
	case "daily":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return errors.New("daily must be a number of messages above 0")
		}
		r.Daily = n
	case "connections":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxConnections {
			return fmt.Errorf("connections must be 1 to %d", maxConnections)
		}
		r.Connections = n
	case "ca":
		if value == "" || app.HasControl(value) {
			return errors.New("ca must name a file")
		}
		r.CAFile = value
	case "profile":
		r.Profile = Profile(value)
		if r.Profile != ProfileGeneric && r.Profile != ProfileSES {
			return errors.New("profile must be generic or ses")
		}
	case "dkim":
		return onOff(&r.DKIM, key, value)
	case "soft_bounce":
		return onOff(&r.SoftBounce, key, value)
	case "helo":
		var err error
		if r.Hello, err = parseHello(value); err != nil {
			return err
		}
	case "spf":
		var err error
		if r.SPF, err = parseRelaySPF(value); err != nil {
			return err
		}
	case "timeout":
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Second || d > 10*time.Minute {
			return errors.New("timeout must be 1s to 10m")
		}
		r.Timeout = d
	case "max_wait":
		return r.maxWait(value)
	default:
		return unknownOption(key)
	}
	return nil
}

func (r *Relay) maxWait(value string) error {
	d, err := schedule.ParseSpan(value)
	if err != nil {
		return errors.New("max_wait must be a time span like 10m, 48h or 3d, or 0 for no limit")
	}
	if r.MaxWait = d; d == 0 {
		r.MaxWait = -1
	}
	return nil
}

func onOff(option *bool, key, value string) error {
	if value != "on" && value != "off" {
		return fmt.Errorf("%s must be on or off", key)
	}
	*option = value == "on"
	return nil
}

// parseHello parses the name for EHLO (RFC 5321 4.1.3, 4.1.4): a host name, or an address in
// brackets.
func parseHello(value string) (string, error) {
	wrong := errors.New("helo must be a host name, or an address like [192.0.2.1] or [IPv6:2001:db8::1]")
	if inner, ok := strings.CutPrefix(value, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", wrong
		}
		six := len(inner) > 5 && strings.EqualFold(inner[:5], "IPv6:")
		if six {
			inner = inner[5:]
		}
		addr, err := netip.ParseAddr(inner)
		if err != nil || addr.Is4() == six || addr.Zone() != "" {
			return "", wrong
		}
		if six {
			return "[IPv6:" + addr.String() + "]", nil
		}
		return "[" + addr.String() + "]", nil
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return "", wrong
	}
	host, err := relayHost(value)
	if err != nil || strings.Contains(host, "_") { // some relays check it and refuse mail
		return "", wrong
	}
	return host, nil
}

func (r *Relay) tlsOption(value string) error {
	if r.TLS == TLSImplicit {
		return errors.New("tls is for smtp:// only")
	}
	r.TLS = TLSMode(value)
	if r.TLS != TLSOpportunistic && r.TLS != TLSOff {
		return errors.New("tls must be opportunistic or off; without it STARTTLS is required")
	}
	return nil
}

// parseRelaySPF parses an SPF mechanism for the relay's outgoing addresses.
func parseRelaySPF(value string) (string, error) {
	wrong := errors.New("spf must be one of include:HOST, a:HOST, mx:HOST, ip4:ADDRESS and ip6:ADDRESS")
	if value == "" || strings.ContainsAny(value[:1], "+-~?") { // a qualifier would be needless, or no permission
		return "", wrong
	}
	name, domain, err := dnscheck.SPFTerm(value)
	if err != nil {
		return "", wrong
	}
	switch name {
	case "ip4", "ip6":
		return strings.ToLower(value), nil
	case "include", "a", "mx":
		if host, err := mailbox.ParseDomain(domain); err == nil && strings.EqualFold(value, name+":"+domain) {
			return name + ":" + host, nil
		}
	}
	return "", wrong
}

// options are the options of a relay URL.
var options = []string{"tls", "rate", "daily", "connections", "ca", "profile", "dkim", "spf", "timeout", "soft_bounce", "helo", "max_wait"}

// unknownOption suggests the option that was probably meant. It never repeats the given one, which
// may be the rest of a password with a question mark.
func unknownOption(key string) error {
	there := strings.Join(options, ", ")
	if near := nearest.Of(key, options); nearest.Near(key, near) {
		return fmt.Errorf("has an unknown option; did you mean %s? There are %s", near, there)
	}
	return fmt.Errorf("has an unknown option: there are %s", there)
}
