package images

import (
	"context"
	"errors"
	"regexp"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// validName matches the name of an image.
var validName = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Adopt stores an image that another server had, under its name and id where they are free, so that
// mail that was sent finds it once the host leads here. Without a name it gets its own. added is
// false if the team has it already. Errors: CodeValidation; CodePayloadTooLarge above the limit of
// the team.
func (s *Service) Adopt(ctx context.Context, from app.Image, file []byte) (image app.Image, added bool, err error) {
	if from.Alt, err = app.CheckImageAlt(from.Alt); err != nil {
		return image, false, err
	}
	own := s.nameOf(from.TeamID, file)
	if !validName.MatchString(from.Name) {
		from.Name = own
	}
	if err := s.Pictures.Acquire(ctx, from.TeamID, 1); err != nil {
		return image, false, err
	}
	defer s.Pictures.Release(from.TeamID, 1)
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if image, err = r.ImageNamed(from.TeamID, from.Name); !errors.Is(err, db.ErrNotFound) {
			return err
		}
		added = true
		taken, err := r.ImageNameTaken(from.Name)
		if taken { // by another team
			from.Name = own
		}
		if err != nil {
			return err
		}
		if taken, err = r.ImageIDTaken(from.ID); taken || from.ID == "" {
			from.ID = app.NewID()
		}
		return err
	})
	if err != nil || !added {
		return image, false, base.Unavailable(err)
	}
	image, err = s.store(ctx, from, Upload{File: file, Field: "file", Alt: from.Alt})
	return image, err == nil, err
}
