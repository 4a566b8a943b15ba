package images

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/rules/tracking"
	"mailer/db"
)

const (
	// servedTTL is how long an image, and the hosts of a team, are cached. Afterwards they are read
	// again; while the database can't be read, the old ones are used.
	servedTTL = time.Minute
	maxServed = 5000
	// maxCachedBytes bounds the contents of images in memory.
	maxCachedBytes = 32 << 20
)

// served is an image as it is served.
type served struct{ app.Image }

// host is a host that serves the images of a team.
type host struct {
	name string
	live bool // its domain is verified and its DNS record was found
}

// File is one size of an image that is being served.
type File struct {
	Type string
	Size int64 // bytes

	s       *Service
	imageID string
	size    int // number of the size
}

// fileName matches the last segment of the URL of an image or a logo.
var fileName = regexp.MustCompile(`^([0-9a-f]{32})(?:-([1-9][0-9]{0,4}))?\.(?:png|jpg|gif)$`)

// OpenFile returns the file that the last segment of a URL names, at a host. onBase tells whether the
// host is that of the base URL. An image is only served by hosts of its team. Error: CodeNotFound for
// whatever reason.
func (s *Service) OpenFile(ctx context.Context, hostport string, onBase bool, name string) (*File, error) {
	parts := fileName.FindStringSubmatch(name)
	if parts == nil {
		return nil, app.NotFound("image")
	}
	image, err := s.image(ctx, parts[1])
	if err != nil {
		return nil, err
	}
	size := 0
	if parts[2] != "" {
		width, _ := strconv.Atoi(parts[2]) // digits
		for size = 1; size < len(image.Sizes) && image.Sizes[size].Width != width; {
			size++
		}
	}
	if size >= len(image.Sizes) || image.Path(size) != app.ImagePath+name {
		return nil, app.NotFound("image")
	}
	ok, err := s.serves(ctx, tracking.HostOf(hostport), onBase, &image.Image)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, app.NotFound("image")
	}
	return &File{Type: image.Type, Size: image.Sizes[size].Bytes, s: s, imageID: image.ID, size: size}, nil
}

// image returns an image by its name.
func (s *Service) image(ctx context.Context, name string) (served, error) {
	image, err := known(ctx, s.DB, s.served, name, func(r *db.Reader) (served, error) {
		image, err := r.ServedImage(name)
		return served{image}, err
	})
	return image, base.Lookup("image", err)
}

// known returns a cached value, which read reads after servedTTL again. While the database can't be
// read, the last value counts for another servedTTL. Errors: those of read.
func known[V any](ctx context.Context, store *db.DB, c *cache.Cache[string, V], key string, read func(r *db.Reader) (V, error)) (V, error) {
	v, err := c.Load(ctx, key, func(ctx context.Context) (V, error) { return db.Get(ctx, store, read) })
	if err == nil {
		return v, nil
	}
	last, cached := c.Last(key)
	switch {
	case !cached:
		return v, err
	case errors.Is(err, db.ErrNotFound):
		c.Forget(key)
		return v, err
	}
	c.Put(key, last, c.Mark())
	return last, nil
}

// serves reports whether a host serves an image.
func (s *Service) serves(ctx context.Context, name string, onBase bool, image *app.Image) (bool, error) {
	if onBase && image.OnBase || name != "" && name == s.Settings.PagesHost {
		return true, nil
	}
	hosts, err := s.hostsOf(ctx, image.TeamID)
	if err != nil {
		return false, err
	}
	for _, h := range hosts {
		if h.name == name {
			return true, nil
		}
	}
	owner, err := s.pages.TeamAt(ctx, name)
	return owner != "" && owner == image.TeamID, err
}

// hostsOf returns the tracking hosts of a team, oldest domain first.
func (s *Service) hostsOf(ctx context.Context, teamID string) ([]host, error) {
	hosts, err := known(ctx, s.DB, s.hosts, teamID, func(r *db.Reader) ([]host, error) {
		domains, err := r.TrackedDomains(teamID)
		hosts := make([]host, len(domains))
		for i := range domains {
			hosts[i] = host{name: domains[i].TrackingName(), live: domains[i].Status == app.DomainVerified && tracking.HostIsLive(&domains[i])}
		}
		return hosts, err
	})
	return hosts, base.Unavailable(err)
}

// Piece returns the n-th piece of the file, from 0. It is shared: the caller must not change it.
func (f *File) Piece(ctx context.Context, n int) ([]byte, error) {
	piece, err := f.s.pieces.Load(ctx, fmt.Sprint(f.imageID, " ", f.size, " ", n), func(ctx context.Context) ([]byte, error) {
		return db.Get(ctx, f.s.DB, func(r *db.Reader) ([]byte, error) { return r.ImagePiece(f.imageID, f.size, n) })
	})
	return piece, base.Lookup("image", err)
}

// BaseOf returns the URL, without a path, of the host at which mail of a team shows its images: a
// tracking host of the team, its own host for pages, the pages host, or the base URL; empty if no host serves them. It is a
// function of the image, since that of the base URL serves only some.
func (s *Service) BaseOf(ctx context.Context, teamID string) (func(*app.Image) string, error) {
	hosts, err := s.hostsOf(ctx, teamID)
	if err != nil {
		return nil, err
	}
	name := s.Settings.PagesHost
	for _, h := range hosts {
		if h.live {
			name = h.name
			break
		}
	}
	at, err := s.pages.OwnBase(ctx, teamID)
	if err != nil {
		return nil, err
	}
	if name != "" && (at == "" || name != s.Settings.PagesHost) {
		at = withHost(s.Settings.BaseURL, name)
	}
	return func(i *app.Image) string {
		if at == "" && i.OnBase {
			return s.Settings.BaseURL
		}
		return at
	}, nil
}

// withHost returns a base URL with another host name, and the same port.
func withHost(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	if port := u.Port(); port != "" {
		name += ":" + port
	}
	return (&url.URL{Scheme: u.Scheme, Host: name, Path: u.Path}).String()
}

// checkHost returns nil if a host serves images of a team that are uploaded now. Error: CodeConflict.
func (s *Service) checkHost(ctx context.Context, teamID string) error {
	baseOf, err := s.BaseOf(ctx, teamID)
	if err != nil {
		return err
	}
	several, err := db.Get(ctx, s.DB, (*db.Reader).SeveralTeams)
	if err != nil {
		return base.Unavailable(err)
	}
	if baseOf(&app.Image{OnBase: !several}) == "" {
		return app.Errorf(app.CodeConflict, "No host serves images of this team: add a tracking subdomain to a domain and its DNS record, or ask the operator of the server, which has several teams, to set --pages-host")
	}
	return nil
}
