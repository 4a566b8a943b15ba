package delivery

import (
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/outcome"
)

// sender is a domain of a team, or the whole team.
type sender = outcome.Sender

// job is a claimed unit in its transaction.
type job struct {
	unit           app.Unit    // Attempts includes the current attempt
	dispatcher     *dispatcher // that claimed the unit
	paced          bool        // it does not wait for the rate limit
	began          time.Time   // when the transaction began
	tls            string      // of the transaction, with its duration in took: see app.Result
	took           time.Duration
	note           string // for the timeline, if the relay accepts the message; empty: none
	reservedMinute int64  // Unix minute in which it is counted in the daily limit
	reserved       bool   // it is counted in the daily limit
	state          state
	commitSlot     commitSlot // taken before the unit is marked as committed
	message        *message   // nil: not read yet
	prefetched     *readEmail // nil: not prefetched
	// checkedVersion is the version of suppressions and opt-outs (see db.Tx) at which no open
	// recipient was blocked; 0: not checked.
	checkedVersion uint64
	recipient      *app.BroadcastRecipient // of a broadcast's first attempt; nil: read it
}

// bulk reports whether the unit belongs to a broadcast.
func (j *job) bulk() bool { return j.unit.BroadcastID != "" }

// mayBeSent reports whether the relay may have the message.
func (j *job) mayBeSent() bool { return j.state == stateCommitted }

// dueAgain reports whether a unit may be due before its dispatcher looks again: recipients are
// left, the email was rescheduled, or the broadcast has more recipients.
func (j *job) dueAgain() bool {
	return j.state == stateBlocked || j.state == stateWithdrawn || j.bulk()
}

// state is the progress of a job. A job whose commit was decided keeps the state that authorize
// set.
type state int

const (
	stateClaimed      state = iota // not authorized yet
	stateAuthorizing               // the Write that authorizes the final dot runs
	stateCommitted                 // marked as committed: the final dot may be sent
	stateBlocked                   // recipients are blocked and were removed; the others are due
	stateWithdrawn                 // canceled, rescheduled or expired meanwhile
	statePaused                    // its breaker opened, or its team was suspended meanwhile
	stateLimitReached              // other servers used up the daily limit meanwhile
	stateStoreFailed               // the commit could not be stored
)

// message is the message of a unit, composed for sending.
type message struct {
	*app.Outgoing
	private  bool          // sent by Mailer to an account: no captured copy is kept
	hidden   bool          // it confirms an opt-in: see app.Unit.Hidden
	forward  string        // destination to which it forwards a received email: see app.Unit.ForwardID
	insights *app.Insights // nil: unknown
	blocked  app.Blocked   // recipients that were blocked when it was read
	countKey counters.Key  // of its counters, without the hour
}

// commitSlots is a semaphore with one slot per connection. A slot is acquired before a unit is
// marked as committed and released once the result is queued after that write. Writes commit in
// order, so at most one unit per connection is committed without a result.
type commitSlots chan struct{}

// commitSlot is an acquired slot; the zero value is none.
type commitSlot struct{ slots commitSlots }

// take waits for a slot.
func (d commitSlots) take() commitSlot {
	d <- struct{}{}
	return commitSlot{d}
}

// release returns the slot. Later calls do nothing.
func (d *commitSlot) release() {
	if d.slots != nil {
		<-d.slots
		d.slots = nil
	}
}
