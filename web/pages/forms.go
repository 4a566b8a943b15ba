package pages

import (
	"cmp"
	"context"
	_ "embed"
	"net/http"
	"strings"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

//go:embed forms.css
var formStyle string

const (
	// maxSignUp bounds the body of a submission and of a decision, in bytes.
	maxSignUp = 16 << 10
	// maxUserAgent bounds what is stored of the header, in bytes.
	maxUserAgent = 500
	// maxPage bounds a page of a form, in bytes, as far as names allow it.
	maxPage = 20 << 10
)

// SignUps is the service of sign-up forms and confirmations. host is the Host header of the request.
type SignUps interface {
	FormPage(ctx context.Context, host, formID string) (*signup.FormView, error)
	NewChallenge(ctx context.Context, host, formID string) (signup.Challenge, error)
	Submit(ctx context.Context, host string, in *signup.Submission) (*signup.Submitted, error)
	OptInPage(ctx context.Context, host, token string) (*signup.OptInView, error)
	Confirm(ctx context.Context, host, token string, d *signup.Decision) (*signup.OptInView, error)
	Refuse(ctx context.Context, host, token string, by app.Visitor) (*signup.OptInView, error)
}

// signUps serves forms and confirmations. No branch depends on whether the server knows an address.
type signUps struct {
	*pages
	service SignUps
}

type formInput struct {
	Form     string `path:"form" doc:"The id of the form. For GET also the id and .js: the script for a form in another site"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead, like de; a form with a language of its own is shown in that"`
}

// formRoute builds the answer of a route of a form.
type formRoute func(ctx context.Context, x *rest.Exchange, in *formInput, v *signup.FormView, t *pageText) (write func(), err error)

func registerForms(h *rest.Handler, service SignUps, p *pages) {
	s := &signUps{pages: p, service: service}
	s.addForm(http.MethodGet, "/f/{form}", "get-form-page", "Show the page of a sign-up form, or get its script", s.showForm)
	s.addForm(http.MethodHead, "/f/{form}", "head-form-page", "Check the page of a sign-up form", s.showForm)
	s.addForm(http.MethodPost, "/f/{form}", "submit-form", "Sign up through a form. The answer is the same for all addresses", s.submitForm)
	s.addForm(http.MethodOptions, "/f/{form}", "preflight-form", "Ask whether another site's script may submit a form", preflight)
	s.addForm(http.MethodGet, "/f/{form}/challenge", "get-form-challenge", "Get a task that a browser solves before it submits a form", s.challenge)
	s.addForm(http.MethodOptions, "/f/{form}/challenge", "preflight-form-challenge", "Ask whether another site's script may get a task of a form", preflight)
	s.registerOptIns(h)
}

// addForm registers a route of a form.
func (s *signUps) addForm(method, path, id, summary string, build formRoute) {
	rt := rest.Route{Public: true, AnyHost: true, Refuse: s.refuseSubmission}
	if method == http.MethodPost {
		rt.Body, rt.MaxBody = true, maxSignUp
		rt.Precheck = func(_ context.Context, _ *rest.Exchange, param func(string) string) error {
			if _, ok := app.ParseID(param("form")); !ok {
				return app.NotFound("form")
			}
			return nil
		}
	}
	op := openapi.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Hosted pages"}}
	added := rest.RegisterRaw(s.h, rt, op, func(ctx context.Context, x *rest.Exchange, in *formInput) (*rest.SelfWritten, error) {
		write, err := s.answerForm(ctx, x, in, build)
		if err != nil {
			write = func() { s.refuseSubmission(x, s.h.ErrorFor(x, err)) }
		}
		return &rest.SelfWritten{Body: write}, nil
	})
	s.h.OnDocument(func(doc *openapi.Document) { documentForm(doc, added) })
}

func (s *signUps) answerForm(ctx context.Context, x *rest.Exchange, in *formInput, build formRoute) (func(), error) {
	id, ok := app.ParseID(strings.TrimSuffix(in.Form, scriptSuffix))
	if !ok {
		return nil, app.NotFound("form")
	}
	v, err := s.service.FormPage(ctx, x.Host, id)
	if err != nil {
		return nil, err
	}
	allowOrigin(x, v.Form.AllowedOrigins)
	t := s.textOf(&pageInput{Accepted: in.Accepted, Language: in.Language})
	if v.Form.Language != "" {
		t = s.text(v.Form.Language)
	}
	return build(ctx, x, in, v, t)
}

// showForm answers with the page of a form, or with its script.
func (s *signUps) showForm(_ context.Context, x *rest.Exchange, in *formInput, v *signup.FormView, t *pageText) (func(), error) {
	if strings.HasSuffix(in.Form, scriptSuffix) {
		return func() { writeScript(x) }, nil
	}
	return func() { s.write(x, formPage(v, t, nil), t) }, nil
}

// submitForm hands a submission to the service.
func (s *signUps) submitForm(ctx context.Context, x *rest.Exchange, _ *formInput, v *signup.FormView, t *pageText) (func(), error) {
	entered, err := readEntries(x)
	if err != nil {
		return nil, err
	}
	asJSON := isJSON(x.RequestHeader)
	in := entered.submission(v)
	in.FormID, in.Language, in.Text = v.Form.ID, t.lang, shownText(v, t)
	in.Client, in.UserAgent = x.Address(), userAgent(x)
	done, err := s.service.Submit(ctx, x.Host, in)
	if app.CodeOf(err) == app.CodeValidation {
		faults := faultsOf(err, v.Fields, entered, t.signUp)
		if asJSON {
			return func() { writeJSON(x, http.StatusUnprocessableEntity, newFormError(faults, t)) }, nil
		}
		page := formPage(v, t, &draft{entered: entered, faults: faults})
		return func() { s.write(x, page, t) }, nil
	}
	switch {
	case err != nil:
		return nil, err
	case asJSON:
		return func() { writeJSON(x, http.StatusOK, newFormAnswer(done, t)) }, nil
	case done.Button != "":
		return func() { s.write(x, buttonPage(v, t, in, done.Button), t) }, nil
	}
	return func() { s.write(x, submittedPage(v, t, done.Single), t) }, nil
}

// userAgent returns the User-Agent header as it can be stored.
func userAgent(x *rest.Exchange) string {
	text := x.RequestHeader.Get("User-Agent")
	return strings.ToValidUTF8(text[:min(len(text), maxUserAgent)], "")
}

// draft is what a person typed into a form that is shown again.
type draft struct {
	entered entries
	faults  map[string]string // texts by the names of inputs
}

// newSignUpPage returns a page of a team.
func newSignUpPage(w words, title string) *hostedPage {
	return &hostedPage{status: http.StatusOK, Title: w.plain(title), Team: legible(w.team), Mark: mark(legible(w.team)),
		Heading: w.fill(title), Style: formStyle}
}

// formPage returns the page of a form, with the errors of a draft; nil: an empty form.
func formPage(v *signup.FormView, t *pageText, d *draft) *hostedPage {
	w := words{team: v.Team}
	page := newSignUpPage(w, t.signUp.heading)
	page.Theme, page.Listed, page.Script = themeOf(&v.Brand), true, v.Form.ID+scriptSuffix
	page.Lines = []markup{w.fill(introOf(v, t.signUp))}
	if d == nil {
		d = &draft{}
	} else {
		page.status, page.Listed = http.StatusUnprocessableEntity, false
	}
	form := formMarkup{text: t.signUp, draft: d, topics: v.Topics, fields: v.Fields, opened: cmp.Or(d.entered.value(openedInput), v.Opened)}
	page.Form = form.signUp()
	if len(page.Form) > maxPage-len(pageStyle)-len(formStyle)-len(page.Theme.style)-1<<10 {
		form.short = true
		page.Form = form.signUp()
	}
	return page
}

// introOf returns what is said above a form.
func introOf(v *signup.FormView, t *signUpText) string {
	if v.Form.Confirm == app.SingleOptIn {
		return t.introSingle
	}
	return t.intro
}

// shownText returns the text of a form, which a consent record keeps.
func shownText(v *signup.FormView, t *pageText) string {
	w, s := words{team: v.Team}, t.signUp
	lines := []string{w.plain(s.heading), w.plain(introOf(v, s))}
	return strings.Join(append(lines, append(topicLines(v.Topics, s), s.leave, "["+s.submit+"]")...), "\n")
}

// topicLines returns the topics as a consent record keeps them.
func topicLines(topics []signup.FormTopic, t *signUpText) []string {
	if len(topics) == 0 {
		return nil
	}
	lines := []string{t.choose}
	for i := range topics {
		lines = append(lines, "- "+legible(topics[i].Name))
	}
	return lines
}

// submittedPage is the page after each submission.
func submittedPage(v *signup.FormView, t *pageText, single bool) *hostedPage {
	title, lines := submittedText(t.signUp, single)
	page := newSignUpPage(words{team: v.Team}, title)
	page.Theme = themeOf(&v.Brand)
	for _, line := range lines {
		page.Lines = append(page.Lines, escaped(line))
	}
	return page
}

// submittedText returns what is said after each submission.
func submittedText(t *signUpText, single bool) (title string, lines []string) {
	if single {
		return t.received, []string{t.receivedMore, t.leave}
	}
	return t.sent, []string{t.sentMore, t.askedBefore}
}

// buttonPage submits the same again with the token of its button, which appears after five seconds.
func buttonPage(v *signup.FormView, t *pageText, in *signup.Submission, token string) *hostedPage {
	page := newSignUpPage(words{team: v.Team}, t.signUp.oneMore)
	page.Theme = themeOf(&v.Brand)
	page.Lines = []markup{escaped(t.signUp.oneMoreMore)}
	page.Form = repeatedForm(in, token, t.signUp)
	return page
}
