package audience

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// CreateTopic adds a topic. Errors: CodeValidation, also for a team with base.CapTopics topics;
// CodeConflict for the exact name of another topic.
func (s *Topics) CreateTopic(ctx context.Context, key *app.Key, in app.TopicInput) (app.Topic, error) {
	t, err := in.Validate()
	if err != nil {
		return app.Topic{}, err
	}
	t.ID, t.TeamID = app.NewID(), key.TeamID
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.CapTopics.Check(&tx.Reader, key.TeamID); err != nil {
			return err
		}
		t.CreatedAt, t.UpdatedAt = tx.Now, tx.Now
		if err := tx.InsertTopic(&t); err != nil {
			return wrapTopicConflict(err)
		}
		return s.service.AnnounceTopic(tx, webhook.TopicCreated, &t)
	})
	return t, base.Unavailable(err)
}

// wrapTopicConflict turns the conflict of a name into an *app.Error.
func wrapTopicConflict(err error) error {
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "A topic with this name exists already")
	}
	return err
}

// ListTopics returns a page of the team's topics, newest first, and whether there
// are more. Errors: CodeValidation for a cursor that is not in the list.
func (s *Topics) ListTopics(ctx context.Context, key *app.Key, page app.Page) (rows []app.Topic, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.service.DB, func(r *db.Reader) ([]app.Topic, bool, error) { return r.ListTopics(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetTopic returns one topic. Errors: CodeNotFound.
func (s *Topics) GetTopic(ctx context.Context, key *app.Key, id string) (t app.Topic, err error) {
	t, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (app.Topic, error) { return r.Topic(key.TeamID, id) })
	return t, base.Lookup("topic", err)
}

// UpdateTopic changes a topic and returns it. A call that changes nothing announces no event.
// Errors: CodeNotFound, CodeValidation, also for another default, CodeConflict for a name that
// another topic has, CodeForbidden if a member changes the archive.
func (s *Topics) UpdateTopic(ctx context.Context, key *app.Key, id string, patch app.TopicPatch) (t app.Topic, err error) {
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Topic(key.TeamID, id)
		if err != nil {
			return err
		}
		if t, err = patch.Apply(old); err != nil || t == old {
			return err
		}
		if t.Archive != old.Archive {
			if !key.Role.Manages() {
				return app.Errorf(app.CodeForbidden, "Only owners and admins of the team can change the archive of a topic")
			}
			if err := base.Audit(ctx, tx, key.TeamID, "topic.archive", id, map[string]any{"archive": old.Archive}, map[string]any{"archive": t.Archive}); err != nil {
				return err
			}
		}
		t.UpdatedAt = tx.Now
		if err := tx.UpdateTopic(&t); err != nil {
			return wrapTopicConflict(err)
		}
		return s.service.AnnounceTopic(tx, webhook.TopicUpdated, &t)
	})
	return t, base.Lookup("topic", err)
}

// DeleteTopic deletes a topic and, later, the choices about it. Errors: CodeNotFound, CodeConflict
// while mail of the topic waits, which could no longer be checked for opt-outs, or an unsent
// broadcast or a form uses it.
func (s *Topics) DeleteTopic(ctx context.Context, key *app.Key, id string) error {
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error {
		t, err := tx.Topic(key.TeamID, id)
		if err != nil {
			return err
		}
		waits, err := tx.HasTopicUnits(id)
		if err != nil {
			return err
		}
		if waits {
			return app.Errorf(app.CodeConflict, "Emails of this topic still wait to be sent; cancel them, or delete the topic once they have left")
		}
		if err := checkUnused(tx, "topic", id); err != nil {
			return err
		}
		if err := base.CheckNoForm(&tx.Reader, key.TeamID, "topic", id); err != nil {
			return err
		}
		if err := tx.DeleteTopic(key.TeamID, id); err != nil {
			return err
		}
		return s.service.AnnounceTopic(tx, webhook.TopicDeleted, &t)
	})
	return base.Lookup("topic", err)
}
