package health

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/tracking"
)

const (
	// reachTime is the timeout of a network check.
	reachTime = 10 * time.Second
	// certificateDays is how long a certificate should still be valid.
	certificateDays = 14
	// probeTarget is the target of the tracked link that is requested from the base URL. It is
	// never followed.
	probeTarget = "https://mailer.invalid/doctor/"
)

// Network is the network access of checks. The zero value uses the real network.
type Network struct {
	Transport http.RoundTripper // nil: http.DefaultTransport
	// Dial connects to a bounce listener; nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// checkBaseURL requests a page at the public URL that only this server can answer: a tracked link
// that is signed with its master key and bound to its host.
func (s *Service) checkBaseURL(ctx context.Context) []Check {
	const name = "base URL"
	base := s.Settings.BaseURL
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return []Check{bad(name, "base_url_unknown", "")}
	}
	if !s.target.Running {
		return []Check{good(name, "%s; not checked, because no server is running", base)}
	}
	target := probeTarget + app.NewID()
	token := tracking.ClickToken(s.Sealer, tracking.ClickLink{TeamID: app.NewID(), EmailID: app.NewID(), Host: tracking.HostOf(u.Host), Links: 1, Target: target})
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	answer, err := s.get(ctx, base+tracking.ClickPath+token)
	if err != nil {
		return []Check{bad(name, "base_url_down", "", "url", base, "error", err.Error())}
	}
	checks := []Check{judgeBaseURL(base, target, answer)}
	if answer.tls != nil {
		checks = append(checks, checkCertificate(u.Host, answer.tls))
	} else if !isOwn(u.Hostname()) {
		checks = append(checks, bad("TLS", "base_url_plain", "", "url", base))
	}
	return checks
}

// answer is the answer from the base URL.
type answer struct {
	status int
	body   string
	tls    *tls.ConnectionState
}

func (s *Service) get(ctx context.Context, address string) (answer, error) {
	client := http.Client{Transport: s.network.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		var why *url.Error
		if errors.As(err, &why) { // its text repeats the URL
			err = why.Err
		}
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return answer{res.StatusCode, string(body), res.TLS}, err
}

func judgeBaseURL(base, target string, a answer) Check {
	const name = "base URL"
	switch {
	case a.status == http.StatusOK && strings.Contains(a.body, target):
		return good(name, "%s reaches this server", base)
	case a.status >= 300 && a.status < 400:
		return bad(name, "base_url_redirect", "", "url", base, "status", strconv.Itoa(a.status))
	}
	return bad(name, "base_url_other", "", "url", base, "status", strconv.Itoa(a.status))
}

// checkCertificate checks how long the certificate is valid. The connection has proved that it is
// trusted and valid for the host.
func checkCertificate(host string, state *tls.ConnectionState) Check {
	const name = "TLS"
	if len(state.PeerCertificates) == 0 {
		return bad(name, "check_failed", name, "check", name, "error", "no certificate came from "+host)
	}
	until := state.PeerCertificates[0].NotAfter
	left := int(clock.Until(until).Hours() / 24)
	if left < certificateDays {
		return bad(name, "tls_ending", host, "host", host, "days", strconv.Itoa(left), "at", until.Format(time.DateOnly))
	}
	return good(name, "the certificate of %s is valid until %s", host, until.Format(time.DateOnly))
}

// isOwn reports whether a host is this machine, so that no network is involved.
func isOwn(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// checkBounces connects to the bounce listener as other mail servers do: at the public addresses
// of the host in the MX of return paths, on port 25.
func (s *Service) checkBounces(ctx context.Context) []Check {
	const name = "bounces"
	host := s.Settings.BounceHost
	switch {
	case host == "":
		return []Check{good(name, "not configured (--smtp-receive)")}
	case !s.target.Running:
		return []Check{good(name, "%s; not checked, because no server is running", host)}
	case app.BounceMX(host) == "":
		return []Check{bad(name, "bounce_host", host, "host", host)}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*reachTime)
	defer cancel()
	addresses, err := s.addressesOf(ctx, host)
	if err != nil || len(addresses) == 0 {
		return []Check{bad(name, "bounce_dns", host, "host", host, "error", cmp.Or(errText(err), host+" has no DNS address record"))}
	}
	var checks []Check
	for _, addr := range addresses {
		checks = append(checks, s.checkListener(ctx, host, addr))
	}
	return checks
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *Service) addressesOf(ctx context.Context, host string) (all []string, err error) {
	for _, t := range []app.DNSType{app.DNSA, app.DNSAAAA} {
		found, err := s.domains.Resolver(ctx, host, t)
		if err != nil {
			return nil, fmt.Errorf("the address of %s can't be looked up: %w", host, err)
		}
		for _, r := range found.Records {
			all = append(all, r.Text)
		}
	}
	return all, nil
}

// checkListener reads the greeting of the listener at an address (RFC 5321 4.2).
func (s *Service) checkListener(ctx context.Context, host, addr string) Check {
	const name = "bounces"
	dial := s.network.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	at := net.JoinHostPort(addr, "25")
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	conn, err := dial(ctx, "tcp", at)
	if err != nil {
		return bad(name, "bounce_down", host, "host", host, "at", at, "error", err.Error())
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(reachTime)) // a connection without deadlines ends with ctx
	line, err := bufio.NewReader(io.LimitReader(conn, 1024)).ReadString('\n')
	line = strings.TrimSpace(line)
	_, _ = io.WriteString(conn, "QUIT\r\n") // the answer is not read
	switch {
	case err != nil:
		return bad(name, "bounce_down", host, "host", host, "at", at, "error", "no greeting: "+err.Error())
	case !strings.HasPrefix(line, "220 "+host+" "):
		return bad(name, "bounce_other", host, "host", host, "at", at, "said", fmt.Sprintf("%.100q", line))
	}
	return good(name, "%s accepts bounces at %s", host, at)
}
