package pages

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"

	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// viewPolicy is the Content-Security-Policy of a mail in a browser: links work and pictures are
// loaded, nothing runs, and no page may frame it.
const viewPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; " +
	"img-src data: https: http:; font-src https:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// registerViews adds the pages that {{{VIEW_URL}}} leads to.
func registerViews(h *rest.Handler, views *mail.Views, p *pages) {
	show := func(ctx context.Context, x *rest.Exchange, in *pageInput) (*rest.SelfWritten, error) {
		m, err := views.ViewMail(ctx, in.Token)
		if err != nil {
			t := p.textOf(in)
			page := errorPage(h.ErrorFor(x, err), t)
			if page.status == http.StatusNotFound {
				page = viewGone(t)
			}
			return &rest.SelfWritten{Body: func() { p.write(x, page, t) }}, nil
		}
		return &rest.SelfWritten{Body: func() { writeView(x, m) }}, nil
	}
	for _, op := range []openapi.Operation{
		{OperationID: "view-email", Method: http.MethodGet, Summary: "Show a mail in a browser, without its unsubscribe links, by the link that {{{VIEW_URL}}} became"},
		{OperationID: "head-view-email", Method: http.MethodHead, Summary: "Check the link of a mail in a browser"},
	} {
		op.Path, op.Tags = "/view/{token}", []string{"Hosted pages"}
		added := rest.RegisterRaw(h, rest.Route{Public: true, AnyHost: true, Refuse: p.refuse}, op, show)
		h.OnDocument(func(*openapi.Document) { documentPage(h, added) })
	}
}

// viewGone is the page for a mail that is not stored any more, or never was.
func viewGone(t *pageText) *hostedPage {
	return &hostedPage{status: http.StatusNotFound, Title: t.sharedGone, Heading: escaped(t.sharedGone), Lines: []markup{escaped(t.notFoundMore)}}
}

func writeView(x *rest.Exchange, m *mail.PreviewContent) {
	head, body := x.Header(), cmp.Or(m.HTML, m.Text)
	head.Set("Content-Type", "text/html; charset=utf-8")
	if m.HTML == "" {
		head.Set("Content-Type", "text/plain; charset=utf-8")
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Content-Security-Policy", viewPolicy)
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "private, no-store")
	head.Set("Referrer-Policy", "no-referrer") // the URL contains the token
	head.Set("X-Robots-Tag", "noindex, nofollow")
	x.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(x, body) // an error means that the connection is closed
}
