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
	"mailer/app/rules/counters"
	"mailer/app/rules/tracking"
	"mailer/app/rules/webhook"
	"mailer/db"
)

const (
	// trackQueue is the size of the queue of hits. Hits beyond it are not counted.
	trackQueue = 4096
	// trackWaiting is how many hits wait for others of their emails. Beyond it all are judged
	// early.
	trackWaiting = 10_000
	// trackRecent is how many recorded hits are remembered, so that repeated ones count once.
	trackRecent = 50_000
	// judgeEvery is how often due hits are judged.
	judgeEvery = 250 * time.Millisecond
	// hitsPerWrite is how many hits one Write records.
	hitsPerWrite = 100
)

// tracker counts opens and clicks (hits). Hits stay in memory until they are judged, 12 seconds at
// most. A crash loses these seconds of counting, but never a redirect, which needs only its token.
//
// Only the goroutine of track uses the fields, except queue and dropped.
type tracker struct {
	queue   chan *tracking.Hit // a full queue takes half a megabyte
	dropped atomic.Int64
	waiting map[string]*tracking.Pending // by email
	hits    int                          // in waiting
	ready   []judgedHit
	recent  map[recentHit]time.Time
}

// judgedHit is a hit to record, and whether it belongs to a burst.
type judgedHit struct {
	tracking.Hit
	burst bool
}

// recentHit is a hit that was just recorded.
type recentHit struct {
	tracking.HitKey
	counted bool // as an open or a click
}

func newTracker() *tracker {
	return &tracker{queue: make(chan *tracking.Hit, trackQueue), waiting: map[string]*tracking.Pending{}, recent: map[recentHit]time.Time{}}
}

// trackingOf returns the current tracking settings of an email's domain; nil: no tracking, also if
// the base URL is unknown, for a forwarded email, and for a submitted message that tryTracking found not trackable.
func (s *Service) trackingOf(email *app.Email, d *app.Domain) *app.Tracking {
	if email.HTML == "" || email.ForOptIn != "" || email.ForwardID != "" || !d.OpenTracking && !d.ClickTracking {
		return nil
	}
	t := tracking.ForDomain(d, s.Settings.BaseURL)
	if email.Raw != nil && (t == nil || email.Tracking == nil || *t != *email.Tracking) {
		return nil
	}
	return t
}

// tryTracking sets the tracking of a submitted message if the message can be tracked. It takes as
// long as composing, so it runs outside of Write.
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

// NoteOpen records an open of an email; a nil by records nothing. It never blocks. It returns false
// for a token that this server did not make.
func (s *Service) NoteOpen(token string, by *tracking.Visitor) bool {
	id, ok := tracking.ReadOpenToken(s.Sealer, token)
	if ok && by != nil {
		s.enqueueHit(tracking.NewHit(tracking.ClickLink{EmailID: id}, *by, clock.Now()))
	}
	return ok
}

// FollowLink returns the target of a tracked link on a host, and records a click; a nil by records
// nothing. It returns false for a token that this server did not make for that host.
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

// linkLookupTimeout is how long a click waits for the store.
const linkLookupTimeout = time.Second

// orphaned reports whether the email or broadcast of a link, or its domain, was deleted, so that
// nobody is responsible for the link. If the store fails, the link still redirects: sent mail must
// work while the server has problems.
func (s *Service) orphaned(ctx context.Context, link *tracking.ClickLink) bool {
	ctx, cancel := context.WithTimeout(ctx, linkLookupTimeout)
	defer cancel()
	exists, err := db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.HasSender(link.TeamID, link.EmailID) })
	if err != nil {
		s.Log.Warn("whether the mail of a link is still there could not be looked up; it leads on", "err", err)
	}
	return err == nil && !exists
}

// enqueueHit adds a hit to the queue, if there is space.
func (s *Service) enqueueHit(f tracking.Hit) {
	select {
	case s.tracker.queue <- &f:
	default:
		if s.tracker.dropped.Add(1) == 1 {
			s.Log.Warn("too many opens and clicks at once: some are not counted")
		}
	}
}

// track judges hits until the service stops, and then all waiting ones.
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

// drain processes the hits in the queue, at most as many as it can hold.
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

// add makes a hit wait for others of its email. The only link of an email has none to wait for. A
// repeated hit of one of several links waits too, since it may belong to a burst.
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

// repeats reports whether a hit repeats one that was recorded within tracking.RepeatWindow, as
// counted or as not counted.
func (t *tracker) repeats(f tracking.Hit, counted bool) bool {
	at, ok := t.recent[recentHit{f.Key(), counted}]
	return ok && f.At.Sub(at) < tracking.RepeatWindow
}

// judgeDue judges due hits.
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

// recordHits stores judged hits. A hit that can't be stored is not counted: counting must not
// block, and the disk may be full.
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

// remember adds recorded hits to recent, so that repeated ones count once.
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

// record writes the events of hits and returns the recorded hits with their times.
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

// recordHit writes the event of a hit, if the timeline has space, and updates last_event.
func (s *Service) recordHit(tx *db.Tx, f *tracking.Hit, email db.TrackedEmail, kind app.EventType, reason string) error {
	if err := s.signalHit(tx, f, &email, kind); err != nil {
		return err
	}
	if tracking.TimelineFits(kind, email.Events, email.Prefetched) {
		err := tx.InsertEvent(app.Event{
			ID: f.ID, TeamID: email.TeamID, EmailID: f.EmailID, BroadcastID: email.Broadcast, Domain: email.Domain, Relay: email.Relay, Type: kind, Recipient: email.Recipient, CreatedAt: f.At,
			Detail: app.EventDetail{Message: reason, Link: f.Target, UserAgent: f.UserAgent, IPAddress: f.IPAddress},
		})
		if err != nil {
			return fmt.Errorf("insert event: %w", err)
		}
		if err := s.announceHit(tx, f, email, kind); err != nil {
			return err
		}
		if err := countStepHit(tx, email, kind); err != nil {
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

// countStepHit counts the first open and the first click of an email of an automation, for the report of its
// step.
func countStepHit(tx *db.Tx, email db.TrackedEmail, kind app.EventType) error {
	count := db.CountOpened
	switch {
	case email.AutomationRun == "":
		return nil
	case kind == app.EventType(app.Opened) && !email.Opened:
	case kind == app.EventType(app.Clicked) && !email.Clicked:
		count = db.CountClicked
	default:
		return nil
	}
	run, err := tx.Run(email.TeamID, email.AutomationRun)
	if err != nil {
		return base.IgnoreNotFound(err) // deleted with its automation, or by retention
	}
	tx.CountAutomation(run.AutomationID, email.AutomationStep, count, 1)
	return nil
}

// countHit counts an open or a click of a broadcast. If the outcome of the email at the relay is in
// doubt, it proves that the email arrived, so it is not sent again.
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

// settleArrived ends the work on an email of a broadcast whose outcome was in doubt.
func settleArrived(tx *db.Tx, emailID string, email db.TrackedEmail, kind app.LastEvent) error {
	first, err := tx.MarkRecipient(email.Broadcast, emailID, app.SeenSent)
	if err != nil {
		return err
	}
	if first {
		tx.CountSent(counters.Key{TeamID: email.TeamID, Domain: email.Domain, BroadcastID: email.Broadcast, Region: email.Relay}, 1)
	}
	if err := tx.SettleDoubts(emailID, "the recipient has it: it was "+string(kind)); err != nil {
		return err
	}
	unit, committed, err := tx.OpenUnit(email.TeamID, emailID)
	if err != nil || committed { // its outcome is about to be stored
		return base.IgnoreNotFound(err)
	}
	unit.BroadcastID = email.Broadcast
	return tx.DeleteUnit(unit)
}

// announceHit announces an open or a click.
func (s *Service) announceHit(tx *db.Tx, f *tracking.Hit, email db.TrackedEmail, kind app.EventType) error {
	switch kind {
	case app.EventType(app.Opened):
		return s.AnnounceEmail(tx, email.TeamID, webhook.EmailOpened, f.EmailID, webhook.EmailExtra{Recipient: email.Recipient})
	case app.EventType(app.Clicked):
		return s.AnnounceEmail(tx, email.TeamID, webhook.EmailClicked, f.EmailID, webhook.Clicked(email.Recipient, f.Target, f.IPAddress, f.UserAgent, f.At))
	}
	return nil
}
