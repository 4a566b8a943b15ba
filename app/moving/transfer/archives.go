package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/archive"
	"mailer/db"
)

// issues writes the issues of archives.
func (x *export) issues() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Issue
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.IssuesAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.issue(&all[i]) })
	})
}

func (x *export) issue(head *app.Issue) error {
	i, err := db.Get(x.ctx, x.DB, func(r *db.Reader) (app.Issue, error) { return r.Issue(x.team.ID, head.TopicID, head.ID) })
	switch {
	case notFound(err): // removed meanwhile
		return nil
	case errors.Is(err, db.ErrDamaged):
		x.unmovable("issue "+head.ID+" of an archive", "the database is damaged there")
		return nil
	case err != nil:
		return err
	}
	return x.put(archive.Issues, &archive.Issue{ID: i.ID, TopicID: i.TopicID, BroadcastID: i.BroadcastID, Subject: i.Subject, Preview: i.Preview, Language: i.Language, HTML: i.HTML, SentAt: i.SentAt})
}

// pagesHost reports the team's own host for pages, which is not exported.
func (x *export) pagesHost() error {
	host, err := db.Get(x.ctx, x.DB, func(r *db.Reader) (db.PagesHost, error) { return r.PagesHost(x.team.ID) })
	if notFound(err) {
		return nil
	}
	if err == nil {
		x.unmovable("the pages host "+host.Name, "its DNS record leads to this server. Set `pages_host` on the new server, then change the record: until then the pages there have other addresses")
	}
	return err
}

// archivesIn adds missing issues to the archives of topics, and then gives new topics their archive, so
// that a server that runs makes no issues of its own meanwhile.
func (m *importer) archivesIn(ctx context.Context) error {
	var in archive.Topic
	var topics []archive.Topic // that get their archive
	err := m.r.Each(archive.Topics, &in, func(int) error {
		id := m.topics[in.ID]
		if id == "" || in.Archive == "" {
			return nil
		}
		get, err := m.takesArchive(ctx, &in, id)
		if err == nil && get {
			topics = append(topics, in)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := m.issuesIn(ctx); err != nil || !m.Apply {
		return err
	}
	for i := range topics {
		err := m.write(ctx, func(tx *db.Tx) error {
			return tx.SetMovedArchive(m.team.ID, m.topics[topics[i].ID], topics[i].Archive, orDefault(topics[i].ArchiveSince, tx.Now))
		})
		if err != nil && !notFound(err) {
			return fmt.Errorf("store the archive of a topic: %w", err)
		}
	}
	return nil
}

// takesArchive reports whether a topic gets the archive that it had: one that this import created, also in
// an earlier run that did not end. Issues are added to topics that have an archive here, too.
func (m *importer) takesArchive(ctx context.Context, in *archive.Topic, id string) (get bool, err error) {
	what := fmt.Sprintf("the archive of topic %q", in.Name)
	if in.Visibility != app.PublicTopic || in.Archive != app.PublicArchive && in.Archive != app.UnlistedArchive {
		m.unmovable(what, "`archive` must be public or unlisted, and the topic public")
		return false, nil
	}
	if m.newTopic[id] {
		m.archives[id] = true
		return true, nil
	}
	t, err := db.Get(ctx, m.s.DB, func(r *db.Reader) (app.Topic, error) { return r.Topic(m.team.ID, id) })
	if err != nil {
		return false, fmt.Errorf("read a topic: %w", err)
	}
	get = t.Archive == "" && t.Visibility == app.PublicTopic && id == in.ID && t.UpdatedAt.UnixMilli() == in.UpdatedAt.UnixMilli()
	if m.archives[id] = get || t.Archive != ""; !m.archives[id] {
		m.unmovable(what, "the topic has no archive here")
	}
	return get, nil
}

// issuesIn adds missing issues. A broadcast that is in the archive of its topic stays as it is there.
func (m *importer) issuesIn(ctx context.Context) error {
	done := 0
	var in archive.Issue
	return m.r.Each(archive.Issues, &in, func(line int) error {
		done++
		i, ok := m.issue(&in, line)
		if !ok {
			return nil
		}
		there, err := db.Get(ctx, m.s.DB, func(r *db.Reader) (bool, error) { return r.HasIssue(m.team.ID, i.TopicID, i.BroadcastID) })
		if err == nil && !there && m.Apply {
			err = m.write(ctx, func(tx *db.Tx) (err error) {
				if i.ID, err = freeID(tx.IssueIDTaken, i.ID); err != nil {
					return err
				}
				i.SentAt = orDefault(i.SentAt, tx.Now)
				added, err := tx.InsertMovedIssue(&i)
				there = !added
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("store an issue: %w", err)
		}
		m.report.Issues.add(!there)
		if !there {
			if err := m.moved(archive.Issues, in.ID, i.ID); err != nil {
				return err
			}
		}
		return m.progress(archive.Issues, done)
	})
}

// issue validates an archived issue; not ok: it is not taken. Its HTML is cleaned again, since it is shown
// to everyone.
func (m *importer) issue(in *archive.Issue, line int) (i app.Issue, ok bool) {
	topic := m.topics[in.TopicID]
	if !m.archives[topic] { // which is reported already
		return i, false
	}
	i = app.Issue{ID: m.id(in.ID), TeamID: m.team.ID, TopicID: topic, BroadcastID: m.broadcastIDs[in.BroadcastID], Subject: app.OneLine(in.Subject), SentAt: in.SentAt,
		HTML: htmltext.Clean(strings.ToValidUTF8(in.HTML, ""), htmltext.Cleaning{})}
	preview := []rune(app.OneLine(in.Preview))
	i.Preview = string(preview[:min(len(preview), app.MaxIssuePreview)])
	if lang, ok := app.CanonicalLanguage(in.Language); ok {
		i.Language = lang
	}
	if i.BroadcastID == "" { // it was deleted
		i.BroadcastID, ok = app.ParseID(in.BroadcastID)
		if !ok {
			m.refuse(positionOf(archive.Position{}, archive.Issues, line), "`broadcast_id` is not an id")
			return i, false
		}
	}
	if len(in.HTML) > maxIssue {
		m.refuse(positionOf(archive.Position{}, archive.Issues, line), fmt.Sprintf("`html` has more than %d bytes", maxIssue))
		return i, false
	}
	return i, true
}

// maxIssue is how long the HTML of an issue may be in bytes.
const maxIssue = 10 << 20
