package sdktest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// written is a message as the service writes it, as far as a judge reads it.
func written(id, mark, body string, to ...string) message {
	return message{To: to, Raw: []byte("X-Mailer-Email-ID: " + id + "\r\nSubject: " + mark +
		"\r\nContent-Type: text/plain\r\n\r\n" + body + "\r\n")}
}

// TestHarnessJudge has the judge look at books that agree, then at
// the same with one thing changed.
func TestHarnessJudge(t *testing.T) {
	part(t, "harness", shortForm)
	a, b := written("1", "one", "x", "a@x.test"), written("2", "two", "y", "b@x.test", "c@x.test")
	broadcast := written("9", "part", "z", "p@x.test")
	well := func() (*ledger, evidence) {
		l := newLedger()
		l.ask(order{mark: "one", key: "k1", to: []string{"a@x.test"}, text: "x"}, order{mark: "two", to: []string{"b@x.test", "c@x.test"}, text: "y"},
			order{mark: "canceled", to: []string{"d@x.test"}, end: "canceled"}, order{mark: "no", to: []string{"e@x.test"}},
			order{mark: "perhaps", to: []string{"f@x.test"}}, order{mark: "part"})
		l.accept("one", "1")
		l.accept("two", "2")
		l.accept("canceled", "3")
		l.accept("part", "")
		l.refuse("no")
		return l, evidence{arrived: []message{a, b, broadcast}, last: map[string]string{"1": "sent", "2": "sent", "3": "canceled"}, maxDoubts: 1,
			counts: []count{{"emails", 3, 3, 4}}}
	}
	perhaps := written("4", "perhaps", "w", "f@x.test")
	cases := []struct {
		name   string
		change func(l *ledger, e *evidence)
		want   []kind
	}{
		{"all well", func(*ledger, *evidence) {}, nil},
		{"never answered and arrived", func(_ *ledger, e *evidence) { e.arrived = append(e.arrived, perhaps) }, nil},
		{"a doubtful repeat", func(_ *ledger, e *evidence) {
			e.arrived, e.doubts = append(e.arrived, b), map[string]int{"2": 1}
		}, nil},
		{"the rest of the recipients later", func(_ *ledger, e *evidence) {
			first, second := b, b
			first.To, second.To = b.To[:1], b.To[1:]
			e.arrived = []message{a, first, second, broadcast}
		}, nil},
		{"never arrived", func(_ *ledger, e *evidence) { e.arrived = []message{a, broadcast} }, []kind{lost}},
		{"never arrived and forgotten", func(_ *ledger, e *evidence) {
			e.arrived = []message{a, broadcast}
			delete(e.last, "2")
		}, []kind{lost}},
		{"a recipient left out", func(_ *ledger, e *evidence) { e.arrived[1].To = e.arrived[1].To[:1] }, []kind{lost}},
		{"a broadcast's part lost", func(_ *ledger, e *evidence) { e.arrived = []message{a, b} }, []kind{lost}},
		{"a silent repeat", func(_ *ledger, e *evidence) {
			e.arrived, e.doubts = append(e.arrived, b), map[string]int{"1": 1}
		}, []kind{doubled}},
		{"a third copy for one doubt", func(_ *ledger, e *evidence) {
			e.arrived, e.doubts, e.maxDoubts = append(e.arrived, b, b), map[string]int{"2": 1}, 5
		}, []kind{doubled}},
		{"a silent repeat of a broadcast's part", func(_ *ledger, e *evidence) { e.arrived = append(e.arrived, broadcast) }, []kind{doubled}},
		{"one key, two emails", func(_ *ledger, e *evidence) { e.arrived = append(e.arrived, written("5", "one", "x", "a@x.test")) }, []kind{doubled}},
		{"one key, two answers", func(l *ledger, _ *evidence) { l.accept("one", "5") }, []kind{doubled}},
		{"more repeats than explained", func(_ *ledger, e *evidence) {
			e.arrived, e.doubts, e.maxDoubts = append(e.arrived, b), map[string]int{"2": 1}, 0
		}, []kind{doubled, miscounted}},
		{"another repeat", func(_ *ledger, e *evidence) {
			e.arrived, e.doubts = append(e.arrived, written("2", "two", "y ", "b@x.test", "c@x.test")), map[string]int{"2": 1}
		}, []kind{altered}},
		{"another text", func(_ *ledger, e *evidence) { e.arrived[0] = written("1", "one", "X", "a@x.test") }, []kind{altered}},
		{"a signature that does not hold", func(_ *ledger, e *evidence) {
			e.signed = func(raw []byte) error {
				if strings.Contains(string(raw), "two") {
					return errors.New("no good")
				}
				return nil
			}
		}, []kind{altered}},
		{"still queued", func(_ *ledger, e *evidence) { e.arrived, e.last["2"] = []message{a, broadcast}, "queued" }, []kind{stuck}},
		{"arrived and still queued", func(_ *ledger, e *evidence) { e.last["2"] = "queued" }, []kind{stuck}},
		{"asked for by nobody", func(_ *ledger, e *evidence) {
			e.arrived = append(e.arrived, written("6", "what", "?", "g@x.test"))
		}, []kind{phantom}},
		{"refused and arrived", func(_ *ledger, e *evidence) { e.arrived = append(e.arrived, written("7", "no", "n", "e@x.test")) }, []kind{phantom}},
		{"canceled and arrived", func(_ *ledger, e *evidence) {
			e.arrived = append(e.arrived, written("3", "canceled", "n", "d@x.test"))
		}, []kind{phantom}},
		{"for somebody else", func(_ *ledger, e *evidence) { e.arrived[1].To = append(slices.Clone(e.arrived[1].To), "h@x.test") }, []kind{phantom}},
		{"arrived and called failed", func(_ *ledger, e *evidence) { e.last["2"] = "failed" }, []kind{miscounted}},
		{"arrived and forgotten", func(_ *ledger, e *evidence) { delete(e.last, "2") }, []kind{miscounted}},
		{"opted out, and left out", func(l *ledger, e *evidence) {
			l.left("two")
			e.arrived, e.last["2"] = []message{a, broadcast}, "suppressed"
		}, nil},
		{"opted out while its dot is under way", func(l *ledger, e *evidence) {
			l.left("two")
			e.arrived[1].At = time.Now().Add(dotUnderWay / 2)
		}, nil},
		{"opted out before", func(l *ledger, e *evidence) {
			l.left("two")
			e.arrived[1].At = time.Now().Add(2 * dotUnderWay)
		}, []kind{unheeded}},
		{"opted out, and sent again later", func(l *ledger, e *evidence) {
			l.left("two")
			again := b
			again.At = time.Now().Add(2 * dotUnderWay)
			e.arrived, e.doubts = append(e.arrived, again), map[string]int{"2": 1}
		}, []kind{unheeded}},
		{"more doubts than explained", func(_ *ledger, e *evidence) { e.doubts = map[string]int{"1": 1, "2": 1} }, []kind{miscounted}},
		{"too few emails", func(_ *ledger, e *evidence) { e.counts[0].said = 2 }, []kind{miscounted}},
		{"too many emails", func(_ *ledger, e *evidence) { e.counts[0].said = 5 }, []kind{miscounted}},
	}
	for _, tc := range cases {
		l, e := well()
		tc.change(l, &e)
		var got []kind
		for _, p := range l.judge(e) {
			got = append(got, p.kind)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, l.judge(e), tc.want)
		}
	}
}
