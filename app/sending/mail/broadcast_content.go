package mail

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"mailer/app"
	"mailer/app/rules/insights"
	"mailer/app/rules/render"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// broadcastMailBytes bounds the cache of compiled broadcasts. A larger broadcast is cached alone.
const broadcastMailBytes = 64 << 20

// BroadcastMail is the compiled content of one broadcast.
type BroadcastMail struct {
	*render.Broadcast
	id       string
	From     app.Address
	Insights *app.Insights
	Audience app.Audience

	service *Service
	teamID  string
	files   atomic.Pointer[[]app.Attachment] // with contents; nil: not read yet
}

// Files returns the attachments with their contents, which all mails of the broadcast share. They
// are read for the first mail. Error: a Damage.
func (m *BroadcastMail) Files(ctx context.Context) ([]app.Attachment, error) {
	if len(m.Attachments()) == 0 {
		return nil, nil
	}
	if files := m.files.Load(); files != nil {
		return *files, nil
	}
	m.service.mails.reading.Lock() // several workers begin at the same time
	defer m.service.mails.reading.Unlock()
	if files := m.files.Load(); files != nil {
		return *files, nil
	}
	if kept := m.service.mails.get(m.id); kept != nil && kept != m {
		if files := kept.files.Load(); files != nil {
			return *files, nil
		}
	}
	files, err := db.Get(ctx, m.service.DB, func(r *db.Reader) ([]app.Attachment, error) { return r.BroadcastFiles(m.teamID, m.id) })
	if err != nil {
		return nil, fmt.Errorf("read attachments of a broadcast: %w", err)
	}
	m.files.Store(&files)
	return files, nil
}

// broadcastMails caches compiled broadcasts. Of a queued broadcast only sender, reply addresses and
// filter change, by erasures. The zero value is ready to use.
type broadcastMails struct {
	mu    sync.Mutex
	kept  []*BroadcastMail // most recently used last
	bytes int64
	drops int // how many times entries were dropped

	reading sync.Mutex // held while attachments are read
}

// get returns a cached content; nil: none.
func (m *broadcastMails) get(id string) *BroadcastMail {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, func(c *BroadcastMail) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	c := m.kept[i]
	if i < len(m.kept)-1 {
		m.kept = append(slices.Delete(m.kept, i, i+1), c)
	}
	return c
}

// dropCount returns the count that put needs. It must be read before the content is.
func (m *broadcastMails) dropCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.drops
}

// drop removes a content that was changed.
func (m *broadcastMails) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops++
	m.kept = slices.DeleteFunc(m.kept, func(c *BroadcastMail) bool {
		if c.id == id {
			m.bytes -= c.Size()
		}
		return c.id == id
	})
}

// dropAll removes all contents.
func (m *broadcastMails) dropAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops++
	m.kept, m.bytes = nil, 0
}

// put caches a content in place of the least recently used ones, unless it may have changed since
// it was read.
func (m *broadcastMails) put(c *BroadcastMail, state int) {
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

// BroadcastMail returns the compiled content of a queued broadcast.
func (s *Service) BroadcastMail(ctx context.Context, teamID, id string) (*BroadcastMail, error) {
	if c := s.mails.get(id); c != nil {
		return c, nil
	}
	var b *app.Broadcast
	var recipients app.Audience
	state := s.mails.dropCount()
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if b, err = r.Broadcast(teamID, id); err == nil {
			recipients, err = audience.FrozenAudience(r, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read broadcast: %w", err)
	}
	mail, err := render.Compile(b)
	if err != nil {
		return nil, fmt.Errorf("compile broadcast: %w", err)
	}
	insights, err := insights.OfBroadcast(s.Sealer, b)
	if err != nil {
		return nil, fmt.Errorf("inspect broadcast: %w", err)
	}
	c := &BroadcastMail{Broadcast: mail, id: id, From: b.From, Audience: recipients, Insights: insights, service: s, teamID: teamID}
	s.mails.put(c, state)
	return c, nil
}

// DropBroadcastMail removes a changed broadcast from the cache.
func (s *Service) DropBroadcastMail(id string) { s.mails.drop(id) }
