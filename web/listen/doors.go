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

// mostListeners is how many of them can fail at once.
const mostListeners = 16

// Bind adds the flags to those of a command.
func (d *Doors) Bind(f *pflag.FlagSet) {
	f.StringVar(&d.listen, "listen", "127.0.0.1:3000", "address of the HTTP API")
	d.secure.bind(f)
	d.bounces.Bind(f)
	d.smtp.Bind(f)
	d.metrics.Bind(f)
	f.DurationVar(&d.drainDelay, "drain-delay", 0, "how long /readyz answers 503 before a stopping server closes its listeners")
	f.DurationVar(&d.drainTimeout, "drain-timeout", 30*time.Second, "how long a stopping server waits for running work")
}

// Check refuses what can't be meant, before anything is opened. Errors name the flag.
func (d *Doors) Check(dev, devPublic bool, baseURL string) error {
	if d.drainDelay < 0 {
		return fmt.Errorf("--drain-delay must not be negative, is %s", d.drainDelay)
	}
	if err := errors.Join(d.secure.check(baseURL), d.bounces.Check()); err != nil {
		return withPort(err)
	}
	return withPort(errors.Join(d.checkListen(dev, devPublic), d.smtp.Check(dev, d.secure.certificates.Asked(), d.bounces.Address()), d.metrics.Check()))
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
func (d *Doors) checkListen(dev, devPublic bool) error {
	if devPublic && !dev {
		return errors.New("--dev-public is of no use without --dev")
	}
	for _, l := range []struct{ flag, address string }{{"listen", d.listen}, {"listen-tls", d.secure.https}} {
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
func (d *Doors) Certificates() *certificates.Config { return &d.secure.certificates }

// Metrics are those to count in, once the flags were checked; nil: nobody watches.
func (d *Doors) Metrics() *metrics.Metrics { return d.metrics.Metrics() }

// BounceHost is the name under which bounces arrive, once they were opened; empty: they
// do not.
func (d *Doors) BounceHost() string { return d.bounces.Host() }

// Address is where the HTTP API listens, once it was opened.
func (d *Doors) Address() string { return d.http.Addr().String() }

// Open listens wherever that is asked for, and returns the base URL: the one that was
// configured, or else that of the HTTP API's listener.
func (d *Doors) Open(baseURL string) (string, error) {
	if err := d.openAPI(); err != nil {
		return "", err
	}
	listen := d.handed.listen
	baseURL = cmp.Or(baseURL, "http://"+d.Address())
	if d.smtp.TakesBounces() {
		d.bounces.Share()
	}
	if err := errors.Join(d.secure.open(listen), d.bounces.Open(baseURL, listen), d.smtp.Open(listen), d.metrics.Open(listen)); err != nil {
		return "", err
	}
	if d.smtp.TakesBounces() {
		d.secure.certificates.Add(d.bounces.Host())
	}
	return baseURL, d.handed.left()
}

// openAPI listens for the HTTP API, unless it did before.
func (d *Doors) openAPI() (err error) {
	if d.http != nil {
		return nil
	}
	if d.handed, err = inherited(); err != nil {
		return err
	}
	d.http, err = d.handed.listen("listen", d.listen)
	return err
}

// Close ends the listeners; what Serve began is ended by Shutdown and End.
func (d *Doors) Close() {
	if d.http != nil {
		_ = d.http.Close() // closed by the server before, where one ran
	}
	d.bounces.Close()
	d.smtp.Close()
	d.metrics.Close()
	d.secure.close()
	d.handed.close()
}

// Serve answers at every listener until Shutdown and End. The channel has the error of
// one that failed.
func (d *Doors) Serve(to Behind) (ended <-chan error) {
	d.api, d.ended = to.API, make(chan error, mostListeners)
	go func() { d.ended <- d.api.Serve(d.http) }()
	d.secure.serve(d.api, to.Log, d.ended)
	d.stopMetrics = d.metrics.Serve(to.Log, d.ended)
	d.stopBounces = d.bounces.Serve(to.Log, to.Reports, d.drainTimeout/3, d.ended)
	to.SMTP.Log, to.SMTP.Bounces, to.SMTP.TLS = to.Log, d.bounces.Sessions(), d.secure.certificates.TLS()
	d.stopSMTP = d.smtp.Serve(to.SMTP, d.drainTimeout/3, d.ended)
	return d.ended
}

// Drain has a load balancer see that the server stops, for as long as it was told to
// and until failed is closed: everything is answered as before meanwhile.
func (d *Doors) Drain(failed <-chan struct{}) { d.api.Drain(d.drainDelay, failed) }

// Patience returns the time that a stop has, which begins now.
func (d *Doors) Patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d.drainTimeout)
}

// Shutdown closes what takes mail and requests, and waits for those on their way.
func (d *Doors) Shutdown(ctx context.Context) error {
	taken := make(chan error, 1)
	go func() {
		err := d.stopSMTP(ctx) // before bounces, of which it may take some
		taken <- errors.Join(err, d.stopBounces(ctx))
	}()
	return errors.Join(d.api.Shutdown(ctx), d.secure.stopRedirecting(ctx), <-taken)
}

// End closes what shows how a stop goes on.
func (d *Doors) End(ctx context.Context) error { return d.stopMetrics(ctx) }
