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

// Entry is a request that was made.
type Entry = db.RequestLog

const (
	// Retention is how long requests are kept.
	Retention = 30 * 24 * time.Hour
	// FlushEvery is how long a request waits for others to be written with it.
	FlushEvery = time.Second
	// flushSize is how many do not wait any longer, and maxWaiting how many wait at most.
	flushSize, maxWaiting = 500, 5000
	// batchSize is how many one transaction writes: others wait behind it.
	batchSize = 100
	// logInterval is how often it is told at most that some were dropped.
	logInterval = time.Minute
	// forgetTTL is how long requests that come late are held against an erasure.
	forgetTTL = 5 * time.Minute
	// MaxEndpoint and MaxAgent are how many bytes of a path and of a user agent are kept.
	MaxEndpoint, MaxAgent = 512, 256
)

// Service keeps requests, and finds them.
type Service struct {
	*base.Base
	off            atomic.Bool
	wake, flushNow base.Signal // there is something to write; there is much
	writing        sync.Mutex  // held while some are written down
	mu             sync.Mutex  // held while what follows is read or changed
	waiting        []Entry
	dropped        int
	lastLogged     time.Time
	forgotten      []forgotten
}

// forgotten are addresses of a team that requests no longer mention; set says which, by
// the id of the request.
type forgotten struct {
	team  string
	set   func(id string) *erase.Set
	until time.Time
}

// New makes a Service; off: it keeps nothing new.
func New(b *base.Base, off bool) *Service {
	s := &Service{Base: b, wake: base.NewSignal(), flushNow: base.NewSignal()}
	s.SetOff(off)
	return s
}

// SetOff has new requests not be kept, or kept again. Those that were kept stay.
func (s *Service) SetOff(off bool) { s.off.Store(off) }

// Off reports whether new requests are not kept; nil keeps them.
func (s *Service) Off() bool { return s != nil && s.off.Load() }

// Note keeps a request. It is written down soon; where too many wait it is dropped.
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

// bounded is the beginning of a text up to a separator, so that no part of an address
// stays, and holds nothing else in memory.
func bounded(text string, most int, separator string) string {
	if len(text) > most {
		text = text[:max(0, strings.LastIndex(text[:most], separator))]
	}
	return strings.ToValidUTF8(strings.Clone(text), "")
}

// Start has requests be written down. The last ones need Flush.
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

// Flush writes down what waits. What can't be written is dropped.
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

// take returns what waits, without what mentions forgotten addresses.
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

// logDropped warns, once in a while, that requests were dropped.
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

// Forget removes the requests of a team, up to an id, that mention addresses; set says
// which, by the id of a request. Those that wait, or come in the next minutes and began
// before, are not kept.
func (s *Service) Forget(ctx context.Context, teamID, until string, all *erase.Set, set func(id string) *erase.Set) error {
	s.mu.Lock()
	s.forgotten = append(s.forgotten, forgotten{teamID, set, clock.Now().Add(forgetTTL)})
	s.mu.Unlock()
	s.Flush(ctx) // it waits for what is being written, which was taken before
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

// Purge removes what is older than is kept, of the teams that are named.
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
