package receiving

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"mailer/app"
	"mailer/app/sending/receiving"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

type (
	downloadInput struct {
		Token string `path:"token"`
	}
	downloadOutput struct {
		ContentType        string `header:"Content-Type" hidden:"true"`
		ContentLength      string `header:"Content-Length" hidden:"true"`
		ContentDisposition string `header:"Content-Disposition"`
		ContentSecurity    string `header:"Content-Security-Policy"`
		ResourcePolicy     string `header:"Cross-Origin-Resource-Policy"`
		CacheControl       string `header:"Cache-Control"`
		Body               func()
	}
)

// addDownloads adds the signed URLs of messages and attachments.
func (r Routes) addDownloads(h *rest.Handler) {
	for _, op := range []openapi.Operation{
		{OperationID: "download-received", Method: http.MethodGet, Summary: "Download a received message or an attachment of one by its signed address",
			Responses: map[string]*openapi.Response{"200": {Description: "The file", Content: map[string]*openapi.MediaType{"*/*": {Schema: openapi.Binary()}}}}},
		{OperationID: "head-received", Method: http.MethodHead, Summary: "Check the signed address of a received message or attachment",
			Responses: map[string]*openapi.Response{"200": {Description: "The file"}}},
	} {
		op.Path, op.Tags = "/received/{token}", tags
		op.Errors = []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable}
		rest.RegisterRaw(h, rest.Route{Public: true, AnyHost: true}, op, func(ctx context.Context, x *rest.Exchange, in *downloadInput) (*downloadOutput, error) {
			if shapes.ReadByScript(x.RequestHeader) {
				return nil, app.Errorf(app.CodeForbidden, "A browser downloads a file by opening its address; scripts of pages can't read it")
			}
			d, err := r.Service.OpenDownload(ctx, in.Token)
			if err != nil {
				return nil, err
			}
			if op.Method == http.MethodHead {
				return newDownload(d, func() { x.WriteHeader(http.StatusOK) }), nil
			}
			return send(ctx, h, x, d)
		})
	}
}

// send sends a file in pieces, each read after the client received the one before. If the email is deleted meanwhile
// the connection is closed, since the length was announced.
func send(ctx context.Context, h *rest.Handler, x *rest.Exchange, d *receiving.Download) (*downloadOutput, error) {
	if err := x.ReserveFor(ctx, d.ID, d.Memory); err != nil {
		return nil, err
	}
	piece, err := d.Next(ctx)
	if err != nil {
		return nil, err
	}
	return newDownload(d, func() {
		x.WriteHeader(http.StatusOK)
		for len(piece) > 0 {
			if _, err = x.Write(piece); err != nil {
				return // the client left or was disconnected
			}
			if piece, err = d.Next(ctx); err != nil {
				h.ErrorFor(x, err) // logs it
				panic(http.ErrAbortHandler)
			}
		}
	}), nil
}

// newDownload answers with bytes that a stranger chose. Browsers must never take them for a page of this server.
func newDownload(d *receiving.Download, body func()) *downloadOutput {
	return &downloadOutput{
		ContentType:        shapes.MediaType(d.ContentType),
		ContentLength:      strconv.FormatInt(d.Size, 10),
		ContentDisposition: shapes.Disposition(safeName(d.Filename)),
		ContentSecurity:    shapes.FilePolicy,
		ResourcePolicy:     "same-origin",
		CacheControl:       "private, no-store",
		Body:               body,
	}
}

// safeName returns the last segment of a path without invisible characters and leading dots: a file that a browser
// stores, and shows to a person, under the name that a stranger chose.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)
	return strings.TrimLeft(strings.TrimSpace(name), ".")
}
