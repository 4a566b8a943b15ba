// Package pubsub delivers events of a team to its listeners, batched and rate-limited. It has no
// dependencies within the module.
//
// Failure policy: publishing never blocks. A listener that reads too slowly is closed.
package pubsub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Event is a change.
type Event struct {
	Name string
	ID   string // of the changed object; empty: there is only one of this name
	// Data returns the data of the event for JSON. It is called at delivery, once for all
	// listeners, and only for the last of several events with the same name and id. nil: only the
	// id.
	Data func() any
}

// Reset is the name of the event that makes clients reload: there were too many events, or the
// listener may have missed some.
const Reset = "reset"

const (
	// gatherDelay is how long events are collected after a quiet period. minInterval is the
	// minimum time between two deliveries.
	gatherDelay = 50 * time.Millisecond
	minInterval = time.Second
	// maxEvents is the maximum number of events in one delivery. More events become a Reset.
	maxEvents = 200
	// listenerBuffer is how many deliveries a listener may have unread.
	listenerBuffer = 8
)

// Limits are the maximum numbers of listeners.
type Limits struct {
	All    int
	Team   int // for one team
	Holder int // for one key or session
}

// DefaultLimits are the limits of New.
var DefaultLimits = Limits{All: 2000, Team: 200, Holder: 20}

// Errors of Listen.
var (
	ErrAll    = errors.New("too many listeners")
	ErrTeam   = errors.New("too many listeners of a team")
	ErrHolder = errors.New("too many listeners of a key or session")
)

// Bus delivers events to listeners. It is safe for concurrent use. A nil Bus has no listeners.
type Bus struct {
	Limits
	listening atomic.Int32

	mu         sync.Mutex
	teams      map[string]*team
	holders    map[string]int
	deliveries uint64 // count, the id of the last one
}

// New returns a bus without listeners.
func New() *Bus {
	return &Bus{Limits: DefaultLimits, teams: map[string]*team{}, holders: map[string]int{}}
}

// team holds the listeners and the pending events of a team.
type team struct {
	listeners    map[*Listener]struct{}
	pending      []Event
	pendingIndex map[[2]string]int // index in pending by name and id
	overflow     bool              // events beyond maxEvents were dropped
	scheduled    bool              // a delivery is scheduled or running
	lastDelivery time.Time         // time of the last delivery
}

// Listener receives the events of one team.
type Listener struct {
	// C receives deliveries in the format of server-sent events. It is closed if the listener
	// reads too slowly.
	C            chan []byte
	bus          *Bus
	team, holder string
}

// Listening reports whether there is any listener. It is cheap.
func (b *Bus) Listening() bool { return b != nil && b.listening.Load() > 0 }

// Listen adds a listener for a team. holder is the key or session that it belongs to. Errors:
// ErrAll, ErrTeam, ErrHolder.
func (b *Bus) Listen(of, holder string) (*Listener, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.teams[of]
	switch {
	case b.holders[holder] >= b.Holder:
		return nil, ErrHolder
	case t != nil && len(t.listeners) >= b.Team:
		return nil, ErrTeam
	case int(b.listening.Load()) >= b.All:
		return nil, ErrAll
	case t == nil:
		t = &team{listeners: map[*Listener]struct{}{}, pendingIndex: map[[2]string]int{}}
		b.teams[of] = t
	}
	l := &Listener{C: make(chan []byte, listenerBuffer), bus: b, team: of, holder: holder}
	t.listeners[l] = struct{}{}
	b.holders[holder]++
	b.listening.Add(1)
	return l, nil
}

// Close removes the listener. It may be called more than once.
func (l *Listener) Close() {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	l.bus.remove(l)
}

// remove removes a listener. b.mu is held.
func (b *Bus) remove(l *Listener) {
	t := b.teams[l.team]
	if t == nil {
		return
	}
	if _, there := t.listeners[l]; !there {
		return
	}
	delete(t.listeners, l)
	if len(t.listeners) == 0 {
		delete(b.teams, l.team)
	}
	if b.holders[l.holder]--; b.holders[l.holder] == 0 {
		delete(b.holders, l.holder)
	}
	b.listening.Add(-1)
}

// Publish schedules the delivery of an event to the listeners of a team. It never blocks.
func (b *Bus) Publish(of string, e Event) {
	if !b.Listening() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.teams[of]
	if t == nil {
		return
	}
	key := [2]string{e.Name, e.ID}
	if i, there := t.pendingIndex[key]; there {
		t.pending[i] = e
	} else if len(t.pending) < maxEvents {
		t.pendingIndex[key] = len(t.pending)
		t.pending = append(t.pending, e)
	} else {
		t.overflow = true
	}
	if !t.scheduled {
		t.scheduled = true
		b.schedule(of, t)
	}
}

// Reset sends a Reset to all listeners, for changes that are not known in detail.
func (b *Bus) Reset() {
	if !b.Listening() {
		return
	}
	b.mu.Lock()
	teams := slices.Collect(maps.Keys(b.teams))
	b.mu.Unlock()
	for _, of := range teams {
		b.Publish(of, Event{Name: Reset})
	}
}

// schedule schedules the next delivery to a team.
func (b *Bus) schedule(of string, t *team) {
	time.AfterFunc(max(gatherDelay, minInterval-time.Since(t.lastDelivery)), func() { b.deliver(of, t) })
}

// deliver sends the pending events to the listeners of a team.
func (b *Bus) deliver(of string, t *team) {
	b.mu.Lock()
	events, more := t.pending, t.overflow
	t.pending, t.overflow = nil, false
	clear(t.pendingIndex)
	b.deliveries++
	number := b.deliveries
	alone := len(t.listeners) == 0
	b.mu.Unlock()
	if alone {
		return // the team was removed: later listeners belong to a new one
	}
	if more {
		events = append(events, Event{Name: Reset})
	}
	text := Text(number, events...) // without the lock, since Data may be slow

	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range t.listeners {
		select {
		case l.C <- text:
		default:
			b.remove(l)
			close(l.C)
		}
	}
	t.lastDelivery = time.Now()
	if t.scheduled = len(t.pending) > 0; t.scheduled {
		b.schedule(of, t)
	}
}

// Text formats events as server-sent events. The last one carries the id.
func Text(id uint64, events ...Event) []byte {
	var out bytes.Buffer
	for i, e := range events {
		if i == len(events)-1 {
			fmt.Fprintf(&out, "id: %d\n", id)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", e.Name, e.data())
	}
	return out.Bytes()
}

// data returns the data of an event as JSON on one line.
func (e *Event) data() []byte {
	var v any = struct {
		ID string `json:"id,omitempty"`
	}{e.ID}
	if e.Data != nil {
		if own := e.Data(); own != nil {
			v = own
		}
	}
	text, err := json.Marshal(v)
	if err != nil { // clients look the object up by its id
		return fmt.Appendf(nil, "{\"id\":%q}", e.ID)
	}
	return text
}
