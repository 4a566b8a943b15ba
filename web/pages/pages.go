// Package pages serves the pages for recipients of mail: hosted pages to unsubscribe and to choose
// topics, in the reader's language, and the URLs of opens and clicks. Only web imports it.
//
// Failure policy: errors are pages too, and tell only what helps the reader; the log has the rest.
package pages

import (
	"cmp"
	"context"
	_ "embed"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/sending/archive"
	"mailer/app/sending/mail"
	"mailer/app/sending/mailroutes"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/images"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

//go:embed page.css
var pageStyle string

const (
	// maxForm bounds the body of a form, in bytes: some 700 topics.
	maxForm = 64 << 10
	// maxAcceptLanguage bounds the header, in bytes; browsers send less than a hundred.
	maxAcceptLanguage = 1 << 10
	// pageRetryAfter is the Retry-After of a 503, in seconds.
	pageRetryAfter = "60"
	// shownTopic is the form field that lists the topics of the form, since browsers send nothing
	// for unchecked boxes.
	shownTopic = "topic"
)

// pages answers in HTML, errors included, in the reader's language. The token in the path is the
// only secret, so a POST needs no cookie and may come from any site: mail providers send it from
// servers (RFC 8058).
type pages struct {
	h       *rest.Handler
	service *audience.Pages
	matcher language.Matcher
	texts   []*pageText // in the order of the matcher's tags
}

// hostedPage is the content of a page. Names in it are foreign input: fill or render escapes them.
type hostedPage struct {
	status   int
	Title    string
	Team     string
	Mark     string // the first letter of Team; empty: none
	Theme    theme
	Heading  markup
	Saved    markup // what was done; empty: nothing
	Notice   markup
	Lines    []markup
	Own      []string // the team's own text, by line
	Target   string   // a URL that is shown as text; empty: none
	Legend   string   // of Topics
	Topics   []app.ContactTopic
	Button   string // empty: no form
	Form     markup // in place of the form with Button
	Style    string // CSS after the common style
	Script   string // an own URL; empty: no script runs
	Listed   bool   // search engines may list the page
	Links    []pageLink
	Facts    []pageFact
	Head     markup        // instead of the tag that keeps search engines away
	Articles []pageArticle // of a list
	Frame    string        // an own URL that is shown in a frame; empty: none
}

// pageFact is a header line of an email.
type pageFact struct{ Name, Value string }

// pageArticle is a row of a list of texts on other pages.
type pageArticle struct {
	Address, Title, Text string
	Date, Time           string // as it is shown, and as a date of HTML; empty: none
}

type pageLink struct {
	Address, Text string
	Foreign       bool // another site: it must not learn the page's URL
}

type pageInput struct {
	Token    string `path:"token" doc:"The signed token of the link; it never expires"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead, like de"`
	Images   string `query:"images" enum:"true" doc:"Of a shared email: have its pictures loaded from where they are"`
}

// pageBuilder makes a page in a language.
type pageBuilder func(ctx context.Context, x *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error)

func newPages(h *rest.Handler, service *audience.Pages) *pages {
	texts := pageTexts()
	tags := make([]language.Tag, len(texts))
	for i := range texts {
		tags[i] = language.MustParse(texts[i].lang)
	}
	return &pages{h: h, service: service, matcher: language.NewMatcher(tags), texts: texts}
}

// Register adds the hosted pages, sign-up forms, archives, shared emails, mails in a browser, tracking URLs and logos. It
// returns the error page, and the page at the root of hosts for pages.
func Register(h *rest.Handler, service *audience.Pages, forms SignUps, opens *mail.Service, shares *mail.Shares, views *mail.Views, logos *teams.Brands, images *images.Service, archives *archive.Service, forwarding *mailroutes.Service) rest.Browsers {
	p := newPages(h, service)
	registerForms(h, forms, p)
	p.add(http.MethodGet, "/unsubscribe/{token}", "get-unsubscribe-page", "Show the page of an unsubscribe link", p.askUnsubscribe, "")
	p.add(http.MethodHead, "/unsubscribe/{token}", "head-unsubscribe-page", "Check an unsubscribe link", p.askUnsubscribe, "")
	p.add(http.MethodPost, "/unsubscribe/{token}", "unsubscribe", "Unsubscribe, by the page's button or in one click (RFC 8058)", p.unsubscribe, app.UnsubscribePage)
	p.add(http.MethodGet, "/preferences/{token}", "get-preferences-page", "Show the page of a preferences link", p.showPreferences, "")
	p.add(http.MethodHead, "/preferences/{token}", "head-preferences-page", "Check a preferences link", p.showPreferences, "")
	p.add(http.MethodPost, "/preferences/{token}", "save-preferences", "Save the choices of a preferences page", p.savePreferences, app.PreferencesPage)
	registerTracking(h, opens, p)
	registerShares(h, shares, p)
	registerViews(h, views, p)
	registerForwarding(h, forwarding, p)
	pictures{h, logos, images}.add()
	return rest.Browsers{ErrorPage: p.refuse, PagesHome: registerArchives(h, archives, p)}
}

// add registers a page. The route writes its answer itself, so that pages and earlier errors look
// the same. form names what the token of a page with a form must be for: without a valid token the
// form is not read.
func (p *pages) add(method, path, id, summary string, build pageBuilder, form string) {
	rt := rest.Route{Public: true, AnyHost: !strings.HasPrefix(path, "/shared/"), Refuse: p.refuse}
	if form != "" {
		rt.Body, rt.MaxBody = true, maxForm
		rt.Precheck = func(_ context.Context, _ *rest.Exchange, param func(string) string) error {
			if p.service.OpensPage(form, param("token")) {
				return nil
			}
			return rest.NewError(app.CodeNotFound, "There is no such page")
		}
	}
	op := openapi.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Hosted pages"}}
	added := rest.RegisterRaw(p.h, rt, op, func(ctx context.Context, x *rest.Exchange, in *pageInput) (*rest.SelfWritten, error) {
		t := p.textOf(in)
		page, err := build(ctx, x, in, t)
		if err != nil {
			page = errorPage(p.h.ErrorFor(x, err), t)
			if !rt.AnyHost && page.status == http.StatusNotFound {
				page = sharedGone(t)
			}
		}
		return &rest.SelfWritten{Body: func() { p.write(x, page, t) }}, nil
	})
	p.h.OnDocument(func(*openapi.Document) { documentPage(p.h, added) })
}

// textOf returns the texts of the language in the link, or of the reader's.
func (p *pages) textOf(in *pageInput) *pageText { return p.text(cmp.Or(in.Language, in.Accepted)) }

// text returns the texts of the best accepted language, or English.
func (p *pages) text(acceptLanguage string) *pageText {
	if len(acceptLanguage) > maxAcceptLanguage {
		return p.texts[0]
	}
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return p.texts[0]
	}
	_, i, _ := p.matcher.Match(wanted...)
	return p.texts[i]
}

// refuse answers with an error page.
func (p *pages) refuse(x *rest.Exchange, e *rest.Error) {
	t := p.text(x.RequestHeader.Get("Accept-Language"))
	p.write(x, errorPage(e, t), t)
}

// write answers with a page. net/http omits the body for HEAD.
func (p *pages) write(x *rest.Exchange, page *hostedPage, t *pageText) {
	style := pageStyle + page.Style + page.Theme.style
	body := page.render(t.lang, markup(style))
	head := x.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Language", t.lang)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Content-Security-Policy", page.policy(style))
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer") // the URL contains the token
	head.Add("Vary", "Accept-Language")
	if !page.Listed {
		head.Set("X-Robots-Tag", "noindex, nofollow")
	}
	if page.status == http.StatusServiceUnavailable && head.Get("Retry-After") == "" {
		head.Set("Retry-After", pageRetryAfter)
	}
	x.WriteHeader(page.status)
	_, _ = io.WriteString(x, body) // an error means that the connection is closed
}

func (p *pages) askUnsubscribe(ctx context.Context, _ *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error) {
	token := in.Token
	v, err := p.service.UnsubscribePage(ctx, token)
	if err != nil {
		return nil, err
	}
	if v.Unsubscribed || v.Topic != nil && v.Topic.Subscription == app.OptOut {
		return unsubscribedPage(v, t), nil
	}
	return askPage(v, t), nil
}

func (p *pages) unsubscribe(ctx context.Context, _ *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error) {
	token := in.Token
	v, err := p.service.Unsubscribe(ctx, token)
	if err != nil {
		return nil, err
	}
	return unsubscribedPage(v, t), nil
}

func (p *pages) showPreferences(ctx context.Context, _ *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error) {
	token := in.Token
	v, err := p.service.PreferencesPage(ctx, token)
	if err != nil {
		return nil, err
	}
	return preferencesPage(v, t), nil
}

func (p *pages) savePreferences(ctx context.Context, x *rest.Exchange, in *pageInput, t *pageText) (*hostedPage, error) {
	token := in.Token
	choices, err := formChoices(x.Body)
	if err != nil {
		return nil, err
	}
	v, err := p.service.SavePreferences(ctx, token, choices, x.Client().String())
	if err != nil {
		return nil, err
	}
	page := preferencesPage(v, t)
	if len(choices) > 0 {
		page.Saved = fill(t.saved, v)
	}
	return page, nil
}

// formChoices reads the choices of a form: a topic that was shown is opted out of unless its box is
// checked. Topics that were not shown are unchanged. Errors: CodeInvalidPayload.
func formChoices(body []byte) (map[string]app.Subscription, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, rest.NewError(app.CodeInvalidPayload, "The request body is not a form")
	}
	choices := map[string]app.Subscription{}
	for _, shown := range form[shownTopic] {
		if id, ok := app.ParseID(shown); ok {
			choices[id] = app.OptOut
		}
	}
	for name, values := range form {
		id, ok := app.ParseID(name)
		for _, value := range values {
			choice := app.Subscription(value)
			if ok && (choice == app.OptIn || choice == app.OptOut) {
				choices[id] = choice
			}
		}
	}
	return choices, nil
}

func newPage(v *audience.PageView, title string) *hostedPage {
	team := legible(v.Team)
	return &hostedPage{status: http.StatusOK, Title: title, Team: team, Mark: mark(team), Theme: themeOf(&v.Brand)}
}

func askPage(v *audience.PageView, t *pageText) *hostedPage {
	page := newPage(v, t.unsubscribe)
	page.Button = t.unsubscribe
	page.Own = linesOf(ownText(v, t).Unsubscribe)
	page.Links = linkToPreferences(v, t)
	if v.Topic != nil {
		page.Heading = fill(t.askTopic, v)
		page.Lines = []markup{fill(t.askTopicMore, v)}
		return page
	}
	page.Heading = fill(t.askAll, v)
	page.Lines = []markup{fill(t.askAllMore, v), fill(t.stillReach, v)}
	return page
}

func unsubscribedPage(v *audience.PageView, t *pageText) *hostedPage {
	page := newPage(v, t.done)
	page.Heading = fill(t.done, v)
	own := ownText(v, t)
	page.Own = linesOf(own.Unsubscribed)
	if v.AfterUnsubscribe != "" {
		host := (&brand.Page{URL: v.AfterUnsubscribe}).Host()
		page.Links = append(page.Links, pageLink{Address: v.AfterUnsubscribe, Text: legible(cmp.Or(own.Link, host)), Foreign: true})
	}
	page.Links = append(page.Links, linkToPreferences(v, t)...)
	if v.Topic != nil && !v.Unsubscribed {
		page.Saved = fill(t.doneTopic, v)
		return page
	}
	page.Saved = fill(t.doneAll, v)
	page.Lines = []markup{fill(t.stillReach, v)}
	return page
}

// ownText returns the team's own texts in the language of the page.
func ownText(v *audience.PageView, t *pageText) brand.PageText {
	own := v.Brand.HostedPage()
	return own.TextIn(t.lang)
}

// linesOf splits a text into its lines; none if it is empty.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func linkToPreferences(v *audience.PageView, t *pageText) []pageLink {
	if v.Preferences == "" {
		return nil
	}
	return []pageLink{{Address: "../preferences/" + v.Preferences, Text: t.preferencesLink}}
}

func preferencesPage(v *audience.PageView, t *pageText) *hostedPage {
	page := newPage(v, t.preferences)
	page.Heading = fill(t.preferences, v)
	page.Own = linesOf(ownText(v, t).Preferences)
	if v.Unsubscribed {
		page.Notice = fill(t.allOff, v)
	}
	if !v.Unsubscribed && v.UnsubscribeAll != "" {
		page.Links = []pageLink{{Address: "../unsubscribe/" + v.UnsubscribeAll, Text: t.allLink}}
	}
	if len(v.Topics) == 0 {
		page.Lines = []markup{fill(t.noTopics, v)}
		return page
	}
	page.Lines = []markup{fill(t.choose, v)}
	if v.Unsubscribed {
		page.Lines[0] = fill(t.allOffMore, v)
	}
	page.Legend, page.Button = t.topics, t.save
	page.Topics = make([]app.ContactTopic, len(v.Topics))
	for i, topic := range v.Topics {
		topic.Name, topic.Description = legible(topic.Name), legible(topic.Description)
		page.Topics[i] = topic
	}
	return page
}

// errorPage tells only what helps the reader: the log has the rest.
func errorPage(e *rest.Error, t *pageText) *hostedPage {
	heading, line := t.later, t.laterMore
	switch e.StatusCode {
	case http.StatusNotFound:
		heading, line = t.notFound, t.notFoundMore
	case http.StatusTooManyRequests:
		heading, line = t.often, t.oftenMore
	case http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		heading, line = t.unclear, t.unclearMore
	}
	v := &audience.PageView{}
	return &hostedPage{status: e.StatusCode, Title: heading, Heading: fill(heading, v), Lines: []markup{fill(line, v)}}
}

// fill inserts the names into a text. Each is in an element of its own that isolates its writing
// direction.
func fill(text string, v *audience.PageView) markup {
	topic := ""
	if v.Topic != nil {
		topic = v.Topic.Name
	}
	return markup(strings.NewReplacer("{team}", isolated(v.Team), "{topic}", isolated(topic)).
		Replace(html.EscapeString(text)))
}

func isolated(name string) string {
	return "<bdi>" + html.EscapeString(legible(name)) + "</bdi>"
}

// legible removes control characters, including bidirectional ones, which would affect the text
// around a name.
func legible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name)
}

// mark returns the letter shown for a team without a logo.
func mark(team string) string {
	for _, r := range team {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return ""
}

// documentPage documents what a page takes and answers.
func documentPage(h *rest.Handler, op *openapi.Operation) {
	page := map[string]*openapi.MediaType{"text/html": {Schema: &openapi.Schema{Type: openapi.TypeString}}}
	statuses := []int{http.StatusOK, http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if strings.HasSuffix(op.Path, "/body") {
		statuses = append(statuses, http.StatusSeeOther)
	}
	switch op.Method {
	case http.MethodHead:
		page = nil
	case http.MethodPost:
		op.RequestBody = pageForm(h, op.Path)
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge)
		if strings.HasPrefix(op.Path, "/preferences") {
			statuses = append(statuses, http.StatusTooManyRequests)
		}
	}
	op.Responses = map[string]*openapi.Response{}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &openapi.Response{Description: http.StatusText(status), Content: page}
	}
}

// pageForm is the schema of a page's form. Fields named after topics are described in text:
// generators have no schema for them.
func pageForm(h *rest.Handler, path string) *openapi.RequestBody {
	if strings.HasPrefix(path, "/preferences") {
		form := h.Component("PreferencesForm", &openapi.Schema{
			Type:        openapi.TypeObject,
			Description: "One field per topic, named by its id: " + string(app.OptIn) + " or " + string(app.OptOut),
			Properties: map[string]*openapi.Schema{shownTopic: {
				Type: openapi.TypeArray, Items: &openapi.Schema{Type: openapi.TypeString, Format: "uuid"},
				Description: "The topics of the form; those without a choice are opted out of",
			}},
		})
		return &openapi.RequestBody{Content: map[string]*openapi.MediaType{"application/x-www-form-urlencoded": {Schema: form}}}
	}
	if strings.HasPrefix(path, "/forwarding") {
		form := h.Component("ForwardingForm", &openapi.Schema{Type: openapi.TypeObject, Properties: map[string]*openapi.Schema{
			forwardingInput: {Type: openapi.TypeString, Enum: []any{decideAgree, decideStop}, Description: "Which button was pressed; without it nothing changes"},
		}})
		return &openapi.RequestBody{Content: map[string]*openapi.MediaType{"application/x-www-form-urlencoded": {Schema: form}}}
	}
	form := &openapi.MediaType{Schema: h.Component("UnsubscribeForm", &openapi.Schema{
		Type: openapi.TypeObject, Description: "Whatever it says, the request unsubscribes",
		Properties: map[string]*openapi.Schema{"List-Unsubscribe": {Type: openapi.TypeString, Examples: []any{"One-Click"}}},
	})}
	return &openapi.RequestBody{Content: map[string]*openapi.MediaType{
		"application/x-www-form-urlencoded": form, "multipart/form-data": form,
	}}
}
