package transfer

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/archive"
	"mailer/db"
)

// eachItem reads all pages of a list, the oldest last.
func eachItem[T any](read func(app.Page) ([]T, bool, error), id func(*T) string) (all []T, err error) {
	page := app.Page{Limit: app.MaxLimit}
	for more := true; more; {
		var rows []T
		if rows, more, err = read(page); err != nil || len(rows) == 0 {
			return all, err
		}
		all, page.After = append(all, rows...), id(&rows[len(rows)-1])
	}
	return all, nil
}

// refusalWords returns the message of an *app.Error; other errors are the store's.
func refusalWords(err error) (words string, ok bool) {
	var refusal *app.Error
	if !errors.As(err, &refusal) || refusal.Code == app.CodeServiceUnavailable {
		return "", false
	}
	return refusal.Message, true
}

// add inserts an object, if the import applies, and adds it to the report. A refused object is
// reported as unmovable.
func (m *importer) add(ctx context.Context, list *[]Thing, what string, thing Thing, insert func(tx *db.Tx) error) (added bool, err error) {
	if m.Apply {
		err := m.write(ctx, insert)
		if words, ok := refusalWords(err); ok {
			m.unmovable(what, words)
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", what, err)
		}
	}
	thing.New = true
	*list = append(*list, thing)
	return true, nil
}

// properties declares missing properties.
func (m *importer) properties(ctx context.Context) error {
	var p archive.Property
	return m.r.Each(archive.Properties, &p, func(int) error {
		what := fmt.Sprintf("property %q", p.Key)
		in := app.PropertyInput{Key: p.Key, Type: p.Type, Fallback: valueOf(p.Fallback)}
		if err := in.Validate(); err != nil {
			m.unmovable(what, err.Error())
			return nil
		}
		if t, there := m.types[p.Key]; there {
			if t != p.Type {
				m.unmovable(what, fmt.Sprintf("it is a %s here: values that are none are refused", t))
			}
			m.report.Properties = append(m.report.Properties, Thing{Name: p.Key})
			return nil
		}
		added, err := m.add(ctx, &m.report.Properties, what, Thing{Name: p.Key}, func(tx *db.Tx) error {
			id, err := freeID(tx.PropertyIDTaken, m.id(p.ID))
			if err != nil {
				return err
			}
			return tx.InsertProperty(&app.Property{ID: id, TeamID: m.team.ID, Key: in.Key, Type: in.Type, Fallback: in.Fallback, CreatedAt: orDefault(p.CreatedAt, tx.Now)})
		})
		if added {
			m.types[p.Key] = p.Type
		}
		return err
	})
}

// freeID returns id if it is free, otherwise a new one.
func freeID(taken func(id string) (bool, error), id string) (string, error) {
	there, err := taken(id)
	if there {
		id = app.NewID()
	}
	return id, err
}

// segmentsIn creates missing segments, identified by name.
func (m *importer) segmentsIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Segment, error) {
		return eachItem(func(p app.Page) ([]app.Segment, bool, error) { return r.ListSegments(m.team.ID, p) }, func(s *app.Segment) string { return s.ID })
	})
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	names, ids := map[string]string{}, map[string]bool{}
	for i := range all {
		names[all[i].Name], ids[all[i].ID] = all[i].ID, true
	}
	var in archive.Segment
	err = m.r.Each(archive.Segments, &in, func(int) error {
		id, there := names[in.Name]
		if m.r.Team.FromMailer() && ids[in.ID] {
			id, there = in.ID, true
		}
		if !there {
			var err error
			if id, err = m.segment(ctx, &in); err != nil || id == "" {
				return err
			}
			names[in.Name] = id
		} else {
			m.report.Segments = append(m.report.Segments, Thing{Name: in.Name})
		}
		m.segments[in.ID] = id
		return m.moved(archive.Segments, in.ID, id)
	})
	return errors.Join(err, m.progress(archive.Segments, len(m.segments)))
}

// segment creates a segment; an empty id: it can't be created.
func (m *importer) segment(ctx context.Context, in *archive.Segment) (id string, err error) {
	what := fmt.Sprintf("segment %q", in.Name)
	input := app.SegmentInput{Name: in.Name, Filter: in.Filter}
	if err := input.Validate(); err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	input.Filter.RenameTopics(m.topics)
	id = m.id(in.ID)
	s := app.Segment{TeamID: m.team.ID, Name: input.Name, Filter: input.Filter}
	added, err := m.add(ctx, &m.report.Segments, what, Thing{Name: in.Name}, func(tx *db.Tx) (err error) {
		if err := base.CapSegments.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if id, err = freeID(tx.SegmentIDTaken, id); err != nil {
			return err
		}
		s.ID, s.CreatedAt = id, orDefault(in.CreatedAt, tx.Now)
		return tx.InsertSegment(&s)
	})
	if !added {
		return "", err
	}
	return id, err
}

// topicsIn creates missing topics; names are unique in a team.
func (m *importer) topicsIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Topic, error) {
		return eachItem(func(p app.Page) ([]app.Topic, bool, error) { return r.ListTopics(m.team.ID, p) }, func(t *app.Topic) string { return t.ID })
	})
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	names, ids := map[string]app.Topic{}, map[string]bool{}
	for i := range all {
		names[all[i].Name], ids[all[i].ID] = all[i], true
	}
	var in archive.Topic
	err = m.r.Each(archive.Topics, &in, func(int) error {
		was, there := names[in.Name]
		if there && was.Default != in.Default && !(m.r.Team.FromMailer() && ids[in.ID]) {
			m.unmovable(fmt.Sprintf("topic %q", in.Name), "a topic of this name means another thing for those who chose nothing; it comes under a name of its own")
			in.Name = ownName(in.Name, m.r.Team.Source)
			was, there = names[in.Name]
		}
		id := was.ID
		if m.r.Team.FromMailer() && ids[in.ID] {
			id, there = in.ID, true
		}
		if !there {
			var err error
			if id, err = m.topic(ctx, &in); err != nil || id == "" {
				return err
			}
			names[in.Name], m.newTopic[id] = app.Topic{ID: id, Default: in.Default}, true
		} else {
			m.report.Topics = append(m.report.Topics, Thing{Name: in.Name})
		}
		m.topics[in.ID] = id
		return m.moved(archive.Topics, in.ID, id)
	})
	return errors.Join(err, m.progress(archive.Topics, len(m.topics)))
}

// ownName returns a topic name with its source, cut to the maximum length.
func ownName(name, source string) string {
	behind := " (" + source + ")"
	runes := []rune(name)
	return string(runes[:min(len(runes), app.MaxTopicName-len(behind))]) + behind
}

// topic creates a topic; an empty id: it can't be created.
func (m *importer) topic(ctx context.Context, in *archive.Topic) (id string, err error) {
	what := fmt.Sprintf("topic %q", in.Name)
	input := app.TopicInput{Name: in.Name, Description: in.Description, Default: in.Default, Visibility: in.Visibility}
	t, err := input.Validate()
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	id, t.TeamID = m.id(in.ID), m.team.ID
	added, err := m.add(ctx, &m.report.Topics, what, Thing{Name: in.Name}, func(tx *db.Tx) (err error) {
		if err := base.CapTopics.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if id, err = freeID(tx.TopicIDTaken, id); err != nil {
			return err
		}
		t.ID, t.CreatedAt = id, orDefault(in.CreatedAt, tx.Now)
		t.UpdatedAt = orDefault(in.UpdatedAt, t.CreatedAt)
		return tx.InsertTopic(&t)
	})
	if !added {
		return "", err
	}
	return id, err
}
