package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A mark is the number of a message in its round, as digits at the end of its subject: cheap to
// write into a prepared message and to find again.
const (
	markField  = "Subject: Hello "
	markDigits = 7
	markZero   = "Hello 0000000" // position of the mark in a request or message
)

var errNoMark = errors.New("no mark in what is to be sent")

// stampAt returns the position of the mark's digits in a request or message.
func stampAt(b []byte) (int, error) {
	at := bytes.Index(b, []byte(markZero))
	if at < 0 {
		return 0, errNoMark
	}
	return at + len(markZero) - markDigits, nil
}

// stamp writes the digits of a mark.
func stamp(digits []byte, number int) {
	for i := markDigits - 1; i >= 0; i-- {
		digits[i] = byte('0' + number%10)
		number /= 10
	}
}

// markIn reads the mark of a received message.
func markIn(message []byte) (int, bool) {
	at := bytes.Index(message, []byte("\n"+markField))
	if at < 0 && !bytes.HasPrefix(message, []byte(markField)) {
		return 0, false
	}
	digits := at + 1 + len(markField) // from 0 if it is the first field
	if len(message) < digits+markDigits {
		return 0, false
	}
	number := 0
	for _, c := range message[digits : digits+markDigits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		number = 10*number + int(c-'0')
	}
	return number, true
}

// marks records one round: each number is sent once and must arrive once. Times are nanoseconds
// from start.
type marks struct {
	start         time.Time
	every         time.Duration // between two messages; 0: no delay
	next          atomic.Int64
	sent, arrived []atomic.Int64
	open          atomic.Int64
	all           chan struct{} // closed when the last one arrived
	signed        atomic.Int64
	unknown       atomic.Int64 // messages without a mark or with one of another round
	duplicates    atomic.Int64

	mu   sync.Mutex
	kept []byte // one message as it arrived
}

func newMarks(n int) *marks {
	m := &marks{start: time.Now(), sent: make([]atomic.Int64, n), arrived: make([]atomic.Int64, n), all: make(chan struct{})}
	m.open.Store(int64(n))
	return m
}

func (m *marks) now() int64 { return max(1, int64(time.Since(m.start))) }

// send writes the next number when its time has come. The message must be sent immediately.
func (m *marks) send(digits []byte) {
	i := int(m.next.Add(1) - 1)
	if early := time.Duration(i)*m.every - time.Since(m.start); early > 0 {
		<-time.After(early)
	}
	stamp(digits, i)
	m.sent[i].Store(m.now())
}

// received records a message as received, up to its final dot.
func (m *marks) received(message []byte) {
	now := m.now()
	header, _, _ := bytes.Cut(message, []byte("\r\n\r\n"))
	i, ok := markIn(header)
	if !ok || i >= len(m.arrived) {
		m.unknown.Add(1)
		return
	}
	if bytes.Contains(header, []byte("DKIM-Signature:")) {
		m.signed.Add(1)
	}
	if i == len(m.arrived)/2 {
		m.mu.Lock()
		m.kept = bytes.Clone(message)
		m.mu.Unlock()
	}
	if !m.arrived[i].CompareAndSwap(0, now) {
		m.duplicates.Add(1)
		return
	}
	if m.open.Add(-1) == 0 {
		close(m.all)
	}
}

// wait waits until all messages arrived.
func (m *marks) wait(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-m.all:
		return nil
	case <-timer.C:
		return fmt.Errorf("%d of %d messages did not arrive in %v", m.open.Load(), len(m.arrived), limit)
	}
}

// check returns what makes the figures of a round invalid.
func (m *marks) check(signed bool) error {
	want := int64(0)
	if signed {
		want = int64(len(m.arrived))
	}
	if n := m.open.Load(); n != 0 {
		return fmt.Errorf("%d messages did not arrive", n)
	}
	if n := m.duplicates.Load(); n != 0 {
		return fmt.Errorf("%d messages arrived twice", n)
	}
	if n := m.unknown.Load(); n != 0 {
		return fmt.Errorf("%d messages are not of this round", n)
	}
	if n := m.signed.Load(); n != want {
		return fmt.Errorf("%d messages are signed, %d should be", n, want)
	}
	return nil
}

// elapsed returns the time from the first message's start to the last arrival.
func (m *marks) elapsed() time.Duration {
	first, last := m.sent[0].Load(), int64(0)
	for i := range m.sent {
		first, last = min(first, m.sent[i].Load()), max(last, m.arrived[i].Load())
	}
	return time.Duration(last - first)
}

// span returns when the first and the last message arrived, from start.
func (m *marks) span() (first, last time.Duration) {
	for i := range m.arrived {
		at := time.Duration(m.arrived[i].Load())
		if at > 0 && (first == 0 || at < first) {
			first = at
		}
		last = max(last, at)
	}
	return first, last
}

// delays returns the sorted times from a message's start to its arrival.
func (m *marks) delays() []time.Duration {
	out := make([]time.Duration, len(m.sent))
	for i := range out {
		out[i] = time.Duration(m.arrived[i].Load() - m.sent[i].Load())
	}
	slices.Sort(out)
	return out
}

func (m *marks) sample() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept
}
