package pages

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/app/rules/brand"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

type logoInput struct {
	Name string `path:"name" doc:"The id of the logo and .png or .jpg"`
}

// logoName matches the last segment of a logo's URL.
var logoName = regexp.MustCompile(`^([0-9a-f]{32})\.(?:png|jpg)$`)

// registerLogos adds the URLs of uploaded logos. They are served under every host name, since
// emails and hosted pages show logos.
func registerLogos(h *rest.Handler, service *teams.Brands) {
	for _, op := range []openapi.Operation{
		{OperationID: "get-logo-file", Method: http.MethodGet, Summary: "Get the file of an uploaded logo"},
		{OperationID: "head-logo-file", Method: http.MethodHead, Summary: "Check the file of an uploaded logo"},
	} {
		op.Path, op.Tags = brand.LogoPath+"{name}", []string{"Hosted pages"}
		added := rest.RegisterRaw(h, rest.Route{Public: true, Quiet: true, AnyHost: true}, op, func(ctx context.Context, x *rest.Exchange, in *logoInput) (*rest.SelfWritten, error) {
			return &rest.SelfWritten{Body: func() { writeLogo(ctx, h, service, x, in.Name) }}, nil
		})
		h.OnDocument(func(*openapi.Document) { documentLogo(added) })
	}
}

// documentLogo documents the answers of a logo's URL.
func documentLogo(op *openapi.Operation) {
	file := openapi.Binary()
	picture := map[string]*openapi.MediaType{"image/png": {Schema: file}, "image/jpeg": {Schema: file}}
	op.Responses = map[string]*openapi.Response{
		"200": {Description: "The picture", Content: picture},
		"404": {Description: "No such logo; without a body", Content: picture},
		"500": {Description: "The logo could not be read; without a body", Content: picture},
		"503": {Description: "The logo could not be read now; without a body", Content: picture},
	}
	if op.Method == http.MethodHead {
		op.Responses = withoutContent(op.Responses)
	}
}

// writeLogo answers with a logo. The content of its URL never changes, so that caches may keep it.
// Errors have no body: no text is shown in the place of an image.
func writeLogo(ctx context.Context, h *rest.Handler, service *teams.Brands, x *rest.Exchange, name string) {
	head := x.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	file, content, err := readLogo(ctx, service, x, name)
	if err != nil {
		head.Set("Cache-Control", "no-store")
		head.Set("Content-Length", "0")
		x.WriteHeader(h.ErrorFor(x, err).StatusCode)
		return
	}
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	head.Set("Content-Type", file.Type)
	head.Set("Content-Length", strconv.Itoa(len(content)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(content) // an error means that the connection is closed
}

// readLogo reads a logo by the last segment of its URL. A large logo is read once there is memory
// for it: a client may read slowly. Errors: CodeNotFound, CodeServiceUnavailable.
func readLogo(ctx context.Context, service *teams.Brands, x *rest.Exchange, name string) (file teams.LogoFile, content []byte, err error) {
	parts := logoName.FindStringSubmatch(name)
	if parts == nil {
		return file, nil, app.NotFound("logo")
	}
	if file, err = service.Logo(ctx, parts[1]); err != nil {
		return file, nil, err
	}
	if !strings.HasSuffix(file.Path(), "/"+name) {
		return file, nil, app.NotFound("logo")
	}
	if file.Size > membudget.FreeBytes {
		const copies = 2 // one from the database, one being sent
		if err := x.ReserveFor(ctx, file.ID, copies*file.Size); err != nil {
			return file, nil, err
		}
	}
	content, err = service.LogoContent(ctx, file.ID)
	return file, content, err
}
