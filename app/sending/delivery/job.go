package delivery

import (
	"time"

	"mailer/app"
	"mailer/app/rules/reputation"
)

// job is a claimed unit on its way through one transaction.
type job struct {
	unit           app.Unit    // Attempts counts the one that begins now
	dispatcher     *dispatcher // that it was claimed by
	paced          bool        // it waits for the relay's rate no more
	began          time.Time   // its transaction
	tls            string      // of what the relay took, and how long that was: see app.Result
	took           time.Duration
	reservedMinute int64 // whose place it has in the daily limit
	reserved       bool  // it has one
	strikes        int   // lines that its email lost in a row
	state          state
	commitSlot     commitSlot // taken before its mark is written
	message        *message   // its message; nil: not read yet
	prefetched     *readEmail // what was read of it with others; nil: nothing
	// checkedVersion are those of which it is known that they keep the email from nobody it still
	// has (see db.Tx); 0: none.
	checkedVersion uint64
	recipient      *app.BroadcastRecipient // of a broadcast, at the first attempt; nil: to be read
}

// bulk reports whether the unit is of a broadcast.
func (j *job) bulk() bool { return j.unit.BroadcastID != "" }

// mayBeSent reports whether the relay may have the message.
func (j *job) mayBeSent() bool { return j.state == stateCommitted }

// dueAgain reports whether the unit may be due sooner than its line looks: at once
// for the recipients that are left, or what it was moved to, or with the next turn of
// its broadcast.
func (j *job) dueAgain() bool {
	return j.state == stateBlocked || j.state == stateWithdrawn || j.bulk()
}

// state is how far a job came. One whose dot was asked for ends in one of the last
// six, and stays there.
type state int

const (
	stateClaimed      state = iota // its dot was not asked for: nothing of it left
	stateAuthorizing               // the Write that decides on its dot is under way
	stateCommitted                 // it is marked dotted: the dot may be sent
	stateBlocked                   // recipients are blocked: they were left out, the others are due
	stateWithdrawn                 // it was withdrawn or moved meanwhile, or has expired
	statePaused                    // its sender rests, or its team is suspended, since it began
	stateLimitReached              // other servers have used the relay's daily limit up since it began
	stateStoreFailed               // storage could not mark it
)

// message is the message of a unit as it was read for sending.
type message struct {
	*app.Outgoing
	private    bool                  // of Mailer's own to a person: no copy of it is kept
	insights   *app.Insights         // of what it says; nil: not known
	blocked    app.Blocked           // what was found of its recipients when it was read
	outcomeKey reputation.OutcomeKey // where its outcomes count
}

// commitSlots are tokens, one a connection. One is taken before a unit is marked dotted
// and given back once the result is queued behind the mark: Writes are committed in
// their order, so at any moment at most one unit a connection is marked dotted
// without a result.
type commitSlots chan struct{}

// commitSlot is a token of dots; the zero one is none.
type commitSlot struct{ slots commitSlots }

// take waits for a token.
func (d commitSlots) take() commitSlot {
	d <- struct{}{}
	return commitSlot{d}
}

// release returns a token, once.
func (d *commitSlot) release() {
	if d.slots != nil {
		<-d.slots
		d.slots = nil
	}
}
