package teams

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/app/rules/picture"
	"mailer/db"
)

// MaxLogoURL is the largest URL of an external logo, in bytes.
const MaxLogoURL = 2048

// BrandChange is a change of a team's brand. Fields that are not set stay; null or empty restores
// the default.
type BrandChange struct{ Color, Font, Footer app.Change[string] }

// Brands implements the brands of teams.
type Brands struct{ *base.Base }

// NewBrands makes the service.
func NewBrands(base *base.Base) *Brands { return &Brands{base} }

// Brand returns the brand of a team. Error: CodeNotFound.
func (s *Brands) Brand(ctx context.Context, teamID string) (brand.Brand, error) {
	b, err := db.Get(ctx, s.DB, func(r *db.Reader) (brand.Brand, error) { return r.Brand(teamID) })
	return b, base.Lookup("team", err)
}

// UpdateBrand changes color, font and footer of a team. Errors: CodeValidation, CodeNotFound.
func (s *Brands) UpdateBrand(ctx context.Context, teamID string, change BrandChange) (brand.Brand, error) {
	apply, err := change.validate()
	if err != nil {
		return brand.Brand{}, err
	}
	return s.changeBrand(ctx, teamID, func(_ *db.Tx, b *brand.Brand) error {
		apply(b)
		return nil
	})
}

// validate checks a change and returns a function that applies it. Error: CodeValidation.
func (c *BrandChange) validate() (apply func(b *brand.Brand), err error) {
	var checked brand.Brand
	if c.Color.Value != "" {
		if checked.Color, err = brand.CheckColor(c.Color.Value); err != nil {
			return nil, err
		}
	}
	checked.Font = brand.SystemFont
	if c.Font.Value != "" {
		if checked.Font, err = brand.CheckFont(c.Font.Value); err != nil {
			return nil, err
		}
	}
	if checked.Footer, err = brand.CheckFooter(c.Footer.Value); err != nil {
		return nil, err
	}
	return func(b *brand.Brand) {
		if c.Color.Set {
			b.Color = checked.Color
		}
		if c.Font.Set {
			b.Font = checked.Font
		}
		if c.Footer.Set {
			b.Footer = checked.Footer
		}
	}, nil
}

// SetLogo stores an uploaded logo as the logo of a team. The previous logo stays at its URL, since
// sent email shows it. Errors: CodeValidation, CodeNotFound.
func (s *Brands) SetLogo(ctx context.Context, teamID string, file []byte) (brand.Brand, error) {
	p, err := s.readLogo(ctx, teamID, file)
	if err != nil {
		return brand.Brand{}, err
	}
	content := p.Sizes[0].Bytes
	logo := brand.Logo{ID: logoID(teamID, content), Type: p.Type, Width: p.Sizes[0].Width, Height: p.Sizes[0].Height}
	return s.changeBrand(ctx, teamID, func(tx *db.Tx, b *brand.Brand) error {
		b.Logo, b.LogoURL = logo, ""
		return tx.InsertLogo(teamID, &logo, content)
	})
}

// logoBounds are the limits of an uploaded logo.
var logoBounds = &picture.Bounds{Bytes: brand.MaxLogoBytes, Side: brand.MaxLogoSide}

// readLogo reads a logo once no other picture is read. Errors: CodeValidation,
// CodeRateLimitExceeded.
func (s *Brands) readLogo(ctx context.Context, teamID string, file []byte) (*picture.Picture, error) {
	if err := s.Pictures.Acquire(ctx, teamID, 1); err != nil {
		return nil, err
	}
	defer s.Pictures.Release(teamID, 1)
	return picture.Read(ctx, "content", file, logoBounds)
}

// logoID returns the id of a logo, a hash of the content and the team. The content makes the URL
// cacheable without limit. The team id prevents a test whether a team has a known picture.
func logoID(teamID string, content []byte) string {
	sum := sha256.New()
	sum.Write([]byte(teamID))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// RemoveLogo removes the logo of a team. The file of an uploaded logo is deleted: sent email shows
// no logo afterwards. Error: CodeNotFound.
func (s *Brands) RemoveLogo(ctx context.Context, teamID string) (brand.Brand, error) {
	return s.changeBrand(ctx, teamID, func(tx *db.Tx, b *brand.Brand) error {
		id := b.Logo.ID
		b.Logo, b.LogoURL = brand.Logo{}, ""
		if id == "" {
			return nil
		}
		return tx.DeleteLogo(teamID, id)
	})
}

// changeBrand changes the brand of a team and appends the change to the audit log.
func (s *Brands) changeBrand(ctx context.Context, teamID string, change func(tx *db.Tx, b *brand.Brand) error) (b brand.Brand, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if b, err = tx.Brand(teamID); err != nil {
			return err
		}
		before := b
		if err := change(tx, &b); err != nil || b == before {
			return err
		}
		if err := tx.SetBrand(teamID, &b); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "team.update", teamID, s.auditedBrand(&before), s.auditedBrand(&b))
	})
	return b, base.Lookup("team", err)
}

func (s *Brands) auditedBrand(b *brand.Brand) map[string]any {
	return map[string]any{"logo_url": b.Address(s.Settings.BaseURL), "color": b.Color, "font": b.Font, "footer": b.Footer}
}

// useExternalLogo sets a logo that another server serves; an empty URL removes the logo. Error:
// CodeValidation.
func useExternalLogo(tx *db.Tx, teamID, logoURL string) error {
	if logoURL != "" {
		u, err := url.Parse(logoURL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(logoURL) > MaxLogoURL || app.HasControl(logoURL) {
			return app.Invalid("logo_url", "must be an https address of at most %d bytes", MaxLogoURL)
		}
	}
	b, err := tx.Brand(teamID)
	if err != nil {
		return err
	}
	b.Logo, b.LogoURL = brand.Logo{}, logoURL
	return tx.SetBrand(teamID, &b)
}

// LogoFile is the metadata of an uploaded logo.
type LogoFile = db.LogoFile

// Logo returns the metadata of an uploaded logo of any team. Error: CodeNotFound.
func (s *Brands) Logo(ctx context.Context, id string) (LogoFile, error) {
	l, err := db.Get(ctx, s.DB, func(r *db.Reader) (LogoFile, error) { return r.Logo(id) })
	return l, base.Lookup("logo", err)
}

// LogoContent returns the bytes of an uploaded logo. Error: CodeNotFound.
func (s *Brands) LogoContent(ctx context.Context, id string) ([]byte, error) {
	content, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.LogoContent(id) })
	return content, base.Lookup("logo", err)
}
