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
	// slowHook is how long an attempt takes that is called slow.
	slowHook = 2 * time.Second
	// hookPause is how long claims rest after the database refused one.
	hookPause = time.Second
	// hookSweep bounds how long the dispatcher sleeps.
	hookSweep = time.Minute
)

// hooks tells webhooks of events: a dispatcher claims what is due, and a goroutine for
// each attempts it. Every webhook has a lane of its own, so that what one endpoint
// does delays no other. Claims live in memory; what is due, and when, is in the
// database, so a restart loses and repeats nothing but what was under way.
type hooks struct {
	s    *Service
	bell base.Bell

	mu     sync.Mutex
	news   map[news]bool        // what happened since the dispatcher last looked
	lanes  map[string]*hookLane // by the ids of their webhooks
	awake  map[string]*hookLane // those that are to be looked at
	places *places
	turn   int64 // counts looks
}

// news is that something of that name happened in a team.
type news struct {
	teamID string
	name   webhook.EventName
}

// hookLane is what is known of one webhook.
type hookLane struct {
	hearer
	next  time.Time       // when something may be due; zero: when somebody says so
	busy  map[string]bool // ids of the webhook events whose attempts are under way
	limit int             // how many of them there may be; grows while all goes well
	slow  bool            // the last attempt failed or took long
	known bool            // it was looked at
	turn  int64           // when that was: who waits longest comes first
	idle  int64           // webhook.Event.Seq up to which nothing waits for it
}

func (l *hookLane) seat() seat { return seat{l.teamID, l.host, l.slow} }

// hookJob is a claimed delivery.
type hookJob struct {
	due     db.DueDelivery
	attempt int // which one this is, from 1 on
	seat    seat
}

func newHooks(s *Service) *hooks {
	return &hooks{s: s, bell: base.NewBell(), news: map[news]bool{}, lanes: map[string]*hookLane{}, awake: map[string]*hookLane{}, places: newPlaces()}
}

// start sets the dispatcher to work, where there is a way out.
func (h *hooks) start() {
	if h.s.Transport == nil {
		return
	}
	h.wake(h.s.listeners.everybody())
	h.s.Workers.Go(func() {
		for base.Pause(h.s.Taking, h.round(h.s.Taking), h.bell) {
		}
	})
}

// note has those looked at who hear of an event. It never blocks, and costs as much
// for many webhooks as for one.
func (h *hooks) note(teamID string, name webhook.EventName) {
	if h.s.Transport == nil {
		return
	}
	h.mu.Lock()
	h.news[news{teamID, name}] = true
	h.mu.Unlock()
	h.bell.Ring()
}

// hear wakes the lanes of those who hear of what was noted.
func (h *hooks) hear(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.news {
		for _, who := range h.s.listeners.to(n.teamID, n.name) {
			h.look(h.lane(who), now)
		}
	}
	clear(h.news)
}

// wake has the lanes of webhooks looked at; it never blocks.
func (h *hooks) wake(who []hearer) {
	if h.s.Transport == nil || len(who) == 0 {
		return
	}
	now := clock.Now()
	h.mu.Lock()
	for _, one := range who {
		h.look(h.lane(one), now)
	}
	h.mu.Unlock()
	h.bell.Ring()
}

func (h *hooks) lane(who hearer) *hookLane {
	l := h.lanes[who.id]
	if l == nil {
		l = &hookLane{busy: map[string]bool{}, limit: 1}
		h.lanes[who.id] = l
	}
	l.hearer = who
	return l
}

// look has a lane looked at, at that time at the latest; zero says nothing.
func (h *hooks) look(l *hookLane, at time.Time) {
	if l.next = base.Earlier(l.next, at); !l.next.IsZero() {
		h.awake[l.id] = l
	}
}

// attempting reports whether an attempt is under way.
func (h *hooks) attempting(webhookID, eventID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[webhookID]
	return l != nil && l.busy[eventID]
}

// round claims what is due and may begin, has it attempted, and returns how long
// to sleep.
func (h *hooks) round(ctx context.Context) time.Duration {
	h.hear(clock.Now())
	if looks := h.ready(clock.Now()); len(looks) > 0 {
		if err := h.serve(ctx, looks); err != nil {
			if ctx.Err() == nil {
				h.s.LogUnlessHindered("claim deliveries to webhooks", err)
			}
			h.again(looks, clock.Now().Add(hookPause))
		}
	}
	return h.sleep(clock.Now())
}

// hookLook is a lane that is looked at, with the places that it holds meanwhile.
type hookLook struct {
	webhookID string
	seat      seat
	room      int // how many attempts may begin
	busy      map[string]bool
	idle      int64 // as in hookLane

	reached int64            // webhook.Webhook.Reached
	due     []db.DueDelivery // what may begin
	begun   []db.DueDelivery // what was claimed
}

// room returns how many attempts of a lane may begin.
func (h *hooks) room(l *hookLane) int { return min(l.limit-len(l.busy), h.places.room(l.seat())) }

// ready returns the lanes in which something may be due and may begin, those first
// that were not looked at for longest. Until one of them is woken, what its look finds
// says when it is looked at next.
func (h *hooks) ready(now time.Time) (looks []*hookLook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var due []*hookLane
	for _, l := range h.awake {
		if !l.next.After(now) && h.room(l) > 0 {
			due = append(due, l)
		}
	}
	slices.SortStableFunc(due, func(a, b *hookLane) int { return cmp.Compare(a.turn, b.turn) })
	for _, l := range due {
		n := h.room(l) // others took some
		if n <= 0 {
			continue
		}
		h.turn++
		l.turn = h.turn
		h.places.take(l.seat(), n)
		looks = append(looks, &hookLook{webhookID: l.id, seat: l.seat(), room: n, busy: maps.Clone(l.busy), idle: l.idle})
		l.next = time.Time{}
		delete(h.awake, l.id)
	}
	return looks
}

// again has lanes looked at once more at a time.
func (h *hooks) again(looks []*hookLook, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range looks {
		if l := h.lanes[k.webhookID]; l != nil {
			h.look(l, at)
		}
	}
}

// sleep is how long nothing can begin. Who has no room wakes the dispatcher when
// an attempt ends.
func (h *hooks) sleep(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := now.Add(hookSweep)
	for _, l := range h.awake {
		if l.next.Before(next) && h.room(l) > 0 {
			next = l.next
		}
	}
	return max(next.Sub(now), 0)
}

// serve begins what is due in lanes, and returns the places that are not needed.
func (h *hooks) serve(ctx context.Context, looks []*hookLook) error {
	err := h.claim(ctx, looks)
	var jobs []*hookJob
	h.mu.Lock()
	for _, k := range looks {
		if err != nil {
			k.begun = nil
		}
		h.places.take(k.seat, len(k.begun)-k.room)
		for _, d := range k.begun {
			h.lanes[k.webhookID].busy[d.EventID] = true
			jobs = append(jobs, &hookJob{due: d, attempt: d.Attempts + 1, seat: k.seat})
		}
	}
	h.mu.Unlock()
	for _, j := range jobs {
		h.s.Workers.Go(func() { h.run(j) })
	}
	return err
}

// claim stores that attempts begin.
func (h *hooks) claim(ctx context.Context, looks []*hookLook) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if err := h.find(ctx, looks); err != nil {
		return err
	}
	if !slices.ContainsFunc(looks, func(k *hookLook) bool { return len(k.due) > 0 }) {
		return nil
	}
	return h.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
		for _, k := range looks {
			if err := k.begin(tx); err != nil {
				return fmt.Errorf("begin delivery: %w", err)
			}
		}
		return nil
	})
}

// begin stores that what is due begins, but for what was replayed or deleted since it
// was read.
func (k *hookLook) begin(tx *db.Tx) error {
	k.begun = nil
	var first []db.DueDelivery // those that have no delivery yet
	for _, d := range k.due {
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
		k.begun = append(k.begun, d)
	}
	if len(first) == 0 {
		return nil
	}
	err := tx.BeginWaiting(k.webhookID, k.reached, first, webhook.CrashTime(tx.Now))
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	k.begun = append(k.begun, first...)
	return err
}

// find reads what is due in lanes, and drops those of webhooks that are told
// nothing any more.
func (h *hooks) find(ctx context.Context, looks []*hookLook) error {
	return h.s.DB.Read(ctx, func(r *db.Reader) error {
		for _, k := range looks {
			w, last, err := r.EnabledWebhook(k.webhookID)
			if errors.Is(err, db.ErrNotFound) {
				h.drop(k)
				continue
			}
			if err != nil {
				return err
			}
			if h.meet(k, &w) {
				continue
			}
			if err := h.findIn(r, k, &w, last); err != nil {
				return err
			}
		}
		return nil
	})
}

// findIn reads what is due in a lane, of a team whose last event has that Seq.
func (h *hooks) findIn(r *db.Reader, k *hookLook, w *webhook.Webhook, last int64) error {
	rows, err := r.DueDeliveries(w.ID, k.room+len(k.busy)+1)
	if err != nil {
		return err
	}
	var first []db.DueDelivery
	if from := max(w.Reached, k.idle); from < last {
		if first, err = r.WaitingEvents(w, from, k.room+1); err != nil {
			return err
		}
	}
	var next time.Time
	k.reached = w.Reached
	k.due, next = k.choose(rows, first, clock.Now())
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[k.webhookID]
	h.look(l, next)
	if len(first) == 0 {
		l.idle = last
	}
	return nil
}

// choose returns what may begin now, and when the lane is to be looked at again;
// zero: when it is woken. rows are deliveries in the order of their times, first the
// events that have none yet; those are due whatever their times say, which a clock
// that was put back has lie ahead.
func (k *hookLook) choose(rows, first []db.DueDelivery, now time.Time) (take []db.DueDelivery, next time.Time) {
	rows = slices.DeleteFunc(rows, func(d db.DueDelivery) bool { return k.busy[d.EventID] }) // its end says when it is due again
	for len(rows)+len(first) > 0 {
		from, at := &first, now
		if len(first) > 0 {
			at = base.Earlier(first[0].NextAt, now)
		}
		if len(rows) > 0 && (len(first) == 0 || rows[0].NextAt.Before(at)) {
			from, at = &rows, rows[0].NextAt
		}
		if at.After(now) || len(take) == k.room {
			return take, at
		}
		take = append(take, (*from)[0])
		*from = (*from)[1:]
	}
	return take, time.Time{}
}

// meet notes what a webhook is like that is looked at for the first time, and reports
// whether it has to wait for its turn once more: one that failed last is slow.
func (h *hooks) meet(k *hookLook, w *webhook.Webhook) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[k.webhookID]
	fresh := !l.known
	l.known = true
	if !fresh || w.FailingSince.IsZero() {
		return false
	}
	l.slow = true
	h.look(l, clock.Now())
	return true
}

func (h *hooks) drop(k *hookLook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lanes[k.webhookID]; len(l.busy) == 0 && l.next.IsZero() {
		delete(h.lanes, k.webhookID)
	}
}

// release notes that an attempt ended, how, and when its delivery is due again.
func (h *hooks) release(j *hookJob, next time.Time, swift bool) {
	h.mu.Lock()
	l := h.lanes[j.due.WebhookID]
	delete(l.busy, j.due.EventID)
	h.places.take(j.seat, -1)
	l.limit, l.slow = min(2*l.limit, hookShare), false
	if !swift {
		l.limit, l.slow = 1, true
	}
	h.look(l, next)
	h.mu.Unlock()
	h.bell.Ring()
}

// run attempts a delivery and notes what came of it.
func (h *hooks) run(j *hookJob) {
	var next time.Time
	var swift bool
	defer func() {
		if r := recover(); r != nil {
			h.s.Log.Error("panic while telling a webhook", "panic", r, "stack", string(debug.Stack()))
		}
		h.release(j, next, swift)
	}()
	next, swift = h.attempt(j)
}
