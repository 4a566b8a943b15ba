package sdktest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestReceivingStopsBeforeDiskIsFull: while less than a tenth of the disk is free, mail from outside is answered with 452
// before its content, also after a kill; the API still accepts mail, which leaves, and bounces are still taken. Once
// there is space mail is received again.
func TestReceivingStopsBeforeDiskIsFull(t *testing.T) {
	part(t, "disk", shortForm)
	t.Parallel()
	d := newDisk(t, "ext4")
	w := newReceivingFixtureBy(t, func(t *testing.T, args ...string) *instance {
		in := newInstanceOn(t, d, args...)
		in.serve(t)
		return in
	}, strict)
	api := client{w.in.url, w.key}
	before := w.subjects(t)
	send := func(subject string) *message {
		id := api.send(t, map[string]any{"from": "a@example.test", "to": strings.ReplaceAll(subject, " ", "-") + "@example.com", "subject": subject, "text": "x"})
		api.waitLast(t, id, time.Minute, "sent")
		return &w.sink.wait(t, 1, time.Minute, subjectIs(subject))[0]
	}
	ballast := d.fill(t, 8<<20)
	for n := range 2 {
		for i := range 5 {
			err := w.deliver(strings.ReplaceAll(receivedMail, "q1@", fmt.Sprintf("full-%d-%d@", n, i)))
			if err == nil || !strings.HasPrefix(err.Error(), "452 4.3.1") {
				t.Errorf("on the full disk: %v", err)
			}
		}
		m := send(fmt.Sprint("while it is full ", n))
		if c, a, err := w.greet("127.0.0.5"); err != nil {
			t.Errorf("%s, %v", a, err)
		} else {
			c.wantReply(t, "MAIL FROM:<>", "250")
			c.wantReply(t, "RCPT TO:<"+m.From+">", "250")
			c.wantReply(t, "DATA", "354")
			c.wantReply(t, strings.TrimSuffix(abuse(m.header("X-Mailer-Email-ID")), "\r\n")+"\r\n.", "250")
			c.Close()
		}
		var suppression struct{ Origin string }
		if api.get(t, "/suppressions/"+m.To[0], &suppression); suppression.Origin != "complaint" {
			t.Errorf("the report was not taken: %+v", suppression)
		}
		if n == 0 {
			w.in.kill(t)
			w.in.serve(t)
		}
	}
	if got := w.subjects(t); len(got) != len(before) {
		t.Errorf("received on the full disk: %q", got)
	}
	must(t, os.Remove(ballast))
	eventually(t, time.Minute, "mail is received again", func() (bool, string) {
		err := w.deliver(strings.ReplaceAll(receivedMail, "q1@", "again@"))
		return err == nil, fmt.Sprint(err)
	})
	w.in.stop(t)
}
