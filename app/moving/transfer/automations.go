package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/rules/automation"
	"mailer/db"
)

func (x *export) customEvents() error {
	return x.walk(func(after string) (string, error) {
		var all []app.CustomEvent
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.CustomEventsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			e := &all[i]
			return x.put(archive.CustomEvents, &archive.CustomEvent{ID: e.ID, Name: e.Name, Schema: e.Schema, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt})
		})
	})
}

// automations writes automations with when they started last for contacts. Runs are left out.
func (x *export) automations() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Automation
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.AutomationsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.automation(all[i].ID) })
	})
}

func (x *export) automation(id string) error {
	a, err := db.Get(x.ctx, x.DB, func(r *db.Reader) (app.Automation, error) { return r.ExportedAutomation(x.team.ID, id) })
	if errors.Is(err, db.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	err = x.put(archive.Automations, &archive.Automation{ID: a.ID, Name: a.Name, Status: a.Status, Held: a.Held, Version: a.Version, Flow: a.Flow, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt})
	last := db.Start{}
	for more := true; more && err == nil; {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		var all []db.Start
		all, err = db.Get(x.ctx, x.DB, func(r *db.Reader) ([]db.Start, error) {
			return r.StartsAfter(x.team.ID, id, last.ContactID, last.Key, batchRows)
		})
		for i := range all {
			if err == nil {
				last = all[i]
				err = x.put(archive.Starts, &archive.Start{AutomationID: id, ContactID: last.ContactID, Email: last.Email, Key: last.Key, LastAt: last.LastAt})
			}
		}
		more = len(all) == batchRows
	}
	return err
}

// customEventsIn declares missing custom events, identified by name.
func (m *importer) customEventsIn(ctx context.Context) error {
	done := 0
	var in archive.CustomEvent
	return m.r.Each(archive.CustomEvents, &in, func(int) error {
		done++
		if err := m.customEvent(ctx, &in); err != nil {
			return err
		}
		return m.progress(archive.CustomEvents, done)
	})
}

func (m *importer) customEvent(ctx context.Context, in *archive.CustomEvent) error {
	what := fmt.Sprintf("event %q", in.Name)
	if err := automation.CheckCustomEventName("name", in.Name); err != nil {
		m.unmovable(what, err.Error())
		return nil
	}
	for field, kind := range in.Schema {
		switch kind {
		case app.EventString, app.EventNumber, app.EventBoolean, app.EventDate:
		default:
			m.unmovable(what, fmt.Sprintf("the type of %q in its schema is none", field))
			return nil
		}
	}
	old, err := db.Get(ctx, m.s.DB, func(r *db.Reader) (app.CustomEvent, error) { return r.CustomEventNamed(m.team.ID, in.Name) })
	if err == nil {
		m.report.CustomEvents = append(m.report.CustomEvents, Thing{Name: old.Name})
		return nil
	}
	if !notFound(err) {
		return err
	}
	_, err = m.add(ctx, &m.report.CustomEvents, what, Thing{Name: in.Name}, func(tx *db.Tx) error {
		n, err := tx.CountCustomEvents(m.team.ID, app.MaxCustomEvents)
		if err != nil {
			return err
		}
		if n == app.MaxCustomEvents {
			return app.Errorf(app.CodeValidation, "a team can declare at most %d events", app.MaxCustomEvents)
		}
		id, err := freeID(tx.CustomEventIDTaken, m.id(in.ID))
		if err != nil {
			return err
		}
		return tx.InsertCustomEvent(&app.CustomEvent{ID: id, TeamID: m.team.ID, Name: in.Name, Schema: in.Schema, CreatedAt: orDefault(in.CreatedAt, tx.Now), UpdatedAt: in.UpdatedAt})
	})
	return err
}

// automationsIn creates missing automations. One with the same id, or in another team the same name and time, is the
// same, and is not changed. What dates and schedules start is held.
func (m *importer) automationsIn(ctx context.Context) error {
	done := 0
	var in archive.Automation
	err := m.r.Each(archive.Automations, &in, func(int) error {
		done++
		id, err := m.automationHere(ctx, &in)
		if err != nil {
			return err
		}
		if id != "" {
			m.report.Automations = append(m.report.Automations, Thing{Name: in.Name})
		} else if id, err = m.automation(ctx, &in); err != nil || id == "" {
			return err
		}
		m.automationIDs[in.ID] = id
		if err := m.moved(archive.Automations, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Automations, done)
	})
	if err != nil {
		return err
	}
	return m.startsIn(ctx)
}

// automationHere returns the id of the automation of the team that an archived one is; empty: there is none.
func (m *importer) automationHere(ctx context.Context, in *archive.Automation) (id string, err error) {
	err = m.s.DB.Read(ctx, func(r *db.Reader) error {
		if a, err := r.Automation(m.team.ID, in.ID); err == nil && m.r.Team.FromMailer() {
			id = a.ID
			return nil
		} else if err != nil && !notFound(err) {
			return err
		}
		id, err = r.HasAutomationNamed(m.team.ID, in.Name, in.CreatedAt)
		if notFound(err) {
			return nil
		}
		return err
	})
	return id, err
}

// automation creates an automation; an empty id: it can't be created. One that names something that was not imported
// is disabled.
func (m *importer) automation(ctx context.Context, in *archive.Automation) (id string, err error) {
	what := fmt.Sprintf("automation %q", in.Name)
	a := app.Automation{TeamID: m.team.ID, Name: app.CutText(app.OneLine(in.Name), app.MaxAutomationName), Status: app.AutomationDisabled, Version: 1, Flow: in.Flow}
	if a.Name == "" {
		m.unmovable(what, "it has no name")
		return "", nil
	}
	lacks, err := m.automationParts(&a.Flow)
	if err != nil {
		m.unmovable(what, "its steps can't be read")
		return "", nil
	}
	flow, err := automation.Parse(&a.Flow)
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	a.Flow.AutomationSettings = flow.AutomationSettings
	for _, lack := range lacks {
		m.unmovable(what, lack+" can't be taken: the automation is disabled")
	}
	status := "disabled"
	if in.Status == app.AutomationEnabled && len(lacks) == 0 {
		a.Status, status = app.AutomationEnabled, "enabled"
		switch flow.Trigger.EventName {
		case app.TriggerDate, app.TriggerSchedule, app.TriggerSegmentJoined:
			a.Held, status = app.FeedImported, "held"
		}
	}
	id = m.id(in.ID)
	added, err := m.add(ctx, &m.report.Automations, what, Thing{Name: a.Name, Status: status}, func(tx *db.Tx) (err error) {
		n, err := tx.CountAutomations(m.team.ID, app.MaxAutomations)
		if err != nil {
			return err
		}
		if n == app.MaxAutomations {
			return app.Errorf(app.CodeValidation, "a team can have at most %d automations", app.MaxAutomations)
		}
		if id, err = freeID(tx.AutomationIDTaken, id); err != nil {
			return err
		}
		a.ID, a.CreatedAt = id, orDefault(in.CreatedAt, tx.Now)
		a.UpdatedAt = orDefault(in.UpdatedAt, a.CreatedAt)
		if err := tx.InsertAutomation(&a); err != nil {
			return err
		}
		return tx.SetListeners(&a, flow.Trigger.EventName, flow.Listens())
	})
	if !added {
		return "", err
	}
	return id, err
}

// automationParts sets the ids here in the steps of a flow, and returns what was not imported.
func (m *importer) automationParts(f *app.AutomationFlow) (lacks []string, err error) {
	kinds := map[string]struct {
		ids  map[string]string
		name string
	}{"topic_id": {m.topics, "a topic"}, "segment_id": {m.segments, "a segment"}, "template_id": {m.templateIDs, "a template"}, "broadcast_id": {m.broadcastIDs, "a broadcast"}, "webhook_id": {m.webhookIDs, "a webhook"}}
	set := func(kind string, id *string) {
		if *id == "" {
			return
		}
		here := kinds[kind].ids[*id]
		if here == "" {
			lacks = append(lacks, kinds[kind].name+" that it names")
			return
		}
		*id = here
	}
	set("topic_id", &f.TopicID)
	for i := range f.Steps {
		var config map[string]jsontext.Value
		if err := json.Unmarshal(f.Steps[i].Config, &config); err != nil {
			return nil, err
		}
		for kind := range kinds {
			if v, ok := config[kind]; ok {
				if config[kind], err = renamed(v, func(id *string) { set(kind, id) }); err != nil {
					return nil, err
				}
			}
		}
		if v, ok := config["template"]; ok {
			var template map[string]jsontext.Value
			if err := json.Unmarshal(v, &template); err != nil {
				return nil, err
			}
			if template["id"], err = renamed(template["id"], func(id *string) { set("template_id", id) }); err != nil {
				return nil, err
			}
			if config["template"], err = json.Marshal(template, json.Deterministic(true)); err != nil {
				return nil, err
			}
		}
		if f.Steps[i].Config, err = json.Marshal(config, json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return lacks, nil
}

// renamed returns a JSON text after set changed it.
func renamed(v jsontext.Value, set func(id *string)) (jsontext.Value, error) {
	var id string
	if err := json.Unmarshal(v, &id); err != nil {
		return nil, err
	}
	set(&id)
	return json.Marshal(id)
}

// startsIn adds when automations started last for contacts.
func (m *importer) startsIn(ctx context.Context) error {
	type item struct {
		db.Start
		automation string
		at         archive.Position
		hash       app.AddressHash
	}
	return eachBatch(ctx, m, archive.Starts, func(in *archive.Start, line int) (v item, ok bool) {
		v.at = positionOf(archive.Position{}, archive.Starts, line)
		_, key, err := app.ParseBareAddress(in.Email)
		v.automation = m.automationIDs[in.AutomationID]
		switch {
		case err != nil:
			m.refuse(v.at, "`email` is not a valid email address")
		case !db.IsStartKey(in.Key):
			m.refuse(v.at, "`key` is not a hash")
		case v.automation != "":
			v.hash, v.Start = m.s.Sealer.AddressHash(m.team.ID, key), db.Start{ContactID: in.ContactID, Key: in.Key, LastAt: orDefault(in.LastAt, time.UnixMilli(0))}
			return v, true
		}
		return v, false // without its automation it means nothing
	}, func(set []item) error {
		count, lost := ItemCounts{}, []archive.Position{}
		err := m.readOrWrite(ctx, func() { count, lost = ItemCounts{}, nil }, func(r *db.Reader, tx *db.Tx) error {
			for i := range set {
				v := &set[i]
				found, created, err := m.putStart(r, tx, v.automation, &v.Start, v.hash)
				if err != nil {
					return err
				}
				if !found {
					lost = append(lost, v.at)
					continue
				}
				count.add(created)
			}
			return nil
		})
		m.report.AutomationStarts.New += count.New
		m.report.AutomationStarts.Existing += count.Existing
		for _, at := range lost {
			m.refuse(at, "the contact of this start does not exist")
		}
		return err
	})
}

// putStart inserts a start, unless there is one. found: the contact exists, or may exist after a dry run. tx is nil
// in a dry run.
func (m *importer) putStart(r *db.Reader, tx *db.Tx, automationID string, v *db.Start, hash app.AddressHash) (found, created bool, err error) {
	contact, err := r.Contact(m.team.ID, v.ContactID)
	if notFound(err) {
		contact, err = r.ContactByAddress(m.team.ID, hash)
	}
	if notFound(err) {
		return tx == nil, tx == nil, nil
	}
	if err != nil {
		return false, false, err
	}
	v.ContactID = contact.ID
	there, err := r.HasStart(automationID, contact.ID, v.Key)
	if err != nil || there || tx == nil {
		return true, !there, err
	}
	return true, true, tx.InsertStart(m.team.ID, automationID, v)
}
