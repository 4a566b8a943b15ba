package events

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"mailer/app/service"
	"mailer/app/webhook"
	"mailer/db"
)

const (
	// maxHooks bounds the attempts that are under way at once, and hookShare those
	// to one endpoint.
	maxHooks  = 64
	hookShare = 8
	// maxSlowHooks bounds those to endpoints whose last attempt failed or took
	// slowHook or longer: dead ones always leave room for others.
	maxSlowHooks = maxHooks / 2
	slowHook     = 2 * time.Second
	// hookPause is how long claims rest after the database refused one.
	hookPause = time.Second
	// hookSweep bounds how long the dispatcher sleeps.
	hookSweep = time.Minute
)

// hooks tells webhooks of events: a dispatcher claims deliveries that are due,
// and a goroutine for each attempts it. Every webhook has a lane of its own, so
// that what one endpoint does delays no other. Claims live in memory; when
// something is due is in the database, so a restart loses and repeats nothing
// but what was under way.
type hooks struct {
	s    *Service
	bell service.Bell

	mu            sync.Mutex
	lanes         map[string]*hookLane // by the ids of their webhooks
	running, slow int                  // attempts under way, and those of slow lanes
}

// hookLane is what is known of one webhook.
type hookLane struct {
	next  time.Time       // when something may be due; zero: when somebody says so
	busy  map[string]bool // ids of the webhook events whose attempts are under way
	limit int             // how many of them there may be; grows while all goes well
	slow  bool            // the last attempt failed or took long
}

// hookJob is a claimed delivery.
type hookJob struct {
	due     db.DueDelivery
	attempt int // which one this is, from 1 on
	slow    bool
}

func newHooks(s *Service) *hooks {
	return &hooks{s: s, bell: service.NewBell(), lanes: map[string]*hookLane{}}
}

// start sets the dispatcher to work, where there is a way out.
func (h *hooks) start() {
	if h.s.Transport == nil {
		return
	}
	h.wake(h.s.listeners.ids())
	h.s.Workers.Go(func() {
		for service.Pause(h.s.Taking, h.round(h.s.Taking), h.bell) {
		}
	})
}

// wake has the lanes of webhooks looked at; it never blocks.
func (h *hooks) wake(ids []string) {
	if h.s.Transport == nil || len(ids) == 0 {
		return
	}
	now := time.Now()
	h.mu.Lock()
	for _, id := range ids {
		l := h.lanes[id]
		if l == nil {
			l = &hookLane{busy: map[string]bool{}, limit: 1}
			h.lanes[id] = l
		}
		l.next = service.Earlier(l.next, now)
	}
	h.mu.Unlock()
	h.bell.Ring()
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
	defer func() {
		if r := recover(); r != nil {
			h.s.Log.Error("panic while claiming deliveries", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	looks := h.ready(time.Now())
	if len(looks) > 0 {
		if err := h.claim(ctx, looks); err != nil {
			if ctx.Err() == nil {
				h.s.Log.Error("claim deliveries to webhooks", "err", err)
			}
			h.again(looks, time.Now().Add(hookPause))
		}
	}
	return h.sleep(time.Now())
}

// hookLook is a lane that is to be looked at.
type hookLook struct {
	webhookID string
	room      int
	busy      map[string]bool
}

// ready returns the lanes in which something may be due and may begin. Until one of
// them is woken, what its look finds says when it is looked at next.
func (h *hooks) ready(now time.Time) (looks []hookLook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room, slowRoom := maxHooks-h.running, maxSlowHooks-h.slow
	for id, l := range h.lanes { // in no order: nobody is always last
		n := min(l.limit-len(l.busy), room)
		if l.slow {
			n = min(n, slowRoom)
		}
		if n <= 0 || l.next.IsZero() || l.next.After(now) {
			continue
		}
		room -= n
		if l.slow {
			slowRoom -= n
		}
		look := hookLook{webhookID: id, room: n, busy: make(map[string]bool, len(l.busy))}
		for eventID := range l.busy {
			look.busy[eventID] = true
		}
		l.next = time.Time{}
		looks = append(looks, look)
	}
	return looks
}

// again has lanes looked at once more at a time.
func (h *hooks) again(looks []hookLook, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, look := range looks {
		if l := h.lanes[look.webhookID]; l != nil {
			l.next = service.Earlier(l.next, at)
		}
	}
}

// sleep is how long nothing can begin. Who has no room wakes the dispatcher when
// an attempt ends.
func (h *hooks) sleep(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := now.Add(hookSweep)
	for _, l := range h.lanes {
		if !l.next.IsZero() && l.next.Before(next) && len(l.busy) < l.limit && h.running < maxHooks && (!l.slow || h.slow < maxSlowHooks) {
			next = l.next
		}
	}
	return max(next.Sub(now), 0)
}

// claim stores that attempts begin and begins them.
func (h *hooks) claim(ctx context.Context, looks []hookLook) error {
	due, err := h.find(ctx, looks)
	if err != nil || len(due) == 0 {
		return err
	}
	var begun []db.DueDelivery
	err = h.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
		begun = nil
		for _, d := range due {
			err := tx.BeginDelivery(d, webhook.CrashTime(d.Attempts+1, tx.Now))
			switch {
			case errors.Is(err, db.ErrNotFound): // replayed or deleted since it was read
			case err != nil:
				return fmt.Errorf("begin delivery: %w", err)
			default:
				begun = append(begun, d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range begun {
		j := h.take(d)
		h.s.Workers.Go(func() { h.run(j) })
	}
	return nil
}

// find reads what is due in lanes, and drops those of webhooks that are told
// nothing any more.
func (h *hooks) find(ctx context.Context, looks []hookLook) (due []db.DueDelivery, err error) {
	err = h.s.DB.Read(ctx, func(r *db.Reader) error {
		due = nil
		for _, look := range looks {
			failing, err := r.WebhookFailing(look.webhookID)
			if errors.Is(err, db.ErrNotFound) {
				h.drop(look)
				continue
			}
			if err != nil {
				return err
			}
			rows, err := r.DueDeliveries(look.webhookID, look.room+len(look.busy)+1)
			if err != nil {
				return err
			}
			take, next := look.choose(rows, time.Now())
			h.noteLook(look, next, failing)
			due = append(due, take...)
		}
		return nil
	})
	return due, err
}

// choose returns those rows that may begin now, and when the lane is to be looked
// at again; zero: when it is woken.
func (k *hookLook) choose(rows []db.DueDelivery, now time.Time) (take []db.DueDelivery, next time.Time) {
	for _, row := range rows {
		switch {
		case k.busy[row.EventID]: // its end says when it is due again
		case row.NextAt.After(now) || len(take) == k.room:
			return take, row.NextAt
		default:
			take = append(take, row)
		}
	}
	return take, time.Time{}
}

// noteLook keeps what a look found. A lane that was not heard of yet begins as
// slow where its webhook failed last.
func (h *hooks) noteLook(look hookLook, next time.Time, failing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[look.webhookID]
	l.next = service.Earlier(l.next, next)
	if failing && l.limit == 1 && len(l.busy) == 0 {
		l.slow = true
	}
}

func (h *hooks) drop(look hookLook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lanes[look.webhookID]; len(l.busy) == 0 && l.next.IsZero() {
		delete(h.lanes, look.webhookID)
	}
}

// take notes that an attempt is under way.
func (h *hooks) take(d db.DueDelivery) *hookJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[d.WebhookID]
	l.busy[d.EventID] = true
	h.running++
	if l.slow {
		h.slow++
	}
	return &hookJob{due: d, attempt: d.Attempts + 1, slow: l.slow}
}

// release notes that an attempt ended, how, and when its delivery is due again.
func (h *hooks) release(j *hookJob, next time.Time, swift bool) {
	h.mu.Lock()
	l := h.lanes[j.due.WebhookID]
	delete(l.busy, j.due.EventID)
	h.running--
	if j.slow {
		h.slow--
	}
	l.limit, l.slow = min(2*l.limit, hookShare), false
	if !swift {
		l.limit, l.slow = 1, true
	}
	l.next = service.Earlier(l.next, next)
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
