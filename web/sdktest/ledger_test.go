package sdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A ledger is one side of the books of a fault test: what clients asked for and
// what they were answered. An evidence is the other side: what the relay got and
// what the server says in the end. judge compares the two.
type ledger struct {
	mu     sync.Mutex
	orders map[string]*order // by mark
	began  time.Time
	wrong  *atomic.Int64 // counts impossible answers; nil: they fail the test
	due    int           // orders that were accepted and are to arrive
}

func newLedger() *ledger { return &ledger{orders: map[string]*order{}, began: time.Now()} }

// knowledge is what a client knows of an order.
type knowledge int

const (
	unknown  knowledge = iota // sent and never answered: may have been accepted, at most once
	accepted                  // answered with success
	refused                   // answered with an error that excludes acceptance
)

// order is one email that a client asks for, or one contact's part of a
// broadcast.
type order struct {
	mark string   // its subject, which no other order has
	key  string   // Idempotency-Key; empty: none. The items of a batch share one
	to   []string // envelope; empty: whoever it arrived for is right
	text string   // text part; empty: not looked at
	end  string   // last_event that it must end with; empty: sent. Only "sent" may arrive
	// leaves: its recipient opts out while it is being sent. So it may arrive, unless that was
	// answered before its dot, or be suppressed.
	leaves bool
	left   time.Time // when that was answered; zero: it was not

	answer knowledge
	id     string   // as the first answer named it; empty for a broadcast's
	others []string // further ids that answers gave it, which is a fault
}

func (o *order) mayArrive() bool { return o.end == "" || o.end == "sent" }

func (o *order) wantsArrival() bool { return o.mayArrive() && !o.leaves }

// endsWith reports whether a last_event is right.
func (o *order) endsWith(last string) bool {
	return last == o.wantedEnd() || o.leaves && last == "suppressed"
}

func (o *order) wantedEnd() string {
	if o.end == "" {
		return "sent"
	}
	return o.end
}

// ask records orders before their request is sent. A repeated order is recorded once.
func (l *ledger) ask(orders ...order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range orders {
		earlier := l.orders[o.mark]
		if earlier == nil {
			l.orders[o.mark] = &o
			continue
		}
		if o.key == "" || earlier.key != o.key {
			panic("two orders of the mark " + o.mark)
		}
	}
}

// idOf is the id that was answered for a mark; empty: none was.
func (l *ledger) idOf(mark string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orders[mark].id
}

// accept records an answer: the email of a mark was accepted with an id.
func (l *ledger) accept(mark, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.orders[mark]
	if o.answer == accepted && o.id != id {
		o.others = append(o.others, id)
		return
	}
	if o.answer != accepted && o.wantsArrival() {
		l.due++
	}
	o.answer, o.id = accepted, id
}

// owed is how many orders were accepted that are to arrive.
func (l *ledger) owed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due
}

// left notes that it was answered that the recipient of a mark opted out.
func (l *ledger) left(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.orders[mark]
	o.leaves, o.left = true, time.Now()
}

// refuse notes that the server took nothing under these marks.
func (l *ledger) refuse(marks ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, mark := range marks {
		l.orders[mark].answer = refused
	}
}

// count says how many orders have an answer of that kind.
func (l *ledger) count(v knowledge) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, o := range l.orders {
		if o.answer == v {
			n++
		}
	}
	return n
}

// evidence is the input of the judge. Zero values mean that there was none; maps may be nil.
type evidence struct {
	arrived   []message
	last      map[string]string // email id -> last_event; nil: the server wasn't asked
	doubts    map[string]int    // email id -> how often `mailer doubts` lists it
	maxDoubts int               // that many doubts, and repeats, the faults can explain
	counts    []count
	signed    func(raw []byte) error // verifies DKIM; nil: not looked at
	underWay  time.Duration          // how long a dot may be, from the server to the relay; 0: dotUnderWay
}

// dotUnderWay is the longest time from the moment when nothing can retract an email until the relay
// has read its dot, on a busy machine.
const dotUnderWay = time.Second

// count is a number that the server reports, and its allowed range: emails without an answer widen
// it.
type count struct {
	what               string
	said, least, atMax int
}

// endStates are the final values of last_event.
var endStates = map[string]bool{"sent": true, "delivered": true, "bounced": true, "failed": true, "canceled": true, "suppressed": true}

// gather waits until the server calls every email that it lists ended, at most
// within, and collects all evidence. Emails that are open then are for judge.
func (l *ledger) gather(t *testing.T, in *instance, api client, relay *sink, within time.Duration, maxDoubts int) evidence {
	t.Helper()
	e := evidence{last: api.states(t), maxDoubts: maxDoubts}
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(e.last)), func(id string) bool { return endStates[e.last[id]] })
	deadline, tick := time.After(within), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for late := false; len(open) > 0 && !late; {
		id := open[len(open)-1]
		if e.last[id] = api.email(t, id).LastEvent; endStates[e.last[id]] {
			open = open[:len(open)-1]
			continue
		}
		select {
		case <-tick.C:
		case <-deadline:
			late = true
		}
	}
	shown := 0
	for _, id := range open {
		if e.last[id] = api.email(t, id).LastEvent; !endStates[e.last[id]] && shown < 3 {
			shown++
			t.Logf("%s is %s: %s; in the database: %s", id, e.last[id], describe(api.events(t, id)), in.unit(id))
		}
	}
	e.doubts = doubtCounts(t, in)
	e.counts = l.counts(t, api, e.last)
	e.arrived = relay.messages()
	return e
}

// states is the last_event of every email of the team.
func (c client) states(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for after := ""; ; {
		var page struct {
			Data    []email
			HasMore bool `json:"has_more"`
		}
		c.get(t, "/emails?limit=100"+after, &page)
		for _, e := range page.Data {
			out[e.ID] = e.LastEvent
			after = "&after=" + e.ID
		}
		if !page.HasMore || len(page.Data) == 0 {
			return out
		}
	}
}

// counts compares the server's own numbers with the ledger's: how many emails
// it lists, and the recipients that GET /usage counts.
func (l *ledger) counts(t *testing.T, api client, last map[string]string) []count {
	t.Helper()
	emails := count{what: "emails listed", said: len(last)}
	usage := count{what: "recipients of today in GET /usage"}
	l.mu.Lock()
	for _, o := range l.orders {
		if o.answer == refused {
			continue
		}
		emails.atMax++
		usage.atMax += len(o.to)
		if o.answer == accepted {
			emails.least++
		}
		if o.answer == accepted && o.wantsArrival() { // what waits counts when it leaves
			usage.least += len(o.to)
		}
	}
	l.mu.Unlock()
	var said struct {
		Today struct {
			EmailsSent int `json:"emails_sent"`
		}
	}
	api.get(t, "/usage", &said)
	usage.said = said.Today.EmailsSent
	if now := time.Now().UTC(); now.YearDay() != l.began.UTC().YearDay() {
		return []count{emails} // a day has ended meanwhile
	}
	return []count{emails, usage}
}

// doubtCounts says how often `mailer doubts` lists each email.
func doubtCounts(t *testing.T, in *instance) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, row := range rows(t, in.run(t, "doubts", "--json")) {
		out[fmt.Sprint(row["email_id"])]++
	}
	return out
}

// kind is what can be wrong with an email.
type kind string

const (
	lost       kind = "LOST"       // accepted and never arrived
	doubled    kind = "DOUBLED"    // more often than the listed doubts allow
	altered    kind = "ALTERED"    // changed bytes, or not what was requested
	stuck      kind = "STUCK"      // not ended by the deadline
	phantom    kind = "PHANTOM"    // arrived and was never asked for, or was refused
	unheeded   kind = "UNHEEDED"   // left after it was answered that its recipient opted out
	miscounted kind = "MISCOUNTED" // the server says otherwise than it is
)

// problem is one thing that a fault did wrong.
type problem struct {
	kind  kind
	words string
}

func (p problem) String() string { return string(p.kind) + ": " + p.words }

// trial is a judgment in progress.
type trial struct {
	evidence
	problems []problem
	repeats  int
}

func (tr *trial) complain(k kind, format string, args ...any) {
	tr.problems = append(tr.problems, problem{k, fmt.Sprintf(format, args...)})
}

// judge lists all that is wrong between the ledger and the evidence.
func (l *ledger) judge(e evidence) []problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	tr := &trial{evidence: e}
	copies := map[string][]*message{} // by mark
	for i := range e.arrived {
		m := &e.arrived[i]
		mark := m.header("Subject")
		if o := l.orders[mark]; o == nil || o.answer == refused || !o.mayArrive() {
			tr.complain(phantom, "%s arrived for %v and must not have: %+v", mark, m.To, o)
			continue
		}
		copies[mark] = append(copies[mark], m)
	}
	for _, mark := range slices.Sorted(maps.Keys(l.orders)) {
		tr.order(l.orders[mark], copies[mark])
	}
	tr.numbers()
	return tr.problems
}

// order judges one order by the messages with its mark.
func (tr *trial) order(o *order, copies []*message) {
	ids := idsOf(o, copies)
	if len(ids) > 1 {
		tr.complain(doubled, "%s was asked for once (Idempotency-Key %q) and became %v", o.mark, o.key, ids)
	}
	for _, id := range ids {
		mine := slices.DeleteFunc(slices.Clone(copies), func(m *message) bool { return m.header("X-Mailer-Email-ID") != id })
		tr.bytes(o, id, mine)
		tr.arrivals(o, id, mine)
	}
	for _, m := range copies {
		if late := m.At.Sub(o.left); !o.left.IsZero() && late > cmp.Or(tr.underWay, dotUnderWay) {
			tr.complain(unheeded, "%s (%s) arrived %v after it was answered that its recipient opted out", o.id, o.mark, late)
		}
	}
	if o.answer == accepted {
		tr.outcome(o, copies)
	}
}

// idsOf are the ids that answers and messages give an order.
func idsOf(o *order, copies []*message) []string {
	ids := map[string]bool{}
	if o.id != "" {
		ids[o.id] = true
	}
	for _, id := range o.others {
		ids[id] = true
	}
	for _, m := range copies {
		ids[m.header("X-Mailer-Email-ID")] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// arrivals judges how often an email arrived, for whom.
func (tr *trial) arrivals(o *order, id string, copies []*message) {
	times := map[string]int{} // by recipient
	for _, m := range copies {
		for _, to := range m.To {
			times[to]++
			if len(o.to) > 0 && !slices.Contains(o.to, to) {
				tr.complain(phantom, "%s (%s) arrived for %s, who is not among %v", id, o.mark, to, o.to)
			}
		}
	}
	most := 0
	for _, n := range times {
		most = max(most, n)
	}
	tr.repeats += max(0, most-1)
	if most > 1+tr.doubts[id] {
		tr.complain(doubled, "%s (%s) arrived %d times and is listed as a doubt %d times", id, o.mark, most, tr.doubts[id])
	}
}

// bytes judges what an email says.
func (tr *trial) bytes(o *order, id string, copies []*message) {
	for i, m := range copies {
		if i > 0 && !bytes.Equal(m.Raw, copies[0].Raw) {
			tr.complain(altered, "%s (%s) came again with other bytes:\n%s\n---\n%s", id, o.mark, copies[0].Raw, m.Raw)
			return
		}
	}
	if len(copies) == 0 {
		return
	}
	m := copies[0]
	if o.text != "" {
		p := m.parsed()
		parts, err := walkParts(textproto.MIMEHeader(p.Header), p.Body)
		if got := content(parts, "text/plain"); err != nil || got != o.text {
			tr.complain(altered, "%s (%s) says %q, asked for was %q (%v)", id, o.mark, got, o.text, err)
			return
		}
	}
	if tr.signed != nil {
		if err := tr.signed(m.Raw); err != nil {
			tr.complain(altered, "%s (%s): %v:\n%s", id, o.mark, err, m.Raw)
		}
	}
}

// outcome judges whether an accepted order reached its final state.
func (tr *trial) outcome(o *order, copies []*message) {
	last, listed := tr.last[o.id]
	if tr.last != nil && o.id != "" {
		switch {
		case listed && !endStates[last]:
			tr.complain(stuck, "%s (%s) is still %s, and arrived %d times", o.id, o.mark, last, len(copies))
			return
		case listed && !o.endsWith(last):
			tr.complain(miscounted, "%s (%s) is %s and should be %s", o.id, o.mark, last, o.wantedEnd())
		case !listed && len(copies) > 0:
			tr.complain(miscounted, "%s (%s) was accepted and arrived, and the server does not know it", o.id, o.mark)
		}
	}
	if !o.wantsArrival() {
		return
	}
	if len(copies) == 0 {
		tr.complain(lost, "%s (%s) was accepted and never arrived; the server calls it %q", o.id, o.mark, last)
		return
	}
	for _, to := range o.to {
		if !slices.ContainsFunc(copies, func(m *message) bool { return slices.Contains(m.To, to) }) {
			tr.complain(lost, "%s (%s) never arrived for %s", o.id, o.mark, to)
		}
	}
}

// numbers judges totals.
func (tr *trial) numbers() {
	doubts := 0
	for _, n := range tr.doubts {
		doubts += n
	}
	if tr.repeats > tr.maxDoubts {
		tr.complain(doubled, "%d repeats, at most %d can be explained", tr.repeats, tr.maxDoubts)
	}
	if doubts > tr.maxDoubts {
		tr.complain(miscounted, "%d doubts, at most %d can be explained", doubts, tr.maxDoubts)
	}
	for _, c := range tr.counts {
		if c.said < c.least || c.said > c.atMax {
			tr.complain(miscounted, "%s: the server says %d, it must be %d to %d", c.what, c.said, c.least, c.atMax)
		}
	}
}

// wantNoProblems fails the test with every problem that judge lists, and logs the
// figures.
func (l *ledger) wantNoProblems(t *testing.T, e evidence) {
	t.Helper()
	doubts := 0
	for _, n := range e.doubts {
		doubts += n
	}
	t.Logf("%d accepted, %d never answered, %d refused; %d messages arrived, %d doubts listed",
		l.count(accepted), l.count(unknown), l.count(refused), len(e.arrived), doubts)
	for i, p := range l.judge(e) {
		if i == 20 {
			t.Error("and more")
			return
		}
		t.Error(p)
	}
}

// wantProblem checks that judge reports problems of the wanted kind, and no others than the kinds
// that may accompany it. Controls use it.
func (l *ledger) wantProblem(t *testing.T, e evidence, want kind, may ...kind) {
	t.Helper()
	found := map[kind]int{}
	for _, p := range l.judge(e) {
		found[p.kind]++
		if p.kind != want && !slices.Contains(may, p.kind) {
			t.Errorf("not what the control did: %s", p)
		}
	}
	t.Logf("of %d accepted and %d arrived the judge found %v", l.count(accepted), len(e.arrived), found)
	if found[want] == 0 {
		t.Errorf("the judge did not see that something was %s", want)
	}
}

// mustNot records an answer that must not come.
func (l *ledger) mustNot(t *testing.T, format string, args ...any) {
	t.Helper()
	if l.wrong != nil {
		l.wrong.Add(1)
		return
	}
	t.Errorf(format, args...)
}

// answered records the answer to POST /emails or /emails/batch for the orders of its body, in
// order, and tells whether it is final: after a 503 or without an answer, the request may be
// repeated with its key.
func (l *ledger) answered(t *testing.T, status int, answer []byte, err error, marks ...string) bool {
	t.Helper()
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		return false
	case status == http.StatusConflict && strings.Contains(string(answer), "concurrent_idempotent_requests"):
		return false
	case status != http.StatusOK:
		if l.mustNot(t, "%v: %d %s", marks, status, answer); status < http.StatusInternalServerError {
			l.refuse(marks...)
		}
		return true
	}
	var body struct {
		ID   string
		Data []struct{ ID string }
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		t.Errorf("%v: %v: %s", marks, err, answer)
		return true
	}
	if body.ID != "" {
		body.Data = append(body.Data, struct{ ID string }{body.ID})
	}
	if len(body.Data) != len(marks) {
		t.Errorf("%d ids for %v: %s", len(body.Data), marks, answer)
		return true
	}
	for i, mark := range marks {
		l.accept(mark, body.Data[i].ID)
	}
	return true
}
