package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/sending/signup"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// The values of decisionInput: which button of a confirmation was pressed.
const (
	decideConfirm = "confirm"
	decideAgain   = "again" // confirm, and receive mail again after an unsubscribe
)

// refuseSuffix is the end of the address to refuse a sign-up.
const refuseSuffix = "/refuse"

type optInInput struct {
	Token    string `path:"token" doc:"The signed token of the link, which works for 7 days"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead of that of the mail, like de"`
}

// optInRoute builds a page of a confirmation.
type optInRoute func(ctx context.Context, x *rest.Exchange, in *optInInput) (*optInAnswer, error)

// optInPageBuilder makes a page of a confirmation in a language.
type optInPageBuilder func(v *shownOptIn, t *pageText) *hostedPage

// optInAnswer is a page of a confirmation, before its language is known.
type optInAnswer struct {
	view *signup.OptInView
	page optInPageBuilder
}

// shownOptIn is an opt-in at one of its two addresses.
type shownOptIn struct {
	*signup.OptInView
	root            string // leads to the root of the server
	confirm, refuse string // lead to the two pages
}

// at returns an opt-in at an address.
func (in *optInInput) at(pattern string, v *signup.OptInView) *shownOptIn {
	token, query := url.PathEscape(in.Token), ""
	if in.Language != "" {
		query = "?language=" + url.QueryEscape(in.Language)
	}
	if strings.HasSuffix(pattern, refuseSuffix) {
		return &shownOptIn{v, "../..", "../" + token + query, "refuse" + query}
	}
	return &shownOptIn{v, "..", token + query, token + refuseSuffix + query}
}

func (s *signUps) registerOptIns(h *rest.Handler) {
	const path = "/opt-in/{token}"
	s.addOptIn(http.MethodGet, path, "get-opt-in-page", "Show the page of a link in a mail that asks to confirm a sign-up", s.showOptIn(optInPage))
	s.addOptIn(http.MethodHead, path, "head-opt-in-page", "Check the page of a link in a mail that asks to confirm a sign-up", s.showOptIn(optInPage))
	s.addOptIn(http.MethodPost, path, "confirm-opt-in", "Confirm a sign-up, by a button of the page", s.confirm)
	s.addOptIn(http.MethodGet, path+refuseSuffix, "get-refuse-page", "Show the page to refuse a sign-up", s.showOptIn(refusePage))
	s.addOptIn(http.MethodHead, path+refuseSuffix, "head-refuse-page", "Check the page to refuse a sign-up", s.showOptIn(refusePage))
	s.addOptIn(http.MethodPost, path+refuseSuffix, "refuse-opt-in", "Refuse a sign-up, by the button of the page", s.refuseOptIn)
}

func (s *signUps) addOptIn(method, path, id, summary string, build optInRoute) {
	rt := rest.Route{Public: true, AnyHost: true, Refuse: s.refuse}
	if method == http.MethodPost {
		rt.Body, rt.MaxBody = true, maxSignUp
	}
	op := openapi.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Hosted pages"}}
	added := rest.RegisterRaw(s.h, rt, op, func(ctx context.Context, x *rest.Exchange, in *optInInput) (*rest.SelfWritten, error) {
		answer, err := build(ctx, x, in)
		if app.CodeOf(err) == app.CodePlanLimitReached {
			err = &app.Error{Code: app.CodeServiceUnavailable, Message: "The team has no room for more contacts", Err: err}
		}
		if err != nil {
			return &rest.SelfWritten{Body: func() { s.refuse(x, s.h.ErrorFor(x, err)) }}, nil
		}
		t := s.optInText(in, answer.view)
		return &rest.SelfWritten{Body: func() { s.write(x, answer.page(in.at(path, answer.view), t), t) }}, nil
	})
	s.h.OnDocument(func(doc *openapi.Document) { documentForm(doc, added) })
}

// optInText returns the texts in the language of the link, of the mail, or of the reader.
func (s *signUps) optInText(in *optInInput, v *signup.OptInView) *pageText {
	if in.Language == "" && v.Language != "" {
		return s.text(v.Language)
	}
	return s.textOf(&pageInput{Accepted: in.Accepted, Language: in.Language})
}

func (s *signUps) showOptIn(page optInPageBuilder) optInRoute {
	return func(ctx context.Context, x *rest.Exchange, in *optInInput) (*optInAnswer, error) {
		v, err := s.service.OptInPage(ctx, x.Host, in.Token)
		return &optInAnswer{v, page}, err
	}
}

// confirm stores what is on the page if one of its buttons was pressed.
func (s *signUps) confirm(ctx context.Context, x *rest.Exchange, in *optInInput) (*optInAnswer, error) {
	v, err := s.service.OptInPage(ctx, x.Host, in.Token)
	if err != nil {
		return nil, err
	}
	entered, err := readEntries(x)
	if err != nil {
		return nil, err
	}
	decision := entered.value(decisionInput)
	if decision != decideConfirm && decision != decideAgain {
		return &optInAnswer{v, optInPage}, nil // some scanners post forms without their buttons
	}
	t, fields := s.optInText(in, v), fieldsOf(v)
	after, err := s.service.Confirm(ctx, x.Host, in.Token, &signup.Decision{
		Values: entered.values(fields), Topics: entered.topics(v.Topics), Again: decision == decideAgain,
		Text: confirmedText(v, t, decision == decideAgain), Client: x.Address(), UserAgent: userAgent(x),
	})
	if app.CodeOf(err) == app.CodeValidation {
		d := &draft{entered: entered, faults: faultsOf(err, fields, entered, t.signUp)}
		return &optInAnswer{v, func(v *shownOptIn, t *pageText) *hostedPage { return pendingPage(v, t, d) }}, nil
	}
	return &optInAnswer{after, optInPage}, err
}

func (s *signUps) refuseOptIn(ctx context.Context, x *rest.Exchange, in *optInInput) (*optInAnswer, error) {
	by := app.Visitor{IP: addressText(x.Address()), UserAgent: userAgent(x)}
	v, err := s.service.Refuse(ctx, x.Host, in.Token, by)
	return &optInAnswer{v, optInPage}, err
}

// newOptInPage returns a page of a confirmation, and what its texts are filled with.
func newOptInPage(v *shownOptIn, title string) (*hostedPage, words) {
	w := words{team: v.Team, email: v.Email}
	page := newSignUpPage(w, title)
	page.Theme = themeBelow(v.root, &v.Brand)
	return page, w
}

// optInPage returns the page of an opt-in in its state.
func optInPage(v *shownOptIn, t *pageText) *hostedPage {
	switch v.Status {
	case app.OptInConfirmed:
		return confirmedPage(v, t)
	case app.OptInRefused:
		page, w := newOptInPage(v, t.signUp.refused)
		page.Lines = []markup{w.fill(t.signUp.refusedMore)}
		return page
	case app.OptInExpired:
		page, w := newOptInPage(v, t.signUp.expired)
		page.Lines = []markup{w.fill(t.signUp.expiredMore)}
		return page
	}
	return pendingPage(v, t, nil)
}

// pendingPage asks to confirm, with the values that were typed or those of a draft.
func pendingPage(v *shownOptIn, t *pageText, d *draft) *hostedPage {
	page, w := newOptInPage(v, t.signUp.confirm)
	page.Lines = []markup{w.fill(t.signUp.confirmMore)}
	if v.Unsubscribed {
		page.Notice = w.fill(t.signUp.off)
	}
	if len(v.Fields)+len(v.Topics) > 0 {
		page.Lines = append(page.Lines, escaped(t.signUp.editable))
	}
	if d == nil {
		d = &draft{entered: entries{}}
		for _, f := range v.Fields {
			d.entered[f.Name] = []string{f.Value}
		}
	} else {
		page.status = http.StatusUnprocessableEntity
	}
	form := formMarkup{text: t.signUp, draft: d, topics: v.Topics, fields: fieldsOf(v.OptInView)}
	page.Form = form.warning() + v.form() + form.inputs() + form.picks() +
		decisionButton(decideConfirm, "", escaped(t.signUp.confirmButton))
	if v.Unsubscribed {
		page.Form += decisionButton(decideAgain, "second", w.fill(t.signUp.again))
	}
	page.Form += "</form>\n"
	page.Links = []pageLink{{Address: v.refuse, Text: t.signUp.notMe}}
	return page
}

// confirmedPage is the last page. A person who is unsubscribed from everything can still decide to
// receive mail again.
func confirmedPage(v *shownOptIn, t *pageText) *hostedPage {
	page, w := newOptInPage(v, t.signUp.confirmed)
	page.Saved = w.fill(t.signUp.confirmedMore)
	switch {
	case v.Again:
		page.Lines = []markup{w.fill(t.signUp.againDone)}
	case v.Unsubscribed:
		page.Notice = w.fill(t.signUp.stillOff)
		page.Form = v.form() + decisionButton(decideAgain, "second", w.fill(t.signUp.again)) + "</form>\n"
	case v.Suppressed:
		page.Notice = w.fill(t.signUp.blocked)
	}
	if v.RedirectURL != "" {
		w.host = (&brand.Page{URL: v.RedirectURL}).Host()
		page.Links = []pageLink{{Address: v.RedirectURL, Text: w.plain(t.signUp.goOn), Foreign: true}}
	}
	return page
}

// refusePage asks whether the person did not sign up. Someone whose link is too old may refuse too.
func refusePage(v *shownOptIn, t *pageText) *hostedPage {
	if v.Status != app.OptInPending && v.Status != app.OptInExpired {
		return optInPage(v, t)
	}
	page, w := newOptInPage(v, t.signUp.refuse)
	page.Lines = []markup{w.fill(t.signUp.refuseMore)}
	page.Button = t.signUp.notMe
	if v.Status == app.OptInPending {
		page.Links = []pageLink{{Address: v.confirm, Text: t.signUp.goBack}}
	}
	return page
}

// form begins a form with decisions.
func (v *shownOptIn) form() markup {
	return "<form" + attributes("method", "post", "action", v.confirm, "accept-charset", "utf-8") + ">\n"
}

func decisionButton(decision, class string, label markup) markup {
	return "<button" + attributes("type", "submit", "name", decisionInput, "value", decision, given(class != "", "class"), class) + ">" + label + "</button>\n"
}

func fieldsOf(v *signup.OptInView) []signup.FormField {
	out := make([]signup.FormField, len(v.Fields))
	for i := range v.Fields {
		out[i] = v.Fields[i].FormField
	}
	return out
}

// confirmedText returns the text of a confirmation, which the consent record keeps.
func confirmedText(v *signup.OptInView, t *pageText, again bool) string {
	w, s := words{team: v.Team, email: v.Email}, t.signUp
	lines := append([]string{w.plain(s.confirm), w.plain(s.confirmMore)}, topicLines(v.Topics, s)...)
	if v.Unsubscribed {
		lines = append(lines, w.plain(s.off))
	}
	button := s.confirmButton
	if again {
		button = s.again
	}
	return strings.Join(slices.Concat(lines, []string{"[" + w.plain(button) + "]"}), "\n")
}
