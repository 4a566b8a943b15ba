package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"mailer/app"
	"mailer/app/insights"
	"mailer/app/render"
	"mailer/db"
)

// broadcastMailBytes bounds the contents of broadcasts that are kept compiled; one
// that is larger is kept alone.
const broadcastMailBytes = 32 << 20

// broadcastMail is the content of one broadcast, parsed once.
type broadcastMail struct {
	*render.BroadcastMail
	id       string
	from     app.Address
	insights *app.Insights
	audience app.Audience
}

// broadcastMails keeps contents of broadcasts. What one says never changes once it
// is queued but by erasures. The zero value is ready.
type broadcastMails struct {
	mu    sync.Mutex
	kept  []*broadcastMail // the last one was used last
	bytes int64
	drops int // how often one was dropped
}

// get gives a content that is kept, else nil.
func (m *broadcastMails) get(id string) *broadcastMail {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, func(c *broadcastMail) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	c := m.kept[i]
	if i < len(m.kept)-1 {
		m.kept = append(slices.Delete(m.kept, i, i+1), c)
	}
	return c
}

// state is what put asks for: to be read before the content is.
func (m *broadcastMails) state() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.drops
}

// drop forgets a content that was changed.
func (m *broadcastMails) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops++
	m.kept = slices.DeleteFunc(m.kept, func(c *broadcastMail) bool {
		if c.id == id {
			m.bytes -= c.Size()
		}
		return c.id == id
	})
}

// put keeps a content in place of those that were used least lately, unless it
// may have changed since it was read.
func (m *broadcastMails) put(c *broadcastMail, state int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state != m.drops {
		return
	}
	m.kept = append(m.kept, c)
	m.bytes += c.Size()
	for len(m.kept) > 1 && m.bytes > broadcastMailBytes {
		m.bytes -= m.kept[0].Size()
		m.kept = slices.Delete(m.kept, 0, 1)
	}
}

// frozenAudience says whom a queued broadcast goes to. Neither
// its segment nor its topic can be deleted while it is open.
func frozenAudience(r *db.Reader, b *app.Broadcast) (app.Audience, error) {
	a := app.Audience{TeamID: b.TeamID, SegmentID: b.SegmentID, TopicID: b.TopicID, Default: app.OptIn, Bound: b.Bound}
	if b.Frozen != nil {
		a.Filter = b.Frozen.Filter
	}
	if b.TopicID == "" {
		return a, nil
	}
	t, err := r.Topic(b.TeamID, b.TopicID)
	a.Default = t.Default
	return a, err
}

// broadcastMail gives the compiled content of a broadcast that was queued.
func (e *Engine) broadcastMail(ctx context.Context, teamID, id string) (*broadcastMail, error) {
	if c := e.mails.get(id); c != nil {
		return c, nil
	}
	var b *app.Broadcast
	var audience app.Audience
	state := e.mails.state()
	err := e.db.Read(ctx, func(r *db.Reader) (err error) {
		if b, err = r.Broadcast(teamID, id); err == nil {
			audience, err = frozenAudience(r, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read broadcast: %w", err)
	}
	mail, err := render.CompileBroadcast(b)
	if err != nil {
		return nil, fmt.Errorf("compile broadcast: %w", err)
	}
	insights, err := insights.InspectBroadcast(e.cfg.Sealer, b)
	if err != nil {
		return nil, fmt.Errorf("inspect broadcast: %w", err)
	}
	c := &broadcastMail{BroadcastMail: mail, id: id, from: b.From, audience: audience, insights: insights}
	e.mails.put(c, state)
	return c, nil
}

// dropBroadcastMail forgets the compiled content of a broadcast that was changed.
func (e *Engine) dropBroadcastMail(id string) { e.mails.drop(id) }
