// Package archive implements the archives of topics: issues, which are broadcasts rendered for nobody,
// and the pages and feeds that show them.
//
// Failure policy: issues are derived from the database: a broadcast without its issue gets it at the
// next run, once. A broadcast that can't be rendered is left out and logged. Whatever a host does not
// serve, a suspended team, and an archive that does not exist look the same: not found.
package archive

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/render"
	"mailer/app/tenants/pagehosts"
	"mailer/db"
)

const (
	// Every is how often issues are made of new broadcasts.
	Every = 10 * time.Second
	// dueFor is how long ago a broadcast may have been queued to become an issue automatically.
	dueFor = 30 * 24 * time.Hour
	// dueChunk is how many issues one run makes.
	dueChunk = 20
	// MaxListed is how many issues and candidates Get returns of each.
	MaxListed = 100
)

// Service implements archives.
type Service struct {
	*base.Base
	hosts *pagehosts.Service
}

// New makes the service.
func New(b *base.Base, hosts *pagehosts.Service) *Service { return &Service{b, hosts} }

// MakeIssues is the cron job that makes issues of broadcasts that were queued since the archive of their
// topic began.
func (s *Service) MakeIssues(ctx context.Context) error {
	due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]db.DueIssue, error) { return r.DueIssues(clock.Now().Add(-dueFor), dueChunk) })
	if err != nil {
		return fmt.Errorf("find broadcasts without their issue: %w", err)
	}
	for _, d := range due {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		issue, err := s.render(ctx, d.TeamID, d.BroadcastID)
		if err != nil {
			if err = s.leaveOut(ctx, d, err); err != nil {
				return err
			}
			continue
		}
		err = s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
			b, err := tx.BroadcastHead(d.TeamID, d.BroadcastID)
			if err != nil || b.Archive != nil && !*b.Archive {
				return base.IgnoreNotFound(err) // decided otherwise meanwhile
			}
			_, err = tx.InsertIssue(&issue)
			return err
		})
		if err != nil {
			return fmt.Errorf("store an issue: %w", err)
		}
	}
	return nil
}

// leaveOut leaves a broadcast that can't be rendered out of the archive.
func (s *Service) leaveOut(ctx context.Context, d db.DueIssue, cause error) error {
	if app.CodeOf(cause) == app.CodeNotFound || ctx.Err() != nil {
		return ctx.Err()
	}
	s.Log.Error("a broadcast is left out of the archive of its topic: it can't be rendered", "broadcast", d.BroadcastID, "team", d.TeamID, "err", cause)
	return s.DB.WriteBatched(ctx, func(tx *db.Tx) error { return tx.SetBroadcastArchive(d.TeamID, d.BroadcastID, false) })
}

// render renders a queued broadcast as an issue. Errors: CodeNotFound; those of render.ForNobody.
func (s *Service) render(ctx context.Context, teamID, id string) (issue app.Issue, err error) {
	b, err := db.Get(ctx, s.DB, func(r *db.Reader) (*app.Broadcast, error) { return r.Broadcast(teamID, id) })
	if err != nil {
		return issue, base.Lookup("broadcast", err)
	}
	return Render(b)
}

// Render returns the issue of a queued broadcast. Nothing in it belongs to a recipient. Errors:
// CodeValidation.
func Render(b *app.Broadcast) (issue app.Issue, err error) {
	out, err := render.ForNobody(b, app.SignUpLink)
	if err != nil {
		return issue, err
	}
	source := out.HTML
	if strings.TrimSpace(source) == "" {
		source = `<div style="white-space: pre-wrap; font-family: sans-serif">` + html.EscapeString(out.Text) + "</div>"
	}
	pages := copiedPages(b)
	cleaned := pages(htmltext.Clean(source, htmltext.Cleaning{}))
	preview := pages(out.Preview)
	if preview == "" {
		preview = htmltext.PlainText(cleaned)
	}
	preview = strings.Join(strings.Fields(strings.ReplaceAll(app.OneLine(preview), app.SignUpLink, "")), " ")
	subject := strings.TrimSpace(strings.ReplaceAll(pages(out.Subject), app.SignUpLink, ""))
	if subject == "" { // it was a name alone
		subject = firstOf(cut(preview, maxOwnSubject), "…")
	}
	return app.Issue{ID: app.NewID(), TeamID: b.TeamID, TopicID: b.TopicID, BroadcastID: b.ID, Subject: subject,
		Preview: cut(preview, app.MaxIssuePreview), HTML: cleaned, SentAt: b.QueuedAt}, nil
}

// maxOwnSubject is how many characters of the preview are the subject of an issue without one.
const maxOwnSubject = 80

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// copiedPages returns a function that replaces the URLs of pages for one recipient that an author copied from a
// mail.
func copiedPages(b *app.Broadcast) func(string) string {
	if b.Snapshot == nil || b.Snapshot.Pages == "" {
		return func(s string) string { return s }
	}
	_, host, found := strings.Cut(b.Snapshot.Pages, "://")
	if !found {
		host = b.Snapshot.Pages
	}
	pattern := regexp.MustCompile(`(?i)(?:https?:)?//` + regexp.QuoteMeta(host) + `/(?:unsubscribe|preferences|view|opt-in)/[-\w./]*`)
	return func(s string) string { return pattern.ReplaceAllLiteralString(s, app.SignUpLink) }
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return strings.TrimSpace(string(runes[:n-1])) + "…"
}

// Archive is the archive of a topic for its team.
type Archive struct {
	Topic      app.Topic
	URL        string      // empty: no archive, or no host serves it
	Issues     []app.Issue // the last sent first, at most MaxListed
	Candidates []app.Broadcast
}

// Get returns the archive of a topic of the key's team. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, topicID string) (a Archive, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if a.Topic, err = r.Topic(key.TeamID, topicID); err != nil {
			return err
		}
		if a.Issues, err = r.Issues(key.TeamID, topicID, "", MaxListed); err != nil {
			return err
		}
		a.Candidates, err = r.ArchiveCandidates(key.TeamID, topicID, MaxListed)
		return err
	})
	if err != nil {
		return a, base.Lookup("topic", err)
	}
	if a.Topic.Archive != "" {
		a.URL, err = s.urlOf(ctx, key.TeamID, topicID)
	}
	return a, err
}

// urlOf returns the URL of the archive of a topic; empty: no host serves it.
func (s *Service) urlOf(ctx context.Context, teamID, topicID string) (string, error) {
	at, err := s.hosts.BaseOf(ctx, teamID)
	if at == "" || err != nil {
		return "", err
	}
	return at + "/a/" + topicID, nil
}

// Add puts a broadcast that was sent into the archive of its topic. One that is in it already stays.
// Errors: CodeForbidden for members; CodeNotFound; CodeConflict if the topic has no archive;
// CodeValidation if the broadcast is of another topic or was not sent.
func (s *Service) Add(ctx context.Context, key *app.Key, topicID, broadcastID string) (issue app.Issue, err error) {
	if !key.Role.Manages() {
		return issue, errMember()
	}
	t, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Topic, error) { return r.Topic(key.TeamID, topicID) })
	if err != nil {
		return issue, base.Lookup("topic", err)
	}
	broadcastID, ok := app.ParseID(broadcastID)
	if !ok {
		return issue, app.Invalid("broadcast_id", "must be the id of a broadcast")
	}
	if t.Archive == "" {
		return issue, app.Errorf(app.CodeConflict, "The topic has no archive: set its `archive` first")
	}
	head, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Broadcast, error) { return r.BroadcastHead(key.TeamID, broadcastID) })
	switch {
	case err != nil:
		return issue, base.Lookup("broadcast", err)
	case head.TopicID != topicID:
		return issue, app.Invalid("broadcast_id", "must be a broadcast to this topic")
	case head.Status != app.QueuedBroadcast && head.Status != app.SentBroadcast:
		return issue, app.Invalid("broadcast_id", "must be a broadcast that was sent")
	}
	if issue, err = s.render(ctx, key.TeamID, broadcastID); err != nil {
		return issue, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		added, err := tx.InsertIssue(&issue)
		if err != nil {
			return err
		}
		if !added {
			return app.Errorf(app.CodeConflict, "The broadcast is in the archive already, or the topic has none any more")
		}
		if err := tx.SetBroadcastArchive(key.TeamID, broadcastID, true); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "archive.add", topicID, nil, map[string]any{"issue": issue.ID, "broadcast": broadcastID, "subject": issue.Subject})
	})
	return issue, base.Unavailable(err)
}

func errMember() error {
	return app.Errorf(app.CodeForbidden, "Only owners and admins of the team can change the archive of a topic")
}

// Remove removes an issue from an archive. Its broadcast does not come back automatically. Errors:
// CodeForbidden for members, CodeNotFound.
func (s *Service) Remove(ctx context.Context, key *app.Key, topicID, id string) error {
	if !key.Role.Manages() {
		return errMember()
	}
	return base.Lookup("issue", s.remove(ctx, key.TeamID, topicID, id))
}

func (s *Service) remove(ctx context.Context, teamID, topicID, id string) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		issue, err := tx.IssueHead(teamID, topicID, id)
		if err != nil {
			return err
		}
		if err := tx.SetBroadcastArchive(teamID, issue.BroadcastID, false); err != nil {
			return err
		}
		if err := tx.DeleteIssue(teamID, topicID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "archive.remove", topicID, map[string]any{"issue": id, "subject": issue.Subject}, nil)
	})
}

// RemovedPage is what RemovePage removed.
type RemovedPage struct {
	Topic   app.Topic
	Issue   string // id; empty: the whole archive
	Subject string
}

// RemovePage removes what a URL shows, for the operator: an issue, or the archive of a topic. Error:
// CodeNotFound, CodeValidation.
func (s *Service) RemovePage(ctx context.Context, address string) (out RemovedPage, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return out, app.Invalid("url", "must be the URL of an archive or of an issue in it")
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "a" {
		return out, app.Invalid("url", "must be the URL of an archive or of an issue in it, like https://news.example.com/a/TOPIC/ISSUE")
	}
	topicID, ok := app.ParseID(parts[1])
	if !ok {
		return out, app.NotFound("page")
	}
	if out.Topic, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Topic, error) { return r.PublicTopic(topicID) }); err != nil {
		return out, base.Lookup("page", err)
	}
	if len(parts) == 2 {
		err = s.DB.Write(ctx, func(tx *db.Tx) error {
			t, err := tx.Topic(out.Topic.TeamID, topicID)
			if err != nil {
				return err
			}
			t.Archive = ""
			if err := tx.UpdateTopic(&t); err != nil {
				return err
			}
			return base.Audit(ctx, tx, t.TeamID, "topic.archive", topicID, map[string]any{"archive": out.Topic.Archive}, map[string]any{"archive": ""})
		})
		return out, base.Lookup("page", err)
	}
	id, ok := app.ParseID(parts[2])
	if !ok {
		return out, app.NotFound("page")
	}
	issue, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Issue, error) { return r.IssueHead(out.Topic.TeamID, topicID, id) })
	if err == nil {
		out.Issue, out.Subject = id, issue.Subject
		err = s.remove(ctx, out.Topic.TeamID, topicID, id)
	}
	return out, base.Lookup("page", err)
}
