package submission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// devAddress is the default address of `serve --dev`.
const devAddress = "127.0.0.1:2525"

// Flags configure whether and where mail is received over SMTP.
type Flags struct {
	values []string
	listen []listen
	secure bool // a certificate is configured
}

// listen is an address of Flags.
type listen struct {
	address  string
	port     conn.Port
	listener net.Listener // nil: not open
	implicit bool         // not configured: the server also starts without it
	err      error        // why it could not be opened then
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.values, "smtp-listen", nil, "listen address for mail submission by SMTP, like :587; repeatable; implicit TLS on ports 465 and 2465 or with tls://, otherwise STARTTLS, as with starttls:// (default: off)")
}

// Check refuses invalid values before anything is opened. dev adds an address if none is given;
// secure means that a certificate is configured; bounces is the address for bounces, or empty.
// Errors name the flag.
func (f *Flags) Check(dev, secure bool, bounces string) error {
	values := f.values
	if dev && len(values) == 0 {
		values = []string{devAddress}
	}
	f.listen, f.secure = nil, secure
	for _, value := range values {
		if value == "" { // none, even with --dev
			continue
		}
		l, err := parseListen(value)
		if err != nil {
			return err
		}
		l.implicit = len(f.values) == 0
		if err := l.check(secure, bounces); err != nil {
			return err
		}
		if slices.ContainsFunc(f.listen, func(other listen) bool { return other.address == l.address }) {
			return fmt.Errorf("--smtp-listen %s is given twice", value)
		}
		f.listen = append(f.listen, l)
	}
	return nil
}

// parseListen parses an address and its prefix.
func parseListen(value string) (l listen, err error) {
	scheme, address, found := strings.Cut(value, "://")
	if !found {
		scheme, address = "", value
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	switch {
	case err != nil:
		return l, fmt.Errorf("--smtp-listen: %w", err)
	case scheme == "":
		l.port.TLS = at.Port == 465 || at.Port == 2465
	case scheme == "tls":
		l.port.TLS = true
	case scheme != "starttls":
		return l, fmt.Errorf("--smtp-listen %q: the address may begin with tls:// or starttls://", value)
	}
	l.address = address
	return l, nil
}

// check refuses an address at which others could read keys, and determines whether it receives
// bounces too.
func (l *listen) check(secure bool, bounces string) error {
	at, err := net.ResolveTCPAddr("tcp", l.address)
	if err != nil {
		return fmt.Errorf("--smtp-listen: %w", err)
	}
	switch {
	case !secure && l.port.TLS:
		return fmt.Errorf("--smtp-listen %s speaks TLS from the start, and there is no certificate: give --tls auto, or --tls-cert and --tls-key", l.address)
	case !secure && !at.IP.IsLoopback():
		return fmt.Errorf("--smtp-listen %s is reached by others than this machine, and there is no certificate: give --tls auto, or --tls-cert and --tls-key, or listen on 127.0.0.1", l.address)
	}
	l.port.Bounces = bounces != "" && sameAddress(bounces, at)
	if l.port.Bounces && l.port.TLS {
		return errors.New("--smtp-receive can't share an address with an --smtp-listen that speaks TLS from the start: other servers bring mail in the clear, or by STARTTLS")
	}
	return nil
}

func sameAddress(address string, as *net.TCPAddr) bool {
	at, err := net.ResolveTCPAddr("tcp", address)
	return err == nil && at.String() == as.String()
}

// TakesBounces reports whether one of the addresses receives bounces too.
func (f *Flags) TakesBounces() bool {
	return slices.ContainsFunc(f.listen, func(l listen) bool { return l.port.Bounces })
}

// Open listens if configured. listen opens the address of a flag; its errors name the flag.
func (f *Flags) Open(listen func(flag, address string) (net.Listener, error)) (err error) {
	for i := range f.listen {
		l := &f.listen[i]
		switch l.listener, err = listen("smtp-listen", l.address); {
		case err != nil && l.implicit:
			l.listener, l.err = nil, err
		case err != nil:
			return err
		}
	}
	return nil
}

// Ports returns the open addresses, each with its kind of TLS: implicit, starttls or none.
func (f *Flags) Ports() (out [][2]string) {
	for _, l := range f.listen {
		mode := "none"
		switch {
		case l.listener == nil:
			continue
		case l.port.TLS:
			mode = "implicit"
		case f.secure:
			mode = "starttls"
		}
		out = append(out, [2]string{l.listener.Addr().String(), mode})
	}
	return out
}

// Close closes the listeners. The stop function of Serve ends what Serve started.
func (f *Flags) Close() {
	for _, l := range f.listen {
		if l.listener != nil {
			_ = l.listener.Close() // closed already if the server ran
		}
	}
}

// HostOf returns the host name for the greeting of a server with the given base URL.
func HostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "localhost"
	}
	return cmp.Or(u.Hostname(), "localhost")
}

// Serve receives mail until stop is called. stop gives running messages the time patience.
func (f *Flags) Serve(cfg Config, grace time.Duration, ended chan<- error) (stop func(ctx context.Context) error) {
	if len(f.listen) == 0 {
		return func(context.Context) error { return nil }
	}
	spool.Sweep(cfg.Dir)
	server := New(cfg)
	for _, l := range f.listen {
		if l.listener == nil {
			cfg.Log.Warn("no mail is taken by SMTP; give --smtp-listen another address, or none", "err", l.err)
			continue
		}
		cfg.Log.Info("listening for mail by SMTP", "address", l.listener.Addr().String(), "tls", tlsOf(l.port, cfg.TLS != nil), "bounces", l.port.Bounces)
		go func() {
			if err := server.Serve(l.listener, l.port); err != nil {
				ended <- fmt.Errorf("listen for mail by SMTP: %w", err)
			}
		}()
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		return server.Shutdown(ctx)
	}
}

// tlsOf describes the port's TLS for the log.
func tlsOf(p conn.Port, certificate bool) slog.Value {
	switch {
	case p.TLS:
		return slog.StringValue("from the start")
	case certificate:
		return slog.StringValue("STARTTLS")
	}
	return slog.StringValue("none")
}
