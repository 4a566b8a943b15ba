// Package doors is the listeners of a server: the HTTP API, plain and by HTTPS, and what
// stands beside it for redirects, for mail by SMTP, bounces and metrics. It opens all of them before anything is served, and ends
// them in the order in which a stop needs them to.
//
// Failure policy: a listener that can't be opened ends the start, and one that fails
// later ends the server: an address that nobody answers on is worse than a restart.
package listen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"mailer/app/kit/metrics"
	"mailer/app/operate/certificates"
	"mailer/app/sending/providerevents"
	"mailer/web/rest"
	"mailer/web/smtp/bounces"
	"mailer/web/smtp/submission"
)

// Doors are the listeners of a server and the flags that say which there are. Their
// order is Bind, Check, perhaps Wait, Open, Serve, Drain, Shutdown, End; Close ends what was opened.
type Doors struct {
	listen       string
	drainTimeout time.Duration
	drainDelay   time.Duration
	bounces      bounces.Flags
	smtp         submission.Flags
	metrics      metrics.Flags
	secure       secure

	handed      sockets // by a service manager
	http        net.Listener
	api         *rest.Server
	ended       chan error
	stopBounces func(ctx context.Context) error
	stopSMTP    func(ctx context.Context) error
	stopMetrics func(ctx context.Context) error
}

// Behind is what stands behind the doors.
type Behind struct {
	API     *rest.Server
	Reports *providerevents.Service // of bounces
	SMTP    submission.Config       // of mail handed in by SMTP, as far as it is not the doors' own
	Log     *slog.Logger
}

// maxListeners is how many of them can fail at once.
const maxListeners = 16

// Bind adds the flags to those of a command.
func (l *Doors) Bind(f *pflag.FlagSet) {
	f.StringVar(&l.listen, "listen", "127.0.0.1:3000", "address of the HTTP API")
	l.secure.bind(f)
	l.bounces.Bind(f)
	l.smtp.Bind(f)
	l.metrics.Bind(f)
	f.DurationVar(&l.drainDelay, "drain-delay", 0, "how long /readyz answers 503 before a stopping server closes its listeners")
	f.DurationVar(&l.drainTimeout, "drain-timeout", 30*time.Second, "how long a stopping server waits for running work")
}

// Check refuses what can't be meant, before anything is opened. Errors name the flag.
func (l *Doors) Check(dev, devPublic bool, baseURL string) error {
	if l.drainDelay < 0 {
		return fmt.Errorf("--drain-delay must not be negative, is %s", l.drainDelay)
	}
	if err := errors.Join(l.secure.check(baseURL), l.bounces.Check()); err != nil {
		return withPort(err)
	}
	return withPort(errors.Join(l.checkListen(dev, devPublic), l.smtp.Check(dev, l.secure.certificates.Asked(), l.bounces.Address()), l.metrics.Check()))
}

// withPort adds how an address is written where only its port was given.
func withPort(err error) error {
	wrong, ok := errors.AsType[*net.AddrError](err)
	if !ok {
		return err
	}
	port := wrong.Addr
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = "3000"
	}
	return fmt.Errorf("%w; use :%s for all addresses of this machine, or 127.0.0.1:%s for this machine alone", err, port, port)
}

// checkListen refuses to show an owner's key where strangers could use it.
func (l *Doors) checkListen(dev, devPublic bool) error {
	if devPublic && !dev {
		return errors.New("--dev-public is of no use without --dev")
	}
	for _, l := range []struct{ flag, address string }{{"listen", l.listen}, {"listen-tls", l.secure.https}} {
		if l.address == "" && l.flag != "listen" {
			continue
		}
		address, err := net.ResolveTCPAddr("tcp", l.address)
		switch {
		case err != nil:
			return fmt.Errorf("--%s: %w", l.flag, err)
		case dev && !devPublic && !address.IP.IsLoopback():
			return fmt.Errorf("--dev makes an owner's key, shows it and keeps it valid; --%s %s is reached by others than this machine: listen on 127.0.0.1, or give --dev-public", l.flag, l.address)
		}
	}
	return nil
}

// Certificates are where the TLS of the listeners comes from.
func (l *Doors) Certificates() *certificates.Config { return &l.secure.certificates }

// Metrics are those to count in, once the flags were checked; nil: nobody watches.
func (l *Doors) Metrics() *metrics.Metrics { return l.metrics.Metrics() }

// BounceHost is the name under which bounces arrive, once they were opened; empty: they
// do not.
func (l *Doors) BounceHost() string { return l.bounces.Host() }

// Address is where the HTTP API listens, once it was opened.
func (l *Doors) Address() string { return l.http.Addr().String() }

// Open listens wherever that is asked for, and returns the base URL: the one that was
// configured, or else that of the HTTP API's listener.
func (l *Doors) Open(baseURL string) (string, error) {
	if err := l.openAPI(); err != nil {
		return "", err
	}
	listen := l.handed.listen
	baseURL = cmp.Or(baseURL, "http://"+l.Address())
	if l.smtp.TakesBounces() {
		l.bounces.Share()
	}
	if err := errors.Join(l.secure.open(listen), l.bounces.Open(baseURL, listen), l.smtp.Open(listen), l.metrics.Open(listen)); err != nil {
		return "", err
	}
	if l.smtp.TakesBounces() {
		l.secure.certificates.Add(l.bounces.Host())
	}
	return baseURL, l.handed.left()
}

// openAPI listens for the HTTP API, unless it did before.
func (l *Doors) openAPI() (err error) {
	if l.http != nil {
		return nil
	}
	if l.handed, err = inherited(); err != nil {
		return err
	}
	l.http, err = l.handed.listen("listen", l.listen)
	return err
}

// Close ends the listeners; what Serve began is ended by Shutdown and End.
func (l *Doors) Close() {
	if l.http != nil {
		_ = l.http.Close() // closed by the server before, where one ran
	}
	l.bounces.Close()
	l.smtp.Close()
	l.metrics.Close()
	l.secure.close()
	l.handed.close()
}

// Serve answers at every listener until Shutdown and End. The channel has the error of
// one that failed.
func (l *Doors) Serve(to Behind) (ended <-chan error) {
	l.api, l.ended = to.API, make(chan error, maxListeners)
	go func() { l.ended <- l.api.Serve(l.http) }()
	l.secure.serve(l.api, to.Log, l.ended)
	l.stopMetrics = l.metrics.Serve(to.Log, l.ended)
	l.stopBounces = l.bounces.Serve(to.Log, to.Reports, l.drainTimeout/3, l.ended)
	to.SMTP.Log, to.SMTP.Bounces, to.SMTP.TLS = to.Log, l.bounces.Sessions(), l.secure.certificates.TLS()
	l.stopSMTP = l.smtp.Serve(to.SMTP, l.drainTimeout/3, l.ended)
	return l.ended
}

// Drain has a load balancer see that the server stops, for as long as it was told to
// and until failed is closed: everything is answered as before meanwhile.
func (l *Doors) Drain(failed <-chan struct{}) { l.api.Drain(l.drainDelay, failed) }

// Patience returns the time that a stop has, which begins now.
func (l *Doors) Patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), l.drainTimeout)
}

// Shutdown closes what takes mail and requests, and waits for those on their way.
func (l *Doors) Shutdown(ctx context.Context) error {
	taken := make(chan error, 1)
	go func() {
		err := l.stopSMTP(ctx) // before bounces, of which it may take some
		taken <- errors.Join(err, l.stopBounces(ctx))
	}()
	return errors.Join(l.api.Shutdown(ctx), l.secure.stopRedirecting(ctx), <-taken)
}

// End closes what shows how a stop goes on.
func (l *Doors) End(ctx context.Context) error { return l.stopMetrics(ctx) }
