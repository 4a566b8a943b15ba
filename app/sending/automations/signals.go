package automations

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// SendIn is Send inside a Write, for a validated event.
func (s *Service) SendIn(tx *db.Tx, key *app.Key, in Sent) error {
	payload, err := s.typed(&tx.Reader, key.TeamID, &in)
	if err != nil {
		return err
	}
	if in.ContactID != "" {
		if _, err := tx.Contact(key.TeamID, in.ContactID); err != nil {
			return base.Lookup("contact", err)
		}
	}
	listens, err := tx.Listens(key.TeamID, in.Event)
	if err != nil || !listens {
		return err
	}
	starters, err := tx.Starters(key.TeamID, in.Event)
	if err != nil {
		return err
	}
	if len(starters) > 0 {
		if err := s.mayStartMore(&tx.Reader, key.TeamID); err != nil {
			return err
		}
	}
	if in.ContactID == "" {
		if in.ContactID, err = s.contactOf(tx, key.TeamID, in.Email, len(starters) > 0); err != nil || in.ContactID == "" {
			return err
		}
	}
	return s.Signal(tx, app.Signal{TeamID: key.TeamID, ContactID: in.ContactID, Name: in.Event, Payload: payload})
}

// typed returns the payload of an event with the types of its schema.
func (s *Service) typed(r *db.Reader, teamID string, in *Sent) (jsontext.Value, error) {
	e, err := r.CustomEventNamed(teamID, in.Event)
	if errors.Is(err, db.ErrNotFound) {
		return in.Payload, nil
	}
	if err != nil {
		return nil, err
	}
	return Coerce(in.Payload, e.Schema)
}

// contactOf returns the id of the contact with an address, which is created if create is set; empty: none.
func (s *Service) contactOf(tx *db.Tx, teamID, address string, create bool) (string, error) {
	c := app.ContactInput{Email: address}
	n, err := c.Validate()
	if err != nil {
		return "", err
	}
	old, err := tx.ContactByAddress(teamID, s.Sealer.AddressHash(teamID, n.Key))
	if err == nil || !errors.Is(err, db.ErrNotFound) || !create {
		return old.ID, base.IgnoreNotFound(err)
	}
	w, err := s.audience.NewContactWriter(tx, teamID)
	if err != nil {
		return "", err
	}
	id, _, err := w.Put(n, app.ConflictSkip)
	if err != nil {
		return "", err
	}
	return id, w.Finish()
}

// mayStartMore refuses an event that would start a run if the team or the server has too many open ones.
func (s *Service) mayStartMore(r *db.Reader, teamID string) error {
	left, err := s.openRunsLeft(r, teamID)
	if err != nil || left > 0 {
		return err
	}
	if s.Settings.Cloud {
		return app.Errorf(app.CodePlanLimitReached, "The plan of this team allows no more open runs of automations")
	}
	return app.Errorf(app.CodeValidation, "This team has as many open runs of automations as it can have (%d); stop automations that are not used any more", app.MaxOpenRuns)
}

// takeSignals takes events that wait, some of each team. It reports whether there may be more now.
func (s *Service) takeSignals(ctx context.Context) (more bool, err error) {
	for teamID := ""; ; {
		teamID, err = db.Get(ctx, s.DB, func(r *db.Reader) (string, error) { return r.NextSignalTeam(teamID) })
		if errors.Is(err, db.ErrNotFound) {
			return more, nil
		}
		if err != nil {
			return false, err
		}
		n, err := s.takeSome(ctx, teamID)
		if err != nil {
			return false, err
		}
		more = more || n == signalsPerWrite
	}
}

// takeSome takes the oldest events of a team, at most signalsPerWrite, in one Write. If one fails, they are
// taken one by one. One that fails alone is logged and dropped, since others would wait behind it forever.
func (s *Service) takeSome(ctx context.Context, teamID string) (int, error) {
	open, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Signal, error) { return r.OpenSignals(teamID, signalsPerWrite) })
	if err != nil || len(open) == 0 {
		return 0, err
	}
	take := func(signals []app.Signal) error {
		return s.DB.Write(ctx, func(tx *db.Tx) error {
			for i := range signals {
				if err := s.take(tx, &signals[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = take(open)
	if err == nil || isTransient(ctx, err) {
		return len(open), err
	}
	for i := range open {
		signal := &open[i]
		err := take(open[i : i+1])
		if err != nil && !isTransient(ctx, err) {
			s.Log.Error("an event of a contact starts and continues no runs", "team", teamID, "contact", signal.ContactID, "event", signal.Name, "err", err)
			err = s.DB.Write(ctx, func(tx *db.Tx) error { return base.IgnoreNotFound(tx.TakeSignal(signal.ID)) })
		}
		if err != nil {
			return i, err
		}
	}
	return len(open), nil
}

// isTransient reports whether an error says nothing about the data: the database can't be used now, or ctx ended.
func isTransient(ctx context.Context, err error) bool {
	return ctx.Err() != nil || app.CodeOf(base.Unavailable(err)) == app.CodeServiceUnavailable
}

// take takes an event: it ends the runs of its contact whose goal it is, continues those that wait for it, and
// starts runs of automations whose trigger it is.
func (s *Service) take(tx *db.Tx, signal *app.Signal) error {
	if err := tx.TakeSignal(signal.ID); err != nil {
		return base.IgnoreNotFound(err) // another server took it
	}
	contact, err := tx.Contact(signal.TeamID, signal.ContactID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	runs, err := tx.OpenRunsOfContact(signal.TeamID, signal.ContactID, maxOpenOfContact)
	if err != nil {
		return err
	}
	for i := range runs {
		if contact.ID == "" { // a step deleted it, and cancelled its runs
			return nil
		}
		if err := s.continueRun(tx, signal, &runs[i], &contact); err != nil {
			return err
		}
	}
	starters, err := tx.Starters(signal.TeamID, signal.Name)
	if err != nil {
		return err
	}
	for _, v := range starters {
		if contact.ID == "" {
			return nil
		}
		if err := s.startRun(tx, signal, v, &contact); err != nil {
			return err
		}
	}
	return nil
}

// maxOpenOfContact bounds the open runs of a contact that an event is compared with: more than a team can have
// automations.
const maxOpenOfContact = 2 * app.MaxAutomations

// continueRun ends a run whose goal an event is, or continues it if it waits for the event.
func (s *Service) continueRun(tx *db.Tx, signal *app.Signal, run *app.Run, contact *app.Contact) error {
	if run.Held != "" {
		return nil
	}
	flow, err := s.flow(&tx.Reader, run.AutomationID, run.Version)
	if err != nil {
		return err
	}
	t := s.newTurn(tx, run, flow, contact)
	if run.Ending != "" {
		return t.cancel(flow.Step(run.StepKey), run.Ending)
	}
	values := automation.Values{Contact: contact, Event: signal.Payload, Received: run.Context.Received}
	for _, goal := range flow.Goals {
		c := goal.Config.(*automation.GoalConfig)
		met := c.EventName == signal.Name && c.FilterRule.Met(&values)
		if c.SegmentID != "" && signal.Name == app.TriggerSegmentJoined {
			met = memberText(signal.Payload, "segment_id") == c.SegmentID
		}
		if met && !signal.CreatedAt.Before(run.CreatedAt) {
			return t.reachGoal(goal)
		}
	}
	step := flow.Step(run.StepKey)
	wait, ok := stepConfig[automation.WaitForEventConfig](step)
	if !ok || run.WaitsFor != signal.Name || signal.CreatedAt.Before(run.Since) || !wait.FilterRule.Met(&values) {
		return nil
	}
	return t.received(step, signal)
}

// stepConfig returns the configuration of a step if it has a type.
func stepConfig[T any](s *automation.Step) (c *T, ok bool) {
	if s == nil {
		return nil, false
	}
	c, ok = s.Config.(*T)
	return c, ok
}

// memberText returns a text member of a payload; empty: there is none.
func memberText(payload jsontext.Value, name string) string {
	values := automation.Values{Event: payload}
	v, _ := values.Lookup("event." + name)
	text, _ := v.(string)
	return text
}

// startRun starts a run if the trigger of an automation fits an event, and its re-entry and limits allow it.
func (s *Service) startRun(tx *db.Tx, signal *app.Signal, v db.AutomationVersion, contact *app.Contact) error {
	flow, err := s.flow(&tx.Reader, v.ID, v.Version)
	if err != nil {
		return err
	}
	if !fits(&flow.Trigger, v.ID, signal, contact) {
		return nil
	}
	key := ""
	if flow.ReEntry.Mode == app.ReEnterPerKey {
		if key = entryKey(signal.Payload, flow.ReEntry.Field); key == "" {
			return nil // there is nothing to tell this start from others
		}
	}
	all, own, err := readEntries(&tx.Reader, v.ID, contact.ID, key)
	if err != nil || !mayReEnter(flow.ReEntry, own, tx.Now) {
		return err
	}
	run := &app.Run{ID: app.NewID(), TeamID: signal.TeamID, AutomationID: v.ID, Version: v.Version, ContactID: contact.ID, Status: app.RunRunning, StepKey: flow.Start, StepN: 1,
		Context: app.RunContext{Event: signal.Payload, EventName: signal.Name, Chain: append(slices.Clone(signal.Chain), v.ID)}, CreatedAt: signal.CreatedAt, StartedAt: tx.Now}
	if isLoop(flow.ReEntry, all, signal.Chain, tx.Now) {
		return s.recordLoop(tx, run)
	}
	left, err := s.openRunsLeft(&tx.Reader, signal.TeamID)
	if err != nil {
		return err
	}
	if left <= 0 {
		tx.CountAutomation(v.ID, "", db.CountFull, 1)
		return nil
	}
	if err := putEntries(tx, run, key, all); err != nil {
		return err
	}
	if err := tx.InsertRun(run); err != nil {
		return err
	}
	tx.CountAutomation(v.ID, "", db.CountStarted, 1)
	t := s.newTurn(tx, run, flow, contact)
	t.since = signal.CreatedAt
	step := flow.Step(flow.Start)
	t.record(step, app.StepCompleted, map[string]any{"event": signal.Name}, nil)
	return t.follow(step, app.ConnectDefault)
}

// fits reports whether a trigger fits an event of its name.
func fits(c *automation.TriggerConfig, automationID string, signal *app.Signal, contact *app.Contact) bool {
	for _, m := range []struct{ member, want string }{{"topic_id", c.TopicID}, {"broadcast_id", c.BroadcastID}, {"template_id", c.TemplateID}} {
		if m.want != "" && memberText(signal.Payload, m.member) != m.want {
			return false
		}
	}
	switch c.EventName {
	case app.TriggerSegmentJoined:
		if memberText(signal.Payload, "segment_id") != c.SegmentID {
			return false
		}
	case app.TriggerDate, app.TriggerSchedule:
		if memberText(signal.Payload, "automation_id") == "" {
			return false
		}
	}
	if only := memberText(signal.Payload, "automation_id"); only != "" && only != automationID && strings.HasPrefix(signal.Name, "mailer:") {
		return false
	}
	return c.FilterRule.Met(&automation.Values{Contact: contact, Event: signal.Payload})
}

// maxEntryKey bounds a value of once_per_event_key, in bytes; longer ones are compared by their beginning.
const maxEntryKey = 500

// entryKey returns the value of a member of a payload as a text; empty: it is missing or null.
func entryKey(payload jsontext.Value, field string) string {
	values := automation.Values{Event: payload}
	v, ok := values.Lookup("event." + field)
	if !ok || v == nil {
		return ""
	}
	if text, ok := v.(string); ok {
		return app.CutText(text, maxEntryKey)
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return "" // not possible: it was JSON
	}
	return app.CutText(string(b), maxEntryKey)
}

// readEntries returns the earlier starts of an automation for a contact: all, and those with a key.
func readEntries(r *db.Reader, automationID, contactID, key string) (all, own db.Entry, err error) {
	if all, err = r.Entry(automationID, contactID, ""); base.IgnoreNotFound(err) != nil {
		return all, own, err
	}
	if key == "" {
		return all, all, nil
	}
	own, err = r.Entry(automationID, contactID, key)
	return all, own, base.IgnoreNotFound(err)
}

func putEntries(tx *db.Tx, run *app.Run, key string, all db.Entry) error {
	day := tx.Now.Add(-24 * time.Hour).UnixMilli()
	all.Recent = append(slices.DeleteFunc(all.Recent, func(at int64) bool { return at <= day }), tx.Now.UnixMilli())
	all.LastAt = tx.Now
	if err := tx.PutEntry(run.TeamID, run.AutomationID, run.ContactID, "", all); err != nil || key == "" {
		return err
	}
	return tx.PutEntry(run.TeamID, run.AutomationID, run.ContactID, key, db.Entry{LastAt: tx.Now})
}

// mayReEnter reports whether an automation may start again for a contact after its last start, or with
// once_per_event_key after the last one with the same key.
func mayReEnter(r app.ReEntry, last db.Entry, now time.Time) bool {
	switch {
	case last.LastAt.IsZero() || r.Mode == app.ReEnterAlways:
		return true
	case r.Mode == app.ReEnterAfterDays:
		return !now.Before(last.LastAt.Add(time.Duration(r.Days) * 24 * time.Hour))
	}
	return false
}

// isLoop reports whether a start is one of too many: a long chain of automations led to it, or the automation
// started often for the contact within 24 hours.
func isLoop(r app.ReEntry, all db.Entry, chain []string, now time.Time) bool {
	if len(chain) >= app.MaxChain {
		return true
	}
	limit := app.MaxDailyStarts
	if r.Mode == app.ReEnterAlways {
		limit = app.MaxDailyStartsAlways
	}
	day, recent := now.Add(-24*time.Hour).UnixMilli(), 0
	for _, at := range all.Recent {
		if at > day {
			recent++
		}
	}
	return recent >= limit
}

// recordLoop lists a start that did not happen as a cancelled run.
func (s *Service) recordLoop(tx *db.Tx, run *app.Run) error {
	run.Status, run.Reason, run.CompletedAt = app.RunCancelled, app.ReasonLoop, tx.Now
	if err := tx.InsertRun(run); err != nil {
		return err
	}
	tx.CountAutomation(run.AutomationID, "", db.CountLoop, 1)
	return nil
}
