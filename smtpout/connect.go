package smtpout

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// stageError is an error with the stage in which it happened.
type stageError struct {
	stage app.Stage
	err   error
}

func (e *stageError) Error() string { return e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

func atStage(stage app.Stage, err error) error {
	if err == nil {
		return nil
	}
	return &stageError{stage, err}
}

var (
	errNoTLS       = errors.New("the relay does not offer STARTTLS")
	errInjected    = errors.New("the relay sent data in the clear after it agreed to TLS")
	errNoAuth      = errors.New("the relay does not offer AUTH, but credentials are configured")
	errNoMechanism = errors.New("the relay offers neither AUTH PLAIN nor AUTH LOGIN")
)

// open connects to the relay and prepares the connection for MAIL.
func (r *Relay) open(ctx context.Context) (*conn, error) {
	socket, err := r.dial(ctx)
	if err != nil {
		return nil, atStage(app.StageConnect, err)
	}
	if err := ctx.Err(); err != nil {
		_ = socket.Close()
		return nil, atStage(app.StageConnect, err)
	}
	c := &conn{wire: newWire(socket, r.cfg.Timeout)}
	release := context.AfterFunc(ctx, c.cut)
	if err := r.prepare(ctx, c); err != nil {
		release()
		c.cut()
		return nil, err
	}
	if !release() {
		return nil, atStage(app.StageConnect, ctx.Err())
	}
	r.log.Debug("smtp: connected")
	return c, nil
}

// dialTCP connects a socket to the relay.
func (r *Relay) dialTCP(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: r.cfg.Timeout}
	return dialer.DialContext(ctx, "tcp", r.addr)
}

// prepare greets, encrypts and authenticates. It sends no credentials before the certificate is
// verified.
func (r *Relay) prepare(ctx context.Context, c *conn) error {
	var err error
	if r.cfg.TLS == relayurl.TLSImplicit {
		err = r.greetEncrypted(ctx, c, "")
	} else {
		err = r.greetClear(ctx, c)
	}
	if err != nil {
		return err
	}
	if err := r.authenticate(c); err != nil {
		return atStage(app.StageAuth, err)
	}
	c.startTransactions()
	return nil
}

// greetClear sends EHLO unencrypted, and starts TLS if it is used.
func (r *Relay) greetClear(ctx context.Context, c *conn) error {
	c.beginStep(relayurl.StepGreeting)
	r.newClient(c, c.wire)
	if err := c.client.Hello(r.hello); err != nil {
		return atStage(app.StageConnect, err)
	}
	if r.cfg.TLS == relayurl.TLSOff {
		return nil
	}
	if offered, _ := c.client.Extension("STARTTLS"); !offered {
		if r.cfg.TLS == relayurl.TLSOpportunistic {
			return nil
		}
		c.beginStep(relayurl.StepTLS)
		return atStage(app.StageTLS, errNoTLS)
	}
	c.beginStep(relayurl.StepTLS)
	if err := r.startTLS(c); err != nil {
		return atStage(app.StageTLS, err)
	}
	return r.greetEncrypted(ctx, c, "220 \r\n")
}

// startTLS sends STARTTLS itself (RFC 3207), because go-smtp only does so after an EHLO with the
// name localhost, which some relays refuse. Data that the first client read ahead is discarded with
// it.
func (r *Relay) startTLS(c *conn) error {
	if err := c.wire.SetDeadline(time.Now().Add(r.cfg.Timeout)); err != nil {
		return err
	}
	if _, err := c.wire.Write([]byte("STARTTLS\r\n")); err != nil {
		return err
	}
	in := bufio.NewReader(c.wire)
	if _, _, err := textproto.NewReader(in).ReadResponse(220); err != nil {
		return err
	}
	if in.Buffered() > 0 {
		return errInjected
	}
	return nil
}

// greetEncrypted does the TLS handshake, verifies the certificate and sends EHLO. greeting replaces
// the relay's greeting if it has greeted before.
func (r *Relay) greetEncrypted(ctx context.Context, c *conn, greeting string) error {
	c.beginStep(relayurl.StepTLS)
	if err := c.wire.SetDeadline(time.Now().Add(r.cfg.Timeout)); err != nil {
		return atStage(app.StageTLS, err)
	}
	secure := tls.Client(c.wire, r.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return atStage(app.StageTLS, err)
	}
	c.recordTLS(secure)
	c.beginStep(relayurl.StepGreeting)
	r.newClient(c, &greetedConn{Conn: secure, greeting: greeting})
	return atStage(app.StageConnect, c.client.Hello(r.hello))
}

// newClient makes c speak SMTP over stream: the socket, or TLS on it.
func (r *Relay) newClient(c *conn, stream net.Conn) {
	c.stream = stream
	if c.probe != nil {
		stream = &recordingConn{stream, c.probe}
	}
	c.client = smtp.NewClient(stream)
	c.client.CommandTimeout = r.cfg.Timeout
}

// authenticate signs in if credentials are configured: with PLAIN (RFC 4616), else LOGIN.
func (r *Relay) authenticate(c *conn) error {
	if r.cfg.User == "" && r.cfg.Password == "" {
		return nil
	}
	c.beginStep(relayurl.StepAuth)
	if offered, _ := c.client.Extension("AUTH"); !offered {
		return errNoAuth
	}
	if c.client.SupportsAuth(sasl.Plain) {
		return c.client.Auth(sasl.NewPlainClient("", r.cfg.User, r.cfg.Password))
	}
	if c.client.SupportsAuth(sasl.Login) {
		return c.client.Auth(sasl.NewLoginClient(r.cfg.User, r.cfg.Password))
	}
	return errNoMechanism
}
