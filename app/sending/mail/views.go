package mail

import (
	"context"
	"regexp"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/htmltext"
	"mailer/app/kit/membudget"
	"mailer/app/rules/tracking"
	"mailer/db"
)

// Views implements the pages that show a mail in a browser, which {{{VIEW_URL}}} leads to. They work
// as long as the content is stored.
type Views struct{ service *Service }

// ViewMail returns the content of the mail that a token names, as its recipients got it, without
// links to unsubscribe and without tracking. Error: CodeNotFound for an invalid token, deleted
// content, an erased or suppressed recipient, and a suspended team.
func (v *Views) ViewMail(ctx context.Context, token string) (*PreviewContent, error) {
	s := v.service
	teamID, id, ok := s.Sealer.ReadViewToken(token)
	if !ok {
		return nil, app.NotFound("page")
	}
	email, err := s.GetEmail(ctx, &app.Key{TeamID: teamID}, id)
	if err == nil {
		err = v.mayShow(ctx, email)
	}
	if err != nil {
		return nil, base.Lookup("page", hideSharedError(err))
	}
	if err := membudget.Reserve(ctx, 2*int64(len(email.HTML)+len(email.Text))); err != nil { // for the copies below
		return nil, err
	}
	content, text := withoutOptOuts(email)
	content, err = s.inlineImages(ctx, db.FilesOf(teamID, id, email.Attachments), htmltext.DisableLinkElements(content))
	return &PreviewContent{HTML: content, Text: text}, err
}

// mayShow returns CodeNotFound if a mail is not shown any more.
func (v *Views) mayShow(ctx context.Context, email *app.Email) error {
	if !email.ContentDeletedAt.IsZero() || isErased(email) {
		return app.NotFound("page")
	}
	return v.service.DB.Read(ctx, func(r *db.Reader) error {
		suspended, err := r.IsSuspended(email.TeamID)
		if err != nil {
			return err
		}
		recipients := envelopeOf(email)
		hashes := make([]app.AddressHash, len(recipients))
		for i, address := range recipients {
			hashes[i] = v.service.Sealer.AddressHash(email.TeamID, app.KeyOf(address))
		}
		suppressed, err := r.Suppressions(email.TeamID, hashes)
		if err == nil && (suspended || len(suppressed) >= len(recipients)) {
			err = app.NotFound("page")
		}
		return err
	})
}

// optOutPage matches URLs of hosted pages for unsubscribing and preferences, on any host: the base
// URL may have changed since the mail was sent. A token has 108 characters.
var optOutPage = regexp.MustCompile(`https?://[^\s"'<>()]+/(?:unsubscribe|preferences)/[A-Za-z0-9_-]{108}`)

// withoutOptOuts returns the final bodies of a mail, in which URLs of hosted pages for unsubscribing,
// and links to the URL of the List-Unsubscribe header, lead nowhere.
func withoutOptOuts(email *app.Email) (html, text string) {
	m, listed := email.FinalMail(), tracking.UnsubscribeTargets(email.Headers)
	html, text = optOutPage.ReplaceAllString(m.HTML, "#"), optOutPage.ReplaceAllString(m.Text, "")
	found := tracking.ScanLinks(html, func(target string) bool { return listed[target] })
	return found.Rewrite(html, func(string) string { return "#" }, ""), text
}
