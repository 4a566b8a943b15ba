package mail

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/render"
	"mailer/db"
)

// Blocks implements saved blocks: HTML that templates and broadcasts in Liquid use by its name. A
// template uses a block as it is at a send, and a broadcast as it was when it was queued.
type Blocks struct{ service *Service }

// CreateBlock adds a block. Errors: CodeValidation, CodeConflict for the name of another one.
func (s *Blocks) CreateBlock(ctx context.Context, key *app.Key, in app.BlockInput) (app.Block, error) {
	b, err := in.Validate()
	if err == nil {
		err = render.CheckBlock(b.HTML)
	}
	if err != nil {
		return app.Block{}, err
	}
	b.ID, b.TeamID = app.NewID(), key.TeamID
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.CapBlocks.Check(&tx.Reader, key.TeamID); err != nil {
			return err
		}
		b.CreatedAt, b.UpdatedAt = tx.Now, tx.Now
		if err := tx.InsertBlock(&b); err != nil {
			return wrapBlockConflict(err)
		}
		return base.Audit(ctx, tx, key.TeamID, "block.create", b.ID, nil, auditedBlock(&b))
	})
	return b, base.Unavailable(err)
}

func wrapBlockConflict(err error) error {
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "A block with this name exists already")
	}
	return err
}

// auditedBlock is what the audit log shows of a block.
func auditedBlock(b *app.Block) map[string]any {
	return map[string]any{"name": b.Name, "bytes": len(b.HTML)}
}

// ListBlocks returns a page of the team's blocks without HTML, newest first, and whether there are more.
// Errors: CodeValidation for an unknown cursor.
func (s *Blocks) ListBlocks(ctx context.Context, key *app.Key, page app.Page) (rows []app.Block, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.service.DB, func(r *db.Reader) ([]app.Block, bool, error) { return r.ListBlocks(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetBlock returns one block. Errors: CodeNotFound.
func (s *Blocks) GetBlock(ctx context.Context, key *app.Key, id string) (app.Block, error) {
	b, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (app.Block, error) { return r.Block(key.TeamID, id) })
	return b, base.Lookup("block", err)
}

// UpdateBlock changes a block and returns it. All templates and drafts with it use the new HTML.
// Errors: CodeNotFound, CodeValidation, CodeConflict for the name of another block, and for a new name
// of a block that is used.
func (s *Blocks) UpdateBlock(ctx context.Context, key *app.Key, id string, patch app.BlockPatch) (b app.Block, err error) {
	if patch.HTML != "" {
		if err := render.CheckBlock(patch.HTML); err != nil {
			return b, err
		}
	}
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Block(key.TeamID, id)
		if err != nil {
			return err
		}
		if b, err = patch.Apply(old); err != nil || b == old {
			return err
		}
		if b.Name != old.Name {
			if err := checkBlockUnused(&tx.Reader, id); err != nil {
				return err
			}
		}
		b.UpdatedAt = tx.Now
		if err := tx.UpdateBlock(&b); err != nil {
			return wrapBlockConflict(err)
		}
		return base.Audit(ctx, tx, key.TeamID, "block.update", id, auditedBlock(&old), auditedBlock(&b))
	})
	return b, base.Lookup("block", err)
}

// DeleteBlock deletes a block. Errors: CodeNotFound, CodeConflict while a template or an unsent broadcast
// uses it.
func (s *Blocks) DeleteBlock(ctx context.Context, key *app.Key, id string) error {
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error {
		b, err := tx.Block(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := checkBlockUnused(&tx.Reader, id); err != nil {
			return err
		}
		if err := tx.DeleteBlock(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "block.delete", id, auditedBlock(&b), nil)
	})
	return base.Lookup("block", err)
}

// checkBlockUnused refuses to remove or rename a block that is used. Errors: CodeConflict.
func checkBlockUnused(r *db.Reader, id string) error {
	template, broadcast, err := r.BlockUse(id)
	switch {
	case err != nil:
		return err
	case template != "":
		return app.Errorf(app.CodeConflict, "The template %q uses this block; remove it there and publish, then try again", template)
	case broadcast != "":
		return app.Errorf(app.CodeConflict, "The broadcast %q uses this block; remove it there, then try again", broadcast)
	}
	return nil
}

// BlocksOf returns the saved blocks that the texts of a document use.
func (s *Service) BlocksOf(ctx context.Context, teamID string, syntax app.Syntax, parts []app.Part) (app.Blocks, error) {
	names := render.BlockNames(syntax, parts)
	if len(names) == 0 {
		return nil, nil
	}
	blocks, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Blocks, error) { return r.Blocks(teamID, names) })
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("read saved blocks: %w", err))
	}
	return blocks, nil
}

// CheckBlocks returns ErrChanged if one of some saved blocks was deleted or changed since it was read. It
// runs inside the Write of a document that was checked with them.
func CheckBlocks(r *db.Reader, teamID string, blocks app.Blocks) error {
	if len(blocks) == 0 {
		return nil
	}
	now, err := r.Blocks(teamID, app.SortedKeys(blocks))
	if err == nil && !maps.Equal(now, blocks) {
		err = ErrChanged
	}
	return err
}

// withBlocks returns a template in whose texts the saved blocks of the team are replaced.
func withBlocks(r *db.Reader, teamID string, c app.TemplateContent) (*app.TemplateContent, error) {
	names := render.BlockNames(c.Syntax, c.Parts())
	if len(names) == 0 {
		return &c, nil
	}
	blocks, err := r.Blocks(teamID, names)
	if err != nil {
		return nil, fmt.Errorf("read saved blocks: %w", err)
	}
	return render.WithBlocks(&c, blocks), nil
}
