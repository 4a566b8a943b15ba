package smtpout

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

const (
	defaultConnections = 8
	defaultTimeout     = 30 * time.Second
	// dotFactor times the timeout is how long the reply to the final dot is waited for. Giving up
	// early causes doubts and duplicates (RFC 5321 4.5.3.2.6).
	dotFactor = 10
)

// Relay sends messages to one SMTP server over a few pooled connections, as many as the server
// allows. It is safe for concurrent use.
type Relay struct {
	cfg           relayurl.Relay
	addr          string
	dial          func(context.Context) (net.Conn, error)
	hello         string
	tls           *tls.Config
	log           *slog.Logger
	builder       *builder
	pool          *pool
	sanitizer     replySanitizer
	rules         replyRules
	accepting     context.Context // ends with Drain: no transaction begins
	stopAccepting context.CancelFunc
	closing       context.Context // ends with Close
	cancelClosing context.CancelFunc
}

// NewRelay makes the client of a relay. It opens no connection. Errors: an invalid setting, or
// cfg.CAFile is unreadable or has no certificate.
func NewRelay(cfg relayurl.Relay, opts Options) (*Relay, error) {
	cfg, err := withDefaults(cfg)
	if err != nil {
		return nil, err
	}
	hello, err := helloName(cmp.Or(cfg.Hello, opts.Hello))
	if err != nil {
		return nil, err
	}
	config, err := tlsConfig(cfg)
	if err != nil {
		return nil, err
	}
	r := &Relay{
		cfg:       cfg,
		addr:      net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port)),
		hello:     hello,
		tls:       config,
		log:       opts.logger().With("relay", cfg.Region),
		builder:   newBuilder(opts, cfg.DKIM, cfg.Profile),
		sanitizer: newReplySanitizer(cfg.User, cfg.Password),
		rules:     replyRules{soft: cfg.SoftBounce},
	}
	r.dial = r.dialTCP
	r.pool = newPool(cfg.Connections, r.log)
	r.closing, r.cancelClosing = context.WithCancel(context.Background())
	r.accepting, r.stopAccepting = context.WithCancel(r.closing)
	return r, nil
}

func withDefaults(cfg relayurl.Relay) (relayurl.Relay, error) {
	if cfg.Host == "" {
		return cfg, errors.New("a relay needs a host")
	}
	switch cfg.TLS {
	case "":
		cfg.TLS = relayurl.TLSRequired
	case relayurl.TLSRequired, relayurl.TLSImplicit, relayurl.TLSOpportunistic, relayurl.TLSOff:
	default:
		return cfg, fmt.Errorf("relay %s: unknown TLS mode %q", cfg, cfg.TLS)
	}
	if cfg.Port == 0 {
		cfg.Port = 587
		if cfg.TLS == relayurl.TLSImplicit {
			cfg.Port = 465
		}
	}
	if cfg.Connections <= 0 {
		cfg.Connections = defaultConnections
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	return cfg, nil
}

// helloName refuses a name that would break the EHLO line.
func helloName(name string) (string, error) {
	if name == "" {
		return "localhost", nil
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return "", fmt.Errorf("not a name for EHLO: %q", name)
		}
	}
	return name, nil
}

func tlsConfig(cfg relayurl.Relay) (*tls.Config, error) {
	config := &tls.Config{
		ServerName:         cfg.Host,
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(cfg.Connections),
	}
	if cfg.CAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("relay %s: reading its ca file: %w", cfg, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("relay %s: no certificate in its ca file %s", cfg, cfg.CAFile)
	}
	config.RootCAs = roots
	return config, nil
}

// Send sends m in one transaction. It composes and signs m, waits for a connection, and calls
// authorize just before the final dot. If ctx ends before the dot, the socket is closed immediately
// (ResultTrouble, even if authorize returned nil); after the dot, only the timeout or Close ends
// the wait for the reply.
func (r *Relay) Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result {
	if len(m.Recipients) == 0 {
		return app.Result{Kind: app.ResultDone, Stage: app.StageCompose}
	}
	if err := errors.Join(r.accepting.Err(), ctx.Err()); err != nil {
		return r.trouble(ctx, app.StageConnect, err)
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	message, bad := r.builder.build(ending, m)
	if bad != nil {
		return *bad
	}
	defer r.builder.release(message)
	req := slotRequest{team: m.TeamID, bulk: m.Bulk, shared: m.Shared}
	connecting, stop := context.WithCancel(ending)
	defer stop()
	defer context.AfterFunc(r.accepting, stop)()
	c, err := r.connect(connecting, req)
	for err == nil {
		if message, bad = r.builder.adapt(ending, m, message, c.offer); bad != nil {
			r.pool.put(c)
			return *bad
		}
		reused := c.used > 0
		res, end := r.transact(ctx, ending, c, m, message, authorize)
		if end == connStale && reused {
			c, err = r.openAt(connecting, req, r.pool.reopen(c))
			continue
		}
		if end == connStale && res.Reply.Code == 421 {
			if !r.pool.refusedTransaction(c, res.Reply) {
				return res
			}
			c, err = r.connect(connecting, req) // as if the connection was refused
			continue
		}
		refused := res.Stage == app.StageMail && res.Reply.Code >= 500 // maybe for as long as the connection lasts
		if end == connReusable && !refused {
			r.pool.put(c)
		} else {
			r.pool.drop(c)
		}
		return res
	}
	return r.trouble(connecting, app.StageConnect, err)
}

// connect returns a pooled connection or a new one.
func (r *Relay) connect(ctx context.Context, req slotRequest) (*conn, error) {
	c, s, err := r.pool.get(ctx, req)
	if c != nil || err != nil {
		return c, err
	}
	return r.openAt(ctx, req, s)
}

// openAt opens a connection for a slot. If the relay refuses it but allows others, openAt waits for
// one of those.
func (r *Relay) openAt(ctx context.Context, req slotRequest, s *slot) (*conn, error) {
	req.ticket = s.ticket
	c, err := r.open(ctx)
	if err == nil {
		r.pool.opened(c, s)
		return c, nil
	}
	if r.pool.refused(ctx, s, r.replyTo(ctx, err, r.cfg.Timeout)) {
		return r.connect(ctx, req)
	}
	return nil, err
}

// Drain makes later transactions impossible: a Send without a connection ends with ResultTrouble,
// the others finish.
func (r *Relay) Drain() { r.stopAccepting() }

// Bound is how many concurrent connections the relay allows, as far as known.
func (r *Relay) Bound() int { return r.pool.ceiling.limit() }

// Close ends all connections: idle ones with QUIT, which may take a few seconds, the others
// immediately. A Send that waits for the reply to its final dot ends with ResultDoubt, any other
// with ResultTrouble.
func (r *Relay) Close() {
	r.cancelClosing()
	r.pool.close()
}

// trouble is the result if the relay could not be used.
func (r *Relay) trouble(ctx context.Context, stage app.Stage, err error) app.Result {
	var at *stageError
	if errors.As(err, &at) {
		stage = at.stage
	}
	return app.Result{Kind: app.ResultTrouble, Stage: stage, Reply: r.replyTo(ctx, err, r.cfg.Timeout)}
}

// replyTo returns the relay's answer in err, or a description of err.
func (r *Relay) replyTo(ctx context.Context, err error, timeout time.Duration) app.Reply {
	if answer := replyError(err); answer != nil {
		return r.sanitizer.replyOf(answer)
	}
	if r.closing.Err() != nil {
		return app.Reply{Text: "stopped: the relay's client is closed"}
	}
	if r.accepting.Err() != nil && ctx.Err() != nil {
		return app.Reply{Text: "stopped: the relay is no longer used"}
	}
	if ctx.Err() != nil {
		return app.Reply{Text: "stopped before the relay answered"}
	}
	return app.Reply{Text: r.sanitizer.text(errorText(err, timeout))}
}
