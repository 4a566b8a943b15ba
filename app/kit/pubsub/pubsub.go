// Package live tells listeners of a team what changes while they look. It knows nothing
// of ours.
//
// Failure policy: nobody waits for a listener; one that reads too slowly is cut off.
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

// Event is something that changed.
type Event struct {
	Name string
	ID   string // of what changed; empty: there is one of its name
	// Data returns what is told, as JSON has it. It is asked when listeners are told: once
	// for all of them, and for the last of the events of one name and id. nil: the id alone.
	Data func() any
}

// Reset is the name of the event that says: reload what is shown. More changed than is
// told one by one, or a listener came back.
const Reset = "reset"

const (
	// gatherDelay is how long what changes is gathered after a quiet time, every at least
	// between two times that listeners are told.
	gatherDelay = 50 * time.Millisecond
	minInterval = time.Second
	// maxEvents is how many events are told at a time; where more happen, that they do.
	maxEvents = 200
	// listenerBuffer is how many times a listener may have been told and not have read it.
	listenerBuffer = 8
)

// Limits bound the listeners.
type Limits struct {
	All    int
	Team   int // of one team
	Holder int // of one key or session
}

// DefaultLimits are those of a server in use.
var DefaultLimits = Limits{All: 2000, Team: 200, Holder: 20}

// The reasons why nobody else may listen.
var (
	ErrAll    = errors.New("too many listeners")
	ErrTeam   = errors.New("too many listeners of a team")
	ErrHolder = errors.New("too many listeners of a key or session")
)

// Bus takes events to listeners. It is safe for concurrent use; a nil one has none.
type Bus struct {
	Limits
	listening atomic.Int32

	mu         sync.Mutex
	teams      map[string]*team
	holders    map[string]int
	deliveries uint64 // times
}

// New makes a bus without listeners.
func New() *Bus {
	return &Bus{Limits: DefaultLimits, teams: map[string]*team{}, holders: map[string]int{}}
}

// team is who listens to a team, and what they will be told.
type team struct {
	listeners    map[*Listener]struct{}
	pending      []Event
	pendingIndex map[[2]string]int // in pending, by name and id
	overflow     bool              // than may be pending
	scheduled    bool              // they are told soon, or right now
	lastDelivery time.Time         // when they were told
}

// Listener is one who listens.
type Listener struct {
	// C brings what to write to the listener, in the form of server-sent events. It is
	// closed for one that reads too slowly.
	C            chan []byte
	bus          *Bus
	team, holder string
}

// Listening reports whether anybody listens at all. It costs next to nothing.
func (b *Bus) Listening() bool { return b != nil && b.listening.Load() > 0 }

// Listen has a listener told of a team, until it is closed. holder is the key or session
// that it belongs to. Errors: ErrAll, ErrTeam, ErrHolder.
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

// Close ends the listening. More calls do nothing.
func (l *Listener) Close() {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	l.bus.remove(l)
}

// remove forgets a listener.
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

// Publish has the listeners of a team told of an event soon. It never blocks.
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

// Reset has all listeners reload what is shown: what changed is not known.
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

// schedule has a team told at its time.
func (b *Bus) schedule(of string, t *team) {
	time.AfterFunc(max(gatherDelay, minInterval-time.Since(t.lastDelivery)), func() { b.deliver(of, t) })
}

// deliver tells the listeners of a team what is pending.
func (b *Bus) deliver(of string, t *team) {
	b.mu.Lock()
	events, more := t.pending, t.overflow
	t.pending, t.overflow = nil, false
	clear(t.pendingIndex)
	b.deliveries++
	told := b.deliveries
	alone := len(t.listeners) == 0
	b.mu.Unlock()
	if alone {
		return // and forgotten: who comes next is of a new one
	}
	if more {
		events = append(events, Event{Name: Reset})
	}
	text := Text(told, events...) // it may take its time, and nobody waits for it

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

// Text returns events as they are sent, of which the last has an id.
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

// data is what an event tells, on one line.
func (e *Event) data() []byte {
	var v any = struct {
		ID string `json:"id,omitempty"`
	}{e.ID}
	if e.Data != nil {
		if said := e.Data(); said != nil {
			v = said
		}
	}
	text, err := json.Marshal(v)
	if err != nil { // what can't be said is looked up by its id
		return fmt.Appendf(nil, "{\"id\":%q}", e.ID)
	}
	return text
}
