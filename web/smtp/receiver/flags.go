package receiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// Flags configure whether and where mail of other servers is received.
type Flags struct {
	listen, old, host string       // old: --bounce-listen
	listener          net.Listener // nil: not configured, or another listener receives mail of other servers too
	shared            bool         // another listener receives it
	sessions          func(c *conn.LineConn, hello func() string) smtp.Session
}

// The names of the flag for the address.
const (
	newFlag = "smtp-receive"
	oldFlag = "bounce-listen" // of earlier versions
)

// name returns the name of the flag that gave the address.
func (f *Flags) name() string {
	if f.old != "" {
		return oldFlag
	}
	return newFlag
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, newFlag, "", "listen address for mail of other servers, like :25: bounces, and mail for domains that receive (default: off)")
	flags.StringVar(&f.old, oldFlag, "", "the same as --smtp-receive")
	_ = flags.MarkHidden(oldFlag) // it exists
	flags.StringVar(&f.host, "bounce-host", "", "host name for the MX records of return paths (default: that of the base URL)")
}

// Check refuses invalid values before anything is opened. Errors name the flag.
func (f *Flags) Check() error {
	if f.listen != "" && f.old != "" && f.listen != f.old {
		return fmt.Errorf("--%s %s and --%s %s are the same flag with different addresses: give --%s alone", newFlag, f.listen, oldFlag, f.old, newFlag)
	}
	f.listen = cmp.Or(f.listen, f.old)
	if f.listen != "" {
		if _, err := net.ResolveTCPAddr("tcp", f.listen); err != nil {
			return fmt.Errorf("--%s: %w", f.name(), err)
		}
	}
	if f.host == "" {
		return nil
	}
	if f.listen == "" {
		return errors.New("--bounce-host is of no use without --smtp-receive")
	}
	if app.BounceMX(f.host) == "" {
		return fmt.Errorf("--bounce-host %q is not a host name that an MX record can name", f.host)
	}
	return nil
}

// Address is the listen address; empty: nothing is received.
func (f *Flags) Address() string { return f.listen }

// Share lets another listener receive at the address and serve Sessions.
func (f *Flags) Share() { f.shared = true }

// Open listens if configured, and determines the host name. listen opens the address of a flag; its
// errors name the flag.
func (f *Flags) Open(baseURL string, listen func(flag, address string) (net.Listener, error)) (err error) {
	if f.listen == "" {
		return nil
	}
	if !f.shared {
		if f.listener, err = listen(f.name(), f.listen); err != nil {
			return err
		}
	}
	if u, err := url.Parse(baseURL); err == nil && f.host == "" {
		f.host = cmp.Or(u.Hostname(), "localhost")
	}
	return nil
}

// Host is the host name of return paths, after Open; empty: nothing is received.
func (f *Flags) Host() string {
	if f.listener == nil && !f.shared {
		return ""
	}
	return f.host
}

// Sessions makes sessions for another listener, after Serve; nil: nothing is received.
func (f *Flags) Sessions() func(c *conn.LineConn, hello func() string) smtp.Session {
	return f.sessions
}

// Close closes the listener. The stop function of Serve ends what Serve started.
func (f *Flags) Close() {
	if f.listener != nil {
		_ = f.listener.Close() // closed already if the server ran
	}
}

// Serve receives mail until stop is called. stop gives running messages the time grace: foreign peers must not use up
// the time of a shutdown. Serve sets the configuration's Host.
func (f *Flags) Serve(cfg Config, grace time.Duration, ended chan<- error) (stop func(ctx context.Context) error) {
	if f.Host() == "" {
		return func(context.Context) error { return nil }
	}
	cfg.Host = f.host
	cfg.Log.Info("listening for bounces", "address", f.listen, "host", f.host, "mail", cfg.Mail != nil, "tls", cfg.TLS != nil)
	if app.BounceMX(f.host) == "" {
		cfg.Log.Warn("no MX record can name the host for bounces, so only trusted domains use it; give --bounce-host a host name", "host", f.host)
	}
	spool.Sweep(cfg.Dir)
	server := New(cfg)
	f.sessions = server.Session
	if !f.shared {
		go func() {
			if err := server.Serve(f.listener); err != nil {
				ended <- fmt.Errorf("listen for mail of other servers: %w", err)
			}
		}()
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		return server.Shutdown(ctx)
	}
}
