package pages

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// sharedPolicy is the Content-Security-Policy of a shared email's content: nothing runs, nothing is
// fetched, and only own pages may frame it.
const sharedPolicy = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"

// registerShares adds the page of a shared email, and the content of its frame.
func registerShares(h *rest.Handler, shares *mail.Shares, p *pages) {
	show := func(ctx context.Context, _ *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error) {
		email, err := shares.SharedEmail(ctx, in.Token)
		if err != nil {
			return nil, err
		}
		return sharedPage(email, in, t), nil
	}
	p.add(http.MethodGet, "/shared/{token}", "get-shared-email", "Show an email by its public link", show, "")
	p.add(http.MethodHead, "/shared/{token}", "head-shared-email", "Check the public link of an email", show, "")
	op := openapi.Operation{OperationID: "get-shared-email-body", Method: http.MethodGet, Path: "/shared/{token}/body",
		Summary: "Get what an email says by its public link, as the page of the link shows it", Tags: []string{"Hosted pages"}}
	added := rest.RegisterRaw(h, rest.Route{Public: true, Refuse: p.refuse}, op, func(ctx context.Context, x *rest.Exchange, in *pageInput) (*rest.SelfWritten, error) {
		if !rest.Framed(x.RequestHeader) {
			return &rest.SelfWritten{Body: func() { redirectToFrame(x, in.Token) }}, nil
		}
		email, err := shares.SharedEmail(ctx, in.Token)
		if err != nil {
			t := p.textOf(in)
			page := errorPage(h.ErrorFor(x, err), t)
			if page.status == http.StatusNotFound {
				page = sharedGone(t)
			}
			return &rest.SelfWritten{Body: func() { p.write(x, page, t) }}, nil
		}
		return &rest.SelfWritten{Body: func() { writeShared(x, email, in.Images != "") }}, nil
	})
	h.OnDocument(func(*openapi.Document) { documentPage(h, added) })
}

// sharedPage is a shared email: its sender and visible recipients, and a frame with its content.
// Bcc recipients are not shown.
func sharedPage(email *app.Email, in *pageInput, t *pageText) *hostedPage {
	title := legible(email.Subject)
	page := &hostedPage{status: http.StatusOK, Title: title, Heading: "<bdi>" + escaped(title) + "</bdi>", Frame: in.Token + "/body"}
	switch {
	case in.Images != "":
		page.Frame += "?images=true"
	case htmltext.RemoteImages(email.HTML) > 0:
		page.Links = []pageLink{{Address: "?images=true", Text: t.showImages}}
	}
	to := make([]string, len(email.To))
	for i, address := range email.To {
		to[i] = address.String()
	}
	page.Facts = []pageFact{{t.from, email.From.String()}, {t.to, strings.Join(to, ", ")}, {t.date, email.CreatedAt.UTC().Format(t.dateForm)}}
	return page
}

// sharedGone is the page for a link that has expired or never existed.
func sharedGone(t *pageText) *hostedPage {
	return &hostedPage{status: http.StatusNotFound, Title: t.sharedGone, Heading: escaped(t.sharedGone), Lines: []markup{escaped(t.sharedGoneMore)}}
}

// redirectToFrame redirects a browser that opens the content directly to the page that names its
// sender.
func redirectToFrame(x *rest.Exchange, token string) {
	head := x.Header()
	head.Set("Location", "../"+token)
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	x.WriteHeader(http.StatusSeeOther)
}

func writeShared(x *rest.Exchange, email *app.Email, images bool) {
	policy := sharedPolicy
	if images {
		policy = strings.Replace(policy, "img-src data:", "img-src data: https: http:", 1)
	}
	head, body := x.Header(), htmltext.DisableLinkElements(email.HTML)
	head.Set("Content-Type", "text/html; charset=utf-8")
	if body == "" {
		body = email.Text
		head.Set("Content-Type", "text/plain; charset=utf-8")
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Content-Security-Policy", policy)
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-DNS-Prefetch-Control", "off")
	head.Set("X-Robots-Tag", "noindex, nofollow")
	x.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(x, body) // an error means that the connection is closed
}
