package mail

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/tracking"
	"mailer/app/rules/webhook"
	"mailer/db"
)

const (
	// trackQueue is how many hits wait to be looked at; more are not counted.
	trackQueue = 4096
	// trackWaiting is how many hits wait for others of their emails; then all
	// are judged early.
	trackWaiting = 10_000
	// trackRecent is how many hits are remembered so that they count once.
	trackRecent = 50_000
	// judgeEvery is how often hits are looked for whose time has come.
	judgeEvery = 250 * time.Millisecond
	// hitsPerWrite is how many hits one Write records.
	hitsPerWrite = 100
)

// tracker counts opens and clicks, in short hits. They lie in memory until they
// are judged, 12 seconds at most: a crash loses at most those seconds of
// counting, and never a redirect, which needs nothing but its token.
//
// All but queue and dropped belong to the goroutine of track.
type tracker struct {
	queue   chan *tracking.Hit // the room of a full one is half a megabyte
	dropped atomic.Int64
	waiting map[string]*tracking.Pending // by email
	hits    int                          // in waiting
	ready   []judgedHit
	recent  map[recentHit]time.Time
}

// judgedHit is a hit to record, and whether it came in a burst.
type judgedHit struct {
	tracking.Hit
	burst bool
}

// recentHit is a hit that was recorded a moment ago.
type recentHit struct {
	tracking.HitKey
	counted bool // as an open or a click
}

func newTracker() *tracker {
	return &tracker{queue: make(chan *tracking.Hit, trackQueue), waiting: map[string]*tracking.Pending{}, recent: map[recentHit]time.Time{}}
}

// trackingOf is how an email is tracked: as its domain wants it now. nil: not at
// all, also where nobody knows where this server is reached, and for mail that was handed
// in whole where tryTracking did not find that it can be.
func (s *Service) trackingOf(email *app.Email, d *app.Domain) *app.Tracking {
	if email.HTML == "" || !d.OpenTracking && !d.ClickTracking {
		return nil
	}
	t := tracking.ForDomain(d, s.Settings.BaseURL)
	if email.Raw != nil && (t == nil || email.Tracking == nil || *t != *email.Tracking) {
		return nil
	}
	return t
}

// tryTracking looks whether an email that was handed in whole can be tracked as its domain
// wants it, and notes that. It takes as long as composing does, and others wait for Write.
func (s *Service) tryTracking(ctx context.Context, email *app.Email) error {
	if email.Raw == nil || email.HTML == "" {
		return nil
	}
	d, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Domain, error) { return r.DomainStatus(email.TeamID, email.From.Domain) })
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return base.Unavailable(err)
	}
	if t := tracking.ForDomain(&d, s.Settings.BaseURL); t != nil && tracking.FitsRaw(s.Sealer, email.FinalMail(), email.TeamID, email.ID, t) {
		email.Tracking = t
	}
	return nil
}

// NoteOpen notes that the pixel of an email was loaded; by nil notes nothing.
// It never waits. It answers false for a token that this server did not make.
func (s *Service) NoteOpen(token string, by *tracking.Visitor) bool {
	id, ok := tracking.ReadOpenToken(s.Sealer, token)
	if ok && by != nil {
		s.enqueueHit(tracking.NewHit(tracking.ClickLink{EmailID: id}, *by, clock.Now()))
	}
	return ok
}

// FollowLink returns where a tracked link leads that was asked for at a host, and notes
// that it was followed; by nil notes nothing. It answers false for a token that this
// server did not make for that host.
func (s *Service) FollowLink(ctx context.Context, host, token string, by *tracking.Visitor) (to tracking.Destination, ok bool) {
	link, ok := tracking.ReadClickToken(s.Sealer, token, tracking.HostOf(host))
	if !ok {
		return to, false
	}
	to = tracking.Destination{Target: link.Target, Location: tracking.Location(link.Target), Orphaned: s.orphaned(ctx, &link)}
	if by != nil && !to.Orphaned {
		s.enqueueHit(tracking.NewHit(link, *by, clock.Now()))
	}
	return to, true
}

// linkLookupTimeout is how long somebody who clicks waits for the store.
const linkLookupTimeout = time.Second

// orphaned reports whether the email or broadcast that a link stood in was deleted, or
// the domain that it came from: nobody answers for the link any more. Where the store
// can't say, it leads on: mail that was sent is not to break with its server.
func (s *Service) orphaned(ctx context.Context, link *tracking.ClickLink) bool {
	ctx, cancel := context.WithTimeout(ctx, linkLookupTimeout)
	defer cancel()
	exists, err := db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.HasSender(link.TeamID, link.EmailID) })
	if err != nil {
		s.Log.Warn("whether the mail of a link is still there could not be looked up; it leads on", "err", err)
	}
	return err == nil && !exists
}

// enqueueHit puts a hit in the queue where there is room.
func (s *Service) enqueueHit(f tracking.Hit) {
	select {
	case s.tracker.queue <- &f:
	default:
		if s.tracker.dropped.Add(1) == 1 {
			s.Log.Warn("too many opens and clicks at once: some are not counted")
		}
	}
}

// track judges hits until the service stops, then those that wait.
func (s *Service) track() {
	t := s.tracker
	var tick <-chan time.Time
	for {
		select {
		case f := <-t.queue:
			t.add(*f)
		case <-tick:
			tick = nil
		case <-s.Claiming.Done():
			t.drain()
			t.judgeAll()
			s.recordHits()
			return
		}
		t.drain()
		t.judgeDue(clock.Now())
		s.recordHits()
		if tick == nil && len(t.waiting) > 0 {
			tick = time.After(judgeEvery)
		}
	}
}

// drain takes what is in the queue, as much as it can hold.
func (t *tracker) drain() {
	for range trackQueue {
		select {
		case f := <-t.queue:
			t.add(*f)
		default:
			return
		}
	}
}

// add has a hit wait for others of its email. The only link of an email has
// none to wait for. A repeated hit of one of several links waits too: it may
// belong to a burst.
func (t *tracker) add(f tracking.Hit) {
	if f.Links <= 1 && t.repeats(f, f.Scanner == "") {
		return
	}
	if f.Links == 1 {
		t.ready = append(t.ready, judgedHit{f, false})
		return
	}
	g := t.waiting[f.EmailID]
	if g == nil {
		g = &tracking.Pending{}
		t.waiting[f.EmailID] = g
	}
	if g.Add(f) {
		t.hits++
	}
	if t.hits > trackWaiting {
		t.judgeAll()
	}
}

// repeats reports whether a hit repeats one that was recorded within the last
// minute as counted, or as not counted.
func (t *tracker) repeats(f tracking.Hit, counted bool) bool {
	at, ok := t.recent[recentHit{f.Key(), counted}]
	return ok && f.At.Sub(at) < tracking.RepeatWindow
}

// judgeDue makes those hits ready whose time has come.
func (t *tracker) judgeDue(now time.Time) {
	for id, g := range t.waiting {
		if !g.Due().After(now) {
			t.judge(id, g)
		}
	}
}

func (t *tracker) judgeAll() {
	for id, g := range t.waiting {
		t.judge(id, g)
	}
}

func (t *tracker) judge(id string, g *tracking.Pending) {
	burst := g.Burst()
	for _, f := range g.Hits() {
		t.ready = append(t.ready, judgedHit{f, burst})
	}
	t.hits -= len(g.Hits())
	delete(t.waiting, id)
}

// recordHits writes down what is ready. What can't be written is not counted:
// nothing waits for it, and the disk may be full.
func (s *Service) recordHits() {
	t := s.tracker
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("panic while counting opens and clicks", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	ready := t.ready
	t.ready = nil
	slices.SortStableFunc(ready, func(a, b judgedHit) int { return a.At.Compare(b.At) })
	for part := range slices.Chunk(ready, hitsPerWrite) {
		var recorded map[recentHit]time.Time
		err := s.DB.WriteBatched(context.Background(), func(tx *db.Tx) (err error) {
			recorded, err = s.record(tx, part)
			return err
		})
		if err != nil {
			s.Log.Error("opens and clicks are not counted", "hits", len(part), "err", err)
			continue
		}
		t.remember(recorded)
	}
	if n := t.dropped.Swap(0); n > 1 {
		s.Log.Warn("too many opens and clicks at once: some were not counted", "hits", n)
	}
}

// remember keeps what was recorded, so that it counts once.
func (t *tracker) remember(recorded map[recentHit]time.Time) {
	maps.Copy(t.recent, recorded)
	if len(t.recent) <= trackRecent {
		return
	}
	maps.DeleteFunc(t.recent, func(_ recentHit, at time.Time) bool { return clock.Since(at) >= tracking.RepeatWindow })
	if len(t.recent) > trackRecent {
		clear(t.recent)
	}
}

// record writes the events of hits and returns those that count as recorded,
// with their times.
func (s *Service) record(tx *db.Tx, hits []judgedHit) (map[recentHit]time.Time, error) {
	recorded := map[recentHit]time.Time{}
	for _, f := range hits {
		email, err := tx.TrackedEmail(f.EmailID, f.At)
		if errors.Is(err, db.ErrNotFound) { // deleted
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read tracked email: %w", err)
		}
		kind, reason := f.Judge(email.Taken, f.burst)
		r := recentHit{f.Key(), kind != app.EventPrefetched}
		if _, repeated := recorded[r]; repeated || s.tracker.repeats(f.Hit, r.counted) {
			continue
		}
		if err := s.recordHit(tx, &f.Hit, email, kind, reason); err != nil {
			return nil, err
		}
		recorded[r] = f.At
	}
	return recorded, nil
}

// recordHit writes the event of a hit, where the timeline has room, and
// moves last_event.
func (s *Service) recordHit(tx *db.Tx, f *tracking.Hit, email db.TrackedEmail, kind app.EventType, reason string) error {
	if tracking.TimelineFits(kind, email.Events, email.Prefetched) {
		err := tx.InsertEvent(app.Event{
			ID: f.ID, TeamID: email.TeamID, EmailID: f.EmailID, BroadcastID: email.Broadcast, Domain: email.Domain, Type: kind, Recipient: email.Recipient, CreatedAt: f.At,
			Detail: app.EventDetail{Message: reason, Link: f.Target, UserAgent: f.UserAgent, IPAddress: f.IPAddress},
		})
		if err != nil {
			return fmt.Errorf("insert event: %w", err)
		}
		if err := s.announceHit(tx, f, email, kind); err != nil {
			return err
		}
	}
	if kind == app.EventPrefetched {
		return nil
	}
	if email.Broadcast != "" {
		return countHit(tx, f, email, app.LastEvent(kind))
	}
	if email.Recipient != "" {
		tx.NoteActivity(email.TeamID, s.Sealer.AddressHash(email.TeamID, app.KeyOf(email.Recipient)), kind, f.At)
	}
	return tx.SetLastEvent(f.EmailID, app.LastEvent(kind))
}

// countHit counts an open or a click of a broadcast. Of mail whose outcome at
// the relay is in doubt it is the proof that it arrived, so that it is not sent
// again.
func countHit(tx *db.Tx, f *tracking.Hit, email db.TrackedEmail, kind app.LastEvent) error {
	if email.Pending {
		if err := settleArrived(tx, f.EmailID, email, kind); err != nil {
			return err
		}
	}
	if _, err := tx.MarkRecipient(email.Broadcast, f.EmailID, app.SeenOf(kind)); err != nil {
		return err
	}
	if kind != app.Clicked {
		return nil
	}
	return tx.CountClick(email.Broadcast, f.EmailID, f.Link)
}

// settleArrived ends the work on mail of a broadcast whose outcome was in doubt.
func settleArrived(tx *db.Tx, emailID string, email db.TrackedEmail, kind app.LastEvent) error {
	first, err := tx.MarkRecipient(email.Broadcast, emailID, app.SeenSent)
	if err != nil {
		return err
	}
	if first {
		tx.CountSent(email.TeamID, email.Domain, email.Broadcast, 1)
	}
	if err := tx.SettleDoubts(emailID, "the recipient has it: it was "+string(kind)); err != nil {
		return err
	}
	unit, committed, err := tx.OpenUnit(email.TeamID, emailID)
	if err != nil || committed { // its outcome comes
		return base.IgnoreNotFound(err)
	}
	unit.BroadcastID = email.Broadcast
	return tx.DeleteUnit(unit)
}

// announceHit notes an open or a click for webhooks.
func (s *Service) announceHit(tx *db.Tx, f *tracking.Hit, email db.TrackedEmail, kind app.EventType) error {
	switch kind {
	case app.EventType(app.Opened):
		return s.AnnounceEmail(tx, email.TeamID, webhook.EmailOpened, f.EmailID, webhook.EmailExtra{Recipient: email.Recipient})
	case app.EventType(app.Clicked):
		return s.AnnounceEmail(tx, email.TeamID, webhook.EmailClicked, f.EmailID, webhook.Clicked(email.Recipient, f.Target, f.IPAddress, f.UserAgent, f.At))
	}
	return nil
}
