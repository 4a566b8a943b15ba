package db

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/kit/pubsub"
	"mailer/app/rules/contactfile"
)

// The names of live events.
const (
	liveQueue     = "queue"
	liveEmail     = "email"
	liveBroadcast = "broadcast"
	liveImport    = "import"
	liveRelay     = "relay"
)

// Live is where listeners hear what this process changes in the database. Whoever sees all
// teams listens to a team without a name. Without a database there is nothing to hear.
func (d *DB) Live() *pubsub.Bus {
	if d == nil {
		return nil
	}
	return d.live
}

// hasListeners reports whether anybody listens, so that what nobody hears costs nothing.
func (tx *Tx) hasListeners() bool { return tx.db != nil && tx.db.live.Listening() }

// publish has the listeners of a team told of a change, once it is on disk.
func (tx *Tx) publish(teamID string, events ...pubsub.Event) {
	if !tx.hasListeners() {
		return
	}
	bus := tx.db.live
	tx.AfterCommit(func() {
		for _, e := range events {
			bus.Publish(teamID, e)
			if e.Name == liveQueue {
				bus.Publish("", e)
			}
		}
	})
}

type emailUpdate struct {
	ID    string `json:"id"`
	Event string `json:"event"`
}

// publishEvent tells of the newest line in the timeline of an email, or of the broadcast that
// it belongs to.
func (tx *Tx) publishEvent(teamID, emailID, broadcastID, event string) {
	if !tx.hasListeners() {
		return
	}
	what := pubsub.Event{Name: liveEmail, ID: emailID, Data: func() any { return emailUpdate{emailID, event} }}
	if broadcastID != "" {
		what = tx.broadcastUpdate(teamID, broadcastID)
	}
	tx.publish(teamID, what, pubsub.Event{Name: liveQueue})
}

type broadcastUpdate struct {
	ID     string              `json:"id"`
	Status app.BroadcastStatus `json:"status"`
	Done   int64               `json:"done"`
	Total  int64               `json:"total"`
}

// broadcastUpdate tells how far a broadcast is, as it is found when listeners are told.
func (tx *Tx) broadcastUpdate(teamID, id string) pubsub.Event {
	d := tx.db
	return pubsub.Event{Name: liveBroadcast, ID: id, Data: func() any {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b, err := Get(ctx, d, func(r *Reader) (app.Broadcast, error) { return r.BroadcastHead(teamID, id) })
		if err != nil {
			return nil // it is gone, or the server stops: its id says to look
		}
		return broadcastUpdate{b.ID, b.Status, b.Started - b.Open, b.Audience}
	}}
}

// publishBroadcast tells that a broadcast changed.
func (tx *Tx) publishBroadcast(teamID, id string) {
	if tx.hasListeners() {
		tx.publish(teamID, tx.broadcastUpdate(teamID, id), pubsub.Event{Name: liveQueue})
	}
}

type importUpdate struct {
	ID      string             `json:"id"`
	Status  contactfile.Status `json:"status"`
	Created int                `json:"created"`
	Updated int                `json:"updated"`
	Skipped int                `json:"skipped"`
	Failed  int                `json:"failed"`
}

// publishImport tells how far an import is.
func (tx *Tx) publishImport(i *contactfile.Import) {
	update := importUpdate{i.ID, i.Status, i.Created, i.Updated, i.Skipped, i.Failed}
	tx.publish(i.TeamID, pubsub.Event{Name: liveImport, ID: i.ID, Data: func() any { return update }})
}

// publishRelay tells who sees all teams that something about a relay began or ended.
func (tx *Tx) publishRelay(relay string) {
	tx.publish("", pubsub.Event{Name: liveRelay, ID: relay})
}
