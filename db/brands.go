package db

import (
	"fmt"

	"mailer/app/rules/brand"
	"mailer/db/engine"
)

// Brand returns the brand of a team, including a team that is being deleted. Error:
// ErrNotFound.
func (r *Reader) Brand(teamID string) (brand.Brand, error) {
	return one(r, func(s scanner) (b brand.Brand, err error) {
		err = s.Scan(&b.Team, &b.LogoURL, &b.Color, &b.Font, &b.Footer, &b.Page, &b.Logo.ID, &b.Logo.Type, &b.Logo.Width, &b.Logo.Height)
		return b, err
	}, `SELECT t.name, coalesce(t.logo_url, ''), coalesce(t.color, ''), coalesce(t.font, 'system'), coalesce(t.footer, ''), coalesce(t.page, ''),
		coalesce(l.id, ''), coalesce(l.type, ''), coalesce(l.width, 0), coalesce(l.height, 0)
		FROM teams AS t LEFT JOIN logos AS l ON l.id = t.logo_id WHERE t.id = ?`, teamID)
}

// SetBrand stores the brand of a team without its name and page. Error: ErrNotFound.
func (tx *Tx) SetBrand(teamID string, b *brand.Brand) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE teams SET logo_url = ?, logo_id = ?, color = ?, font = ?, footer = ? WHERE id = ? AND deleted_at IS NULL`,
		nullText(b.LogoURL), nullText(b.Logo.ID), nullText(b.Color), nullText(string(b.Font)), nullText(b.Footer), teamID)
}

// InsertLogo stores a logo of a team and deletes its oldest logos above
// brand.MaxStoredLogos. Storing a logo again renews its upload time.
func (tx *Tx) InsertLogo(teamID string, l *brand.Logo, content []byte) error {
	err := tx.Write(`INSERT INTO logos (id, team_id, type, width, height, content, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at`, l.ID, teamID, l.Type, l.Width, l.Height, content, milli(tx.Now))
	if err != nil {
		return fmt.Errorf("insert logo: %w", err)
	}
	err = tx.Write(`DELETE FROM logos WHERE team_id = ?1 AND id <> ?2 AND id NOT IN
		(SELECT id FROM logos WHERE team_id = ?1 AND id <> ?2 ORDER BY created_at DESC, id DESC LIMIT ?3)`, teamID, l.ID, brand.MaxStoredLogos-1)
	if err != nil {
		return fmt.Errorf("delete old logos: %w", err)
	}
	return nil
}

// DeleteLogo deletes a logo of a team.
func (tx *Tx) DeleteLogo(teamID, id string) error {
	return tx.Write(`DELETE FROM logos WHERE team_id = ? AND id = ?`, teamID, id)
}

// LogoFile is the metadata of an uploaded logo.
type LogoFile struct {
	brand.Logo
	Size int64 // bytes
}

// Logo returns an uploaded logo of any team. Error: ErrNotFound.
func (r *Reader) Logo(id string) (LogoFile, error) {
	return one(r, func(s scanner) (l LogoFile, err error) {
		err = s.Scan(&l.ID, &l.Type, &l.Width, &l.Height, &l.Size)
		return l, err
	}, `SELECT id, type, width, height, length(content) FROM logos WHERE id = ?`, id)
}

// LogoContent returns the bytes of an uploaded logo. Error: ErrNotFound.
func (r *Reader) LogoContent(id string) (content []byte, err error) {
	err = r.Row(`SELECT content FROM logos WHERE id = ?`, []any{id}, &content)
	return content, err
}
