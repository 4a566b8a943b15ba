package transfer

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/archive"
	"mailer/app/rules/render"
	"mailer/db"
)

func (x *export) allBlocks() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Block
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.BlocksAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			b := &all[i]
			return x.put(archive.Blocks, &archive.Block{ID: b.ID, Name: b.Name, HTML: b.HTML, CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt})
		})
	})
}

// blocksIn creates missing saved blocks; names are unique in a team.
func (m *importer) blocksIn(ctx context.Context) error {
	done := 0
	var in archive.Block
	return m.r.Each(archive.Blocks, &in, func(int) error {
		done++
		there, err := db.Get(ctx, m.s.DB, func(r *db.Reader) (app.Blocks, error) { return r.Blocks(m.team.ID, []string{in.Name}) })
		if err != nil {
			return fmt.Errorf("read saved blocks: %w", err)
		}
		if len(there) > 0 {
			m.report.Blocks = append(m.report.Blocks, Thing{Name: in.Name})
		} else if err := m.block(ctx, &in); err != nil {
			return err
		}
		return m.progress(archive.Blocks, done)
	})
}

func (m *importer) block(ctx context.Context, in *archive.Block) error {
	what := fmt.Sprintf("saved block %q", in.Name)
	html, _, err := m.withImages(ctx, what, in.HTML, "")
	if err != nil {
		return err
	}
	input := app.BlockInput{Name: in.Name, HTML: html}
	b, err := input.Validate()
	if err == nil {
		err = render.CheckBlock(b.HTML)
	}
	if err != nil {
		m.unmovable(what, err.Error())
		return nil
	}
	id := m.id(in.ID)
	added, err := m.add(ctx, &m.report.Blocks, what, Thing{Name: b.Name}, func(tx *db.Tx) (err error) {
		if err := base.CapBlocks.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if id, err = freeID(tx.BlockIDTaken, id); err != nil {
			return err
		}
		b.ID, b.TeamID, b.CreatedAt = id, m.team.ID, orDefault(in.CreatedAt, tx.Now)
		b.UpdatedAt = orDefault(in.UpdatedAt, b.CreatedAt)
		return tx.InsertBlock(&b)
	})
	if err != nil || !added {
		return err
	}
	m.newBlocks[b.Name] = b.HTML
	return m.moved(archive.Blocks, in.ID, id)
}

// blocksOf returns the saved blocks that the texts of a document use, with those that a dry run would
// create.
func (m *importer) blocksOf(syntax app.Syntax, parts []app.Part) (app.Blocks, error) {
	names := render.BlockNames(syntax, parts)
	if len(names) == 0 {
		return nil, nil
	}
	blocks, err := db.Get(context.Background(), m.s.DB, func(r *db.Reader) (app.Blocks, error) { return r.Blocks(m.team.ID, names) })
	if err != nil {
		return nil, fmt.Errorf("read saved blocks: %w", err)
	}
	for _, name := range names {
		if html, ok := m.newBlocks[name]; ok {
			if blocks == nil {
				blocks = app.Blocks{}
			}
			blocks[name] = html
		}
	}
	return blocks, nil
}
