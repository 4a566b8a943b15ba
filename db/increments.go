package db

import "errors"

// increments is what the closures of one transaction add to counters. The closures of a
// commit share one statement for each counter, so counting a message costs a look-up in
// memory.
type increments struct {
	days       []dayCount         // of AddRecipients
	counts     []mailCount        // of CountSent, CountOutcome and InsertEvent
	listed     map[string]int     // of countListed, by team
	activity   map[activity]int64 // of NoteActivity and InsertEvent, in milliseconds
	broadcasts []broadcastCount   // of countBroadcast and endBroadcastUnit
	automation map[automationCount]int64
}

// storeIncrements writes what all closures of a commit added, before the commit.
func (tx *Tx) storeIncrements(group []*increments) error {
	return errors.Join(tx.storeDays(group), tx.storeCounts(group), tx.storeBroadcasts(group), tx.storeActivity(group), tx.storeListed(group), tx.storeAutomations(group))
}
