// Package images implements the images of teams, for mail: uploads, the library, and the files that
// mail programs fetch.
//
// Failure policy: an upload that can't be stored leaves nothing. An image that content refers to is
// deleted only by hand. Images that are in memory are served without the database.
package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/membudget"
	"mailer/app/rules/picture"
	"mailer/app/tenants/pagehosts"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// UnusedFor is how long an image is kept that no content refers to.
const UnusedFor = 30 * 24 * time.Hour

// bounds are the limits of an uploaded image.
var bounds = &picture.Bounds{Bytes: app.MaxImageFile, Side: app.MaxImageSide, Pixels: app.MaxImagePixels, Widths: app.ImageWidths, GIF: true}

// Service implements the images of teams.
type Service struct {
	*base.Base
	teams  *teams.Service
	pages  *pagehosts.Service
	served *cache.Cache[string, served] // by name
	hosts  *cache.Cache[string, []host] // by team
	pieces *cache.Bytes                 // of images
}

// New makes the service. memory is what the process may use, in bytes; 0: unlimited.
func New(base *base.Base, teams *teams.Service, pages *pagehosts.Service, memory int64) *Service {
	return &Service{Base: base, teams: teams, pages: pages,
		served: cache.New[string, served](maxServed, servedTTL),
		hosts:  cache.New[string, []host](maxServed, servedTTL),
		pieces: cache.NewBytes(membudget.Scale(memory, maxCachedBytes)),
	}
}

// Upload is an uploaded file.
type Upload struct {
	File  []byte
	Field string // name of the field in errors
	Alt   string
}

// CreateImage stores an uploaded image in the sizes of mail. The call waits until no other picture
// is decoded, and only then calls receive, which returns the file. The same file is stored once: its
// image is returned. Errors: those of receive, CodeValidation; CodePayloadTooLarge above the limit
// of the team; CodeConflict if no host serves images of the team; CodeRateLimitExceeded if too many
// uploads of the team wait.
func (s *Service) CreateImage(ctx context.Context, key *app.Key, receive func() (Upload, error)) (image app.Image, err error) {
	if err := s.Ready(); err != nil {
		return image, err
	}
	if err := s.checkHost(ctx, key.TeamID); err != nil {
		return image, err
	}
	if err := s.Pictures.Acquire(ctx, key.TeamID, 1); err != nil {
		return image, err
	}
	defer s.Pictures.Release(key.TeamID, 1)
	in, err := receive()
	if err == nil {
		in.Alt, err = app.CheckImageAlt(in.Alt)
	}
	if err != nil {
		return image, err
	}
	return s.store(ctx, app.Image{ID: app.NewID(), TeamID: key.TeamID, Name: s.nameOf(key.TeamID, in.File), Alt: in.Alt}, in)
}

// store stores an image in its sizes, unless the team has one with its name. A picture must not be
// decoded meanwhile.
func (s *Service) store(ctx context.Context, image app.Image, in Upload) (app.Image, error) {
	stored, err := s.renew(ctx, image.TeamID, image.Name, image.Alt)
	if err == nil || !errors.Is(err, db.ErrNotFound) {
		return stored, base.Unavailable(err)
	}
	p, err := picture.Read(ctx, in.Field, in.File, bounds)
	if err != nil {
		return image, err
	}
	image.Type = p.Type
	contents := make([][]byte, len(p.Sizes))
	for i, size := range p.Sizes {
		image.Sizes = append(image.Sizes, app.ImageSize{Width: size.Width, Height: size.Height, Bytes: int64(len(size.Bytes))})
		contents[i] = size.Bytes
	}
	return s.insert(ctx, image, contents)
}

// nameOf returns the name of an image in its URL, a keyed hash of team and file: it can't be guessed,
// and nobody learns whether a team has a known picture. It never changes.
func (s *Service) nameOf(teamID string, file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(s.Sealer.Hash("images", append(append([]byte(teamID), 0), sum[:]...)))
}

// renew notes another upload of the file of an image. An alternative text replaces that of the
// image. Error: db.ErrNotFound if the team has no such image.
func (s *Service) renew(ctx context.Context, teamID, name, alt string) (image app.Image, err error) {
	if image, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Image, error) { return r.ImageNamed(teamID, name) }); err != nil {
		return image, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if image, err = tx.ImageNamed(teamID, name); err != nil {
			return err
		}
		if alt != "" {
			image.Alt = alt
		}
		return tx.RenewImage(teamID, image.ID, image.Alt)
	})
	return image, err
}

// insert stores an image. Error: CodePayloadTooLarge.
func (s *Service) insert(ctx context.Context, image app.Image, contents [][]byte) (app.Image, error) {
	err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		if err := s.checkLimit(&tx.Reader, image.TeamID, image.Bytes()+app.ImageOverhead); err != nil {
			return err
		}
		several, err := tx.SeveralTeams()
		if err != nil {
			return err
		}
		image.OnBase, image.UploadedAt = !several, tx.Now
		if image.CreatedAt.IsZero() {
			image.CreatedAt = tx.Now
		}
		if err := tx.InsertImage(&image, contents); err != nil {
			return err
		}
		return base.Audit(ctx, tx, image.TeamID, "image.create", image.ID, nil, audited(&image))
	})
	if errors.Is(err, db.ErrConflict) { // another server stored the same file just now
		stored, err := s.renew(ctx, image.TeamID, image.Name, image.Alt)
		return stored, base.Lookup("image", err)
	}
	return image, base.Unavailable(err)
}

func audited(i *app.Image) map[string]any {
	return map[string]any{"type": i.Type, "bytes": i.Bytes(), "alt": i.Alt}
}

// checkLimit returns nil if a team may have an image of bytes more. Error: CodePayloadTooLarge.
func (s *Service) checkLimit(r *db.Reader, teamID string, bytes int64) error {
	limit, by, err := s.teams.ImageLimit(r, teamID)
	if err != nil {
		return err
	}
	used, err := r.ImageBytes(teamID)
	if err != nil {
		return fmt.Errorf("read the size of images: %w", err)
	}
	if used+bytes > limit {
		return app.Errorf(app.CodePayloadTooLarge, "The images of this team may take %s%s, and take %s: delete some that are no longer needed", humanize.IBytes(uint64(limit)), by, humanize.IBytes(uint64(used)))
	}
	return nil
}

// ListImages returns a page of the images of the key's team, newest first, and whether there are
// more.
func (s *Service) ListImages(ctx context.Context, key *app.Key, page app.Page) (rows []app.Image, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Image, bool, error) { return r.ListImages(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetImage returns an image of the key's team. Error: CodeNotFound.
func (s *Service) GetImage(ctx context.Context, key *app.Key, id string) (app.Image, error) {
	image, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Image, error) { return r.Image(key.TeamID, id) })
	return image, base.Lookup("image", err)
}

// UpdateImage changes the alternative text of an image. Errors: CodeValidation, CodeNotFound.
func (s *Service) UpdateImage(ctx context.Context, key *app.Key, id string, alt app.Change[string]) (image app.Image, err error) {
	if alt.Value, err = app.CheckImageAlt(alt.Value); err != nil {
		return image, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if image, err = tx.Image(key.TeamID, id); err != nil || !alt.Set || alt.Value == image.Alt {
			return err
		}
		before := audited(&image)
		image.Alt = alt.Value
		if err := tx.SetImageAlt(key.TeamID, id, alt.Value); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "image.update", id, before, audited(&image))
	})
	return image, base.Lookup("image", err)
}

// DeleteImage deletes an image: mail that shows it then has a gap. Errors: CodeNotFound;
// CodeConflict if content refers to it, unless force is set.
func (s *Service) DeleteImage(ctx context.Context, key *app.Key, id string, force bool) error {
	var image app.Image
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if image, err = tx.Image(key.TeamID, id); err != nil {
			return err
		}
		if !image.UsedAt.IsZero() && !force {
			return app.Errorf(app.CodeConflict, "The image is in use since %s: mail that was sent, a template or a broadcast shows it, and would have a gap. To delete it all the same, add ?force=true", app.FormatTime(image.UsedAt))
		}
		if err := tx.DeleteImage(&image); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "image.delete", id, audited(&image), nil)
	})
	if err == nil {
		s.served.Forget(image.Name)
	}
	return base.Lookup("image", err)
}

// sweepChunk is how many images one Write of a sweep deletes at most.
const sweepChunk = 10

// DeleteUnused deletes the images of all teams that no content refers to and that were last uploaded
// UnusedFor ago or earlier.
func (s *Service) DeleteUnused(ctx context.Context) error {
	return s.InChunks(ctx, "unused images", func(tx *db.Tx) (more bool, err error) {
		unused, err := tx.UnusedImages(tx.Now.Add(-UnusedFor), sweepChunk)
		if err != nil {
			return false, err
		}
		for i := range unused {
			if err := tx.DeleteImage(&unused[i]); err != nil {
				return false, err
			}
		}
		return len(unused) == sweepChunk, nil
	})
}
