package sdktest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// The tests of this file damage mail on purpose, and pass if the judge reports it: a judge that
// finds nothing here would find nothing in other tests.

// sometimes changes one message of five.
func sometimes(change func(message) []message) func(message) []message {
	var n atomic.Int64
	return func(m message) []message {
		if n.Add(1)%5 != 3 {
			return []message{m}
		}
		return change(m)
	}
}

func replaced(m message, old, with string) []message {
	m.Raw = bytes.Replace(m.Raw, []byte(old), []byte(with), 1)
	return []message{m}
}

func TestControlsOfTheRelay(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	cases := []struct {
		name   string
		relay  behaviour
		signed bool // the judge looks at DKIM signatures too
		want   kind
	}{
		{"takes mail and drops it", behaviour{pass: sometimes(func(message) []message { return nil })}, false, lost},
		{"somebody in between delivers twice", behaviour{pass: sometimes(func(m message) []message { return []message{m, m} })}, false, doubled},
		{"a letter of the text changes", behaviour{pass: sometimes(func(m message) []message { return replaced(m, "control-", "control_") })}, false, altered},
		{"a letter of the header changes", behaviour{pass: sometimes(func(m message) []message { return replaced(m, "Date: ", "Date:  1") })}, true, altered},
		{"never answers", behaviour{dotDelay: time.Hour}, false, stuck},
		{"mail of nobody", behaviour{pass: sometimes(func(m message) []message {
			return append(replaced(m, "Subject: ", "Subject: not "), m)
		})}, false, phantom},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			relay := newSink(t, sinkOptions{})
			in := startBare(t, killArgs(relay)...)
			in.addDomain(t, "example.test")
			l := newLoad(client{in.url, in.newKey(t)})
			relay.set(tc.relay)
			l.sendSome(t, 20)
			within := time.Minute
			if tc.want == stuck {
				within = 3 * time.Second
			}
			e := l.ledger.gather(t, in, l.api, relay, within, killConnections)
			if tc.signed {
				e.signed = dkimVerifier(t, in, "example.test")
			}
			l.ledger.wantProblem(t, e, tc.want)
			in.kill(t) // a relay that never answers holds up a stop
		})
	}
}

// sendSome sends n singles, one after the other.
func (l *load) sendSome(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		mark := fmt.Sprintf("some-%d", i)
		l.single(t, order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "control-" + mark}, nil)
	}
}

// TestControlOfKillWithOldFiles starts the killed server on an older copy of its files, which lacks
// mail that was accepted since.
func TestControlOfKillWithOldFiles(t *testing.T) {
	part(t, "kills", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: time.Second})
	in := newInstance(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	before := filepath.Join(t.TempDir(), "mailer.db")
	copyFiles(t, in.db, before)
	in.serve(t)
	l.sendSome(t, 40)
	in.kill(t)
	removeFiles(t, in.db)
	copyFiles(t, before, in.db)
	in.serve(t)
	e := l.ledger.gather(t, in, l.api, relay, time.Minute, killConnections)
	l.ledger.wantProblem(t, e, lost, miscounted)
}
