package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// startWithClocks returns two servers that share a database with the right time: the leader's clock is
// an hour ahead, the other one's an hour behind.
func startWithClocks(t *testing.T, args ...string) (*pair, [2]*clock) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	var clocks [2]*clock
	p := &pair{pg: pg, shares: true, fit: func(n int, in *instance) {
		clocks[n] = movableClock(in)
		clocks[n].step(t, []time.Duration{time.Hour, -time.Hour}[n])
		in.args = append(in.args, args...)
	}}
	url := urlOf("mailer", pg.addr)
	return startPair(t, p, "", []string{url, url}), clocks
}

// schedule has a server send a mail soon, and returns when.
func (p *pair) schedule(t *testing.T, n int, subject string) time.Time {
	t.Helper()
	at := time.Now().Add(5 * time.Second)
	p.at(n).send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": subject, "text": "x",
		"scheduled_at": at.UTC().Format(time.RFC3339Nano)})
	return at
}

// wantOnTime waits for scheduled mail, at either relay.
func (p *pair) wantOnTime(t *testing.T, subject string, at time.Time) {
	t.Helper()
	var found []message
	eventually(t, 2*time.Minute, subject+" arrives", func() (bool, string) {
		found = append(p.relays[0].matching(subjectIs(subject)), p.relays[1].matching(subjectIs(subject))...)
		return len(found) > 0, ""
	})
	if late := found[0].At.Sub(at); late < -2*time.Second || late > patience(takeOverTime) || len(found) > 1 {
		t.Errorf("%s arrived %d times, %s after it was due", subject, len(found), late)
	}
}

// TestPostgresClockSkew: what one server accepts, signs or schedules is valid on the other, and a
// take-over changes nothing.
func TestPostgresClockSkew(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p, clocks := startWithClocks(t)
	stop := p.mix(t)
	p.waitAccepted(t, 50)
	p.kill(t, 0, true)
	p.again(t, 0)
	p.waitAccepted(t, 20)
	stop()
	p.wantNoProblems(t)
	for n, relay := range p.relays {
		if relay.count() == 0 {
			t.Errorf("server %d sent nothing", n)
		}
	}

	for n := range p.nodes {
		subject := fmt.Sprintf("scheduled by %d", n)
		p.wantOnTime(t, subject, p.schedule(t, n, subject))
	}
	p.checkOrder(t)
	p.checkTimes(t)
	p.checkIdempotency(t)
	clocks[1].step(t, 2*time.Hour) // while it works
	p.wantOnTime(t, "after a step", p.schedule(t, 1, "after a step"))
	at, since := p.schedule(t, 0, "over a take-over"), time.Now()
	p.nodes[1].kill(t)
	p.waitTakeOver(t, 0, since)
	p.wantOnTime(t, "over a take-over", at)
	for _, in := range p.nodes {
		if log := in.log(t); !bytes.Contains(log, []byte("not that of the database")) || bytes.Contains(log, []byte("wall clock was")) {
			t.Errorf("its log says nothing of the wrong clock, or makes good what was not:\n%s", tail(log, 3000))
		}
	}
}

// checkOrder: mail accepted alternately is listed in that order.
func (p *pair) checkOrder(t *testing.T) {
	t.Helper()
	var sent []string
	for n := range 4 {
		sent = append(sent, p.at(n%2).send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "in order", "text": "x"}))
		after(t, 2500*time.Millisecond) // clocks that differ by less are left alone
	}
	slices.Reverse(sent)
	for n := range p.nodes {
		var list struct{ Data []email }
		p.at(n).get(t, "/emails?limit=100", &list)
		var got []string
		for _, e := range list.Data {
			if e.Subject == "in order" {
				got = append(got, e.ID)
			}
		}
		if !slices.Equal(got, sent) {
			t.Errorf("server %d lists %v, want %v", n, got, sent)
		}
	}
}

// checkTimes: a time that one server reports means the same on the other.
func (p *pair) checkTimes(t *testing.T) {
	t.Helper()
	for n := range p.nodes {
		body := map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "relative", "text": "x", "scheduled_at": "in 30 minutes",
			"attachments": []any{map[string]any{"filename": "a.txt", "content": "eA=="}}}
		id := p.at(n).send(t, body)
		got, err := time.Parse(time.RFC3339Nano, strings.Replace(p.at(1-n).email(t, id).ScheduledAt, " ", "T", 1))
		if off := time.Until(got) - 30*time.Minute; err != nil || off.Abs() > 30*time.Second {
			t.Errorf("in 30 minutes is %s off (%v)", off, err)
		}
		var files struct {
			Data []struct {
				DownloadURL string `json:"download_url"`
			}
		}
		p.at(n).get(t, "/emails/"+id+"/attachments", &files)
		if len(files.Data) != 1 {
			t.Fatalf("%d attachments", len(files.Data))
		}
		link := strings.Replace(files.Data[0].DownloadURL, p.nodes[n].addr, p.nodes[1-n].addr, 1)
		res, err := http.Get(link)
		must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("a link of server %d is answered by the other one with %d", n, res.StatusCode)
		}
	}
}

// checkIdempotency: both servers give the first answer of a key.
func (p *pair) checkIdempotency(t *testing.T) {
	t.Helper()
	for n := range p.nodes {
		body := map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": fmt.Sprint("once ", n), "text": "x"}
		var ids [3]string
		for i, server := range []int{n, 1 - n, n} {
			status, answer, err := p.at(server).try("POST", "/emails", body, "Idempotency-Key", fmt.Sprint("apart-", n))
			must(t, err)
			var got email
			if err := json.Unmarshal(answer, &got); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s (%v)", status, answer, err)
			}
			ids[i] = got.ID
		}
		if ids[0] != ids[1] || ids[0] != ids[2] {
			t.Errorf("one key was used for %v", ids)
		}
	}
}
