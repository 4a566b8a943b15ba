package listen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/pflag"

	"mailer/app/operate/certificates"
	"mailer/web/rest"
)

// none as an address disables a listener.
const none = "none"

// tlsListeners are the listeners for HTTPS, and for plain HTTP that redirects to HTTPS.
type tlsListeners struct {
	https, http     string // addresses; empty: none
	certificates    certificates.Config
	tls, redirect   net.Listener
	stopRedirecting func(ctx context.Context) error
}

func (s *tlsListeners) bind(f *pflag.FlagSet) {
	f.StringVar(&s.https, "listen-tls", "", "HTTPS listen address of the API and the dashboard (default :443 with --tls auto, else none)")
	f.StringVar(&s.http, "listen-http", "", "HTTP listen address that redirects to HTTPS and answers ACME challenges (default :80 with --tls auto, else none)")
	s.certificates.Bind(f)
}

// check validates the flags and sets default addresses.
func (s *tlsListeners) check(baseURL string) error {
	if err := s.certificates.Check(baseURL); err != nil {
		return err
	}
	if s.certificates.Auto() {
		s.https, s.http = cmp.Or(s.https, ":443"), cmp.Or(s.http, ":80")
	}
	for flag, address := range map[string]*string{"listen-tls": &s.https, "listen-http": &s.http} {
		if *address == none {
			*address = ""
		}
		if *address == "" {
			continue
		}
		if _, err := net.ResolveTCPAddr("tcp", *address); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if !s.certificates.Asked() {
			return fmt.Errorf("--%s needs a certificate: give --tls auto, or --tls-cert and --tls-key", flag)
		}
		if !strings.HasPrefix(strings.ToLower(baseURL), "https://") {
			return fmt.Errorf("--%s needs --base-url https://HOST", flag)
		}
	}
	if s.certificates.Auto() && s.https == "" && s.http == "" {
		return errors.New("--tls auto needs --listen-tls or --listen-http: there the authority proves whose name it is")
	}
	return nil
}

// open opens the configured listeners.
func (s *tlsListeners) open(listen func(flag, address string) (net.Listener, error)) (err error) {
	if s.https != "" {
		if s.tls, err = listen("listen-tls", s.https); err != nil {
			return err
		}
	}
	if s.http != "" {
		s.redirect, err = listen("listen-http", s.http)
	}
	return err
}

func (s *tlsListeners) close() {
	for _, l := range []net.Listener{s.tls, s.redirect} {
		if l != nil {
			_ = l.Close() // closed already if the server ran
		}
	}
}

// serve serves both listeners. The API's server ends HTTPS.
func (s *tlsListeners) serve(api *rest.Server, log *slog.Logger, ended chan<- error) {
	if s.tls != nil {
		log.Info("listening for HTTPS", "address", s.tls.Addr().String())
		go func() { ended <- api.ServeTLS(s.tls, s.certificates.HTTPS()) }()
	}
	s.stopRedirecting = func(context.Context) error { return nil }
	if s.redirect != nil {
		log.Info("listening for plain HTTP, which is redirected", "address", s.redirect.Addr().String())
		small := rest.NewSmallServer(&s.certificates, log)
		go func() { ended <- small.Serve(s.redirect) }()
		s.stopRedirecting = small.Shutdown
	}
}
