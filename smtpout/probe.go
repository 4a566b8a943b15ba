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

// probe is a test of a relay under way.
type probe struct {
	steps []relayurl.Step
	since time.Time     // of the last step
	heard bytes.Buffer  // what the relay said in it, the beginning of it
	early time.Duration // the greeting before TLS took; it is said again
}

// maxReceived bounds what is kept of a relay's words in one step.
const maxReceived = 4 << 10

// overheard keeps what a relay says.
type overheard struct {
	net.Conn
	probe *probe
}

func (o *overheard) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	o.probe.heard.Write(b[:min(n, max(0, maxReceived-o.probe.heard.Len()))])
	return n, err
}

// begin notes that a step begins, where this is a test.
func (c *conn) begin(step string) {
	if c.probe != nil {
		c.probe.begin(step)
	}
}

// saw notes what TLS came to, where this is a test.
func (c *conn) saw(secure *tls.Conn) {
	if c.probe == nil {
		return
	}
	s := secure.ConnectionState()
	words := tls.VersionName(s.Version)
	if len(s.PeerCertificates) > 0 {
		cert := s.PeerCertificates[0]
		words += fmt.Sprintf(", certificate of %s until %s", strings.Join(append(cert.DNSNames, addressesOf(cert.IPAddresses)...), ", "), app.FormatTime(cert.NotAfter))
	}
	c.probe.ended(true, words)
}

func addressesOf(list []net.IP) (out []string) {
	for _, ip := range list {
		out = append(out, ip.String())
	}
	return out
}

// begin ends the step before, where it has not ended, and begins the next. The greeting
// before TLS is none of its own: the one that counts follows.
func (p *probe) begin(step string) {
	if n := len(p.steps); n > 0 && !p.steps[n-1].OK {
		if p.steps[n-1].Step == step {
			return
		}
		if last := p.steps[n-1].Step; last == relayurl.StepGreeting && step == relayurl.StepTLS {
			p.early, p.steps = time.Since(p.since), p.steps[:n-1]
		} else {
			p.ended(true, p.words())
		}
	}
	p.steps, p.since = append(p.steps, relayurl.Step{Step: step}), time.Now()
	if step != relayurl.StepGreeting { // its first words may have come before
		p.heard.Reset()
	}
}

// ended says what came of the latest step.
func (p *probe) ended(ok bool, said string) {
	s := &p.steps[len(p.steps)-1]
	took := time.Since(p.since)
	if s.Step == relayurl.StepGreeting {
		took += p.early
	}
	s.OK, s.Said, s.MS = ok, said, took.Milliseconds()
}

// words are the last line that the relay said in a step, or of a greeting the first.
func (p *probe) words() string {
	lines := strings.Split(strings.TrimSpace(p.heard.String()), "\n")
	if p.steps[len(p.steps)-1].Step == relayurl.StepGreeting {
		return strings.TrimSpace(lines[0])
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// step carries out one step.
func (p *probe) step(r *Relay, name string, fn func() (said string, err error)) bool {
	p.begin(name)
	said, err := fn()
	if err != nil {
		p.failed(r, err)
		return false
	}
	p.ended(true, r.clean.words(said))
	return true
}

// failed ends the latest step.
func (p *probe) failed(r *Relay, err error) {
	reply := r.replyTo(context.Background(), err, r.cfg.Timeout)
	words := strings.Fields(fmt.Sprintf("%d %s %s", reply.Code, reply.Enhanced, reply.Text))
	if reply.Code == 0 {
		words = words[1:]
	}
	p.ended(false, strings.Join(words, " "))
}

// Probe tries a relay step by step, up to the first that fails: DNS, connecting, TLS,
// greeting, signing in, and MAIL, RCPT and RSET with the addresses of m. send has it then
// send m. Without recipients RCPT is left out.
func Probe(ctx context.Context, cfg relayurl.Relay, opts Options, m *app.Outgoing, send bool) []relayurl.Step {
	r, err := NewRelay(cfg, opts)
	if err != nil {
		return []relayurl.Step{{Step: relayurl.StepTLS, Said: newReplySanitizer(cfg.User, cfg.Password).words(err.Error())}}
	}
	defer r.Close()
	p := &probe{}
	if p.reach(ctx, r, m) && send {
		p.step(r, relayurl.StepSend, func() (string, error) { return r.sendOnce(ctx, m) })
	}
	for i := range p.steps {
		p.steps[i].Said = r.clean.words(p.steps[i].Said)
	}
	return p.steps
}

// reach goes as far as RSET, and leaves.
func (p *probe) reach(ctx context.Context, r *Relay, m *app.Outgoing) bool {
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
		p.failed(r, err)
		return false
	}
	p.ended(true, p.words())
	ok := p.step(r, relayurl.StepMail, func() (string, error) { return r.rehearse(c, m) })
	c.quit()
	return ok
}

// rehearse asks for the sender and each recipient, and takes it back.
func (r *Relay) rehearse(c *conn, m *app.Outgoing) (said string, err error) {
	commands := []string{"MAIL FROM:<" + m.EnvelopeFrom + ">"}
	for _, to := range m.Recipients {
		commands = append(commands, "RCPT TO:<"+to+">")
	}
	for _, command := range append(commands, "RSET") {
		if err := c.say([]byte(command + "\r\n")); err != nil {
			return "", err
		}
		text, err := c.hear(25, r.cfg.Timeout)
		if err != nil {
			return "", err
		}
		if command != "RSET" {
			said = text
		}
	}
	return said, nil
}

// sendOnce sends a message that nobody withdraws.
func (r *Relay) sendOnce(ctx context.Context, m *app.Outgoing) (said string, err error) {
	res := r.Send(ctx, m, func(context.Context, string) error { return nil })
	for _, to := range res.Recipients {
		if res.Reply = to.Reply; to.Outcome != app.Accepted {
			res.Kind = app.ResultRefused
			break
		}
	}
	words := strings.Join(strings.Fields(fmt.Sprintf("%d %s %s", res.Reply.Code, res.Reply.Enhanced, res.Reply.Text)), " ")
	if res.Kind != app.ResultDone {
		return "", errors.New(words)
	}
	return words, nil
}
