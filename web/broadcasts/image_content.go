package broadcasts

import (
	"context"
	"net/http"
	"strconv"

	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// addContent adds the route of an image's content.
func (r ImageRoutes) addContent(h *rest.Handler) {
	content := rest.RegisterRaw(h, rest.Route{}, openapi.Operation{
		OperationID: "get-image-content", Method: http.MethodGet, Path: "/images/{id}/content",
		Summary: "Get the content of an image, in its smallest size", Tags: imageTags, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, x *rest.Exchange, in *imagePath) (*rest.SelfWritten, error) {
		file, err := r.Service.OpenImage(ctx, x.Key, in.ID)
		if err != nil {
			return nil, err
		}
		piece, err := file.Piece(ctx, 0)
		if err != nil {
			return nil, err
		}
		return &rest.SelfWritten{Body: func() {
			head := x.Header()
			head.Set("Content-Type", file.Type)
			head.Set("Content-Length", strconv.FormatInt(file.Size, 10))
			head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
			head.Set("X-Content-Type-Options", "nosniff")
			x.WriteHeader(http.StatusOK)
			for n, sent := 1, int64(0); ; n++ {
				if _, err := x.Write(piece); err != nil {
					return // the client left or was disconnected
				}
				if sent += int64(len(piece)); sent >= file.Size {
					return
				}
				if piece, err = file.Piece(ctx, n); err != nil {
					h.ErrorFor(x, err) // logs it
					panic(http.ErrAbortHandler)
				}
			}
		}}, nil
	})
	h.OnDocument(func(*openapi.Document) {
		file := openapi.Binary()
		picture := map[string]*openapi.MediaType{"image/png": {Schema: file}, "image/jpeg": {Schema: file}, "image/gif": {Schema: file}}
		content.Responses["200"] = &openapi.Response{Description: "The image", Content: picture}
	})
}
