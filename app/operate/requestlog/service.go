package requestlog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/erase"
	"mailer/db"
)

// Entry is a logged request.
type Entry = db.RequestLog

const (
	// Retention is how long requests are stored.
	Retention = 30 * 24 * time.Hour
	// FlushEvery is how long a request waits to be stored together with others.
	FlushEvery = time.Second
	// flushSize is how many waiting requests are stored immediately, maxWaiting how many may wait.
	flushSize, maxWaiting = 500, 5000
	// batchSize is how many requests one transaction stores, since other transactions wait for it.
	batchSize = 100
	// logInterval is the minimum time between warnings about dropped requests.
	logInterval = time.Minute
	// forgetTTL is how long an erasure applies to requests that arrive late.
	forgetTTL = 5 * time.Minute
	// MaxEndpoint and MaxAgent are the maximum lengths of a stored path and user agent in bytes.
	MaxEndpoint, MaxAgent = 512, 256
)

// Service stores and searches requests.
type Service struct {
	*base.Base
	off            atomic.Bool
	wake, flushNow base.Signal // signals: requests are waiting; many are waiting
	writing        sync.Mutex  // held while a batch is stored
	mu             sync.Mutex  // guards the fields below
	waiting        []Entry
	dropped        int
	lastLogged     time.Time
	forgotten      []forgotten
}

// forgotten holds erased addresses of a team. set returns those that apply to a request id.
type forgotten struct {
	team  string
	set   func(id string) *erase.Set
	until time.Time
}

// New returns a Service. off: new requests are not stored.
func New(b *base.Base, off bool) *Service {
	s := &Service{Base: b, wake: base.NewSignal(), flushNow: base.NewSignal()}
	s.SetOff(off)
	return s
}

// SetOff enables or disables storing of new requests. Stored requests remain.
func (s *Service) SetOff(off bool) { s.off.Store(off) }

// Off reports whether storing is disabled. A nil Service stores.
func (s *Service) Off() bool { return s != nil && s.off.Load() }

// Note queues a request to be stored soon. It is dropped if too many wait.
func (s *Service) Note(e *Entry) {
	if s.Off() {
		return
	}
	e.Endpoint, e.UserAgent = bounded(e.Endpoint, MaxEndpoint, "/"), bounded(e.UserAgent, MaxAgent, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		s.dropped++
		return
	}
	s.waiting = append(s.waiting, *e)
	switch len(s.waiting) {
	case 1:
		s.wake.Notify()
	case flushSize:
		s.flushNow.Notify()
	}
}

// bounded returns a copy of the longest prefix of text of at most maxBytes bytes that ends at a
// separator, so that no part of an address remains.
func bounded(text string, maxBytes int, separator string) string {
	if len(text) > maxBytes {
		text = text[:max(0, strings.LastIndex(text[:maxBytes], separator))]
	}
	return strings.ToValidUTF8(strings.Clone(text), "")
}

// Start stores queued requests in the background. The last ones need Flush.
func (s *Service) Start() {
	s.Workers.Go(func() {
		for {
			select {
			case <-s.Claiming.Done():
				return
			case <-s.wake:
			}
			if !base.Sleep(s.Claiming, FlushEvery, s.flushNow) {
				return
			}
			s.Flush(context.WithoutCancel(s.Claiming))
		}
	})
}

// Flush stores the queued requests. It drops those that can't be stored.
func (s *Service) Flush(ctx context.Context) {
	s.writing.Lock()
	defer s.writing.Unlock()
	entries := s.take()
	for chunk := range slices.Chunk(entries, batchSize) {
		err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error { return tx.InsertRequestLogs(chunk) })
		if err != nil {
			s.drop(len(chunk), err)
		}
	}
	s.logDropped(nil)
}

// take returns the queued requests, without those that mention erased addresses.
func (s *Service) take() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := s.waiting
	s.waiting = nil
	now := clock.Now()
	s.forgotten = slices.DeleteFunc(s.forgotten, func(f forgotten) bool { return !now.Before(f.until) })
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return slices.ContainsFunc(s.forgotten, func(f forgotten) bool { return f.team == e.TeamID && e.Mentions(f.set(e.ID)) })
	})
}

func (s *Service) drop(n int, err error) {
	s.mu.Lock()
	s.dropped += n
	s.mu.Unlock()
	s.logDropped(err)
}

// logDropped logs now and then that requests were dropped.
func (s *Service) logDropped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Now()
	if s.dropped == 0 || now.Sub(s.lastLogged) < logInterval {
		return
	}
	args := []any{"requests", s.dropped}
	if err != nil {
		args = append(args, "err", err)
	}
	s.Log.Warn("the log of requests lacks some", args...)
	s.lastLogged, s.dropped = now, 0
}

// Forget removes requests of a team up to an id that mention erased addresses; set returns those
// that apply to a request id. It applies to queued requests too, and to requests that started
// before and arrive within forgetTTL.
func (s *Service) Forget(ctx context.Context, teamID, until string, all *erase.Set, set func(id string) *erase.Set) error {
	s.mu.Lock()
	s.forgotten = append(s.forgotten, forgotten{teamID, set, clock.Now().Add(forgetTTL)})
	s.mu.Unlock()
	s.Flush(ctx) // includes the batch that is being stored
	const rows = 500
	span := db.Span{Until: until}
	for {
		var hit []string
		var next string
		err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
			hit, next, err = r.RequestLogsWithTraces(teamID, span, rows, all)
			return err
		})
		if err != nil {
			return fmt.Errorf("find requests that mention addresses: %w", err)
		}
		if err := s.remove(ctx, teamID, hit); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

func (s *Service) remove(ctx context.Context, teamID string, ids []string) error {
	for chunk := range slices.Chunk(ids, batchSize) {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			for _, id := range chunk {
				if err := tx.DeleteRequestLog(teamID, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("remove requests that mention addresses: %w", err)
		}
	}
	return nil
}

// Purge removes expired requests of the given teams.
func (s *Service) Purge(ctx context.Context, teams []string) error {
	for _, id := range teams {
		err := s.InChunks(ctx, "old requests", func(tx *db.Tx) (bool, error) {
			return tx.PurgeRequestLogs(id, tx.Now.Add(-Retention), base.PurgeChunk)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
