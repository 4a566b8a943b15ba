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

// Live returns the bus of changes that this process writes. Events for all teams are
// published to the empty team id. Without a database there are no events.
func (d *DB) Live() *pubsub.Bus {
	if d == nil {
		return nil
	}
	return d.live
}

// hasListeners reports whether the bus has subscribers, so that events without listeners
// cost nothing.
func (tx *Tx) hasListeners() bool { return tx.db != nil && tx.db.live.Listening() }

// publish sends events to the listeners of a team after the commit.
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

// publishEvent publishes the newest timeline event of an email, or the progress of its
// broadcast.
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

// broadcastUpdate returns the progress of a broadcast, read when the event is delivered.
func (tx *Tx) broadcastUpdate(teamID, id string) pubsub.Event {
	d := tx.db
	return pubsub.Event{Name: liveBroadcast, ID: id, Data: func() any {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b, err := Get(ctx, d, func(r *Reader) (app.Broadcast, error) { return r.BroadcastHead(teamID, id) })
		if err != nil {
			return nil // the broadcast is gone or the server stops: the id tells listeners to reload
		}
		return broadcastUpdate{b.ID, b.Status, b.Started - b.Open, b.Audience}
	}}
}

// publishBroadcast publishes a change of a broadcast.
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

// publishImport publishes the progress of an import.
func (tx *Tx) publishImport(i *contactfile.Import) {
	update := importUpdate{i.ID, i.Status, i.Created, i.Updated, i.Skipped, i.Failed}
	tx.publish(i.TeamID, pubsub.Event{Name: liveImport, ID: i.ID, Data: func() any { return update }})
}

// publishRelay publishes a change of a relay to listeners of all teams.
func (tx *Tx) publishRelay(relay string) {
	tx.publish("", pubsub.Event{Name: liveRelay, ID: relay})
}
