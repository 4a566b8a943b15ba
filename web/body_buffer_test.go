package web

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mailer/app"
)

// recordingSender is a relay that blocks until it is opened, and keeps the messages after that.
type recordingSender struct {
	acceptingSender
	opened chan struct{}
	mu     sync.Mutex
	kept   map[string]*app.Mail // by the id of the email
}

// Send implements delivery.Sender.
func (k *recordingSender) Send(ctx context.Context, m *app.Outgoing, finalCheck func(context.Context, string) error) app.Result {
	select {
	case <-k.opened:
	case <-ctx.Done():
		return app.Result{Kind: app.ResultTrouble, Stage: app.StageRcpt}
	}
	k.mu.Lock()
	k.kept[m.EmailID] = m.Mail
	k.mu.Unlock()
	return k.acceptingSender.Send(ctx, m, finalCheck)
}

// fullSend returns a send with all members, filled with one letter, always of the same length.
func fullSend(letter string) string {
	s := strings.Repeat(letter, 12)
	return fmt.Sprintf(`{"from":"%[1]s <a@example.com>","to":["%[1]s@b.test"],"cc":"%[1]s@c.test","bcc":["%[1]s@d.test"],"reply_to":"%[1]s@e.test","subject":"%[1]s",`+
		`"html":"<p>%[1]s</p>","text":"\"%[1]s\"","headers":{"X-%[1]s":"%[1]s"},"tags":[{"name":"%[1]s","value":"%[1]s"}],`+
		`"attachments":[{"filename":"%[1]s","content":"%[1]s","content_type":"text/%[1]s"},{"filename":"%[1]s","content":{"type":"Buffer","data":[%[2]d,%[2]d]}}]}`, s, letter[0])
}

// TestReusedBufferIsNotRetained: an accepted email is kept in memory until it is sent; meanwhile
// the buffer of its request receives other bodies.
func TestReusedBufferIsNotRetained(t *testing.T) {
	t.Parallel()
	k := &recordingSender{opened: make(chan struct{}), kept: map[string]*app.Mail{}}
	cfg := relayed()
	cfg.Routes[0].Sender = k
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	letters := map[string]string{}
	for i := range 26 {
		letter := string(rune('a' + i))
		send := fullSend(letter)
		letters[r.send(r.full, send)] = letter
		wantStatus(t, r.as(r.full, "POST", "/emails", strings.Repeat("z", len(send))), 400) // above the size from which buffers are reused
		batch := r.as(r.full, "POST", "/emails/batch", "["+send+"]")
		wantStatus(t, batch, 200)
		letters[decoded[batchBody](t, batch).Data[0].ID] = letter
		wantStatus(t, r.as(r.full, "POST", "/emails/batch", strings.Repeat("z", len(send)+2)), 400)
	}
	close(k.opened)
	for id := range letters {
		r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, letter := range letters {
		m, s := k.kept[id], strings.Repeat(letter, 12)
		if m == nil {
			t.Fatalf("%s did not leave", id)
		}
		got := []string{m.From.Name, m.To[0].Local, m.Cc[0].Local, m.Bcc[0].Local, m.ReplyTo[0].Local, m.Subject, strings.TrimSuffix(strings.TrimPrefix(m.HTML, "<p>"), "</p>"),
			strings.Trim(m.Text, `"`), strings.ToLower(strings.TrimPrefix(m.Headers[0].Name, "X-")), m.Headers[0].Value, m.Tags[0].Name, m.Tags[0].Value,
			m.Attachments[0].Filename, strings.TrimPrefix(m.Attachments[0].ContentType, "text/"), m.Attachments[1].Filename}
		for i, part := range got {
			if part != s {
				t.Errorf("part %d of the mail of %s is %q", i, letter, part)
			}
		}
		if file := m.Attachments[1].Content; string(file) != letter+letter {
			t.Errorf("the file of the mail of %s is %q", letter, file)
		}
	}
}
