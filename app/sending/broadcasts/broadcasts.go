package broadcasts

import (
	"context"
	"errors"
	"reflect"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/sending/mail"
	"mailer/db"
)

// BroadcastView is a broadcast and its forecast.
type BroadcastView struct {
	app.Broadcast
	FinishesAt time.Time            // when its last email leaves; zero: none will, or unknown
	Warning    *pacing.PlanWarning  // of a broadcast that was just sent; nil: all of it leaves immediately
	Languages  []app.LanguageCounts // of one broadcast with variants that has recipients
}

// CreateBroadcast adds a draft and, if the input asks for it, sends the draft in the same Write.
// Errors: CodeValidation, those of idempotency, CodeNotFound for segment or topic, and those of
// SendBroadcast.
func (s *Service) CreateBroadcast(ctx context.Context, key *app.Key, in app.BroadcastInput, opts mail.SendOptions) (v BroadcastView, err error) {
	in.Rules = s.mail.AttachmentRules()
	b, err := in.Validate(clock.Now())
	if err != nil {
		return v, err
	}
	b.ID, b.TeamID = app.NewID(), key.TeamID
	blocks, err := s.checkTexts(ctx, &b)
	if err != nil {
		return v, err
	}
	return mail.Once(ctx, s.mail, key, mail.RouteBroadcasts, opts, func(keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
		return s.create(ctx, &b, blocks, in.Send, keep)
	})
}

// CreateWith is CreateBroadcast, and calls keep in the same Write with the new broadcast. An error of
// keep undoes the creation.
func (s *Service) CreateWith(ctx context.Context, key *app.Key, in app.BroadcastInput, keep func(tx *db.Tx, id string) error) (v BroadcastView, err error) {
	in.Rules = s.mail.AttachmentRules()
	b, err := in.Validate(clock.Now())
	if err != nil {
		return v, err
	}
	b.ID, b.TeamID = app.NewID(), key.TeamID
	blocks, err := s.checkTexts(ctx, &b)
	if err != nil {
		return v, err
	}
	return s.create(ctx, &b, blocks, in.Send, func(tx *db.Tx, v *BroadcastView) error { return keep(tx, v.ID) })
}

// create adds a draft whose texts were checked with blocks, and sends it if send is set.
func (s *Service) create(ctx context.Context, b *app.Broadcast, blocks app.Blocks, send bool, keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
	create := s.createDraft
	if send {
		create = s.createAndSend
	}
	for range mail.MaxEditRetries {
		if v, err = create(ctx, b, blocks, keep); !errors.Is(err, mail.ErrChanged) {
			return v, err
		}
		if blocks, err = s.checkTexts(ctx, b); err != nil {
			return v, err
		}
	}
	return v, errKeepsChanging()
}

func errKeepsChanging() error {
	return app.Errorf(app.CodeConflict, "The broadcast is being changed by other requests at the same time; try again")
}

// checkTexts checks the texts of a broadcast with the saved blocks that they use, and returns these.
// Errors: CodeValidation.
func (s *Service) checkTexts(ctx context.Context, b *app.Broadcast) (app.Blocks, error) {
	blocks, err := s.mail.BlocksOf(ctx, b.TeamID, b.Syntax, b.Parts())
	if err == nil {
		err = base.CheckBroadcast(b, blocks)
	}
	return blocks, err
}

// createDraft adds a draft whose texts were checked with blocks. Error: mail.ErrChanged if these were
// changed meanwhile.
func (s *Service) createDraft(ctx context.Context, b *app.Broadcast, blocks app.Blocks, keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
	release, err := s.fetchAttachments(ctx, b, b.Attachments, checkAudience)
	if err != nil {
		return v, err
	}
	defer release()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := checkAudience(&tx.Reader, b); err != nil {
			return err
		}
		if err := s.teams.CheckAttachments(&tx.Reader, b.TeamID, b.Attachments); err != nil {
			return err
		}
		if err := mail.CheckBlocks(&tx.Reader, b.TeamID, blocks); err != nil {
			return err
		}
		v.Broadcast = *b
		v.CreatedAt = tx.Now
		if err := tx.InsertBroadcast(&v.Broadcast); err != nil {
			return err
		}
		return keepView(tx, keep, &v)
	})
	return v, base.Unavailable(err)
}

// fetchAttachments fetches the files of a draft that are given as URLs, after a check: nothing is
// fetched for a draft that would be refused. The caller calls release when the files are stored.
// Errors: those of check, CodeValidation, CodePayloadTooLarge, CodeRateLimitExceeded.
func (s *Service) fetchAttachments(ctx context.Context, b *app.Broadcast, files []app.Attachment, check func(*db.Reader, *app.Broadcast) error) (release func(), err error) {
	if !app.FetchesAny(files) {
		return func() {}, nil
	}
	var limit int64
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if err := check(r, b); err != nil {
			return err
		}
		limit, err = s.teams.AttachmentLimit(r, b.TeamID)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return s.mail.FetchInto(ctx, b.TeamID, files, limit)
}

// checkAudience returns nil if segment and topic of a broadcast belong to the team. Errors:
// CodeNotFound.
func checkAudience(r *db.Reader, b *app.Broadcast) error {
	if b.SegmentID != "" {
		if _, err := r.Segment(b.TeamID, b.SegmentID); err != nil {
			return base.Lookup("segment", err)
		}
	}
	if b.TopicID == "" {
		return nil
	}
	return base.Lookup("topic", r.TopicExists(b.TeamID, b.TopicID))
}

// ListBroadcasts returns a page of the team's broadcasts, newest first, without content, and
// whether there are more. Errors: CodeValidation for an unknown cursor.
func (s *Service) ListBroadcasts(ctx context.Context, key *app.Key, page app.Page) (views []BroadcastView, more bool, err error) {
	rows, more, err := db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Broadcast, bool, error) { return r.ListBroadcasts(key.TeamID, page) })
	if err != nil {
		return nil, false, base.Cursor(page, err)
	}
	views, err = s.views(ctx, rows...)
	return views, more, err
}

// GetBroadcast returns one broadcast with its content. Errors: CodeNotFound.
func (s *Service) GetBroadcast(ctx context.Context, key *app.Key, id string) (BroadcastView, error) {
	b, err := s.readBroadcast(ctx, key, id)
	if err != nil {
		return BroadcastView{}, err
	}
	views, err := s.views(ctx, *b)
	if err != nil {
		return BroadcastView{}, err
	}
	views[0].Languages, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.LanguageCounts, error) { return r.BroadcastLanguages(b.ID) })
	return views[0], base.Unavailable(err)
}

// views adds finish times to broadcasts.
func (s *Service) views(ctx context.Context, rows ...app.Broadcast) ([]BroadcastView, error) {
	times, err := s.FinishTimes(ctx, rows)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	out := make([]BroadcastView, len(rows))
	for i, b := range rows {
		out[i] = BroadcastView{Broadcast: b, FinishesAt: times[b.ID]}
	}
	return out, nil
}

func (s *Service) readBroadcast(ctx context.Context, key *app.Key, id string) (*app.Broadcast, error) {
	b, err := base.GetWithinBudget(ctx, s.DB,
		func(r *db.Reader) (int64, error) { return r.BroadcastSize(key.TeamID, id) },
		func(r *db.Reader) (*app.Broadcast, error) { return r.Broadcast(key.TeamID, id) })
	return b, base.Lookup("broadcast", err)
}

// checkDraft refuses an action on a broadcast that is no draft. verb is the participle of the
// action.
func checkDraft(b *app.Broadcast, verb string) error {
	if b.Status == app.DraftBroadcast {
		return nil
	}
	return app.Errorf(app.CodeInvalidParameter, "Only a draft can be %s; this broadcast is %s", verb, b.Status)
}

// UpdateBroadcast changes a draft and returns it. Errors: CodeValidation, CodeNotFound, also for
// segment and topic, CodeInvalidParameter if it is no draft, CodeConflict if its revision is not
// that of the patch.
func (s *Service) UpdateBroadcast(ctx context.Context, key *app.Key, id string, patch app.BroadcastPatch) (v BroadcastView, err error) {
	return s.editDraft(ctx, key, id, patch, false)
}

// editDraft changes a draft and saves its previous content as a version (base.SaveVersion).
func (s *Service) editDraft(ctx context.Context, key *app.Key, id string, patch app.BroadcastPatch, always bool) (v BroadcastView, err error) {
	patch.Rules = s.mail.AttachmentRules()
	change, err := patch.Validate()
	if err == nil {
		err = base.CheckDesign(patch.Design.Value)
	}
	if err != nil {
		return v, err
	}
	for range mail.MaxEditRetries {
		v, err = s.applyChange(ctx, key, id, patch, change, always)
		if !errors.Is(err, mail.ErrChanged) {
			return v, err
		}
	}
	return v, errKeepsChanging()
}

// applyChange changes a draft whose changed texts it checks before the Write. Error: mail.ErrChanged if
// the texts were changed meanwhile.
func (s *Service) applyChange(ctx context.Context, key *app.Key, id string, patch app.BroadcastPatch, change *app.BroadcastChange, always bool) (v BroadcastView, err error) {
	apply := func(r *db.Reader) (b *app.Broadcast, before *Draft, err error) {
		if b, err = r.Broadcast(key.TeamID, id); err != nil {
			return nil, nil, err
		}
		if err := checkDraft(b, "edited"); err != nil {
			return nil, nil, err
		}
		if err := checkRevision(b, patch.Revision); err != nil {
			return nil, nil, err
		}
		before = draftOf(b)
		if err := change.Apply(b); err != nil {
			return nil, nil, err
		}
		return b, before, checkNamedAudience(r, change, b)
	}
	var checked *app.Broadcast
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		checked, _, err = apply(r)
		return err
	})
	var blocks app.Blocks
	if err == nil && change.ChangesTexts() {
		blocks, err = s.checkTexts(ctx, checked)
	}
	if err != nil {
		return v, base.Lookup("broadcast", err)
	}
	release, err := s.fetchAttachments(ctx, &app.Broadcast{TeamID: key.TeamID}, change.Files(), func(*db.Reader, *app.Broadcast) error { return nil })
	if err != nil {
		return v, err
	}
	defer release()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		b, before, err := apply(&tx.Reader)
		if err != nil {
			return err
		}
		if change.ChangesTexts() && !sameTexts(b, checked) {
			return mail.ErrChanged
		}
		if err := mail.CheckBlocks(&tx.Reader, key.TeamID, blocks); err != nil {
			return err
		}
		if patch.Attachments.Set {
			if err := s.teams.CheckAttachments(&tx.Reader, b.TeamID, b.Attachments); err != nil {
				return err
			}
		}
		v.Broadcast = *b
		if !reflect.DeepEqual(before, draftOf(b)) {
			if err := base.SaveVersion(ctx, tx, key.TeamID, id, before, always); err != nil {
				return err
			}
		}
		return tx.UpdateBroadcast(b)
	})
	return v, base.Lookup("broadcast", err)
}

// checkNamedAudience is checkAudience for the segment and topic that a change names. The others of
// a copied draft may be deleted, and can be replaced one by one.
func checkNamedAudience(r *db.Reader, c *app.BroadcastChange, b *app.Broadcast) error {
	named := *b
	if !c.NamesSegment() {
		named.SegmentID = ""
	}
	if !c.NamesTopic() {
		named.TopicID = ""
	}
	return checkAudience(r, &named)
}

// DeleteBroadcast deletes a draft. Errors: CodeNotFound, CodeInvalidParameter if it is no draft.
func (s *Service) DeleteBroadcast(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		b, err := tx.BroadcastHead(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := checkDraft(&b, "deleted"); err != nil {
			return err
		}
		return tx.DeleteBroadcast(key.TeamID, id)
	})
	return base.Lookup("broadcast", err)
}

// DuplicateBroadcast makes a draft of the audience, content and attachments of a broadcast in any state and
// returns it. A deleted segment or topic stays named, so that the copy is not sent to a larger
// audience. Errors: CodeNotFound.
func (s *Service) DuplicateBroadcast(ctx context.Context, key *app.Key, id string) (v BroadcastView, err error) {
	b, err := s.readBroadcast(ctx, key, id)
	if err != nil {
		return v, err
	}
	v.Broadcast = b.Copy()
	v.ID = app.NewID()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		v.CreatedAt = tx.Now
		if err := tx.InsertBroadcast(&v.Broadcast); err != nil {
			return err
		}
		v.Attachments, err = tx.CopyAttachments(v.ID, b.Attachments)
		return err
	})
	return v, base.Unavailable(err)
}

// keepView stores the answer to a change, without the content.
func keepView(tx *db.Tx, keep mail.Keeper[BroadcastView], v *BroadcastView) error {
	head := *v
	head.BroadcastContent = app.BroadcastContent{}
	return keep(tx, &head)
}
