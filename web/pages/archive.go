package pages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/sending/archive"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

const (
	// issuePolicy is the Content-Security-Policy of an issue.
	issuePolicy = "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; " +
		"img-src https: data:; font-src https:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
	// archiveMaxAge is how long caches keep pages and feeds of archives, in seconds.
	archiveMaxAge = 300
)

type archiveInput struct {
	Topic    string `path:"topic" doc:"The id of the topic" format:"uuid"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead, like de"`
	Older    string `query:"older" doc:"Show what was sent before the issue with this id" format:"uuid"`
}

type feedInput struct {
	Topic string `path:"topic" doc:"The id of the topic" format:"uuid"`
}

type issueInput struct {
	Topic    string `path:"topic" doc:"The id of the topic" format:"uuid"`
	Issue    string `path:"issue" doc:"The id of the issue" format:"uuid"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead, like de"`
}

// archives serves the archives of topics.
type archives struct {
	*pages
	service *archive.Service
}

// registerArchives adds the pages and feeds of archives. It returns the page of the root of a host for
// pages.
func registerArchives(h *rest.Handler, service *archive.Service, p *pages) (home func(*rest.Exchange, *http.Request)) {
	a := &archives{p, service}
	archiveRoute(a, "/a/{topic}", "archive-page", "Show the archive of a topic", false, a.list)
	archiveRoute(a, "/a/{topic}/{issue}", "archive-issue", "Show an issue of an archive", false, a.issue)
	archiveRoute(a, "/a/{topic}/feed.xml", "archive-rss", "Get an archive as a feed (RSS 2.0)", true, a.rss)
	archiveRoute(a, "/a/{topic}/feed.json", "archive-json-feed", "Get an archive as a feed (JSON Feed 1.1)", true, a.jsonFeed)
	return a.home
}

// archiveRoute adds a page for GET and HEAD.
func archiveRoute[I any](a *archives, path, id, summary string, priority bool, show func(ctx context.Context, x *rest.Exchange, in *I) (func(), error)) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		op := openapi.Operation{OperationID: strings.ToLower(method) + "-" + id, Method: method, Path: path, Summary: summary, Tags: []string{"Hosted pages"}}
		added := rest.RegisterRaw(a.h, rest.Route{Public: true, AnyHost: true, Quiet: true, Priority: priority, Refuse: a.refuse}, op, func(ctx context.Context, x *rest.Exchange, in *I) (*rest.SelfWritten, error) {
			body, err := show(ctx, x, in)
			if err != nil {
				return &rest.SelfWritten{Body: func() { a.refuse(x, a.h.ErrorFor(x, err)) }}, nil
			}
			return &rest.SelfWritten{Body: body}, nil
		})
		a.h.OnDocument(func(*openapi.Document) { documentArchive(added) })
	}
}

// documentArchive documents the answers of an archive.
func documentArchive(op *openapi.Operation) {
	kind := "text/html"
	switch {
	case strings.HasSuffix(op.Path, ".xml"):
		kind = "application/rss+xml"
	case strings.HasSuffix(op.Path, ".json"):
		kind = "application/feed+json"
	}
	text := func(kind string) map[string]*openapi.MediaType {
		if op.Method == http.MethodHead {
			return nil
		}
		return map[string]*openapi.MediaType{kind: {Schema: &openapi.Schema{Type: openapi.TypeString}}}
	}
	op.Responses = map[string]*openapi.Response{
		"200": {Description: http.StatusText(http.StatusOK), Content: text(kind)},
		"304": {Description: http.StatusText(http.StatusNotModified)},
	}
	for _, status := range []int{http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		op.Responses[strconv.Itoa(status)] = &openapi.Response{Description: http.StatusText(status), Content: text("text/html")}
	}
}

// home writes the page at the root of a host for pages.
func (a *archives) home(x *rest.Exchange, r *http.Request) {
	home, v, err := a.service.HomeAt(r.Context(), x.Host, r.URL.Query().Get("older"))
	if err != nil {
		a.refuse(x, a.h.ErrorFor(x, err))
		return
	}
	t := a.text(firstOf(r.URL.Query().Get("language"), x.RequestHeader.Get("Accept-Language")))
	if v != nil {
		a.writeList(x, v, t)
		return
	}
	words := archiveTexts[t.lang]
	page := brandedPage(home.Team, &home.Brand, words.archives)
	page.Heading = escaped(words.archives)
	for _, topic := range home.Topics {
		page.Articles = append(page.Articles, pageArticle{Address: home.Base + "/a/" + topic.ID, Title: legible(topic.Name), Text: legible(topic.Description)})
	}
	page.Head = openGraph("website", words.archives, home.Team, "", home.Base+"/")
	a.writePublic(x, "text/html; charset=utf-8", t.lang, page, "")
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (a *archives) list(ctx context.Context, x *rest.Exchange, in *archiveInput) (func(), error) {
	v, err := a.service.ArchiveAt(ctx, x.Host, in.Topic, in.Older)
	if err != nil {
		return nil, err
	}
	return func() { a.writeList(x, v, a.text(firstOf(in.Language, in.Accepted))) }, nil
}

// writeList writes the page with the issues of an archive.
func (a *archives) writeList(x *rest.Exchange, v *archive.View, t *pageText) {
	words, name := archiveTexts[t.lang], legible(v.Topic.Name)
	page := brandedPage(v.Team, &v.Brand, name)
	page.Heading = "<bdi>" + escaped(name) + "</bdi>"
	if v.Topic.Description != "" {
		page.Lines = []markup{"<bdi>" + escaped(legible(v.Topic.Description)) + "</bdi>"}
	}
	if v.FormURL != "" {
		page.Lines = append(page.Lines, `<a class="button" href="`+escaped(v.FormURL)+`">`+escaped(words.subscribe)+"</a>")
	}
	for i := range v.Issues {
		issue := &v.Issues[i]
		page.Articles = append(page.Articles, pageArticle{Address: v.IssueURL(issue.ID), Title: legible(issue.Subject), Text: legible(issue.Preview),
			Date: issue.SentAt.UTC().Format(words.dateForm), Time: issue.SentAt.UTC().Format(time.DateOnly)})
	}
	if len(v.Issues) == 0 {
		page.Lines = append(page.Lines, escaped(words.empty))
	}
	if v.Older != "" {
		page.Links = append(page.Links, pageLink{Address: v.URL + "?older=" + v.Older, Text: words.older})
	}
	page.Links = append(page.Links, pageLink{Address: v.FeedURL("feed.xml"), Text: words.feed})
	page.Head = openGraph("website", name, v.Team, v.Topic.Description, v.URL) + robots(v) +
		`<link rel="alternate" type="application/rss+xml" href="` + escaped(v.FeedURL("feed.xml")) + "\">\n" +
		`<link rel="alternate" type="application/feed+json" href="` + escaped(v.FeedURL("feed.json")) + "\">\n"
	a.writePublic(x, "text/html; charset=utf-8", t.lang, page, robotsHeader(v))
}

// brandedPage is a page of a team.
func brandedPage(team string, b *brand.Brand, title string) *hostedPage {
	team = legible(team)
	return &hostedPage{status: http.StatusOK, Title: title, Team: team, Mark: mark(team), Theme: themeOf(b)}
}

// openGraph returns the canonical link and the Open Graph tags of a page.
func openGraph(kind, title, team, about, address string) markup {
	out := `<link rel="canonical" href="` + escaped(address) + "\">\n"
	for _, tag := range [][2]string{{"og:type", kind}, {"og:title", title}, {"og:site_name", team}, {"og:description", about}, {"og:url", address}} {
		out += element(`<meta property="`+markup(tag[0])+`" content="`, escaped(legible(tag[1])), "\">\n")
	}
	return out + element(`<meta name="description" content="`, escaped(legible(about)), "\">\n")
}

func robots(v *archive.View) markup {
	if v.Topic.Archive == app.UnlistedArchive {
		return "<meta name=\"robots\" content=\"noindex\">\n"
	}
	return ""
}

func robotsHeader(v *archive.View) string {
	if v.Topic.Archive == app.UnlistedArchive {
		return "noindex, nofollow"
	}
	return ""
}

func (a *archives) issue(ctx context.Context, x *rest.Exchange, in *issueInput) (func(), error) {
	v, issue, err := a.service.IssueAt(ctx, x.Host, in.Topic, in.Issue)
	if err != nil {
		return nil, err
	}
	t := a.text(firstOf(in.Language, in.Accepted))
	return func() {
		head := x.Header()
		head.Set("Content-Security-Policy", issuePolicy)
		head.Add("Vary", "Accept-Language")
		a.answer(x, "text/html; charset=utf-8", robotsHeader(v), issueDocument(v, issue, t))
	}, nil
}

// issueDocument returns the document of an issue: its HTML, with a line above it that leads to the archive
// and to the form.
func issueDocument(v *archive.View, issue *app.Issue, t *pageText) []byte {
	words, title := archiveTexts[t.lang], legible(issue.Subject)
	const link = `<a style="color:#1b1f27" href="`
	bar := markup(`<div style="margin:0;padding:8px 16px;background:#f3f4f7;color:#1b1f27;font:14px/1.5 sans-serif;text-align:center" lang="`) + escaped(t.lang) + `">` +
		link + escaped(v.URL) + `">` + markup(strings.ReplaceAll(string(escaped(words.back)), "{topic}", isolated(v.Topic.Name))) + "</a>"
	if v.FormURL != "" {
		bar += ` · ` + link + escaped(v.FormURL) + `">` + escaped(words.subscribe) + "</a>"
	}
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.WriteString(string("<title>" + escaped(title) + element(" – ", escaped(legible(v.Team)), "") + "</title>\n" +
		openGraph("article", title, v.Team, issue.Preview, v.IssueURL(issue.ID)) + robots(v) +
		`<meta property="article:published_time" content="` + escaped(app.FormatTime(issue.SentAt)) + "\">\n</head>\n<body>\n" + bar + "</div>\n"))
	b.WriteString(issue.HTML)
	b.WriteString("\n</body>\n</html>\n")
	return b.Bytes()
}

// writePublic writes a page that caches may keep.
func (a *archives) writePublic(x *rest.Exchange, kind, lang string, page *hostedPage, robots string) {
	style := pageStyle + archiveStyle + page.Theme.style
	head := x.Header()
	head.Set("Content-Language", lang)
	head.Set("Content-Security-Policy", page.policy(style))
	head.Add("Vary", "Accept-Language")
	a.answer(x, kind, robots, []byte(page.render(lang, markup(style))))
}

// answer writes content that caches may keep, or that it did not change.
func (a *archives) answer(x *rest.Exchange, kind, robots string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	head := x.Header()
	head.Set("Cache-Control", "public, max-age="+strconv.Itoa(archiveMaxAge))
	head.Set("ETag", tag)
	if robots != "" {
		head.Set("X-Robots-Tag", robots)
	}
	if matches(x.RequestHeader.Get("If-None-Match"), tag) {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(body) // an error means that the connection is closed; net/http omits the body for HEAD
}

// matches reports whether an If-None-Match header names a tag (RFC 9110 13.1.2).
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// rssFeed is a feed of RSS 2.0.
type rssFeed struct {
	XMLName xml.Name   `xml:"rss"`
	Version string     `xml:"version,attr"`
	Atom    string     `xml:"xmlns:atom,attr"`
	Channel rssChannel `xml:"channel"`
}

type rssChannel struct {
	Title       string    `xml:"title"`
	Link        string    `xml:"link"`
	Description string    `xml:"description"`
	Self        rssSelf   `xml:"atom:link"`
	LastBuild   string    `xml:"lastBuildDate,omitempty"`
	Items       []rssItem `xml:"item"`
}

type rssSelf struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
}

type rssItem struct {
	Title       string  `xml:"title"`
	Link        string  `xml:"link"`
	GUID        rssGUID `xml:"guid"`
	PubDate     string  `xml:"pubDate"`
	Description string  `xml:"description"`
}

type rssGUID struct {
	Permanent bool   `xml:"isPermaLink,attr"`
	ID        string `xml:",chardata"`
}

func (a *archives) rss(ctx context.Context, x *rest.Exchange, in *feedInput) (func(), error) {
	v, err := a.service.FeedAt(ctx, x.Host, in.Topic)
	if err != nil {
		return nil, err
	}
	channel := rssChannel{Title: legible(v.Topic.Name), Link: v.URL, Description: firstOf(legible(v.Topic.Description), legible(v.Topic.Name)),
		Self: rssSelf{v.FeedURL("feed.xml"), "self", "application/rss+xml"}}
	for i := range v.Issues {
		issue := &v.Issues[i]
		if i == 0 {
			channel.LastBuild = issue.SentAt.UTC().Format(time.RFC1123Z)
		}
		// The id does not depend on the host, which may change.
		channel.Items = append(channel.Items, rssItem{Title: legible(issue.Subject), Link: v.IssueURL(issue.ID), GUID: rssGUID{ID: "urn:uuid:" + issue.ID},
			PubDate: issue.SentAt.UTC().Format(time.RFC1123Z), Description: legible(issue.Preview)})
	}
	text, err := xml.MarshalIndent(rssFeed{Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Channel: channel}, "", " ")
	if err != nil {
		return nil, err
	}
	return func() {
		a.answer(x, "application/rss+xml; charset=utf-8", robotsHeader(v), append([]byte(xml.Header), text...))
	}, nil
}

// jsonFeed is a feed of JSON Feed 1.1.
type jsonFeed struct {
	Version     string         `json:"version"`
	Title       string         `json:"title"`
	HomePage    string         `json:"home_page_url"`
	FeedURL     string         `json:"feed_url"`
	Description string         `json:"description,omitzero"`
	Authors     []jsonAuthor   `json:"authors"`
	Items       []jsonFeedItem `json:"items"`
}

type jsonAuthor struct {
	Name string `json:"name"`
}

type jsonFeedItem struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	Text      string `json:"content_text"`
	Published string `json:"date_published"`
}

func (a *archives) jsonFeed(ctx context.Context, x *rest.Exchange, in *feedInput) (func(), error) {
	v, err := a.service.FeedAt(ctx, x.Host, in.Topic)
	if err != nil {
		return nil, err
	}
	feed := jsonFeed{Version: "https://jsonfeed.org/version/1.1", Title: legible(v.Topic.Name), HomePage: v.URL, FeedURL: v.FeedURL("feed.json"),
		Description: legible(v.Topic.Description), Authors: []jsonAuthor{{legible(v.Team)}}, Items: []jsonFeedItem{}}
	for i := range v.Issues {
		issue := &v.Issues[i]
		feed.Items = append(feed.Items, jsonFeedItem{ID: "urn:uuid:" + issue.ID, URL: v.IssueURL(issue.ID), Title: legible(issue.Subject),
			Text: firstOf(legible(issue.Preview), legible(issue.Subject)), Published: app.FormatTime(issue.SentAt)})
	}
	text, err := json.Marshal(feed, jsontext.WithIndent(" "))
	if err != nil {
		return nil, err
	}
	return func() { a.answer(x, "application/feed+json; charset=utf-8", robotsHeader(v), text) }, nil
}

// archiveStyle is the style of lists of issues.
const archiveStyle = `
.issues { margin: 1rem 0 0; padding: 0; list-style: none; }
.issues li { padding: .875rem 0; border-top: 1px solid var(--line); }
.issues a { padding: 0; font-weight: 600; }
.issues p { margin: .125rem 0 0; font-size: .9375rem; }
.button { padding: .625rem 1.5rem; border-radius: .625rem; background: var(--accent); color: var(--on-accent); font-weight: 600; }
`
