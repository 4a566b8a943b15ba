// Package listen holds the listeners of a server: the HTTP API, plain and over HTTPS, the redirect
// to HTTPS, SMTP submission, mail of other servers and metrics. It opens all of them before any is served, and
// closes them in the order that a shutdown needs.
//
// Failure policy: a listener that can't be opened prevents the start, and one that fails later
// stops the server: an address without a listener is worse than a restart.
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
	"mailer/app/sending/receiving"
	"mailer/app/tenants/reports"
	"mailer/web/rest"
	"mailer/web/smtp/receiver"
	"mailer/web/smtp/submission"
)

// Listeners are the listeners of a server and their flags. The order of calls is Bind, Check,
// optionally ServeStandby, Open, Serve, Drain, Shutdown, StopMetrics; Close closes what was opened.
type Listeners struct {
	listen       string
	drainTimeout time.Duration
	drainDelay   time.Duration
	receiver     receiver.Flags
	smtp         submission.Flags
	metrics      metrics.Flags
	tls          tlsListeners

	inherited    sockets // from a service manager
	http         net.Listener
	api          *rest.Server
	ended        chan error
	stopReceiver func(ctx context.Context) error
	stopSMTP     func(ctx context.Context) error
	stopMetrics  func(ctx context.Context) error
}

// Handlers serve the connections.
type Handlers struct {
	API            *rest.Server
	ProviderEvents *providerevents.Service // for bounces
	Receiving      *receiving.Service      // for mail of other servers
	Reports        *reports.Service        // for reports about domains
	SMTP           submission.Config       // for submission; Serve sets its Log, Bounces and TLS
	Log            *slog.Logger
}

// maxListeners bounds the errors that can be pending.
const maxListeners = 16

// Bind adds the flags to those of a command.
func (l *Listeners) Bind(f *pflag.FlagSet) {
	f.StringVar(&l.listen, "listen", "127.0.0.1:3000", "address of the HTTP API")
	l.tls.bind(f)
	l.receiver.Bind(f)
	l.smtp.Bind(f)
	l.metrics.Bind(f)
	f.DurationVar(&l.drainDelay, "drain-delay", 0, "how long /readyz answers 503 before a stopping server closes its listeners")
	f.DurationVar(&l.drainTimeout, "drain-timeout", 30*time.Second, "how long a stopping server waits for running work")
}

// Check refuses invalid values before anything is opened. Errors name the flag.
func (l *Listeners) Check(dev, devPublic bool, baseURL string) error {
	if l.drainDelay < 0 {
		return fmt.Errorf("--drain-delay must not be negative, is %s", l.drainDelay)
	}
	if err := errors.Join(l.tls.check(baseURL), l.receiver.Check()); err != nil {
		return withPort(err)
	}
	return withPort(errors.Join(l.checkListen(dev, devPublic), l.smtp.Check(dev, l.tls.certificates.Asked(), l.receiver.Address()), l.metrics.Check()))
}

// withPort explains how to write an address if only its port was given.
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

// checkListen refuses a public address with --dev, which shows an owner's key.
func (l *Listeners) checkListen(dev, devPublic bool) error {
	if devPublic && !dev {
		return errors.New("--dev-public is of no use without --dev")
	}
	for _, l := range []struct{ flag, address string }{{"listen", l.listen}, {"listen-tls", l.tls.https}} {
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

// Certificates returns the configuration of TLS.
func (l *Listeners) Certificates() *certificates.Config { return &l.tls.certificates }

// Metrics returns the metrics to count in, after Check; nil: none.
func (l *Listeners) Metrics() *metrics.Metrics { return l.metrics.Metrics() }

// BounceHost returns the host name for bounces, after Open; empty: none.
func (l *Listeners) BounceHost() string { return l.receiver.Host() }

// Address returns the address of the HTTP API, after Open.
func (l *Listeners) Address() string { return l.http.Addr().String() }

// Open opens all configured listeners and returns the base URL: the configured one, or the URL of
// the HTTP API's listener.
func (l *Listeners) Open(baseURL string) (string, error) {
	if err := l.openAPI(); err != nil {
		return "", err
	}
	listen := l.inherited.listen
	baseURL = cmp.Or(baseURL, "http://"+l.Address())
	if l.smtp.TakesBounces() {
		l.receiver.Share()
	}
	if err := errors.Join(l.tls.open(listen), l.receiver.Open(baseURL, listen), l.smtp.Open(listen), l.metrics.Open(listen)); err != nil {
		return "", err
	}
	l.tls.certificates.Add(l.receiver.Host())
	return baseURL, l.inherited.unused()
}

// openAPI opens the HTTP API's listener, unless it is open.
func (l *Listeners) openAPI() (err error) {
	if l.http != nil {
		return nil
	}
	if l.inherited, err = inherited(); err != nil {
		return err
	}
	l.http, err = l.inherited.listen("listen", l.listen)
	return err
}

// Close closes the listeners. Shutdown and StopMetrics end what Serve started.
func (l *Listeners) Close() {
	if l.http != nil {
		_ = l.http.Close() // closed already if the server ran
	}
	l.receiver.Close()
	l.smtp.Close()
	l.metrics.Close()
	l.tls.close()
	l.inherited.close()
}

// Serve serves every listener until Shutdown and StopMetrics. The channel gets the error of a
// listener that failed.
func (l *Listeners) Serve(to Handlers) (ended <-chan error) {
	l.api, l.ended = to.API, make(chan error, maxListeners)
	go func() { l.ended <- l.api.Serve(l.http) }()
	l.tls.serve(l.api, to.Log, l.ended)
	l.stopMetrics = l.metrics.Serve(to.Log, l.ended)
	l.stopReceiver = l.receiver.Serve(receiver.Config{ProviderEvents: to.ProviderEvents, Mail: to.Receiving, Reports: to.Reports, TLS: l.tls.certificates.TLS(), Dir: to.SMTP.Dir, Metrics: l.Metrics(), Log: to.Log}, l.drainTimeout/3, l.ended)
	to.SMTP.Log, to.SMTP.Bounces, to.SMTP.TLS = to.Log, l.receiver.Sessions(), l.tls.certificates.TLS()
	l.stopSMTP = l.smtp.Serve(to.SMTP, l.drainTimeout/3, l.ended)
	return l.ended
}

// Drain lets a load balancer see that the server stops, for --drain-delay or until failed is
// closed. Requests are still answered.
func (l *Listeners) Drain(failed <-chan struct{}) { l.api.Drain(l.drainDelay, failed) }

// StopContext returns a context for the time that a shutdown may take, which begins now.
func (l *Listeners) StopContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), l.drainTimeout)
}

// Shutdown ends SMTP and HTTP, and waits for running messages and requests.
func (l *Listeners) Shutdown(ctx context.Context) error {
	smtpDone := make(chan error, 1)
	go func() {
		err := l.stopSMTP(ctx) // before the receiver, whose sessions it may run
		smtpDone <- errors.Join(err, l.stopReceiver(ctx))
	}()
	return errors.Join(l.api.Shutdown(ctx), l.tls.stopRedirecting(ctx), <-smtpDone)
}

// StopMetrics ends the metrics listener, which shows the progress of a shutdown.
func (l *Listeners) StopMetrics(ctx context.Context) error { return l.stopMetrics(ctx) }

// Submission returns the addresses of SMTP submission, each with its kind of TLS.
func (l *Listeners) Submission() [][2]string { return l.smtp.Ports() }
