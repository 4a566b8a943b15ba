package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// Result counts emails and recipients of broadcasts, and confirmations and feeds that a restore held. Committed mail, and mail that is already in
// the requested state, is matched but not changed.
type Result struct {
	Matched int64 `json:"matched"`
	Changed int64 `json:"changed"`
	// Notes are remarks for the operator.
	Notes []string `json:"-"`
}

// action is a change of mail in the queue.
type action struct {
	name string // in the audit log
	// unit changes a unit. Error: db.ErrNotFound if there is nothing to change.
	unit func(tx *db.Tx, u *db.QueuedUnit) error
	// broadcast changes a broadcast's recipients that have not begun. nil: they do not change.
	broadcast func(tx *db.Tx, b *app.Broadcast) error
}

// writeBatch is how many units one Write changes, so that other writers wait only briefly.
const writeBatch = 100

// Hold makes mail wait until it is released. It takes effect until the final dot is authorized.
func (s *Service) Hold(ctx context.Context, f Filter) (Result, error) {
	text := "Held by " + app.ActorOf(ctx).Description() + "; not sent until it is released"
	return s.apply(ctx, f, action{name: "queue.hold",
		unit: func(tx *db.Tx, u *db.QueuedUnit) error {
			if err := tx.HoldWaiting(u.EmailID, app.HoldManual); err != nil {
				return err
			}
			return insertEvent(tx, u, app.EventHeld, text)
		},
		broadcast: func(tx *db.Tx, b *app.Broadcast) error { return tx.HoldBroadcast(b.TeamID, b.ID, app.HoldManual) },
	})
}

// Release ends the hold of mail. Overdue mail becomes due immediately.
func (s *Service) Release(ctx context.Context, f Filter) (Result, error) {
	text := "Released by " + app.ActorOf(ctx).Description()
	res, err := s.apply(ctx, f, action{name: "queue.release",
		unit: func(tx *db.Tx, u *db.QueuedUnit) error {
			if err := tx.ReleaseUnit(u.EmailID); err != nil {
				return err
			}
			return insertEvent(tx, u, app.EventReleased, text)
		},
		broadcast: func(tx *db.Tx, b *app.Broadcast) error { return tx.ReleaseBroadcast(b.TeamID, b.ID) },
	})
	if err != nil {
		return res, err
	}
	return s.decideRestored(ctx, f, res, true)
}

// ofRestore reports whether a filter selects all that a restore held, of a team or of the server.
func (f *Filter) ofRestore() bool {
	return f.Restored && len(f.IDs) == 0 && f.Relay == "" && f.FromDomain == "" && f.ToDomain == "" && f.Broadcast == "" && f.OlderThan == 0 && f.After.IsZero()
}

// decideRestored releases or drops the confirmations of opt-ins, the feeds and the automations that a restore held, if an
// action is about all of the mail that was held for that reason.
func (s *Service) decideRestored(ctx context.Context, f Filter, res Result, release bool) (Result, error) {
	if !f.ofRestore() {
		return res, nil
	}
	var team string
	var n int64
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if team, err = findTeam(&tx.Reader, f.Team); err != nil {
			return err
		}
		if release {
			n, err = tx.ReleaseOptIns(team)
		} else {
			n, err = tx.DropHeldOptIns(team)
		}
		return err
	})
	if err != nil {
		return res, base.Unavailable(err)
	}
	res.Matched, res.Changed = res.Matched+n, res.Changed+n
	feeds, err := s.decideFeeds(ctx, team, release)
	res.Matched, res.Changed = res.Matched+feeds, res.Changed+feeds
	if feeds > 0 && release {
		res.Notes = append(res.Notes, fmt.Sprintf("%d feeds were released: they go on with what is published from now on", feeds))
	} else if feeds > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("%d feeds were paused: they make no broadcasts until they are set to active", feeds))
	}
	if err == nil {
		err = s.decideAutomations(ctx, team, release, &res)
	}
	return res, base.Unavailable(err)
}

// decideFeeds makes the feeds of a team, or of all teams for "", that a restore held active from now on, or
// pauses them. It returns how many.
func (s *Service) decideFeeds(ctx context.Context, teamID string, release bool) (n int64, err error) {
	for after, more := "", true; more; {
		var held []app.Feed
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			if held, err = tx.HeldFeeds(teamID, app.HoldRestored, after, writeBatch); err != nil {
				return err
			}
			for i := range held {
				before, f := held[i], held[i]
				if f.State, f.Held = app.PausedFeed, ""; release {
					f.State, f.NextAt, f.Position = app.ActiveFeed, f.Next(tx.Now), app.FeedPosition{Since: tx.Now}
				}
				f.UpdatedAt = tx.Now
				if err := tx.UpdateFeed(&f); err != nil {
					return err
				}
				if err := base.Audit(ctx, tx, f.TeamID, "feed.update", f.ID, map[string]any{"state": before.State}, map[string]any{"state": f.State}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("decide about held feeds: %w", err)
		}
		n += int64(len(held))
		if more = len(held) == writeBatch; more {
			after = held[len(held)-1].ID
		}
	}
	return n, nil
}

// Retry makes deferred mail due now. Mail that waits for its scheduled time, a quota or its relay
// does not change.
func (s *Service) Retry(ctx context.Context, f Filter) (Result, error) {
	return s.apply(ctx, f, action{name: "queue.retry",
		unit: func(tx *db.Tx, u *db.QueuedUnit) error { return tx.RetryUnit(u.EmailID) },
	})
}

// Drop cancels mail until the final dot is authorized; a broadcast as a whole.
func (s *Service) Drop(ctx context.Context, f Filter) (Result, error) {
	text := "Canceled by " + app.ActorOf(ctx).Description() + "; no more of it is sent"
	res, err := s.apply(ctx, f, action{name: "queue.drop",
		unit:      func(tx *db.Tx, u *db.QueuedUnit) error { return s.mail.Withdraw(tx, u.Unit, text) },
		broadcast: func(tx *db.Tx, b *app.Broadcast) error { return tx.CancelBroadcast(b.TeamID, b.ID) },
	})
	if err != nil {
		return res, err
	}
	return s.decideRestored(ctx, f, res, false)
}

// ReleaseDoubts sends mail whose outcome at one relay is unknown through another relay of the same
// region, on the operator's word: recipients may get it twice, with the same Message-ID. f.Relay is
// the relay that may have sent it. Errors: CodeValidation for a relay that is missing or not of the
// region.
func (s *Service) ReleaseDoubts(ctx context.Context, f Filter, to string) (Result, error) {
	if f.Relay == "" || to == "" || f.Relay == to {
		return Result{}, app.Errorf(app.CodeValidation, "Name the relay that may have sent the mail, and another one that shall send it: --relay A --to-relay B")
	}
	f.Doubts = true
	known := s.Settings.Relays().Regions
	if !slices.ContainsFunc(known, func(r base.Region) bool { return r.Name == to || slices.Contains(r.Relays, to) }) {
		return Result{}, app.Invalid("to_relay", "must be a relay of this server: there is no %q", to)
	}
	text := "Released by " + app.ActorOf(ctx).Description() + ": it is sent through " + to + ", although " + f.Relay + " may have sent it"
	return s.apply(ctx, f, action{name: "queue.release_doubts",
		unit: func(tx *db.Tx, u *db.QueuedUnit) error {
			region := app.QueueRegion(u.Relay)
			at := slices.IndexFunc(known, func(r base.Region) bool { return r.Name == region })
			if at < 0 || to != region && !slices.Contains(known[at].Relays, to) {
				return app.Invalid("to_relay", "must be a relay of the region %s, for which the mail was accepted", region)
			}
			queue := app.OnlyQueue(region, to)
			if len(known[at].Relays) == 0 { // its only relay
				queue = region
			}
			if err := tx.RerouteDoubt(u.EmailID, queue); err != nil {
				return err
			}
			return insertEvent(tx, u, app.EventReleased, text)
		},
	})
}

// Move routes mail through another relay, or takes mail of rules back to the active one. Mail in doubt
// keeps its relay, unless one email is named and it moves to another region. Errors: CodeValidation
// for a relay that can't send.
func (s *Service) Move(ctx context.Context, f Filter, relay string) (Result, error) {
	if err := s.mayMoveTo(relay); err != nil {
		return Result{}, err
	}
	text := "Moved to the relay " + relay + " by " + app.ActorOf(ctx).Description()
	senders, kept := map[routeKey]bool{}, 0
	res, err := s.apply(ctx, f, action{name: "queue.move",
		unit: func(tx *db.Tx, u *db.QueuedUnit) error {
			from := app.QueueRegion(u.Relay)
			if from == relay || app.FixedRelay(u.Relay) != "" && !f.IsSingle() {
				doubt, err := tx.InDoubt(u.EmailID)
				if err != nil {
					return fmt.Errorf("look for doubts: %w", err)
				}
				if doubt {
					kept++
					return db.ErrNotFound
				}
			}
			stopTimes := ""
			if from != relay {
				var err error
				if stopTimes, err = tx.ClockStopsOf(from); err != nil {
					return fmt.Errorf("read when expiry clocks stopped: %w", err)
				}
			}
			if err := tx.Reroute(&u.Unit, relay, stopTimes); err != nil {
				return err
			}
			senders[routeKey{team: u.TeamID, domain: u.Domain}] = true
			return insertEvent(tx, u, app.EventMoved, text)
		},
		broadcast: func(tx *db.Tx, b *app.Broadcast) error {
			senders[routeKey{team: b.TeamID, domain: b.From.Domain}] = true
			return tx.RerouteBroadcast(b.TeamID, b.ID, relay)
		},
	})
	if err == nil {
		res.Notes, err = s.spfNotes(ctx, senders, relay)
	}
	if kept > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("%d emails were not moved, since their relay may have sent them: mailer doubts lists them", kept))
	}
	return res, err
}

// mayMoveTo refuses a relay to which mail must not be moved.
func (s *Service) mayMoveTo(relay string) error {
	var names []string
	for _, r := range s.Settings.Relays().Regions {
		names = append(names, r.Name)
	}
	switch {
	case relay == "":
		return app.Invalid("to_relay", "is required")
	case relay == app.CaptureRegion:
		return app.Invalid("to_relay", "must be a real relay: what is captured never leaves")
	case len(names) == 0:
		return app.Errorf(app.CodeValidation, "No server has run on this database yet, so its relays are not known; start mailer serve once")
	case !slices.Contains(names, relay):
		return app.Invalid("to_relay", "must be a relay of this server: there is no %q%s", relay, nearestHint(relay, names))
	}
	if missing := s.Settings.MissingRelay(relay); missing != "" {
		return app.Invalid("to_relay", "must be a relay of this server: %s", missing)
	}
	return nil
}

// spfNotes returns notes on senders whose DNS records were made for another relay.
func (s *Service) spfNotes(ctx context.Context, senders map[routeKey]bool, relay string) (notes []string, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		notes = nil
		for k := range senders {
			d, err := r.DomainStatus(k.team, k.domain)
			if errors.Is(err, db.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if d.Region != relay {
				notes = append(notes, fmt.Sprintf("%s sends through %s as a rule: see that its SPF record names the relay %s too, or mail that was moved may be refused", k.domain, d.Region, relay))
			}
		}
		return nil
	})
	slices.Sort(notes)
	return notes, base.Unavailable(err)
}

// insertEvent records an action in the timeline of a unit.
func insertEvent(tx *db.Tx, u *db.QueuedUnit, kind app.EventType, text string) error {
	return base.IgnoreNotFound(tx.InsertEvent(mail.NewEvent(tx, u.Unit, kind, "", app.EventDetail{Message: text, Relay: app.QueueName(u.Relay)})))
}

// apply applies an action to all mail that matches a filter and records it in the audit log.
func (s *Service) apply(ctx context.Context, f Filter, a action) (res Result, err error) {
	if !f.FailedSince.IsZero() || f.Captured {
		return res, app.Errorf(app.CodeValidation, "`failed_since` and `captured` are for requeue only: that mail is no longer queued")
	}
	if err := f.RequireCriteria(); err != nil {
		return res, err
	}
	p, err := s.prepare(ctx, f)
	if err != nil {
		return res, err
	}
	if err := s.walks.Acquire(ctx, p.team, 1); err != nil {
		return res, err
	}
	defer s.walks.Release(p.team, 1)
	defer s.summaries.clear()
	if a.broadcast != nil {
		err = s.applyToBroadcasts(ctx, p, a, &res)
	}
	if err == nil {
		err = s.applyToUnits(ctx, p, a, &res)
	}
	if res.Changed > 0 {
		s.wake()
		err = errors.Join(err, s.audit(ctx, a.name, p, f, res))
	}
	return res, base.Unavailable(err)
}

// wake makes this process look at the changed mail. A server in another process sees the change of
// the database.
func (s *Service) wake() {
	s.delivery.WakeQueues()
	s.broadcasts.WakeBroadcaster()
}

// audit records an action in the audit log with the filter and the counts.
func (s *Service) audit(ctx context.Context, action string, p *preparedFilter, f Filter, res Result) error {
	target := f.Broadcast
	if f.IsSingle() {
		target = f.IDs[0]
	}
	err := s.DB.WriteCritical(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		return base.Audit(ctx, tx, p.team, action, target, f, res)
	})
	if err != nil {
		return fmt.Errorf("write %s to the audit log: %w", action, err)
	}
	return nil
}

// applyToBroadcasts applies an action to the matching broadcasts, each in its own Write.
func (s *Service) applyToBroadcasts(ctx context.Context, p *preparedFilter, a action, res *Result) error {
	open, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Broadcast, error) { return openBroadcasts(r, p) })
	if err != nil {
		return err
	}
	for i := range open {
		var matched, changed int64
		err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
			matched, changed = 0, 0
			b, err := tx.BroadcastHead(open[i].TeamID, open[i].ID)
			if err != nil {
				return base.IgnoreNotFound(err)
			}
			if b.Status != app.QueuedBroadcast && b.Status != app.ScheduledBroadcast {
				return nil
			}
			matched = b.Remaining()
			err = a.broadcast(tx, &b)
			if err == nil {
				changed = matched
			}
			return base.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("broadcast %s: %w", open[i].ID, err)
		}
		res.Matched += matched
		res.Changed += changed
	}
	return nil
}

// applyToUnits applies an action to the matching units in small Writes.
func (s *Service) applyToUnits(ctx context.Context, p *preparedFilter, a action, res *Result) error {
	after := ""
	for {
		units, err := db.Get(ctx, s.DB, func(r *db.Reader) (units []db.QueuedUnit, err error) {
			err = s.walk(r, p, after, func(piece []db.QueuedUnit) (bool, error) {
				units = append(units, piece...)
				return len(units) < readBatch, nil
			})
			return units, err
		})
		if err != nil || len(units) == 0 {
			return err
		}
		after = units[len(units)-1].EmailID
		for piece := range slices.Chunk(units, writeBatch) {
			if err := s.applyToBatch(ctx, p, a, piece, res); err != nil {
				return err
			}
		}
	}
}

// applyToBatch applies an action to units in one Write and then sleeps for as long as the Write
// took, so that other writers are not starved.
func (s *Service) applyToBatch(ctx context.Context, p *preparedFilter, a action, piece []db.QueuedUnit, res *Result) error {
	var changed int64
	began := time.Now()
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		changed = 0
		for i := range piece {
			u, err := tx.QueuedUnit(piece[i].EmailID)
			if err == nil && p.matches(&u) {
				if err = a.unit(tx, &u); err == nil {
					changed++
				}
			}
			if base.IgnoreNotFound(err) != nil {
				return fmt.Errorf("%s %s: %w", a.name, piece[i].EmailID, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	res.Matched += int64(len(piece))
	res.Changed += changed
	if len(piece) == writeBatch {
		base.Sleep(ctx, time.Since(began), nil)
	}
	return ctx.Err()
}
