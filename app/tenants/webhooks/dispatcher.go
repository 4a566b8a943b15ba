package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

const (
	// slowAttempt is how long an attempt takes that counts as slow.
	slowAttempt = 2 * time.Second
	// retryPause is the pause after a claim that failed in the database.
	retryPause = time.Second
	// maxSleep bounds how long the dispatcher sleeps.
	maxSleep = time.Minute
)

// dispatcher delivers events to webhooks. It claims due deliveries, and one goroutine attempts
// each. Every webhook has its own queue, so that one endpoint delays no other. Claims are kept in
// memory, due times in the database, so a restart repeats only the attempts that were running.
type dispatcher struct {
	s      *Service
	signal base.Signal

	mu        sync.Mutex
	announced map[announcement]bool     // events since the last round
	queues    map[string]*endpointQueue // by webhook id
	pending   map[string]*endpointQueue // queues that are to be scanned
	slots     *attemptSlots
	scans     int64 // counts scans
}

// announcement is that an event of this name was announced in a team.
type announcement struct {
	teamID string
	name   webhook.EventName
}

// endpointQueue is the state of one webhook's deliveries.
type endpointQueue struct {
	subscriber
	next      time.Time       // when something may be due; zero: when woken
	inFlight  map[string]bool // ids of the events with a running attempt
	limit     int             // the size limit of inFlight; grows with fast successes
	slow      bool            // the last attempt failed or was slow
	scanned   bool            // it was scanned before
	lastScan  int64           // number of its last scan: the oldest is next
	emptyUpTo int64           // webhook.Event.Seq up to which no event waits
}

func (q *endpointQueue) slot() slotKey { return slotKey{q.teamID, q.host, q.slow} }

// job is a claimed delivery.
type job struct {
	due     db.DueDelivery
	attempt int // number of this attempt, from 1
	slot    slotKey
}

func newDispatcher(s *Service) *dispatcher {
	return &dispatcher{s: s, signal: base.NewSignal(), announced: map[announcement]bool{}, queues: map[string]*endpointQueue{}, pending: map[string]*endpointQueue{}, slots: newAttemptSlots()}
}

// start starts the dispatcher, if there is a transport.
func (h *dispatcher) start() {
	if h.s.Transport == nil {
		return
	}
	h.wake(h.s.subscriptions.everySubscriber())
	h.s.Workers.Go(func() {
		for base.Sleep(h.s.Claiming, h.round(h.s.Claiming), h.signal) {
		}
	})
}

// noteEvent schedules the queues of an event's subscribers. It never blocks, and its cost does not
// depend on the number of webhooks.
func (h *dispatcher) noteEvent(teamID string, name webhook.EventName) {
	if h.s.Transport == nil {
		return
	}
	h.mu.Lock()
	h.announced[announcement{teamID, name}] = true
	h.mu.Unlock()
	h.signal.Notify()
}

// wakeSubscribers schedules the queues of the subscribers of announced events.
func (h *dispatcher) wakeSubscribers(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a := range h.announced {
		for _, sub := range h.s.subscriptions.subscribers(a.teamID, a.name) {
			h.scheduleScan(h.queue(sub), now)
		}
	}
	clear(h.announced)
}

// wake schedules the queues of webhooks now. It never blocks.
func (h *dispatcher) wake(subscribers []subscriber) {
	if h.s.Transport == nil || len(subscribers) == 0 {
		return
	}
	now := clock.Now()
	h.mu.Lock()
	for _, sub := range subscribers {
		h.scheduleScan(h.queue(sub), now)
	}
	h.mu.Unlock()
	h.signal.Notify()
}

func (h *dispatcher) queue(sub subscriber) *endpointQueue {
	q := h.queues[sub.id]
	if q == nil {
		q = &endpointQueue{inFlight: map[string]bool{}, limit: 1}
		h.queues[sub.id] = q
	}
	q.subscriber = sub
	return q
}

// scheduleScan schedules a scan of a queue at a time, or earlier if it is scheduled already. A zero
// time changes nothing.
func (h *dispatcher) scheduleScan(q *endpointQueue, at time.Time) {
	if q.next = base.Earlier(q.next, at); !q.next.IsZero() {
		h.pending[q.id] = q
	}
}

// attempting reports whether an attempt is running.
func (h *dispatcher) attempting(webhookID, eventID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[webhookID]
	return q != nil && q.inFlight[eventID]
}

// round claims due deliveries, starts their attempts, and returns how long to sleep.
func (h *dispatcher) round(ctx context.Context) time.Duration {
	h.wakeSubscribers(clock.Now())
	if scans := h.takeReady(clock.Now()); len(scans) > 0 {
		if err := h.dispatch(ctx, scans); err != nil {
			if ctx.Err() == nil {
				h.s.LogUnlessUnavailable("claim deliveries to webhooks", err)
			}
			h.rescan(scans, clock.Now().Add(retryPause))
		}
	}
	return h.sleepTime(clock.Now())
}

// queueScan is one scan of a queue, with the slots that it holds meanwhile.
type queueScan struct {
	webhookID string
	slot      slotKey
	free      int // how many attempts may begin
	inFlight  map[string]bool
	emptyUpTo int64 // as in endpointQueue

	reached int64            // webhook.Webhook.Reached
	due     []db.DueDelivery // deliveries that may begin
	begun   []db.DueDelivery // deliveries that were claimed
}

// free returns how many attempts of a queue may begin.
func (h *dispatcher) free(q *endpointQueue) int {
	return min(q.limit-len(q.inFlight), h.slots.free(q.slot()))
}

// takeReady returns scans of the queues in which something may be due and may begin, the longest
// unscanned first. A queue leaves pending until its scan, or a wake-up, schedules it again.
func (h *dispatcher) takeReady(now time.Time) (scans []*queueScan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var due []*endpointQueue
	for _, q := range h.pending {
		if !q.next.After(now) && h.free(q) > 0 {
			due = append(due, q)
		}
	}
	slices.SortStableFunc(due, func(a, b *endpointQueue) int { return cmp.Compare(a.lastScan, b.lastScan) })
	for _, q := range due {
		n := h.free(q) // the loop took some
		if n <= 0 {
			continue
		}
		h.scans++
		q.lastScan = h.scans
		h.slots.take(q.slot(), n)
		scans = append(scans, &queueScan{webhookID: q.id, slot: q.slot(), free: n, inFlight: maps.Clone(q.inFlight), emptyUpTo: q.emptyUpTo})
		q.next = time.Time{}
		delete(h.pending, q.id)
	}
	return scans
}

// rescan schedules further scans at a time.
func (h *dispatcher) rescan(scans []*queueScan, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, scan := range scans {
		if q := h.queues[scan.webhookID]; q != nil {
			h.scheduleScan(q, at)
		}
	}
}

// sleepTime returns how long nothing can begin. A queue without free slots is checked when an
// attempt ends.
func (h *dispatcher) sleepTime(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := now.Add(maxSleep)
	for _, q := range h.pending {
		if q.next.Before(next) && h.free(q) > 0 {
			next = q.next
		}
	}
	return max(next.Sub(now), 0)
}

// dispatch starts the due attempts of queues, and releases the slots that are not needed.
func (h *dispatcher) dispatch(ctx context.Context, scans []*queueScan) error {
	err := h.claim(ctx, scans)
	var jobs []*job
	h.mu.Lock()
	for _, scan := range scans {
		if err != nil {
			scan.begun = nil
		}
		h.slots.release(scan.slot, scan.free-len(scan.begun))
		for _, d := range scan.begun {
			h.queues[scan.webhookID].inFlight[d.EventID] = true
			jobs = append(jobs, &job{due: d, attempt: d.Attempts + 1, slot: scan.slot})
		}
	}
	h.mu.Unlock()
	for _, j := range jobs {
		h.s.Workers.Go(func() { h.runAttempt(j) })
	}
	return err
}

// claim stores that attempts begin.
func (h *dispatcher) claim(ctx context.Context, scans []*queueScan) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if err := h.readDue(ctx, scans); err != nil {
		return err
	}
	if !slices.ContainsFunc(scans, func(scan *queueScan) bool { return len(scan.due) > 0 }) {
		return nil
	}
	return h.s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		for _, scan := range scans {
			if err := scan.begin(tx); err != nil {
				return fmt.Errorf("begin delivery: %w", err)
			}
		}
		return nil
	})
}

// begin stores that due deliveries begin, except those that were replayed or deleted since they
// were read.
func (scan *queueScan) begin(tx *db.Tx) error {
	scan.begun = nil
	var first []db.DueDelivery // those that have no delivery yet
	for _, d := range scan.due {
		if d.Seq > 0 {
			first = append(first, d)
			continue
		}
		err := tx.BeginDelivery(d, webhook.CrashTime(tx.Now))
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		scan.begun = append(scan.begun, d)
	}
	if len(first) == 0 {
		return nil
	}
	err := tx.BeginWaiting(scan.webhookID, scan.reached, first, webhook.CrashTime(tx.Now))
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	scan.begun = append(scan.begun, first...)
	return err
}

// readDue reads the due deliveries of queues, and drops the queues of webhooks that are disabled or
// deleted.
func (h *dispatcher) readDue(ctx context.Context, scans []*queueScan) error {
	return h.s.DB.Read(ctx, func(r *db.Reader) error {
		for _, scan := range scans {
			w, last, err := r.EnabledWebhook(scan.webhookID)
			if errors.Is(err, db.ErrNotFound) {
				h.dropQueue(scan)
				continue
			}
			if err != nil {
				return err
			}
			if h.noteFirstScan(scan, &w) {
				continue
			}
			if err := h.readQueue(r, scan, &w, last); err != nil {
				return err
			}
		}
		return nil
	})
}

// readQueue reads the due deliveries of one queue. last is the Seq of the team's last event.
func (h *dispatcher) readQueue(r *db.Reader, scan *queueScan, w *webhook.Webhook, last int64) error {
	rows, err := r.DueDeliveries(w.ID, scan.free+len(scan.inFlight)+1)
	if err != nil {
		return err
	}
	var first []db.DueDelivery
	if from := max(w.Reached, scan.emptyUpTo); from < last {
		if first, err = r.WaitingEvents(w, from, scan.free+1); err != nil {
			return err
		}
	}
	var next time.Time
	scan.reached = w.Reached
	scan.due, next = scan.choose(rows, first, clock.Now())
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[scan.webhookID]
	h.scheduleScan(q, next)
	if len(first) == 0 {
		q.emptyUpTo = last
	}
	return nil
}

// choose returns the deliveries that may begin now, and when the queue is to be scanned again;
// zero: when woken. rows are deliveries ordered by time, first are events without a delivery. The
// latter are due even if their time is in the future, which happens after the clock was set back.
func (scan *queueScan) choose(rows, first []db.DueDelivery, now time.Time) (take []db.DueDelivery, next time.Time) {
	rows = slices.DeleteFunc(rows, func(d db.DueDelivery) bool { return scan.inFlight[d.EventID] }) // scheduled again when the attempt ends
	for len(rows)+len(first) > 0 {
		from, at := &first, now
		if len(first) > 0 {
			at = base.Earlier(first[0].NextAt, now)
		}
		if len(rows) > 0 && (len(first) == 0 || rows[0].NextAt.Before(at)) {
			from, at = &rows, rows[0].NextAt
		}
		if at.After(now) || len(take) == scan.free {
			return take, at
		}
		take = append(take, (*from)[0])
		*from = (*from)[1:]
	}
	return take, time.Time{}
}

// noteFirstScan marks a queue as scanned. It returns true at the first scan of a failing webhook:
// the queue is marked as slow, and scanned again with the limits of slow ones.
func (h *dispatcher) noteFirstScan(scan *queueScan, w *webhook.Webhook) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[scan.webhookID]
	first := !q.scanned
	q.scanned = true
	if !first || w.FailingSince.IsZero() {
		return false
	}
	q.slow = true
	h.scheduleScan(q, clock.Now())
	return true
}

func (h *dispatcher) dropQueue(scan *queueScan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.queues[scan.webhookID]; len(q.inFlight) == 0 && q.next.IsZero() {
		delete(h.queues, scan.webhookID)
	}
}

// finish records the end of an attempt, its speed, and when the delivery is due again.
func (h *dispatcher) finish(j *job, next time.Time, fast bool) {
	h.mu.Lock()
	q := h.queues[j.due.WebhookID]
	delete(q.inFlight, j.due.EventID)
	h.slots.release(j.slot, 1)
	q.limit, q.slow = min(2*q.limit, maxPerEndpoint), false
	if !fast {
		q.limit, q.slow = 1, true
	}
	h.scheduleScan(q, next)
	h.mu.Unlock()
	h.signal.Notify()
}

// runAttempt attempts a delivery and recovers from panics.
func (h *dispatcher) runAttempt(j *job) {
	var next time.Time
	var fast bool
	defer func() {
		if r := recover(); r != nil {
			h.s.Log.Error("panic while telling a webhook", "panic", r, "stack", string(debug.Stack()))
		}
		h.finish(j, next, fast)
	}()
	next, fast = h.attempt(j)
}
