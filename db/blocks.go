package db

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/render"
)

const blockColumns = `b.id, b.team_id, b.name, b.created_at, b.updated_at`

func scanBlockAnd(s scanner, more ...any) (app.Block, error) {
	var b app.Block
	var created, updated int64
	err := s.Scan(append([]any{&b.ID, &b.TeamID, &b.Name, &created, &updated}, more...)...)
	b.CreatedAt, b.UpdatedAt = fromMilli(created), fromMilli(updated)
	return b, err
}

func scanBlockHead(s scanner) (app.Block, error) { return scanBlockAnd(s) }

func scanWholeBlock(s scanner) (app.Block, error) {
	var html string
	b, err := scanBlockAnd(s, &html)
	b.HTML = html
	return b, err
}

// InsertBlock adds a saved block. Error: ErrConflict if the team has one with the name.
func (tx *Tx) InsertBlock(b *app.Block) error {
	n, err := tx.Exec(`INSERT INTO blocks (id, team_id, name, html, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
		b.ID, b.TeamID, b.Name, b.HTML, milli(b.CreatedAt), milli(b.UpdatedAt))
	if err := oneRow(n, err, ErrConflict); err != nil {
		return err
	}
	return tx.useImages(b.TeamID, b.HTML)
}

// UpdateBlock stores name and HTML. Errors: ErrNotFound; ErrConflict if another block has the name.
func (tx *Tx) UpdateBlock(b *app.Block) error {
	var taken bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM blocks WHERE team_id = ? AND name = ? AND id <> ?)`, []any{b.TeamID, b.Name, b.ID}, &taken)
	if err != nil {
		return err
	}
	if taken {
		return ErrConflict
	}
	if err := tx.WriteOne(`UPDATE blocks SET name = ?, html = ?, updated_at = ? WHERE team_id = ? AND id = ?`, b.Name, b.HTML, milli(b.UpdatedAt), b.TeamID, b.ID); err != nil {
		return err
	}
	return tx.useImages(b.TeamID, b.HTML)
}

// DeleteBlock deletes a block.
func (tx *Tx) DeleteBlock(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM blocks WHERE team_id = ? AND id = ?`, teamID, id)
}

// Block returns one block of a team.
func (r *Reader) Block(teamID, id string) (app.Block, error) {
	return one(r, scanWholeBlock, `SELECT `+blockColumns+`, b.html FROM blocks AS b WHERE b.team_id = ? AND b.id = ?`, teamID, id)
}

// ListBlocks returns a page of a team's blocks without HTML, newest first. Error: ErrNotFound for an
// unknown cursor.
func (r *Reader) ListBlocks(teamID string, page app.Page) ([]app.Block, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Block(teamID, cursor)) }, scanBlockHead,
		`SELECT `+blockColumns+` FROM blocks AS b WHERE b.team_id = ? AND b.id < ? ORDER BY b.id DESC LIMIT ?`,
		`SELECT `+blockColumns+` FROM blocks AS b WHERE b.team_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`, teamID)
}

// BlocksAfter returns at most limit blocks of a team after an id, in id order.
func (r *Reader) BlocksAfter(teamID, after string, limit int) ([]app.Block, error) {
	return list(r, scanWholeBlock, `SELECT `+blockColumns+`, b.html FROM blocks AS b WHERE b.team_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`, teamID, after, limit)
}

// Blocks returns the blocks with the given names; names without a block are left out.
func (r *Reader) Blocks(teamID string, names []string) (app.Blocks, error) {
	var out app.Blocks
	for _, name := range names {
		b, err := one(r, scanWholeBlock, `SELECT `+blockColumns+`, b.html FROM blocks AS b WHERE b.team_id = ? AND b.name = ?`, teamID, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = app.Blocks{}
		}
		out[name] = b.HTML
	}
	return out, nil
}

// BroadcastBlocks returns the blocks that a broadcast uses; nil: none.
func (r *Reader) BroadcastBlocks(broadcastID string) (app.Blocks, error) {
	rows, err := list(r, scanWholeBlock, `SELECT `+blockColumns+`, b.html FROM broadcast_blocks AS u CROSS JOIN blocks AS b ON b.id = u.block_id WHERE u.broadcast_id = ?`, broadcastID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	out := app.Blocks{}
	for i := range rows {
		out[rows[i].Name] = rows[i].HTML
	}
	return out, nil
}

// setBroadcastBlocks stores which blocks a draft uses.
func (tx *Tx) setBroadcastBlocks(b *app.Broadcast) error {
	if err := tx.Write(`DELETE FROM broadcast_blocks WHERE broadcast_id = ?`, b.ID); err != nil {
		return fmt.Errorf("delete the blocks of a broadcast: %w", err)
	}
	for _, name := range render.BlockNames(b.Syntax, b.Parts()) {
		err := tx.Write(`INSERT INTO broadcast_blocks (broadcast_id, block_id) SELECT ?, id FROM blocks WHERE team_id = ? AND name = ?`, b.ID, b.TeamID, name)
		if err != nil {
			return fmt.Errorf("store the blocks of a broadcast: %w", err)
		}
	}
	return nil
}

// setTemplateBlocks stores which blocks a new version of a template uses.
func (tx *Tx) setTemplateBlocks(t *app.Template) error {
	for _, name := range render.BlockNames(t.Syntax, t.Parts()) {
		err := tx.Write(`INSERT INTO template_blocks (version_id, block_id) SELECT ?, id FROM blocks WHERE team_id = ? AND name = ?`, t.CurrentID, t.TeamID, name)
		if err != nil {
			return fmt.Errorf("store the blocks of a template: %w", err)
		}
	}
	return nil
}

// BlockUse returns the name of a template, or else of a draft or scheduled broadcast, that uses a block;
// both empty: none does.
func (r *Reader) BlockUse(blockID string) (template, broadcast string, err error) {
	err = r.Row(`SELECT coalesce((SELECT min(t.name) FROM template_blocks AS u CROSS JOIN template_versions AS v ON v.id = u.version_id CROSS JOIN templates AS t ON t.id = v.template_id
			WHERE u.block_id = ?1), ''),
		coalesce((SELECT min(b.name) FROM broadcast_blocks AS u CROSS JOIN broadcasts AS b ON b.id = u.broadcast_id
			WHERE u.block_id = ?1 AND b.status IN ('draft', 'scheduled')), '')`, []any{blockID}, &template, &broadcast)
	return template, broadcast, err
}
