package engine

import (
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// verifyFull is the sslmode that requires TLS and a certificate for the name of the server.
const verifyFull = "verify-full"

// sslMode returns the sslmode of the URL of a database, or else PGSSLMODE; empty: neither is set.
func sslMode(name string) string {
	if u, err := url.Parse(name); err == nil {
		if mode := u.Query().Get("sslmode"); mode != "" {
			return mode
		}
	}
	return os.Getenv("PGSSLMODE")
}

// remoteHost returns a host that is reached over a network; empty: all hosts are on this machine.
func remoteHost(config *pgconn.Config) string {
	hosts := []string{config.Host}
	for _, f := range config.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		addr, err := netip.ParseAddr(host)
		if isSocket := strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@"); isSocket || host == "localhost" || err == nil && addr.Unmap().IsLoopback() {
			continue
		}
		return host
	}
	return ""
}

// withTLS adds the default sslmode to the URL of a database that names none: a server on another
// machine must prove its identity. Error: that of the driver.
func withTLS(name string) (string, error) {
	config, err := pgconn.ParseConfig(name)
	if err != nil || sslMode(name) != "" || remoteHost(config) == "" {
		return name, err
	}
	if strings.Contains(name, "?") {
		return name + "&sslmode=" + verifyFull, nil
	}
	return name + "?sslmode=" + verifyFull, nil
}

// RemoteTLS describes how the connection to a PostgreSQL database is protected.
type RemoteTLS struct {
	Host string // empty: the database is on this machine
	Mode string // sslmode of the URL, or the default
	Weak bool   // the connection could be read or intercepted
}

// TLSOf returns how the connection to a database is protected; the zero value for a file, and for
// a URL that cannot be parsed.
func TLSOf(name string) (out RemoteTLS) {
	if !IsRemote(name) {
		return out
	}
	config, err := pgconn.ParseConfig(name)
	if err != nil {
		return out
	}
	if out.Host = remoteHost(config); out.Host == "" {
		return out
	}
	if out.Mode = sslMode(name); out.Mode == "" {
		out.Mode = verifyFull
	}
	switch out.Mode {
	case "disable", "allow", "prefer", "require":
		out.Weak = true
	}
	return out
}

// HasPassword reports whether the URL of a database contains a password.
func HasPassword(name string) bool {
	if !IsRemote(name) {
		return false
	}
	u, err := url.Parse(name)
	if err != nil {
		return strings.Contains(name, "@")
	}
	password, _ := u.User.Password()
	return password != "" || u.Query().Get("password") != ""
}
