package receiver

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"mailer/web/smtp/conn"
	"mailer/web/smtp/submission"
)

// TestMailOnPortOfSubmission: a listener of the submission server serves sessions of this one for peers that don't sign in.
func TestMailOnPortOfSubmission(t *testing.T) {
	w := newTestServer(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := submission.New(submission.Config{Host: "mail.acme.test", Bounces: w.server.Session, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, conn.Port{Bounces: true}) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-served
	})
	w.addr = l.Addr().String()
	c := w.dial(t)
	c.greet("bob@example.com")
	c.cmd("RCPT TO:<x@other.test>", "550 5.7.1 ")
	c.cmd("RCPT TO:<ann@acme.test>", "250 ")
	c.cmd("DATA", "354 ")
	c.cmd(mailText+".", "250 ")
	c.cmd("MAIL FROM:<>", "250 ")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("DATA", "354 ")
	c.cmd(dsn+".", "250 ")
	if mail, reports := w.mail.calls(), w.calls(); len(mail) != 1 || mail[0].text != mailText || mail[0].Helo != "peer.test" || len(reports) != 1 {
		t.Errorf("%+v, %+v", mail, reports)
	}
}
