package engine

import (
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// verifyFull has a connection to PostgreSQL use TLS and prove that the server is the one that
// its name says.
const verifyFull = "verify-full"

// sslMode is the mode that the URL of a database names, or else PGSSLMODE; empty: neither.
func sslMode(name string) string {
	if u, err := url.Parse(name); err == nil {
		if mode := u.Query().Get("sslmode"); mode != "" {
			return mode
		}
	}
	return os.Getenv("PGSSLMODE")
}

// afar is a host of a database that is reached over a network; empty: all are on this
// machine.
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

// withTLS is the URL of a database with the mode of TLS that counts where it names none:
// a server that is not on this machine has to prove who it is. Error: that of the driver.
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

// RemoteTLS is how the way to a database elsewhere is protected.
type RemoteTLS struct {
	Host string // empty: the database is on this machine
	Mode string // sslmode of the URL, or what counts without it
	Weak bool   // somebody between could read along, or be the server
}

// TLSOf says how the way to a database is protected; the zero value for a file, and for a
// URL that can't be read.
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

// HasPassword reports whether the name of a database holds a password.
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
