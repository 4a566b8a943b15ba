package smtpout

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// probe is a running test of a relay.
type probe struct {
	steps        []relayurl.Step
	stepStart    time.Time     // start of the current step
	received     bytes.Buffer  // beginning of the relay's replies in the current step
	greetingTime time.Duration // duration of the greeting before TLS, which is repeated
}

// maxReceived bounds the kept replies of one step, in bytes.
const maxReceived = 4 << 10

// recordingConn records what a relay sends.
type recordingConn struct {
	net.Conn
	probe *probe
}

func (o *recordingConn) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	o.probe.received.Write(b[:min(n, max(0, maxReceived-o.probe.received.Len()))])
	return n, err
}

// beginStep begins a step if the connection is a test.
func (c *conn) beginStep(step string) {
	if c.probe != nil {
		c.probe.beginStep(step)
	}
}

// recordTLS records the TLS version and certificate if the connection is a test.
func (c *conn) recordTLS(secure *tls.Conn) {
	if c.probe == nil {
		return
	}
	s := secure.ConnectionState()
	text := tls.VersionName(s.Version)
	if len(s.PeerCertificates) > 0 {
		cert := s.PeerCertificates[0]
		text += fmt.Sprintf(", certificate of %s until %s", strings.Join(append(cert.DNSNames, addressesOf(cert.IPAddresses)...), ", "), app.FormatTime(cert.NotAfter))
	}
	c.probe.endStep(true, text)
}

func addressesOf(list []net.IP) (out []string) {
	for _, ip := range list {
		out = append(out, ip.String())
	}
	return out
}

// beginStep ends the current step if necessary and begins the next. The greeting before TLS is no
// step of its own, because it is repeated.
func (p *probe) beginStep(step string) {
	if n := len(p.steps); n > 0 && !p.steps[n-1].OK {
		if p.steps[n-1].Step == step {
			return
		}
		if last := p.steps[n-1].Step; last == relayurl.StepGreeting && step == relayurl.StepTLS {
			p.greetingTime, p.steps = time.Since(p.stepStart), p.steps[:n-1]
		} else {
			p.endStep(true, p.lastLine())
		}
	}
	p.steps, p.stepStart = append(p.steps, relayurl.Step{Step: step}), time.Now()
	if step != relayurl.StepGreeting { // its first line may have been received already
		p.received.Reset()
	}
}

// endStep sets the result of the current step.
func (p *probe) endStep(ok bool, said string) {
	s := &p.steps[len(p.steps)-1]
	took := time.Since(p.stepStart)
	if s.Step == relayurl.StepGreeting {
		took += p.greetingTime
	}
	s.OK, s.Reply, s.MS = ok, said, took.Milliseconds()
}

// lastLine returns the last line that the relay sent in a step, or the first line of a greeting.
func (p *probe) lastLine() string {
	lines := strings.Split(strings.TrimSpace(p.received.String()), "\n")
	if p.steps[len(p.steps)-1].Step == relayurl.StepGreeting {
		return strings.TrimSpace(lines[0])
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// step runs one step.
func (p *probe) step(r *Relay, name string, fn func() (said string, err error)) bool {
	p.beginStep(name)
	said, err := fn()
	if err != nil {
		p.failStep(r, err)
		return false
	}
	p.endStep(true, r.sanitizer.text(said))
	return true
}

// failStep ends the current step with an error.
func (p *probe) failStep(r *Relay, err error) {
	reply := r.replyTo(context.Background(), err, r.cfg.Timeout)
	text := strings.Fields(fmt.Sprintf("%d %s %s", reply.Code, reply.Enhanced, reply.Text))
	if reply.Code == 0 {
		text = text[1:]
	}
	p.endStep(false, strings.Join(text, " "))
}

// Probe tests a relay step by step, up to the first that fails: DNS, connecting, TLS, greeting,
// authentication, and MAIL, RCPT and RSET with the addresses of m. Without recipients RCPT is left
// out. With send it then sends m.
func Probe(ctx context.Context, cfg relayurl.Relay, opts Options, m *app.Outgoing, send bool) []relayurl.Step {
	r, err := NewRelay(cfg, opts)
	if err != nil {
		return []relayurl.Step{{Step: relayurl.StepTLS, Reply: newReplySanitizer(cfg.User, cfg.Password).text(err.Error())}}
	}
	defer r.Close()
	p := &probe{}
	if p.run(ctx, r, m) && send {
		p.step(r, relayurl.StepSend, func() (string, error) { return r.sendOnce(ctx, m) })
	}
	for i := range p.steps {
		p.steps[i].Reply = r.sanitizer.text(p.steps[i].Reply)
	}
	return p.steps
}

// run runs the steps up to RSET and disconnects.
func (p *probe) run(ctx context.Context, r *Relay, m *app.Outgoing) bool {
	dns := func() (string, error) {
		limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(limited, r.cfg.Host)
		return strings.Join(found, ", "), err
	}
	c := &conn{probe: p}
	connect := func() (string, error) {
		socket, err := r.dial(ctx)
		if err != nil {
			return "", err
		}
		c.wire = newWire(socket, r.cfg.Timeout)
		return socket.RemoteAddr().String(), nil
	}
	if !p.step(r, relayurl.StepDNS, dns) || !p.step(r, relayurl.StepConnect, connect) {
		return false
	}
	defer c.cut()
	defer context.AfterFunc(ctx, c.cut)()
	if err := r.prepare(ctx, c); err != nil {
		p.failStep(r, err)
		return false
	}
	p.endStep(true, p.lastLine())
	ok := p.step(r, relayurl.StepMail, func() (string, error) { return r.tryEnvelope(c, m) })
	c.quit()
	return ok
}

// tryEnvelope sends MAIL and RCPT for m, and RSET.
func (r *Relay) tryEnvelope(c *conn, m *app.Outgoing) (said string, err error) {
	commands := []string{"MAIL FROM:<" + m.EnvelopeFrom + ">"}
	for _, to := range m.Recipients {
		commands = append(commands, "RCPT TO:<"+to+">")
	}
	for _, command := range append(commands, "RSET") {
		if err := c.send([]byte(command + "\r\n")); err != nil {
			return "", err
		}
		text, err := c.readReply(25, r.cfg.Timeout)
		if err != nil {
			return "", err
		}
		if command != "RSET" {
			said = text
		}
	}
	return said, nil
}

// sendOnce sends m without a final check.
func (r *Relay) sendOnce(ctx context.Context, m *app.Outgoing) (said string, err error) {
	res := r.Send(ctx, m, func(context.Context, string) error { return nil })
	for _, to := range res.Recipients {
		if res.Reply = to.Reply; to.Outcome != app.Accepted {
			res.Kind = app.ResultRefused
			break
		}
	}
	text := strings.Join(strings.Fields(fmt.Sprintf("%d %s %s", res.Reply.Code, res.Reply.Enhanced, res.Reply.Text)), " ")
	if res.Kind != app.ResultDone {
		return "", errors.New(text)
	}
	return text, nil
}
