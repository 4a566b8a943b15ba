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
)

// devAddress is where `serve --dev` takes mail unless another address is given.
const devAddress = "127.0.0.1:2525"

// Flags say whether and where mail is taken by SMTP.
type Flags struct {
	values []string
	listen []listen
	secure bool // there is a certificate
}

// listen is an address of Flags.
type listen struct {
	address  string
	port     Port
	listener net.Listener // nil: it was not opened
	implicit bool         // nobody asked for it: the server starts without it too
	fault    error        // why it was not opened then
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.values, "smtp-listen", nil, "listen address for mail submission by SMTP, like :587; repeatable; implicit TLS on ports 465 and 2465 or with tls://, otherwise STARTTLS, as with starttls:// (default: off)")
}

// Check refuses what can't be meant, before anything is opened. dev: an address is made
// up where none is given; secure: there is a certificate; bounces: the address at which
// they are taken, or none. Errors name the flag.
func (f *Flags) Check(dev, secure bool, bounces string) error {
	values := f.values
	if dev && len(values) == 0 {
		values = []string{devAddress}
	}
	f.listen, f.secure = nil, secure
	for _, value := range values {
		if value == "" { // none, with --dev too
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

// parseListen reads an address with what may stand before it.
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

// check refuses an address at which keys would be read by others, and settles whether
// bounces are taken there.
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
	l.port.Bounces = bounces != "" && same(bounces, at)
	if l.port.Bounces && l.port.TLS {
		return errors.New("--bounce-listen can't share an address with an --smtp-listen that speaks TLS from the start: other servers bring bounces in the clear, or by STARTTLS")
	}
	return nil
}

func same(address string, as *net.TCPAddr) bool {
	at, err := net.ResolveTCPAddr("tcp", address)
	return err == nil && at.String() == as.String()
}

// TakesBounces reports whether one of the addresses is that of bounces too.
func (f *Flags) TakesBounces() bool {
	return slices.ContainsFunc(f.listen, func(l listen) bool { return l.port.Bounces })
}

// Open listens, where that is asked for. listen opens the address of a flag; its errors
// name that.
func (f *Flags) Open(listen func(flag, address string) (net.Listener, error)) (err error) {
	for i := range f.listen {
		l := &f.listen[i]
		switch l.listener, err = listen("smtp-listen", l.address); {
		case err != nil && l.implicit:
			l.listener, l.fault = nil, err
		case err != nil:
			return err
		}
	}
	return nil
}

// Ports are the addresses that were opened, each with how TLS is spoken there: implicit,
// starttls or none.
func (f *Flags) Ports() (out [][2]string) {
	for _, l := range f.listen {
		spoken := "none"
		switch {
		case l.listener == nil:
			continue
		case l.port.TLS:
			spoken = "implicit"
		case f.secure:
			spoken = "starttls"
		}
		out = append(out, [2]string{l.listener.Addr().String(), spoken})
	}
	return out
}

// Close ends the listeners; what Serve began is ended by its stop.
func (f *Flags) Close() {
	for _, l := range f.listen {
		if l.listener != nil {
			_ = l.listener.Close() // closed by the server before, where one ran
		}
	}
}

// HostOf is the name in the banner of a server that callers reach at baseURL.
func HostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "localhost"
	}
	return cmp.Or(u.Hostname(), "localhost")
}

// Serve takes mail until stop is called, which leaves messages on their way a patience.
func (f *Flags) Serve(cfg Config, patience time.Duration, ended chan<- error) (stop func(ctx context.Context) error) {
	if len(f.listen) == 0 {
		return func(context.Context) error { return nil }
	}
	sweep(cfg.Dir)
	door := New(cfg)
	for _, l := range f.listen {
		if l.listener == nil {
			cfg.Log.Warn("no mail is taken by SMTP; give --smtp-listen another address, or none", "err", l.fault)
			continue
		}
		cfg.Log.Info("listening for mail by SMTP", "address", l.listener.Addr().String(), "tls", l.port.words(cfg.TLS != nil), "bounces", l.port.Bounces)
		go func() {
			if err := door.Serve(l.listener, l.port); err != nil {
				ended <- fmt.Errorf("listen for mail by SMTP: %w", err)
			}
		}()
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return door.Shutdown(ctx)
	}
}

// words say for the log how TLS is spoken.
func (p Port) words(certificate bool) slog.Value {
	switch {
	case p.TLS:
		return slog.StringValue("from the start")
	case certificate:
		return slog.StringValue("STARTTLS")
	}
	return slog.StringValue("none")
}
