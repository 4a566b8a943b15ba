package transfer

import (
	"context"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

func (x *export) feeds() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Feed
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.FeedsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			f := &all[i]
			return x.put(archive.Feeds, &archive.Feed{ID: f.ID, URL: f.URL, TopicID: f.TopicID, TemplateID: f.TemplateID, From: f.From, Schedule: f.Schedule, Zone: f.Zone, Mode: f.Mode, SkipEmpty: f.SkipEmpty,
				State: f.State, Held: f.Held, Since: f.Position.Since.UTC(), Seen: f.Position.Seen, LastBroadcastID: f.LastBroadcastID, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt})
		})
	})
}

// feedsIn creates missing feeds, which make no broadcasts until they are set to active. One with the same
// id, or of another team the same URL and time, is the same, and is not changed.
func (m *importer) feedsIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Feed, error) { return r.FeedsAfter(m.team.ID, "", app.MaxFeeds) })
	if err != nil {
		return fmt.Errorf("read feeds: %w", err)
	}
	there := map[string]string{}
	for i := range all {
		there[all[i].ID], there[formMark(all[i].URL, all[i].CreatedAt.UnixMilli())] = all[i].ID, all[i].ID
	}
	n := len(all)
	done := 0
	var in archive.Feed
	return m.r.Each(archive.Feeds, &in, func(int) error {
		done++
		id := there[in.ID]
		if id == "" {
			id = there[formMark(in.URL, in.CreatedAt.UnixMilli())]
		}
		if id != "" {
			m.report.Feeds = append(m.report.Feeds, Thing{Name: in.URL})
		} else if n == app.MaxFeeds {
			m.unmovable(fmt.Sprintf("feed %q", in.URL), fmt.Sprintf("a team can have at most %d feeds", app.MaxFeeds))
			return nil
		} else if id, err = m.feed(ctx, &in); err != nil || id == "" {
			return err
		} else {
			n++
		}
		if err := m.moved(archive.Feeds, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Feeds, done)
	})
}

// maxSeenKey is how long the hash of an item of a feed may be.
const maxSeenKey = 64

// feed creates a feed; an empty id: it can't be created.
func (m *importer) feed(ctx context.Context, in *archive.Feed) (id string, err error) {
	what := fmt.Sprintf("feed %q", in.URL)
	topic, template := m.topics[in.TopicID], m.templateIDs[in.TemplateID]
	switch {
	case topic == "":
		m.unmovable(what, "its topic can't be taken")
		return "", nil
	case template == "":
		m.unmovable(what, "its template can't be taken")
		return "", nil
	}
	patch := app.FeedPatch{URL: in.URL, TopicID: topic, TemplateID: template, Schedule: in.Schedule, Zone: in.Zone, Mode: in.Mode, From: app.Change[string]{Set: true, Value: in.From}, SkipEmpty: &in.SkipEmpty}
	f, err := patch.Apply(app.Feed{State: app.HeldFeed, Held: app.FeedImported, LastBroadcastID: m.broadcastIDs[in.LastBroadcastID]})
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	if in.State == app.PausedFeed {
		f.State, f.Held = app.PausedFeed, ""
	}
	seen := slices.DeleteFunc(slices.Clone(in.Seen), func(key string) bool { return len(key) > maxSeenKey })
	f.Position.Seen = seen[max(0, len(seen)-app.MaxFeedSeen):]
	id = m.id(in.ID)
	added, err := m.add(ctx, &m.report.Feeds, what, Thing{Name: f.URL, Status: string(f.State)}, func(tx *db.Tx) (err error) {
		if id, err = freeID(tx.FeedIDTaken, id); err != nil {
			return err
		}
		f.ID, f.TeamID, f.CreatedAt = id, m.team.ID, orDefault(in.CreatedAt, tx.Now)
		f.UpdatedAt, f.Position.Since, f.NextAt = orDefault(in.UpdatedAt, f.CreatedAt), orDefault(in.Since, tx.Now), f.Next(tx.Now)
		return tx.InsertFeed(&f)
	})
	if !added {
		return "", err
	}
	return id, err
}
