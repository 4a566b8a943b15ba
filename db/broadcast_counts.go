package db

import (
	"fmt"

	"mailer/app"
)

// broadcastCount is what the closures of a commit add to the counters of a broadcast.
type broadcastCount struct {
	id    string
	ended int64 // units that ended
	first map[app.Seen]int64
	mails map[string]map[app.Seen]int64 // first by email, of a broadcast that is counted by language
}

// ofBroadcast returns the counts that a transaction adds to a broadcast.
func (a *increments) ofBroadcast(id string) *broadcastCount {
	for i := range a.broadcasts {
		if a.broadcasts[i].id == id {
			return &a.broadcasts[i]
		}
	}
	a.broadcasts = append(a.broadcasts, broadcastCount{id: id, first: map[app.Seen]int64{}, mails: map[string]map[app.Seen]int64{}})
	return &a.broadcasts[len(a.broadcasts)-1]
}

// countBroadcast adds one to the counter of a bit. The closures of one commit share a
// statement for each broadcast, so counting a recipient costs a look-up in memory, and one
// statement for each recipient if the broadcast has variants. Within the transaction,
// reads return the old counters.
func (tx *Tx) countBroadcast(id, emailID string, bit app.Seen) error {
	c := tx.increments.ofBroadcast(id)
	c.first[bit]++
	has, err := tx.hasLanguages(id)
	if err != nil || !has {
		return err
	}
	c.ofMail(emailID)[bit]++
	return nil
}

func (c *broadcastCount) ofMail(emailID string) map[app.Seen]int64 {
	first := c.mails[emailID]
	if first == nil {
		first = map[app.Seen]int64{}
		c.mails[emailID] = first
	}
	return first
}

// endBroadcastUnit counts a unit that ended, in the same batched way as countBroadcast.
func (tx *Tx) endBroadcastUnit(id string) { tx.increments.ofBroadcast(id).ended++ }

// storeBroadcasts writes the counts and finishes broadcasts that have no open work left.
func (tx *Tx) storeBroadcasts(group []*increments) error {
	var sums increments
	for _, added := range group {
		for _, c := range added.broadcasts {
			sum := sums.ofBroadcast(c.id)
			sum.ended += c.ended
			for bit, n := range c.first {
				sum.first[bit] += n
			}
			for emailID, first := range c.mails {
				of := sum.ofMail(emailID)
				for bit, n := range first {
					of[bit] += n
				}
			}
		}
	}
	for _, c := range sums.broadcasts {
		if err := tx.addToBroadcast(&c); err != nil {
			return fmt.Errorf("count outcomes of a broadcast: %w", err)
		}
	}
	return nil
}

func (tx *Tx) addToBroadcast(c *broadcastCount) error {
	for _, emailID := range app.SortedKeys(c.mails) {
		if err := tx.addToLanguage(c.id, emailID, c.mails[emailID]); err != nil {
			return err
		}
	}
	err := tx.Write(`UPDATE broadcasts SET open = open - ?, `+addedCounts+` WHERE id = ?`, append(append([]any{c.ended}, countArgs(c.first)...), c.id)...)
	if err != nil || c.ended == 0 {
		return err
	}
	return tx.finishBroadcast(c.id)
}
