package pages

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/netip"
	"strconv"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// pixelGIF is a transparent image of one pixel: 43 bytes of GIF89a.
const pixelGIF = "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="

type trackingInput struct {
	Token string `path:"token" doc:"The signed token of the address; it never expires"`
}

// trackedMail serves the URLs in tracked mail.
type trackedMail struct {
	h       *rest.Handler
	service *mail.Service
	pages   *pages
	pixel   []byte
}

func registerTracking(h *rest.Handler, service *mail.Service, p *pages) {
	pixel, err := base64.StdEncoding.DecodeString(pixelGIF)
	if err != nil {
		panic(err) // pixelGIF is valid
	}
	t := &trackedMail{h: h, service: service, pages: p, pixel: pixel}
	image := map[string]*openapi.MediaType{"image/gif": {Schema: openapi.Binary()}}
	page := map[string]*openapi.MediaType{"text/html": {Schema: &openapi.Schema{Type: openapi.TypeString}}}
	t.add(tracking.OpenPath+"{token}", "open", "the pixel of a tracked email", t.open, map[string]*openapi.Response{
		"200": {Description: "A transparent image of one pixel", Content: image},
		"404": {Description: "No such email; without a body", Content: image},
	})
	t.add(tracking.ClickPath+"{token}", "click", "the target of a tracked link", t.click, map[string]*openapi.Response{
		"200": {Description: "A page that names the target: the email that the link stood in was deleted, or the domain that it came from", Content: page},
		"302": {Description: "The target is in the Location header", Headers: map[string]*openapi.Header{
			"Location": {Schema: &openapi.Schema{Type: openapi.TypeString, Format: "uri"}}}},
		"404": {Description: "No such link", Content: page},
	})
}

// add registers GET, and HEAD, which is never counted.
func (t *trackedMail) add(path, id, what string, answer func(context.Context, *rest.Exchange, string, *tracking.Visitor), responses map[string]*openapi.Response) {
	item := func(method, id, summary string) {
		op := openapi.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Tracking"}}
		added := rest.RegisterRaw(t.h, rest.Route{Public: true, Quiet: true, AnyHost: true}, op, func(ctx context.Context, x *rest.Exchange, in *trackingInput) (*rest.SelfWritten, error) {
			return &rest.SelfWritten{Body: func() {
				var by *tracking.Visitor
				if method == http.MethodGet {
					by = &tracking.Visitor{UserAgent: x.RequestHeader.Get("User-Agent"), IPAddress: addressText(x.Address())}
				}
				answer(ctx, x, in.Token, by)
			}}, nil
		})
		t.h.OnDocument(func(*openapi.Document) {
			added.Responses = map[string]*openapi.Response{"500": added.Responses["500"]}
			maps.Copy(added.Responses, responses)
			if method == http.MethodHead {
				added.Responses = withoutContent(added.Responses)
			}
		})
	}
	item(http.MethodGet, "track-"+id, "Get "+what)
	item(http.MethodHead, "head-track-"+id, "Check "+what)
}

// withoutContent returns the responses for HEAD.
func withoutContent(responses map[string]*openapi.Response) map[string]*openapi.Response {
	out := map[string]*openapi.Response{}
	for status, r := range responses {
		out[status] = &openapi.Response{Description: r.Description, Headers: r.Headers}
	}
	return out
}

// setPrivate keeps an answer out of caches and search indexes.
func setPrivate(head http.Header) {
	head.Set("Cache-Control", "no-store")
	head.Set("X-Robots-Tag", "noindex, nofollow")
	head.Set("Referrer-Policy", "no-referrer") // the URL contains the token
}

// open answers with the pixel. An invalid token gets an image without content, since only an image
// is shown at this place.
func (t *trackedMail) open(_ context.Context, x *rest.Exchange, token string, by *tracking.Visitor) {
	head := x.Header()
	setPrivate(head)
	head.Set("Content-Type", "image/gif")
	if !t.service.NoteOpen(token, by) {
		head.Set("Content-Length", "0")
		x.WriteHeader(http.StatusNotFound)
		return
	}
	head.Set("Content-Length", strconv.Itoa(len(t.pixel)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(t.pixel) // an error means that the connection is closed
}

// click redirects to the target that is signed in the token, and to no other. The header is set
// directly: http.Redirect would rewrite it. If the link's email or team is deleted, a page names
// the target instead.
func (t *trackedMail) click(ctx context.Context, x *rest.Exchange, token string, by *tracking.Visitor) {
	to, ok := t.service.FollowLink(ctx, x.Host, token, by)
	switch {
	case !ok:
		t.pages.refuse(x, rest.NewError(app.CodeNotFound, "There is no such link"))
		return
	case to.Orphaned:
		text := t.pages.text(x.RequestHeader.Get("Accept-Language"))
		t.pages.write(x, orphanedPage(to, text), text)
		return
	}
	setPrivate(x.Header())
	x.Header()["Location"] = []string{to.Location}
	x.Header().Set("Content-Length", "0")
	x.WriteHeader(http.StatusFound)
}

// orphanedPage names the target of a link whose email or team is deleted, and lets the reader
// decide.
func orphanedPage(to tracking.Destination, t *pageText) *hostedPage {
	return &hostedPage{
		status: http.StatusOK, Title: t.orphaned, Heading: escaped(t.orphaned), Lines: []markup{escaped(t.orphanedMore)},
		Target: legible(to.Target), Links: []pageLink{{Address: to.Location, Text: t.follow, Foreign: true}},
	}
}

// addressText formats an address; empty if it is not known.
func addressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}
