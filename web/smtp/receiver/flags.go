package receiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/sending/providerevents"
	"mailer/web/smtp/conn"
)

// Flags configure whether and where bounces are received.
type Flags struct {
	listen, host string
	listener     net.Listener // nil: not configured, or another listener receives bounces too
	shared       bool         // another listener receives bounces
	sessions     func(c *conn.Conn) smtp.Session
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "bounce-listen", "", "listen address of the SMTP server for bounces and complaints, like :25 (default: off)")
	flags.StringVar(&f.host, "bounce-host", "", "host name for the MX records of return paths (default: that of the base URL)")
}

// Check refuses invalid values before anything is opened. Errors name the flag.
func (f *Flags) Check() error {
	if f.listen != "" {
		if _, err := net.ResolveTCPAddr("tcp", f.listen); err != nil {
			return fmt.Errorf("--bounce-listen: %w", err)
		}
	}
	if f.host == "" {
		return nil
	}
	if f.listen == "" {
		return errors.New("--bounce-host is of no use without --bounce-listen")
	}
	if app.BounceMX(f.host) == "" {
		return fmt.Errorf("--bounce-host %q is not a host name that an MX record can name", f.host)
	}
	return nil
}

// Address is the listen address; empty: bounces are not received.
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
		if f.listener, err = listen("bounce-listen", f.listen); err != nil {
			return err
		}
	}
	if u, err := url.Parse(baseURL); err == nil && f.host == "" {
		f.host = cmp.Or(u.Hostname(), "localhost")
	}
	return nil
}

// Host is the host name of return paths, after Open; empty: bounces are not received.
func (f *Flags) Host() string {
	if f.listener == nil && !f.shared {
		return ""
	}
	return f.host
}

// Sessions makes sessions for another listener, after Serve; nil: bounces are not received.
func (f *Flags) Sessions() func(c *conn.Conn) smtp.Session { return f.sessions }

// Close closes the listener. The stop function of Serve ends what Serve started.
func (f *Flags) Close() {
	if f.listener != nil {
		_ = f.listener.Close() // closed already if the server ran
	}
}

// Serve receives bounces until stop is called. stop gives running messages the time patience:
// foreign peers must not use up the time of a shutdown.
func (f *Flags) Serve(log *slog.Logger, to *providerevents.Service, grace time.Duration, ended chan<- error) (stop func(ctx context.Context) error) {
	if f.Host() == "" {
		return func(context.Context) error { return nil }
	}
	log.Info("listening for bounces", "address", f.listen, "host", f.host)
	if app.BounceMX(f.host) == "" {
		log.Warn("no MX record can name the host for bounces, so only trusted domains use it; give --bounce-host a host name", "host", f.host)
	}
	server := New(Config{ProviderEvents: to, Host: f.host, Log: log})
	f.sessions = server.Session
	if !f.shared {
		go func() {
			if err := server.Serve(f.listener); err != nil {
				ended <- fmt.Errorf("listen for bounces: %w", err)
			}
		}()
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		return server.Shutdown(ctx)
	}
}
