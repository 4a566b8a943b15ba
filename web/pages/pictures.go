package pages

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/app/tenants/images"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

type pictureInput struct {
	Name string `path:"name" doc:"The name of the image or logo, and .png, .jpg or .gif"`
}

// logoName matches the last segment of a logo's URL.
var logoName = regexp.MustCompile(`^([0-9a-f]{32})\.(?:png|jpg)$`)

// pictures serves uploaded images and logos. Emails show them, so there is no limit by client: a few
// addresses of mail providers fetch them for all readers.
type pictures struct {
	h      *rest.Handler
	logos  *teams.Brands
	images *images.Service
}

// add adds the URLs of images and logos. Logos are served under every host name, images under those
// of their team.
func (p pictures) add() {
	for _, op := range []openapi.Operation{
		{OperationID: "get-image-file", Method: http.MethodGet, Summary: "Get the file of an uploaded image or logo"},
		{OperationID: "head-image-file", Method: http.MethodHead, Summary: "Check the file of an uploaded image or logo"},
	} {
		op.Path, op.Tags = app.ImagePath+"{name}", []string{"Hosted pages"}
		added := rest.RegisterRaw(p.h, rest.Route{Public: true, Quiet: true, AnyHost: true}, op, func(ctx context.Context, x *rest.Exchange, in *pictureInput) (*rest.SelfWritten, error) {
			return &rest.SelfWritten{Body: func() { p.write(ctx, x, in.Name, op.Method == http.MethodHead) }}, nil
		})
		p.h.OnDocument(func(*openapi.Document) { documentPicture(added) })
	}
}

// documentPicture documents the answers of a picture's URL.
func documentPicture(op *openapi.Operation) {
	file := openapi.Binary()
	picture := map[string]*openapi.MediaType{"image/png": {Schema: file}, "image/jpeg": {Schema: file}, "image/gif": {Schema: file}}
	op.Responses = map[string]*openapi.Response{
		"200": {Description: "The picture", Content: picture},
		"404": {Description: "No such picture, or not at this host; without a body", Content: picture},
		"500": {Description: "The picture could not be read; without a body", Content: picture},
		"503": {Description: "The picture could not be read now; without a body", Content: picture},
	}
	if op.Method == http.MethodHead {
		op.Responses = withoutContent(op.Responses)
	}
}

// write answers with a picture. The content of its URL never changes, so that caches may keep it.
// Errors have no body: no text is shown in the place of an image.
func (p pictures) write(ctx context.Context, x *rest.Exchange, name string, head bool) {
	h := x.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	file, err := p.open(ctx, x, name)
	var piece []byte
	if err == nil && !head {
		piece, err = file.Piece(ctx, 0)
	}
	if err != nil {
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Length", "0")
		x.WriteHeader(p.h.ErrorFor(x, err).StatusCode)
		return
	}
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", file.contentType)
	h.Set("Content-Length", strconv.FormatInt(file.size, 10))
	x.WriteHeader(http.StatusOK)
	for n, sent := 1, int64(0); !head; n++ {
		if _, err := x.Write(piece); err != nil {
			return // the client left or was disconnected
		}
		if sent += int64(len(piece)); sent >= file.size {
			return
		}
		if piece, err = file.Piece(ctx, n); err != nil {
			p.h.ErrorFor(x, err) // logs it
			panic(http.ErrAbortHandler)
		}
	}
}

// openPicture is a picture that is being sent.
type openPicture struct {
	contentType string
	size        int64
	Piece       func(ctx context.Context, n int) ([]byte, error)
}

// open finds an image or a logo by the last segment of its URL. Errors: CodeNotFound,
// CodeServiceUnavailable.
func (p pictures) open(ctx context.Context, x *rest.Exchange, name string) (*openPicture, error) {
	file, err := p.images.OpenFile(ctx, x.Host, p.h.OnBase(x.Host), name)
	if err == nil {
		return &openPicture{file.Type, file.Size, file.Piece}, nil
	}
	if parts := logoName.FindStringSubmatch(name); parts != nil && app.CodeOf(err) == app.CodeNotFound {
		return p.openLogo(ctx, x, parts[1], name)
	}
	return nil, err
}

// openLogo finds a logo, which is one piece. A large logo is read once there is memory for it: a
// client may read slowly.
func (p pictures) openLogo(ctx context.Context, x *rest.Exchange, id, name string) (*openPicture, error) {
	file, err := p.logos.Logo(ctx, id)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(file.Path(), "/"+name) {
		return nil, app.NotFound("logo")
	}
	if file.Size > membudget.FreeBytes {
		const copies = 2 // one from the database, one being sent
		if err := x.ReserveFor(ctx, file.ID, copies*file.Size); err != nil {
			return nil, err
		}
	}
	return &openPicture{file.Type, file.Size, func(ctx context.Context, _ int) ([]byte, error) { return p.logos.LogoContent(ctx, file.ID) }}, nil
}
