package bounces

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

// Flags say whether and where bounces are taken.
type Flags struct {
	listen, host string
	listener     net.Listener // nil: it is not asked for, or another door takes bounces too
	shared       bool         // another door does
	sessions     func(c *conn.Conn) smtp.Session
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "bounce-listen", "", "listen address of the SMTP server for bounces and complaints, like :25 (default: off)")
	flags.StringVar(&f.host, "bounce-host", "", "host name for the MX records of return paths (default: that of the base URL)")
}

// Check refuses what can't be meant, before anything is opened. Errors name the flag.
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

// Address is where bounces are taken; empty: nowhere.
func (f *Flags) Address() string { return f.listen }

// Share has another door listen at the address, which takes what Sessions serve.
func (f *Flags) Share() { f.shared = true }

// Open listens, where that is asked for, and settles under which name. listen opens the
// address of a flag; its errors name that.
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

// Host is the name under which bounces arrive, once it was opened; empty: they do not.
func (f *Flags) Host() string {
	if f.listener == nil && !f.shared {
		return ""
	}
	return f.host
}

// Sessions serve bounces at another door, once Serve was called; nil: none are taken.
func (f *Flags) Sessions() func(c *conn.Conn) smtp.Session { return f.sessions }

// Close ends the listener; what Serve began is ended by its stop.
func (f *Flags) Close() {
	if f.listener != nil {
		_ = f.listener.Close() // closed by the server before, where one ran
	}
}

// Serve takes bounces until stop is called, which leaves messages on their way a
// patience: strangers must not use up the time of a stop.
func (f *Flags) Serve(log *slog.Logger, to *providerevents.Service, patience time.Duration, ended chan<- error) (stop func(ctx context.Context) error) {
	if f.Host() == "" {
		return func(context.Context) error { return nil }
	}
	log.Info("listening for bounces", "address", f.listen, "host", f.host)
	if app.BounceMX(f.host) == "" {
		log.Warn("no MX record can name the host for bounces, so only trusted domains use it; give --bounce-host a host name", "host", f.host)
	}
	door := New(Config{Reports: to, Host: f.host, Log: log})
	f.sessions = door.Session
	if !f.shared {
		go func() {
			if err := door.Serve(f.listener); err != nil {
				ended <- fmt.Errorf("listen for bounces: %w", err)
			}
		}()
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return door.Shutdown(ctx)
	}
}
