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
}

// ofBroadcast returns the counts that a transaction adds to a broadcast.
func (a *increments) ofBroadcast(id string) *broadcastCount {
	for i := range a.broadcasts {
		if a.broadcasts[i].id == id {
			return &a.broadcasts[i]
		}
	}
	a.broadcasts = append(a.broadcasts, broadcastCount{id: id, first: map[app.Seen]int64{}})
	return &a.broadcasts[len(a.broadcasts)-1]
}

// countBroadcast adds one to the counter of a bit. The closures of one commit share a
// statement for each broadcast, so counting a recipient costs a look-up in memory. Within
// the transaction, reads return the old counters.
func (tx *Tx) countBroadcast(id string, bit app.Seen) { tx.increments.ofBroadcast(id).first[bit]++ }

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
	err := tx.Write(`UPDATE broadcasts SET open = open - ?, sent = sent + ?, delivery_delayed = delivery_delayed + ?, delivered = delivered + ?, opened = opened + ?,
		clicked = clicked + ?, bounced = bounced + ?, complained = complained + ?, suppressed = suppressed + ?, failed = failed + ?, canceled = canceled + ?,
		unsubscribed = unsubscribed + ? WHERE id = ?`,
		c.ended, c.first[app.SeenSent], c.first[app.SeenDelayed], c.first[app.SeenDelivered], c.first[app.SeenOpened], c.first[app.SeenClicked], c.first[app.SeenBounced],
		c.first[app.SeenComplained], c.first[app.SeenSuppressed], c.first[app.SeenFailed], c.first[app.SeenCanceled], c.first[app.SeenUnsubscribed], c.id)
	if err != nil || c.ended == 0 {
		return err
	}
	return tx.finishBroadcast(c.id)
}
