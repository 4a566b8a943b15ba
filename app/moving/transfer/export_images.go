package transfer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// images writes the images of the team in their widest size, of which an import makes the others.
func (x *export) images() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Image
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.ImagesAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.image(&all[i]) })
	})
}

// image writes an image and its file.
func (x *export) image(i *app.Image) error {
	file := strings.TrimPrefix(i.Path(0), app.ImagePath)
	err := x.imageFile(i, file)
	if errors.Is(err, db.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if errors.Is(err, db.ErrDamaged) {
		x.unmovable("image "+i.ID, "the database is damaged there")
		return nil
	}
	if err != nil {
		return err
	}
	widest := i.Sizes[0]
	return x.put(archive.Images, &archive.Image{ID: i.ID, File: file, Alt: i.Alt, Width: widest.Width, Height: widest.Height, Size: widest.Bytes, UsedAt: i.UsedAt, CreatedAt: i.CreatedAt})
}

func (x *export) imageFile(i *app.Image, name string) error {
	dir := filepath.Join(x.w.Dir(), archive.ImagesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of images: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of an image: %w", err)
	}
	return errors.Join(x.write(f, i.Sizes[0].Bytes, func(r *db.Reader, n int) ([]byte, error) { return r.ImagePiece(i.ID, 0, n) }), f.Close())
}
