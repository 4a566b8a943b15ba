package sdktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

const handInClients = 6

// smtpLoad are clients that send mail over kept connections. Messages with an idempotency key are
// repeated until they are answered.
type smtpLoad struct {
	*load
	addr string
}

// start starts the clients. stop returns once every message has its answer.
func (l *smtpLoad) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for c := range handInClients {
		wg.Go(func() {
			client := &smtpClient{load: l}
			defer client.leave()
			for n := 0; ctx.Err() == nil; n++ {
				client.order(t, fmt.Sprintf("smtp-%d-%d", c, n))
			}
		})
	}
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// smtpClient is one of them.
type smtpClient struct {
	load *smtpLoad
	conn *smtpConn // nil: none
	left int       // messages until it makes a new one
}

func (c *smtpClient) leave() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.conn = nil
}

// order sends one message; half of them have a key.
func (c *smtpClient) order(t *testing.T, mark string) {
	o := order{mark: mark, text: "under load " + mark}
	for i := range 1 + rand.IntN(3) {
		o.to = append(o.to, fmt.Sprintf("%s-%d@example.com", mark, i))
	}
	header := []string{"From: a@example.test", "To: " + o.to[0], "Subject: " + mark, "MIME-Version: 1.0"}
	if rand.IntN(2) == 0 {
		o.key = mark
		header = append(header, "Resend-Idempotency-Key: "+mark)
	}
	if rand.IntN(10) == 0 {
		header = append(header, "X-Mailer-Scheduled-At: "+time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano))
	}
	body := "Content-Type: text/plain\r\n\r\n" + o.text + "\r\n"
	if rand.IntN(10) == 0 { // it arrives on the disk
		body = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + body + "--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a\r\n\r\n" +
			strings.Repeat(mark+" has a large file.\r\n", 6000) + "--b--\r\n"
	}
	c.load.ledger.ask(o)
	c.load.repeat(t, o.key, func() bool { return c.try(t, &o, strings.Join(header, "\r\n")+"\r\n"+body) })
}

// try sends a message once, and tells whether the answer is final.
func (c *smtpClient) try(t *testing.T, o *order, message string) (done bool) {
	if c.left--; c.left < 0 {
		c.leave()
	}
	if c.conn == nil && !c.connect() {
		return false
	}
	a, err := c.conn.handIn(message, "", o.to...)
	switch {
	case err != nil:
		c.leave()
		return false
	case a.id() != "":
		c.load.ledger.accept(o.mark, a.id())
		select {
		case c.load.progress <- struct{}{}:
		default:
		}
		return true
	case o.key != "" && (a.is("451 4.5.0") || a.code == 421):
		c.leave()
		return false
	}
	t.Errorf("%s: %s", o.mark, a)
	c.leave()
	return true
}

func (c *smtpClient) connect() bool {
	conn, a, err := dialSMTP(c.load.addr)
	if err == nil && a.code == 220 {
		a, err = conn.signIn(c.load.api.key)
	}
	if err != nil || a.code != 235 {
		if conn != nil {
			conn.Close()
		}
		return false
	}
	c.conn, c.left = conn, 1+rand.IntN(40)
	return true
}

// TestKillUnderLoadBySMTP is TestKillUnderLoad over SMTP: each 250 arrives, and only listed doubts
// arrive twice; unanswered messages arrive at most as often as they were sent.
func TestKillUnderLoadBySMTP(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	h.relay.set(behaviour{dotDelay: 15 * time.Millisecond})
	l := &smtpLoad{newLoad(h.api), h.smtp}
	stop := l.start(t)
	rounds := 3
	if *killRounds > 0 {
		rounds = *killRounds
	}
	for range rounds {
		l.waitAccepted(t, killGap())
		afterRandom(80 * time.Millisecond)
		h.kill(t)
		h.serve(t)
	}
	l.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills", rounds)
	e := l.ledger.gather(t, h.instance, h.api, h.relay, killPatience(), killLimit(rounds))
	e.signed = dkimVerifier(t, h.instance, "example.test")
	l.ledger.wantNoProblems(t, e)
	h.checkFiles(t)
}

// TestControlOfSMTPLoad: the ledger shows what is lost.
func TestControlOfSMTPLoad(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	h.relay.set(behaviour{pass: func(m message) []message {
		if strings.HasSuffix(m.header("Subject"), "5") {
			return nil
		}
		return []message{m}
	}})
	l := &smtpLoad{newLoad(h.api), h.smtp}
	stop := l.start(t)
	l.waitAccepted(t, 40)
	stop()
	l.ledger.wantProblem(t, l.ledger.gather(t, h.instance, h.api, h.relay, time.Minute, 0), lost)
}
