// Package feeds implements feeds: at the times of its schedule, the new items of a feed become a
// broadcast.
//
// Failure policy: a broadcast and the new position of its feed are stored in one Write, so that an item
// is in one issue and a due time makes one broadcast, whatever process dies. A feed that can't be read
// is tried again soon, and shows its last error.
package feeds

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

const (
	// Every is how often due feeds are looked for.
	Every = 15 * time.Second
	// perRound is how many feeds one round makes.
	perRound = 20
	// maxTries is how often a feed that can't be read is tried until its next time, retryAfter the
	// delay after the first time, which doubles.
	maxTries = 5
	// announcedTry is after which failure in a row the team gets an event.
	announcedTry = 3
	retryAfter   = 5 * time.Minute
)

// Service implements feeds.
type Service struct {
	*base.Base
	templates  *mail.Templates
	broadcasts *broadcasts.Service
	events     *webhooks.Service
	// Fetch fetches feeds from public addresses; nil: they are refused. Set before use.
	Fetch app.FetchChanged
}

// New makes the service.
func New(b *base.Base, events *webhooks.Service, templates *mail.Templates, broadcasts *broadcasts.Service) *Service {
	return &Service{Base: b, events: events, templates: templates, broadcasts: broadcasts}
}

// Create adds a feed. What it holds now is in no issue. Errors: CodeValidation, CodeNotFound for topic and
// template.
func (s *Service) Create(ctx context.Context, key *app.Key, in app.FeedPatch) (f app.Feed, err error) {
	f, err = in.Apply(app.Feed{State: app.ActiveFeed, FeedDefinition: app.FeedDefinition{Zone: "UTC", Mode: "draft", SkipEmpty: true}})
	if err != nil {
		return f, err
	}
	if f.TemplateID, err = s.templateID(ctx, key, f.TemplateID); err != nil {
		return f, err
	}
	f.ID, f.TeamID = app.NewID(), key.TeamID
	held, err := s.heldNow(ctx, &f)
	if err != nil {
		return f, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.Lookup("topic", tx.TopicExists(key.TeamID, f.TopicID)); err != nil {
			return err
		}
		all, err := tx.FeedsAfter(key.TeamID, "", app.MaxFeeds)
		if err != nil {
			return err
		}
		if len(all) == app.MaxFeeds {
			return app.Errorf(app.CodeValidation, "A team can have at most %d feeds; delete one that is not used any more", app.MaxFeeds)
		}
		f.CreatedAt, f.UpdatedAt, f.NextAt, f.Position = tx.Now, tx.Now, f.Next(tx.Now), held
		f.Position.Since = tx.Now
		if err := tx.InsertFeed(&f); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "feed.create", f.ID, nil, audited(&f))
	})
	return f, base.Unavailable(err)
}

// heldNow returns the position of a feed after what it holds now. Of one that can't be read now, items without a
// date are old when it is first read.
func (s *Service) heldNow(ctx context.Context, f *app.Feed) (app.FeedPosition, error) {
	if s.Fetch == nil {
		return app.FeedPosition{}, nil
	}
	whole := *f
	whole.Position.Version = app.FileVersion{} // also what has not changed is read
	all, version, err := s.read(ctx, &whole)
	if err != nil {
		return app.FeedPosition{}, ctx.Err() // Check and the next time show why
	}
	position := advance(app.FeedPosition{}, all)
	position.Version = version
	return position, nil
}

// templateID returns the id of a template of the team. Error: CodeNotFound.
func (s *Service) templateID(ctx context.Context, key *app.Key, name string) (string, error) {
	t, err := s.templates.GetTemplate(ctx, key, name)
	return t.ID, err
}

func audited(f *app.Feed) map[string]any {
	return map[string]any{"url": f.URL, "schedule": f.Schedule, "zone": f.Zone, "mode": f.Mode, "state": f.State, "topic_id": f.TopicID, "template_id": f.TemplateID}
}

// List returns a page of the team's feeds, newest first, and whether there are more. Errors:
// CodeValidation for an unknown cursor.
func (s *Service) List(ctx context.Context, key *app.Key, page app.Page) (rows []app.Feed, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Feed, bool, error) { return r.ListFeeds(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// Get returns a feed of the team. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, id string) (app.Feed, error) {
	f, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Feed, error) { return r.Feed(key.TeamID, id) })
	return f, base.Lookup("feed", err)
}

// Update changes a feed. One that becomes active again, or has another URL, continues with what is published
// from now on; one that was held since an import continues from the position that came with it. Errors: those
// of Create, CodeNotFound.
func (s *Service) Update(ctx context.Context, key *app.Key, id string, patch app.FeedPatch) (f app.Feed, err error) {
	if patch.TemplateID != "" {
		if patch.TemplateID, err = s.templateID(ctx, key, patch.TemplateID); err != nil {
			return f, err
		}
	}
	before, err := s.Get(ctx, key, id)
	if err == nil {
		f, err = patch.Apply(before)
	}
	if err != nil {
		return f, err
	}
	var held app.FeedPosition
	if startsAnew(&before, &f) {
		if held, err = s.heldNow(ctx, &f); err != nil {
			return f, err
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		before, err := tx.Feed(key.TeamID, id)
		if err != nil {
			return err
		}
		if f, err = patch.Apply(before); err != nil {
			return err
		}
		if f.TopicID != before.TopicID {
			if err := base.Lookup("topic", tx.TopicExists(key.TeamID, f.TopicID)); err != nil {
				return err
			}
		}
		if startsAnew(&before, &f) {
			f.Position = held
			f.Position.Since = tx.Now
		}
		f.Position.Tries = 0
		f.UpdatedAt, f.NextAt = tx.Now, f.Next(tx.Now)
		if err := tx.UpdateFeed(&f); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "feed.update", id, audited(&before), audited(&f))
	})
	return f, base.Lookup("feed", err)
}

// startsAnew reports whether a changed feed continues with what is published from now on. One that was held
// since an import continues from the position that came with it.
func startsAnew(before, f *app.Feed) bool {
	return f.URL != before.URL || f.State == app.ActiveFeed && before.State != app.ActiveFeed && before.Held != app.FeedImported
}

// Delete deletes a feed. Error: CodeNotFound.
func (s *Service) Delete(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		f, err := tx.Feed(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteFeed(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "feed.delete", id, audited(&f), nil)
	})
	return base.Lookup("feed", err)
}

// Trial is what a feed would make now.
type Trial struct {
	Items   []Item // that are new
	Subject string
	HTML    string
	Error   string // why nothing would be made; empty: it would
}

// Check reads a feed and renders its next issue, and changes nothing. Error: CodeNotFound.
func (s *Service) Check(ctx context.Context, key *app.Key, id string) (out Trial, err error) {
	f, err := s.Get(ctx, key, id)
	if err != nil {
		return out, err
	}
	f.Position.Version = app.FileVersion{}
	all, _, err := s.read(ctx, &f)
	if err == nil {
		out.Items = fresh(&f, all)
		if len(out.Items) == 0 && f.SkipEmpty {
			return out, nil
		}
		var in app.BroadcastInput
		in, err = s.render(ctx, &f, out.Items)
		out.Subject, out.HTML = in.Subject, in.HTML
	}
	if err != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Error = reason(err)
	}
	return out, nil
}

// reason returns an error for the team.
func reason(err error) string {
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return app.CutText(refusal.Message, 500)
	}
	return app.CutText(err.Error(), 500)
}

// read fetches a feed and returns its items and its version. A feed that has not changed since its position
// has no items: none is new.
func (s *Service) read(ctx context.Context, f *app.Feed) (all []Item, version app.FileVersion, err error) {
	if s.Fetch == nil {
		return nil, version, errors.New("this process fetches no feeds")
	}
	file, err := s.Fetch(ctx, f.TeamID, f.URL, f.Position.Version, app.MaxFeedSize)
	if err != nil {
		var refused *app.FetchError
		switch {
		case !errors.As(err, &refused):
		case refused.Reason == app.FetchTooLarge:
			err = fmt.Errorf("the feed is larger than %d bytes", app.MaxFeedSize)
		default:
			err = fmt.Errorf("the feed could not be fetched: its URL %s", refused.Reason)
		}
		return nil, version, err
	}
	defer file.Release()
	if file.Unchanged {
		return nil, file.Version, nil
	}
	at, err := url.Parse(f.URL)
	if err != nil {
		return nil, version, err
	}
	all, err = Parse(file.Content, at)
	return all, file.Version, err
}

// fresh returns the items that were in no issue and are not older than the feed's start.
func fresh(f *app.Feed, all []Item) []Item {
	var out []Item
	for i := range all {
		isNew := all[i].at.After(f.Position.Since)
		if all[i].at.IsZero() {
			isNew = f.Position.Read
		}
		if isNew && !slices.Contains(f.Position.Seen, all[i].Key) {
			out = append(out, all[i])
		}
	}
	return out
}

// advance returns the position of a feed after an issue with all of its items. Those that are in the feed
// now are remembered longest.
func advance(p app.FeedPosition, all []Item) app.FeedPosition {
	now := map[string]bool{}
	var keys []string
	for i := range all {
		now[all[i].Key] = true
		keys = append(keys, all[i].Key)
	}
	older := slices.DeleteFunc(slices.Clone(p.Seen), func(key string) bool { return now[key] })
	seen := append(older, keys...)
	return app.FeedPosition{Seen: seen[max(0, len(seen)-app.MaxFeedSeen):], Since: p.Since, Read: true}
}

// render makes a broadcast of items.
func (s *Service) render(ctx context.Context, f *app.Feed, items []Item) (in app.BroadcastInput, err error) {
	secret := strings.ToLower(rand.Text())
	value, err := variable(items, secret)
	if err != nil {
		return in, err
	}
	out, from, err := s.templates.RenderForBroadcast(ctx, keyOf(f), f.TemplateID, map[string]app.PropertyValue{"items": value})
	if err != nil {
		return in, err
	}
	if f.From != "" {
		from = f.From
	}
	in = app.BroadcastInput{TopicID: f.TopicID, From: from, Subject: strings.TrimSpace(insert(out.Subject, nil, secret)), HTML: insert(out.HTML, items, secret), Send: f.Mode == "send"}
	if out.Text != nil {
		text := textOf(*out.Text, items, secret)
		in.Text = &text
	}
	return in, nil
}

// keyOf is the key with which a feed acts.
func keyOf(f *app.Feed) *app.Key {
	return &app.Key{TeamID: f.TeamID, Permission: app.FullAccess, Role: app.RoleMember}
}

// Run is the cron job that makes the issues of due feeds.
func (s *Service) Run(ctx context.Context) error {
	due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Feed, error) { return r.DueFeeds(clock.Now(), perRound) })
	if err != nil {
		return fmt.Errorf("find due feeds: %w", err)
	}
	for i := range due {
		if err := s.makeIssue(ctx, &due[i]); err != nil {
			return fmt.Errorf("feed %s: %w", due[i].ID, err)
		}
	}
	return nil
}

// makeIssue makes the issue of a due feed, or stores why there is none.
func (s *Service) makeIssue(ctx context.Context, f *app.Feed) error {
	due := f.NextAt
	next := *f
	next.NextAt, next.LastError = f.Next(clock.Now()), ""
	all, version, err := s.read(ctx, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		items := fresh(f, all)
		next.Position = advance(f.Position, all)
		next.Position.Version = version
		if len(items) == 0 && f.SkipEmpty {
			return s.store(ctx, &next, due)
		}
		var in app.BroadcastInput
		if in, err = s.render(ctx, f, items); err == nil {
			_, err = s.broadcasts.CreateWith(ctx, keyOf(f), in, func(tx *db.Tx, id string) error {
				next.LastBroadcastID = id
				return tx.AdvanceFeed(&next, due)
			})
		}
		if err == nil || errors.Is(err, db.ErrNotFound) { // another server made it
			return nil
		}
	}
	if ctx.Err() != nil || app.CodeOf(err) == app.CodeServiceUnavailable {
		return err
	}
	next.Position, next.LastBroadcastID, next.LastError = f.Position, f.LastBroadcastID, reason(err)
	next.Position.Tries++
	failures := next.Position.Tries
	if again := clock.Now().Add(retryAfter << (next.Position.Tries - 1)); next.Position.Tries < maxTries && again.Before(next.NextAt) {
		next.NextAt = again
	} else {
		next.Position.Tries = 0
		s.Log.Warn("no broadcast could be made of a feed", "team", f.TeamID, "feed", f.ID, "err", next.LastError)
	}
	return base.IgnoreNotFound(s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.AdvanceFeed(&next, due); err != nil || failures != announcedTry {
			return err
		}
		return s.events.Announce(tx, f.TeamID, webhook.FeedFailed, func() (any, error) {
			return webhook.FeedFailedData{ID: f.ID, URL: f.URL, TopicID: f.TopicID, Error: next.LastError, Tries: failures}, nil
		})
	}))
}

// store stores the outcome of a feed without a broadcast.
func (s *Service) store(ctx context.Context, f *app.Feed, due time.Time) error {
	return base.IgnoreNotFound(s.DB.Write(ctx, func(tx *db.Tx) error { return tx.AdvanceFeed(f, due) }))
}
