package broadcasts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"

	"mailer/app"
	"mailer/app/tenants/images"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// imageRecord is an image.
type imageRecord struct {
	Object      string            `json:"object" enum:"image"`
	ID          string            `json:"id" format:"uuid"`
	URL         *string           `json:"url" doc:"The address to use in mail; null: no host serves it any more"`
	Width       int               `json:"width" doc:"Pixels of the widest size"`
	Height      int               `json:"height"`
	Bytes       int64             `json:"bytes" doc:"Of the widest size"`
	ContentType string            `json:"content_type" enum:"image/png,image/jpeg,image/gif"`
	Alt         *string           `json:"alt" doc:"Alternative text; null: none"`
	Sizes       []imageSizeRecord `json:"sizes" doc:"The widest first: at most 1200 pixels, and 600. A GIF has one"`
	UsedAt      *string           `json:"used_at" format:"date-time" doc:"When an email, broadcast or template with its address was first stored; null: never. It is then only deleted by hand"`
	CreatedAt   string            `json:"created_at" format:"date-time"`
}

type imageSizeRecord struct {
	URL    *string `json:"url"`
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Bytes  int64   `json:"bytes"`
}

type removedImage struct {
	Object  string `json:"object" enum:"image"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// createImageRequest is the body of an upload in JSON.
type createImageRequest struct {
	Content []byte  `json:"content" doc:"A PNG, a JPEG, a GIF, or a WebP that is not animated, of at most 5 MiB, 12,000 pixels a side and 16 megapixels, in base64"`
	Alt     *string `json:"alt,omitempty" maxLength:"1000" doc:"Alternative text"`
}

type updateImageRequest struct {
	Alt rest.Change[string] `json:"alt,omitempty" doc:"Alternative text of one line and at most 1000 characters; null: none"`
}

// imagePath is the path parameter of one image.
type imagePath struct {
	ID string `path:"id" doc:"The id of the image" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *imagePath) Resource() (kind string, id *string) { return "image", &p.ID }

type deleteImageInput struct {
	imagePath
	Force string `query:"force" enum:"true" doc:"Delete an image that is in use too"`
}

type imageOutput struct{ Body imageRecord }

var imageTags = []string{"Images"}

// ImageRoutes are the routes of images. Dir is the folder in which uploads wait.
type ImageRoutes struct {
	Service *images.Service
	Dir     string
}

// maxImageBody bounds the body of an upload, in bytes: a file in base64, and some more.
const maxImageBody = app.MaxImageFile/3*4 + 64<<10

// Add adds the routes to a handler.
func (r ImageRoutes) Add(h *rest.Handler) {
	rest.SweepSpool(r.Dir)
	create := rest.RegisterRaw(h, rest.Route{Stream: true, MaxBody: maxImageBody}, openapi.Operation{
		OperationID: "create-image", Method: http.MethodPost, Path: "/images", DefaultStatus: http.StatusCreated,
		Summary: "Upload an image for mail", Tags: imageTags, Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
		Description: "The image is encoded anew, at most 1200 pixels wide, and also 600 pixels wide if it is wider. Its orientation is applied and its metadata removed. " +
			"A WebP becomes a PNG or a JPEG, since mail programs do not show it; the frames of a GIF stay. The same file of a team is stored once. " +
			"An image that no email, broadcast or template refers to is deleted after 30 days.",
	}, r.create)
	h.OnDocument(func(doc *openapi.Document) { documentImageUpload(h, doc.Components.Schemas, create) })
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-images", Method: http.MethodGet, Path: "/images",
		Summary: "List images, newest first", Tags: imageTags, Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-image", Method: http.MethodGet, Path: "/images/{id}",
		Summary: "Get an image", Tags: imageTags, Errors: []int{http.StatusNotFound},
	}, r.get)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-image", Method: http.MethodPatch, Path: "/images/{id}",
		Summary: "Change the alternative text of an image", Tags: imageTags, Errors: []int{http.StatusNotFound},
	}, r.update)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-image", Method: http.MethodDelete, Path: "/images/{id}",
		Summary: "Delete an image", Tags: imageTags, Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		Description: "An image that an email, broadcast or template refers to is only deleted with `force=true`: mail that was sent has a gap in its place.",
	}, r.remove)
	r.addContent(h)
}

// documentImageUpload documents the two forms of an upload.
func documentImageUpload(h *rest.Handler, registry *openapi.Registry, create *openapi.Operation) {
	file := openapi.Binary()
	file.Description = "A PNG, a JPEG, a GIF, or a WebP that is not animated, of at most 5 MiB, 12,000 pixels a side and 16 megapixels"
	longest := app.MaxImageAlt
	form := &openapi.Schema{Type: openapi.TypeObject, Required: []string{"file"}, AdditionalProperties: false, Properties: map[string]*openapi.Schema{
		"file": file, "alt": {Type: openapi.TypeString, MaxLength: &longest, Description: "Alternative text"},
	}}
	create.RequestBody = &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{
		rest.FormType:      {Schema: h.Component("CreateImageForm", form)},
		"application/json": {Schema: registry.Component(reflect.TypeFor[createImageRequest]())},
	}}
}

// create receives the body in a file, which waits until no other picture is decoded.
func (r ImageRoutes) create(ctx context.Context, x *rest.Exchange, _ *struct{}) (*imageOutput, error) {
	body, err := x.Stream.Spool(r.Dir)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	image, err := r.Service.CreateImage(ctx, x.Key, func() (images.Upload, error) { return readImageUpload(x.RequestHeader, body) })
	return r.answer(ctx, &image, err)
}

// readImageUpload reads the body of an upload: a form, or JSON.
func readImageUpload(head http.Header, body io.Reader) (in images.Upload, err error) {
	if media, _, _ := mime.ParseMediaType(head.Get("Content-Type")); media != rest.FormType {
		text, err := io.ReadAll(body)
		if err != nil {
			return in, fmt.Errorf("read an upload: %w", err)
		}
		var request createImageRequest
		rest.ReplaceLoneSurrogates(text)
		if err := rest.DecodeBody(text, &request); err != nil {
			return in, err
		}
		in = images.Upload{File: request.Content, Field: "content"}
		if request.Alt != nil {
			in.Alt = *request.Alt
		}
		return in, nil
	}
	boundary, err := rest.FormBoundary(head)
	if err != nil {
		return in, err
	}
	var file, alt bytes.Buffer
	seen, err := rest.ReadForm(body, boundary, func(name string, part *multipart.Part) error {
		switch name {
		case "file":
			return rest.CopyPart(&file, part)
		case "alt":
			return rest.CopyPart(&alt, io.LimitReader(part, 8*app.MaxImageAlt)) // what is longer is refused for its length
		}
		return app.Errorf(app.CodeValidation, "%s", rest.UnknownField(rest.MemberName(name)))
	})
	if err == nil && !seen["file"] {
		err = app.Invalid("file", "is required")
	}
	return images.Upload{File: file.Bytes(), Field: "file", Alt: strings.TrimSpace(alt.String())}, err
}

func (r ImageRoutes) list(ctx context.Context, key *app.Key, in *rest.PageParams) (*rest.ListOutput[imageRecord], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListImages(ctx, key, page)
	if err != nil {
		return nil, err
	}
	baseOf, err := r.Service.BaseOf(ctx, key.TeamID)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(i *app.Image) imageRecord { return newImageRecord(i, baseOf(i)) }), nil
}

func (r ImageRoutes) get(ctx context.Context, key *app.Key, in *imagePath) (*imageOutput, error) {
	image, err := r.Service.GetImage(ctx, key, in.ID)
	return r.answer(ctx, &image, err)
}

func (r ImageRoutes) update(ctx context.Context, key *app.Key, in *imagePath, body *updateImageRequest) (*imageOutput, error) {
	image, err := r.Service.UpdateImage(ctx, key, in.ID, app.Change[string](body.Alt))
	return r.answer(ctx, &image, err)
}

func (r ImageRoutes) remove(ctx context.Context, key *app.Key, in *deleteImageInput) (*rest.Output[removedImage], error) {
	if in.Force != "" && in.Force != "true" && in.Force != "false" {
		return nil, app.Invalid("force", "must be true or false")
	}
	if err := r.Service.DeleteImage(ctx, key, in.ID, in.Force == "true"); err != nil {
		return nil, err
	}
	return &rest.Output[removedImage]{Body: removedImage{Object: "image", ID: in.ID, Deleted: true}}, nil
}

func (r ImageRoutes) answer(ctx context.Context, image *app.Image, err error) (*imageOutput, error) {
	if err != nil {
		return nil, err
	}
	baseOf, err := r.Service.BaseOf(ctx, image.TeamID)
	if err != nil {
		return nil, err
	}
	return &imageOutput{newImageRecord(image, baseOf(image))}, nil
}

// newImageRecord returns the record of an image that is served at base; empty: nowhere.
func newImageRecord(i *app.Image, base string) imageRecord {
	widest := i.Sizes[0]
	out := imageRecord{Object: "image", ID: i.ID, Width: widest.Width, Height: widest.Height, Bytes: widest.Bytes, ContentType: i.Type,
		Alt: app.TextOrNull(i.Alt), UsedAt: app.FormatTimePtr(i.UsedAt), CreatedAt: app.FormatTime(i.CreatedAt)}
	for n, size := range i.Sizes {
		s := imageSizeRecord{Width: size.Width, Height: size.Height, Bytes: size.Bytes}
		if base != "" {
			url := base + i.Path(n)
			s.URL = &url
		}
		out.Sizes = append(out.Sizes, s)
	}
	out.URL = out.Sizes[0].URL
	return out
}
