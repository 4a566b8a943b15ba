package images

import (
	"context"

	"mailer/app"
)

// OpenImage returns the smallest size of an image of the key's team, for pages that must not load
// images from other hosts. Error: CodeNotFound.
func (s *Service) OpenImage(ctx context.Context, key *app.Key, id string) (*File, error) {
	image, err := s.GetImage(ctx, key, id)
	if err != nil {
		return nil, err
	}
	size := len(image.Sizes) - 1
	return &File{Type: image.Type, Size: image.Sizes[size].Bytes, s: s, imageID: image.ID, size: size}, nil
}
