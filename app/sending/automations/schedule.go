package automations

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/robfig/cron/v3"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/automation"
	"mailer/app/tenants/audience"
	"mailer/db"
)

const (
	// Every is how often automations are looked for that a date or a schedule starts.
	Every = 15 * time.Second
	// duePerRound is how many due automations take turns.
	duePerRound = 100
	// maxLate is how late a start by date or schedule can be: an older one is not made.
	maxLate = 24 * time.Hour
	// quarter divides the day: whole hours of each time zone begin at a quarter of an hour in UTC.
	quarter = 15 * time.Minute
	// judgeEvery is how often contacts are judged whose segment depends on time.
	judgeEvery = 24 * time.Hour
)

// Only tests change them.
var (
	readChunk     = 500 // contacts that are read at a time
	judgeChunk    = 100 // contacts that are judged in one Write
	chunksPerTurn = 20  // chunks of one automation before another one takes its turn
)

// The tasks of a pass through the contacts of a team.
const (
	taskStart    = "start"    // runs by a date or a schedule
	taskRemember = "remember" // who is in the segment of the trigger, without starting runs
	taskJudge    = "judge"    // who joined the segment of the trigger because time passed
)

// progress is how far an automation has come with a pass through the contacts of its team. A pass is made in chunks;
// the position after each is stored in one Write with what the chunk led to.
type progress struct {
	Task  string `json:"task"`
	From  int64  `json:"from,omitzero"`  // starts by date after this time are made, in milliseconds
	To    int64  `json:"to,omitzero"`    // and up to this one; by schedule: its time
	After string `json:"after,omitzero"` // id of the last contact
	Over  bool   `json:"over,omitzero"`
	// Unreadable counts contacts whose date or time zone can't be read; Counted is what the last pass counted.
	Unreadable int64 `json:"unreadable,omitzero"`
	Counted    int64 `json:"counted,omitzero"`
	// Quarters are bits of the quarters of an hour in UTC in which contacts have whole hours, without the first.
	Quarters int `json:"quarters,omitzero"`
}

func parseProgress(text string) (p progress, err error) {
	if text == "" {
		return p, nil
	}
	return p, json.Unmarshal([]byte(text), &p)
}

func (p *progress) text() (string, error) {
	if *p == (progress{}) {
		return "", nil
	}
	raw, err := json.Marshal(p)
	return string(raw), err
}

// plan sets when an automation is due next, before it is stored: for a trigger by date or schedule, or to remember who
// is in the segment of its trigger. One whose trigger stays as it is, and enabled, continues.
func (s *Service) plan(tx *db.Tx, a *app.Automation, flow *automation.Flow) error {
	if before, err := readWhole(&tx.Reader, a.TeamID, a.ID); err == nil {
		old, bad := automation.Parse(&before.Flow)
		if bad == nil && before.Status == app.AutomationEnabled && a.Status == app.AutomationEnabled && reflect.DeepEqual(old.Trigger, flow.Trigger) {
			a.NextAt, a.Held = before.NextAt, before.Held
			return nil
		}
	} else if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	a.NextAt = time.Time{}
	if a.Status == app.AutomationEnabled {
		next, err := s.firstDue(&tx.Reader, a.TeamID, &flow.Trigger, tx.Now)
		if err != nil {
			return err
		}
		a.NextAt, a.Held = next, "" // who enables it decides about the hold
	}
	return tx.PlanAutomation(a.TeamID, a.ID, a.NextAt)
}

// firstDue returns when an automation with a trigger is due that is enabled now; zero: never.
func (s *Service) firstDue(r *db.Reader, teamID string, c *automation.TriggerConfig, now time.Time) (time.Time, error) {
	switch c.EventName {
	case app.TriggerDate:
		return now.Truncate(quarter).Add(quarter), nil
	case app.TriggerSchedule:
		plan, err := scheduleOf(r, teamID, c)
		if err != nil {
			return time.Time{}, err
		}
		return plan.next(now), nil
	case app.TriggerSegmentJoined:
		segment, err := r.Segment(teamID, c.SegmentID)
		if err == nil && segment.Filter != nil {
			return now, nil
		}
		return time.Time{}, base.IgnoreNotFound(err)
	}
	return time.Time{}, nil
}

// Release ends the hold of an automation that was imported or restored. Starts by date and schedule go on from now;
// those that were due meanwhile are not made. Error: db.ErrNotFound.
func (s *Service) Release(tx *db.Tx, teamID, id string) error {
	a, err := readWhole(&tx.Reader, teamID, id)
	if err != nil {
		return err
	}
	flow, err := automation.Parse(&a.Flow)
	if err != nil {
		return fmt.Errorf("check automation %s: %w", id, err)
	}
	a.Held, a.NextAt = "", time.Time{}
	if a.Status == app.AutomationEnabled {
		if a.NextAt, err = s.firstDue(&tx.Reader, teamID, &flow.Trigger, tx.Now); err != nil {
			return err
		}
	}
	if err := tx.PlanAutomation(teamID, id, a.NextAt); err != nil {
		return err
	}
	return tx.UpdateAutomation(&a)
}

// schedule is the schedule of a trigger in its time zone.
type schedule struct {
	cron cron.Schedule
	zone *time.Location
}

// scheduleOf returns the schedule of the trigger mailer:schedule.
func scheduleOf(r *db.Reader, teamID string, c *automation.TriggerConfig) (schedule, error) {
	fields, err := automation.ParseSchedule(c.Schedule)
	if err != nil {
		return schedule{}, fmt.Errorf("the schedule %w", err)
	}
	name := c.TimeZone
	if name == "" {
		if name, err = r.TeamTimeZone(teamID); err != nil {
			return schedule{}, fmt.Errorf("read the time zone of the team: %w", err)
		}
	}
	zone, _ := automation.ZoneOf(nil, name)
	return schedule{fields, zone}, nil
}

// next returns the first time of the schedule after a time; zero: there is none. A local time that does not exist is
// the next that does, and of one that exists twice it is the first.
func (s schedule) next(after time.Time) time.Time {
	local := after.In(s.zone)
	// The fields are applied to the local clock as if it were UTC, which has no gaps, from a day earlier on.
	wall := time.Date(local.Year(), local.Month(), local.Day()-1, local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	for {
		if wall = s.cron.Next(wall); wall.IsZero() {
			return wall
		}
		at := automation.LocalTime(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), s.zone)
		if at.After(after) {
			return at.UTC()
		}
	}
}

// last returns the last time of the schedule from one time to another, both included; zero: there is none.
func (s schedule) last(from, to time.Time) (last time.Time) {
	if early := to.Add(-2 * maxLate); from.Before(early) {
		from = early // an older one is too late
	}
	for at := s.next(from.Add(-time.Millisecond)); !at.IsZero() && !at.After(to); at = s.next(at) {
		last = at
	}
	return last
}

// dateStart returns when the trigger mailer:date starts a run for a contact in (from, to], and the date that it is for.
// unreadable reports that the date or the time zone of the contact can't be read, minute at which minute of an hour
// in UTC the hours of the contact begin; negative: it has no date.
func dateStart(c *automation.TriggerConfig, contact *app.Contact, teamZone string, from, to time.Time) (at time.Time, date string, unreadable bool, minute int) {
	p, ok := contact.Properties[c.Property]
	if !ok || p.Type == app.StringProperty && p.Text == "" {
		return at, "", false, -1
	}
	year, _, _, readable := automation.ParseDate(p.Text)
	if p.Type != app.StringProperty || !readable {
		return at, "", true, -1
	}
	zone, unreadable := automation.ZoneOf(contact, teamZone)
	_, offset := to.In(zone).Zone()
	minute = ((-offset%3600 + 3600) % 3600) / 60
	first, last := year, year
	if c.Yearly { // an offset of days may lead into the next year or from the last one
		first, last = from.Year()-1, to.Year()+1
	}
	for year := first; year <= last; year++ {
		start, ok := c.OnDay(year, p.Text, zone)
		if ok && start.After(from) && !start.After(to) {
			return start, start.In(zone).AddDate(0, 0, -c.Days).Format(time.DateOnly), unreadable, minute
		}
	}
	return at, "", unreadable, minute
}

// nextQuarter returns when starts by date are looked for after a time: at the hour, and in the quarters that contacts
// need.
func nextQuarter(after time.Time, quarters int) time.Time {
	at := after.Truncate(quarter).Add(quarter)
	for at.Minute() != 0 && quarters&(1<<(at.Minute()/15)) == 0 {
		at = at.Add(quarter)
	}
	return at
}

// RunDue makes the starts that are due by date and schedule, and judges contacts for segments that are triggers. It
// returns when nothing is due.
func (s *Service) RunDue(ctx context.Context) error {
	failed := map[string]error{}
	for {
		due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]db.DueAutomation, error) { return r.DueAutomations(clock.Now(), duePerRound) })
		if err != nil {
			return fmt.Errorf("find due automations: %w", err)
		}
		worked := false
		for i := range due {
			d := &due[i]
			if failed[d.ID] != nil {
				continue
			}
			worked = true
			err := s.turnOf(ctx, d)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil && !errors.Is(err, db.ErrNotFound) { // not found: changed meanwhile
				failed[d.ID] = fmt.Errorf("automation %s: %w", d.ID, err)
			}
		}
		if !worked {
			break
		}
	}
	var all []error
	for _, err := range failed {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// pass is a pass of an automation through the contacts of its team.
type pass struct {
	s       *Service
	due     *db.DueAutomation
	trigger *automation.TriggerConfig
	segment app.Segment // of the trigger; without id: none, or it was deleted
	zone    string      // of the team
	plan    schedule
	progress
}

// turnOf judges the next contacts of a due automation. Errors: db.ErrNotFound if the automation was changed meanwhile.
func (s *Service) turnOf(ctx context.Context, d *db.DueAutomation) error {
	p := &pass{s: s, due: d}
	err := s.DB.Read(ctx, func(r *db.Reader) error { return p.read(r) })
	if err != nil {
		return err
	}
	switch p.trigger.EventName {
	case app.TriggerDate:
		return p.startByDate(ctx)
	case app.TriggerSchedule:
		return p.startBySchedule(ctx)
	case app.TriggerSegmentJoined:
		return p.judge(ctx)
	}
	return p.end(ctx, time.Time{})
}

func (p *pass) read(r *db.Reader) (err error) {
	flow, err := p.s.flow(r, p.due.ID, p.due.Version)
	if err != nil {
		return err
	}
	p.trigger = &flow.Trigger
	if p.progress, err = parseProgress(p.due.Progress); err != nil {
		return fmt.Errorf("read its progress: %w", err)
	}
	if p.zone, err = r.TeamTimeZone(p.due.TeamID); err != nil {
		return fmt.Errorf("read the time zone of the team: %w", err)
	}
	if p.trigger.EventName == app.TriggerSchedule {
		if p.plan, err = scheduleOf(r, p.due.TeamID, p.trigger); err != nil {
			return err
		}
	}
	if p.trigger.SegmentID != "" {
		p.segment, err = r.Segment(p.due.TeamID, p.trigger.SegmentID)
	}
	return base.IgnoreNotFound(err)
}

// store writes the progress in one Write with signals, and when the automation is due next.
func (p *pass) store(ctx context.Context, next time.Time, with func(tx *db.Tx) error) error {
	text, err := p.text()
	if err != nil {
		return err
	}
	err = p.s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.MoveAutomation(p.due, text, next); err != nil || with == nil {
			return err
		}
		return with(tx)
	})
	if err == nil {
		p.due.Progress, p.due.NextAt = text, next
	}
	return err
}

// end stores that the automation has nothing to do until a time.
func (p *pass) end(ctx context.Context, next time.Time) error { return p.store(ctx, next, nil) }

// underWay reports whether a pass of starts was begun whose time is not too long ago.
func (p *pass) underWay(now time.Time) bool {
	return p.Task == taskStart && !p.Over && p.To > now.Add(-maxLate).UnixMilli()
}

// startBySchedule starts runs of all contacts of the segment.
func (p *pass) startBySchedule(ctx context.Context) error {
	now := clock.Now()
	if !p.underWay(now) {
		at := p.plan.last(p.due.NextAt, now)
		if at.IsZero() || now.Sub(at) >= maxLate || p.segment.ID == "" {
			p.progress = progress{}
			return p.end(ctx, p.plan.next(now))
		}
		p.progress = progress{Task: taskStart, To: at.UnixMilli()}
	}
	at := time.UnixMilli(p.To).In(p.plan.zone).Format(time.RFC3339)
	payload := map[string]any{"segment_id": p.segment.ID, "at": at, "automation_id": p.due.ID}
	return p.walk(ctx, func(contacts []app.Contact) (signals []app.Signal, err error) {
		for i := range contacts {
			in := true
			if p.segment.Filter != nil {
				in, err = db.Get(ctx, p.s.DB, func(r *db.Reader) (bool, error) { return r.InSegment(&p.segment, &contacts[i]) })
			}
			if err != nil {
				return nil, err
			}
			if in {
				signals = append(signals, app.Signal{ContactID: contacts[i].ID, Payload: object(payload)})
			}
		}
		return signals, nil
	}, func() (time.Time, func(*db.Tx) error) {
		done := time.UnixMilli(p.To)
		if now.After(done) {
			done = now
		}
		p.progress = progress{}
		return p.plan.next(done), nil
	})
}

// startByDate starts runs of the contacts whose date falls into the time since the last pass.
func (p *pass) startByDate(ctx context.Context) error {
	now := clock.Now()
	if !p.underWay(now) {
		from := p.due.NextAt.Add(-quarter)
		if p.Task == taskStart {
			from = time.UnixMilli(p.To)
		}
		if early := now.Add(-maxLate); from.Before(early) {
			from = early
		}
		to := now.Truncate(quarter)
		if !to.After(from) {
			return p.end(ctx, nextQuarter(now, p.Quarters))
		}
		p.progress = progress{Task: taskStart, From: from.UnixMilli(), To: to.UnixMilli(), Counted: p.Counted}
	}
	from, to := time.UnixMilli(p.From).UTC(), time.UnixMilli(p.To).UTC()
	if early := now.Add(-maxLate); from.Before(early) {
		from = early
	}
	return p.walk(ctx, func(contacts []app.Contact) (signals []app.Signal, err error) {
		for i := range contacts {
			at, date, unreadable, minute := dateStart(p.trigger, &contacts[i], p.zone, from, to)
			if unreadable {
				p.Unreadable++
			}
			if minute > 0 {
				p.Quarters |= 1 << (minute / 15)
			}
			if !at.IsZero() {
				signals = append(signals, app.Signal{ContactID: contacts[i].ID,
					Payload: object(map[string]any{"date": date, "property": p.trigger.Property, "automation_id": p.due.ID})})
			}
		}
		return signals, nil
	}, func() (time.Time, func(*db.Tx) error) {
		more := p.Unreadable - p.Counted
		p.progress = progress{Task: taskStart, To: p.To, Over: true, Counted: p.Unreadable, Quarters: p.Quarters}
		return nextQuarter(to, p.Quarters), func(tx *db.Tx) error {
			tx.CountAutomation(p.due.ID, "", db.CountNoDate, more)
			return nil
		}
	})
}

// walk reads the contacts of a pass in chunks. starts returns the signals of a chunk; they are stored in one Write
// with the position after the chunk. At the end, over returns when the automation is due again, and what is stored then.
func (p *pass) walk(ctx context.Context, starts func([]app.Contact) ([]app.Signal, error), over func() (time.Time, func(*db.Tx) error)) error {
	for range chunksPerTurn {
		contacts, err := db.Get(ctx, p.s.DB, func(r *db.Reader) ([]app.Contact, error) {
			if p.trigger.EventName == app.TriggerSchedule && p.segment.Filter == nil {
				return r.SegmentMembersAfter(p.due.TeamID, p.segment.ID, p.After, readChunk)
			}
			return r.ContactsAfter(p.due.TeamID, p.After, readChunk)
		})
		if err != nil {
			return fmt.Errorf("read contacts: %w", err)
		}
		signals, err := starts(contacts)
		if err != nil {
			return err
		}
		next, also := p.due.NextAt, func(*db.Tx) error { return nil }
		last := len(contacts) < readChunk
		if last {
			if next, also = over(); also == nil {
				also = func(*db.Tx) error { return nil }
			}
		} else {
			p.After = contacts[len(contacts)-1].ID
		}
		err = p.store(ctx, next, func(tx *db.Tx) error {
			for _, signal := range signals {
				signal.ID, signal.TeamID, signal.Name, signal.CreatedAt = app.NewID(), p.due.TeamID, p.trigger.EventName, tx.Now
				if err := tx.InsertSignal(&signal); err != nil {
					return err
				}
			}
			if len(signals) > 0 {
				tx.AfterCommit(p.s.wake.Notify)
			}
			return also(tx)
		})
		if err != nil || last {
			return err
		}
	}
	return nil
}

// judge remembers who is in the segment of the trigger mailer:segment.joined, after the automation was enabled or the
// filter changed, and signals once a day who joined it because time passed.
func (p *pass) judge(ctx context.Context) error {
	if p.segment.Filter == nil { // also of a deleted segment
		p.progress = progress{}
		return p.end(ctx, time.Time{})
	}
	if p.Task == "" || p.Over {
		task := taskJudge
		if p.Task == "" {
			task = taskRemember
		}
		p.progress = progress{Task: task}
	}
	watched := audience.WatchedSegment{AutomationID: p.due.ID, Segment: p.segment}
	for range chunksPerTurn {
		last := false
		before := p.progress
		err := p.s.DB.Write(ctx, func(tx *db.Tx) error {
			p.progress = before
			contacts, err := tx.ContactsAfter(p.due.TeamID, p.After, judgeChunk)
			if err != nil {
				return fmt.Errorf("read contacts: %w", err)
			}
			if err := p.judgeAll(tx, &watched, contacts); err != nil {
				return err
			}
			next := p.due.NextAt
			if last = len(contacts) < judgeChunk; last {
				p.progress = progress{Task: taskJudge, Over: true}
				next = p.nextJudging(tx.Now)
			} else {
				p.After = contacts[len(contacts)-1].ID
			}
			text, err := p.text()
			if err == nil {
				err = tx.MoveAutomation(p.due, text, next)
			}
			return err
		})
		if err != nil || last {
			return err
		}
		if p.due.Progress, err = p.text(); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) judgeAll(tx *db.Tx, w *audience.WatchedSegment, contacts []app.Contact) error {
	if p.Task == taskJudge {
		return p.s.audience.Judge(tx, w, contacts)
	}
	for i := range contacts {
		in, err := tx.InSegment(&w.Segment, &contacts[i])
		if err != nil {
			return err
		}
		if _, err := tx.SetAutomationMember(w.AutomationID, contacts[i].ID, in); err != nil {
			return err
		}
	}
	return nil
}

// nextJudging returns when the contacts are judged again; zero: their segment does not depend on time.
func (p *pass) nextJudging(now time.Time) time.Time {
	if !p.segment.Filter.IsLive() {
		return time.Time{}
	}
	if next := p.due.NextAt.Add(judgeEvery); next.After(now) {
		return next
	}
	return now.Add(judgeEvery)
}

// WatchedSegments returns the segments with a filter for which automations of a team listen.
func (s *Service) WatchedSegments(r *db.Reader, teamID string) ([]audience.WatchedSegment, error) {
	all, err := r.Watchers(teamID, app.TriggerSegmentJoined)
	if err != nil {
		return nil, err
	}
	var out []audience.WatchedSegment
	for _, v := range all {
		flow, err := s.flow(r, v.ID, v.Version)
		if err != nil {
			return nil, err
		}
		if v.Starts {
			if out, err = s.watchTrigger(r, teamID, flow, &v, out); err != nil {
				return nil, err
			}
			continue
		}
		for _, goal := range flow.Goals {
			if c := goal.Config.(*automation.GoalConfig); c.SegmentID != "" {
				if out, err = watch(r, teamID, c.SegmentID, audience.WatchedSegment{AutomationID: v.ID, Goal: true}, out); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

func (s *Service) watchTrigger(r *db.Reader, teamID string, flow *automation.Flow, v *db.Watcher, out []audience.WatchedSegment) ([]audience.WatchedSegment, error) {
	if flow.Trigger.EventName != app.TriggerSegmentJoined {
		return out, nil
	}
	p, err := parseProgress(v.Progress)
	if err != nil {
		return nil, fmt.Errorf("read the progress of automation %s: %w", v.ID, err)
	}
	w := audience.WatchedSegment{AutomationID: v.ID}
	if p.Task != taskJudge {
		w.Remembering = &p.After
	}
	return watch(r, teamID, flow.Trigger.SegmentID, w, out)
}

// watch appends a segment if it exists, has a filter, and is not there yet.
func watch(r *db.Reader, teamID, segmentID string, w audience.WatchedSegment, out []audience.WatchedSegment) (_ []audience.WatchedSegment, err error) {
	if slices.ContainsFunc(out, func(o audience.WatchedSegment) bool {
		return o.AutomationID == w.AutomationID && o.Segment.ID == segmentID && o.Goal == w.Goal
	}) {
		return out, nil
	}
	w.Segment, err = r.Segment(teamID, segmentID)
	if err != nil || w.Segment.Filter == nil {
		return out, base.IgnoreNotFound(err)
	}
	return append(out, w), nil
}

// FilterChanged makes automations that a segment starts remember again who is in it, inside the Write that changed its
// filter: a change of a filter starts no runs.
func (s *Service) FilterChanged(tx *db.Tx, teamID, segmentID string) error {
	all, err := tx.Watchers(teamID, app.TriggerSegmentJoined)
	if err != nil {
		return err
	}
	for _, v := range all {
		flow, err := s.flow(&tx.Reader, v.ID, v.Version)
		if err != nil {
			return err
		}
		if v.Starts && flow.Trigger.EventName == app.TriggerSegmentJoined && flow.Trigger.SegmentID == segmentID {
			if err := tx.PlanAutomation(teamID, v.ID, tx.Now); err != nil {
				return err
			}
		}
	}
	return nil
}

// WouldStart returns how many enabled automations of a team can start because a contact is added: by the contact, by its
// choices, or by the segments that it joins.
func (s *Service) WouldStart(ctx context.Context, key *app.Key) (n int, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		n = 0
		for _, name := range []string{app.TriggerContactCreated, app.TriggerOptIn, app.TriggerSegmentJoined} {
			all, err := r.Starters(key.TeamID, name)
			if err != nil {
				return err
			}
			n += len(all)
		}
		return nil
	})
	return n, base.Unavailable(err)
}
