package feeds

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// Limits of one item, in characters but for the content, which is in bytes.
const (
	maxTitle   = 300
	maxSummary = 1000
	maxContent = 200 << 10
	maxID      = 2000
)

// Item is an item of a feed as a template sees it. Nothing in it is trusted, but Content is clean HTML.
type Item struct {
	Key     string    `json:"-"` // hash of its id or link
	Title   string    `json:"title"`
	URL     string    `json:"url"`
	Summary string    `json:"summary"` // plain text
	Content string    `json:"content"` // a mark for the HTML, in a template
	Author  string    `json:"author"`
	Image   string    `json:"image"`
	Date    string    `json:"date"` // ISO 8601; empty: unknown
	at      time.Time // zero: unknown
}

// Parse reads a feed: RSS, Atom or JSON Feed. It returns at most app.MaxFeedItems items, the newest first,
// each once. base is the URL of the feed. An error may be shown to the team.
func Parse(body []byte, base *url.URL) (items []Item, err error) {
	defer func() {
		if p := recover(); p != nil {
			items, err = nil, fmt.Errorf("the feed can't be read: %v", p)
		}
	}()
	if len(body) > app.MaxFeedSize {
		return nil, fmt.Errorf("the feed is larger than %d bytes", app.MaxFeedSize)
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the file is no feed that can be read: %s", app.CutText(app.OneLine(strings.ToValidUTF8(err.Error(), "")), 200))
	}
	if home := address(feed.Link, base); home != "" {
		if u, err := url.Parse(home); err == nil {
			base = u
		}
	}
	texts := plainTexts(body, feed)
	for i, in := range feed.Items {
		if i < len(texts) && texts[i] != "" && in != nil {
			in.Content = html.EscapeString(texts[i])
		}
	}
	seen := map[string]bool{}
	for _, in := range newestFirst(feed.Items) {
		if len(items) == app.MaxFeedItems {
			break
		}
		item, ok := convert(in, base)
		if ok && !seen[item.Key] {
			seen[item.Key] = true
			items = append(items, item)
		}
	}
	return items, nil
}

// maxExamined is how many items of a feed are looked at for those that Parse returns: more are the same or empty.
const maxExamined = 10 * app.MaxFeedItems

// newestFirst returns the first items in the order of their dates, or of the feed if one has none.
func newestFirst(all []*gofeed.Item) []*gofeed.Item {
	all = slices.DeleteFunc(all, func(in *gofeed.Item) bool { return in == nil })
	if !slices.ContainsFunc(all, func(in *gofeed.Item) bool { return dateOf(in).IsZero() }) {
		slices.SortStableFunc(all, func(a, b *gofeed.Item) int { return dateOf(b).Compare(dateOf(a)) })
	}
	return all[:min(len(all), maxExamined)]
}

// dateOf returns when an item was published; zero: unknown.
func dateOf(in *gofeed.Item) time.Time {
	for _, at := range []*time.Time{in.PublishedParsed, in.UpdatedParsed} {
		if at != nil && at.Year() > 1970 && at.Year() < 9999 {
			return at.UTC()
		}
	}
	return time.Time{}
}

// plainTexts returns the content by item of a JSON Feed that is no HTML; empty: it is.
func plainTexts(body []byte, feed *gofeed.Feed) (texts []string) {
	if feed.FeedType != "json" {
		return nil
	}
	var in struct {
		Items []struct {
			HTML string `json:"content_html"`
			Text string `json:"content_text"`
		} `json:"items"`
	}
	if json.Unmarshal(body, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil || len(in.Items) != len(feed.Items) {
		return nil // gofeed reads it in another way: its result is clean in any case
	}
	for _, item := range in.Items {
		if item.HTML != "" {
			item.Text = ""
		}
		texts = append(texts, item.Text)
	}
	return texts
}

// media returns the description and the picture of an item in the elements of Media RSS.
func media(in *gofeed.Item) (description, picture string) {
	elements := []map[string][]ext.Extension{in.Extensions["media"]}
	for _, group := range in.Extensions["media"]["group"] {
		elements = append(elements, group.Children)
	}
	for _, of := range elements {
		for _, d := range of["description"] {
			description = cmp.Or(description, d.Value)
		}
		for _, t := range of["thumbnail"] {
			picture = cmp.Or(picture, t.Attrs["url"])
		}
	}
	return description, picture
}

func convert(in *gofeed.Item, base *url.URL) (Item, bool) {
	out := Item{Title: line(plain(in.Title), maxTitle), URL: address(in.Link, base)}
	id := in.GUID
	if id == "" {
		id = in.Link
	}
	if id == "" {
		id = in.Title + "\x00" + in.Published
	}
	if id = strings.TrimSpace(id); id == "\x00" || id == "" {
		return out, false
	}
	sum := sha256.Sum256([]byte(id[:min(len(id), maxID)]))
	out.Key = base64.RawURLEncoding.EncodeToString(sum[:12])
	if at, err := url.Parse(out.URL); err == nil && out.URL != "" {
		base = at // what is relative in an item is relative to its page
	}
	described, picture := media(in)
	if in.Content == "" && in.Description == "" {
		in.Description = html.EscapeString(described)
	}
	content := in.Content
	if content == "" {
		content = in.Description
	}
	out.Content = safe(htmltext.Clean(content[:min(len(content), maxContent)], htmltext.Cleaning{Fragment: true, Base: base}))
	summary := in.Description
	if summary == "" {
		summary = content
	}
	out.Summary = line(plain(summary[:min(len(summary), maxContent)]), maxSummary)
	for _, author := range in.Authors {
		if author != nil && out.Author == "" {
			out.Author = line(author.Name, maxTitle)
		}
	}
	if in.Image != nil {
		out.Image = address(in.Image.URL, base)
	}
	for _, file := range in.Enclosures {
		if out.Image == "" && file != nil && strings.HasPrefix(file.Type, "image/") {
			out.Image = address(file.URL, base)
		}
	}
	if out.Image == "" && picture != "" {
		out.Image = address(picture, base)
	}
	if out.at = dateOf(in); !out.at.IsZero() {
		out.Date = app.FormatTime(out.at)
	}
	return out, out.Title != "" || out.Content != ""
}

// plain returns the text of HTML on one line.
func plain(source string) string {
	return strings.Join(strings.Fields(htmltext.PlainText(htmltext.Clean(source, htmltext.Cleaning{Fragment: true}))), " ")
}

// line returns a text on one line, without what a broadcast would fill in, cut to n characters.
func line(s string, n int) string {
	s = safe(app.OneLine(strings.ToValidUTF8(s, "")))
	if runes := []rune(s); len(runes) > n {
		s = strings.TrimSpace(string(runes[:n-1])) + "…"
	}
	return s
}

// safe returns a text in which no placeholder begins.
func safe(s string) string {
	for strings.Contains(s, "{{") {
		s = strings.ReplaceAll(s, "{{", "{ {")
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// address returns an absolute http or https URL; empty: none.
func address(text string, base *url.URL) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || text == "" || len(text) > app.MaxFeedURL {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return safe(u.String())
}

// variable returns the items as the variable of a template. The content of each is a mark, which insert
// replaces.
func variable(items []Item, secret string) (app.PropertyValue, error) {
	marked := make([]Item, len(items))
	for i := range items {
		marked[i] = items[i]
		if items[i].Content != "" {
			marked[i].Content = mark(secret, i)
		}
	}
	text, err := json.Marshal(marked)
	if err != nil {
		return app.PropertyValue{}, fmt.Errorf("encode the items of a feed: %w", err)
	}
	return app.PropertyValue{Type: app.ListVariable, Text: string(text)}, nil
}

func mark(secret string, i int) string { return fmt.Sprintf("feed%sitem%04d", secret, i) }

// insert replaces the marks of contents in HTML: as HTML between tags, and by nothing within them.
func insert(source string, items []Item, secret string) string {
	prefix := "feed" + secret + "item"
	if !strings.Contains(source, prefix) {
		return source
	}
	var pairs, nothing []string
	for i := range items {
		pairs = append(pairs, mark(secret, i), items[i].Content)
		nothing = append(nothing, mark(secret, i), "")
	}
	between, within := strings.NewReplacer(pairs...), strings.NewReplacer(nothing...)
	var out strings.Builder
	z := htmltext.NewTokens(source)
	for {
		kind := z.Next()
		raw := z.Raw()
		if isText(kind) && z.Element == "" {
			out.WriteString(between.Replace(raw))
		} else {
			out.WriteString(within.Replace(raw))
		}
		if isEnd(kind) {
			return out.String()
		}
	}
}

// textOf replaces the marks in plain text by the text of the contents.
func textOf(source string, items []Item, secret string) string {
	var pairs []string
	for i := range items {
		pairs = append(pairs, mark(secret, i), safe(htmltext.PlainText(items[i].Content)))
	}
	return strings.NewReplacer(pairs...).Replace(source)
}
