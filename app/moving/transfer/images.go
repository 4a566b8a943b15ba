package transfer

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/archive"
)

// imageFile matches the file of an archived image.
var imageFile = regexp.MustCompile(`^([0-9a-f]{32})\.(?:png|jpg|gif)$`)

// imagesIn stores the images of an archive. Templates and drafts that show them get their addresses
// here.
func (m *importer) imagesIn(ctx context.Context) error {
	done := 0
	var in archive.Image
	return m.r.Each(archive.Images, &in, func(int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		done++
		what := fmt.Sprintf("image %.40q", in.File)
		parts := imageFile.FindStringSubmatch(in.File)
		if parts == nil {
			m.unmovable(what, "its file has no name that an image can have")
			return nil
		}
		path := filepath.Join(m.r.Dir(), archive.ImagesDir, in.File)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > app.MaxImageFile {
			m.unmovable(what, "its file is not there, or larger than an image can be")
			return nil
		}
		if !m.Apply {
			m.report.Images.New++
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read an image: %w", err)
		}
		image, err := m.adopt(ctx, what, app.Image{ID: m.id(in.ID), TeamID: m.team.ID, Name: parts[1], Alt: in.Alt, UsedAt: in.UsedAt, CreatedAt: in.CreatedAt}, content)
		if err != nil || image == nil {
			return err
		}
		m.images[parts[1]] = image
		if err := m.moved(archive.Images, in.ID, image.ID); err != nil {
			return err
		}
		return m.progress(archive.Images, done)
	})
}

// adopt stores an image and counts it; nil: it is reported as unmovable.
func (m *importer) adopt(ctx context.Context, what string, image app.Image, content []byte) (*app.Image, error) {
	stored, added, err := m.s.images.Adopt(ctx, image, content)
	if words, ok := refusalWords(err); ok {
		m.unmovable(what, words)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if added {
		m.report.Images.New++
	} else {
		m.report.Images.Existing++
	}
	return &stored, nil
}

// imageURL matches the URL of an image of a Mailer.
var imageURL = regexp.MustCompile(`https?://[^\s"'<>()\\]{1,300}/i/([0-9a-f]{32})(?:-([0-9]{1,5}))?\.(?:png|jpg|gif)`)

// placeImages replaces the addresses of images in a document and its variants, as withImages does.
func (m *importer) placeImages(ctx context.Context, what string, source *string, design *jsontext.Value, variants map[string]archive.Variant) error {
	html, changed, err := m.withImages(ctx, what, *source, string(*design))
	if err != nil {
		return err
	}
	*source, *design = html, []byte(changed)
	for lang, v := range variants {
		if err := m.placeImages(ctx, what, &v.HTML, &v.Design, nil); err != nil {
			return err
		}
		variants[lang] = v
	}
	return nil
}

// withImages returns the HTML of a template or broadcast, and the document of its visual editor, with
// addresses of this server for images that the import stored.
func (m *importer) withImages(ctx context.Context, what, source, design string) (string, string, error) {
	if !m.r.Team.FromMailer() {
		source, err := m.withFetched(ctx, what, source)
		return source, design, err
	}
	if len(m.images) == 0 {
		return source, design, nil
	}
	baseOf, err := m.s.images.BaseOf(ctx, m.team.ID)
	if err != nil {
		return "", "", err
	}
	replace := func(text string) string {
		return imageURL.ReplaceAllStringFunc(text, func(address string) string {
			parts := imageURL.FindStringSubmatch(address)
			image := m.images[parts[1]]
			if image == nil || baseOf(image) == "" {
				return address
			}
			width, _ := strconv.Atoi(parts[2]) // 0: the widest
			size := max(0, slices.IndexFunc(image.Sizes, func(s app.ImageSize) bool { return s.Width == width }))
			return baseOf(image) + image.Path(size)
		})
	}
	return replace(source), replace(design), nil
}

// withFetched returns HTML whose images were fetched and stored.
func (m *importer) withFetched(ctx context.Context, what, source string) (string, error) {
	if m.FetchImages == nil {
		return source, nil
	}
	baseOf, err := m.s.images.BaseOf(ctx, m.team.ID)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	done := 0
	for _, at := range imageSources(source) {
		image, err := m.fetched(ctx, what, at.address)
		if err != nil {
			return "", err
		}
		if image == nil || baseOf(image) == "" {
			continue
		}
		out.WriteString(source[done:at.from])
		address := html.EscapeString(baseOf(image) + image.Path(0))
		if at.bare {
			address = `"` + address + `"`
		}
		out.WriteString(address)
		done = at.to
	}
	return out.String() + source[done:], nil
}

// fetched returns the image at an address, which is fetched once; nil: it can't be had, which is
// reported once, or this is a dry run.
func (m *importer) fetched(ctx context.Context, what, address string) (*app.Image, error) {
	if image, known := m.images[address]; known {
		return image, nil
	}
	m.images[address] = nil
	if !m.Apply {
		m.report.Images.New++
		return nil, nil
	}
	what += ", image " + app.Excerpt(address)
	contents, release, err := m.FetchImages(ctx, m.team.ID, []string{address}, app.MaxImageFile)
	if err == nil {
		defer release()
		m.images[address], err = m.adopt(ctx, what, app.Image{TeamID: m.team.ID}, contents[0])
		return m.images[address], err
	}
	var refused *app.FetchError
	var limited *app.FetchLimitError
	switch {
	case errors.As(err, &refused):
		why := "it " + string(refused.Reason)
		if refused.Reason == app.FetchTooLarge {
			why = fmt.Sprintf("it is larger than %d MiB", app.MaxImageFile>>20)
		}
		m.unmovable(what, why+"; the mail still shows it from there")
		return nil, nil
	case errors.As(err, &limited):
		m.unmovable(what, "too much was fetched at the same time; the mail still shows it from there")
		return nil, nil
	}
	return nil, err
}

// imageSource is an image in HTML.
type imageSource struct {
	from, to int  // range of the address without quotes
	bare     bool // without quotes
	address  string
}

// maxImageAddress bounds the address of an image that is fetched, in bytes.
const maxImageAddress = 2048

// imageSources returns the images and backgrounds of HTML that have absolute addresses without
// placeholders, in their order.
func imageSources(source string) (all []imageSource) {
	z := htmltext.NewTokens(source)
	for {
		switch z.Next() {
		case nethtml.ErrorToken: // the end: a string has no other error
			return all
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name := "background"
			if z.Name == "img" {
				name = "src"
			}
			from, to, bare, ok := htmltext.FindAttribute(z.Source[:z.At], z.Attr, name)
			if !ok {
				continue
			}
			address := htmltext.NormalizeLink(htmltext.AttributeText(z.Source[from:to]))
			if _, absolute := app.CutScheme(address); absolute && len(address) <= maxImageAddress && !strings.ContainsAny(address, "{}") {
				all = append(all, imageSource{from, to, bare, address})
			}
		}
	}
}
