package feeds_test

import (
	"net/url"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/feeds"
)

func rss(items string) string {
	return `<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><link>https://blog.test/</link>` + items + `</channel></rss>`
}

func TestParse(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://blog.test/feed.xml")
	many := strings.Repeat("<item><title>x</title><guid>g</guid></item>", 3)
	for name, tt := range map[string]struct {
		feed  string
		items int
		want  string // title | url | content of the first
		fails bool
	}{
		"rss":               {feed: rss(`<item><title>A &amp; B</title><link>https://blog.test/1</link><description>&lt;p onclick="x"&gt;hi&lt;/p&gt;&lt;script&gt;x&lt;/script&gt;</description></item>`), items: 1, want: "A & B|https://blog.test/1|<p>hi</p>"},
		"atom":              {feed: `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>i</id><updated>2026-01-01T00:00:00Z</updated><entry><title>E</title><id>e1</id><link href="/e1"/><updated>2026-01-01T00:00:00Z</updated><content type="html">&lt;b&gt;c&lt;/b&gt;</content></entry></feed>`, items: 1, want: "E|https://blog.test/e1|<b>c</b>"},
		"json feed":         {feed: `{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","url":"https://blog.test/j","title":"J","content_html":"<i>j</i>"}]}`, items: 1, want: "J|https://blog.test/j|<i>j</i>"},
		"relative links":    {feed: rss(`<item><title>R</title><link>/r</link><description>&lt;a href="x"&gt;l&lt;/a&gt;&lt;img src="/i.png"&gt;</description></item>`), items: 1, want: `R|https://blog.test/r|<a href="https://blog.test/x" target="_blank">l</a><img src="https://blog.test/i.png">`},
		"oldest first":      {feed: rss(`<item><title>A</title><pubDate>Sun, 01 Mar 2026 00:00:00 GMT</pubDate></item><item><title>B</title><pubDate>Mon, 02 Mar 2026 00:00:00 GMT</pubDate></item>`), items: 2, want: "B||"},
		"no dates, no guid": {feed: rss(`<item><title>N</title></item><item><title>M</title></item>`), items: 2, want: "N||"},
		"duplicate guids":   {feed: rss(many), items: 1, want: "x||"},
		"wrong charset":     {feed: "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><rss version=\"2.0\"><channel><title>T</title><item><title>Caf\xe9</title><guid>c</guid></item></channel></rss>", items: 1, want: "Café||"},
		"script link":       {feed: rss(`<item><title>S</title><link>javascript:alert(1)</link></item>`), items: 1, want: "S||"},
		"placeholders":      {feed: rss(`<item><title>{{{UNSUBSCRIBE_URL}}} {% raw %}</title><description>{{{EMAIL}}} &amp;#123;&amp;#123;&amp;#123;EMAIL}}}</description></item>`), items: 1, want: "{ { {UNSUBSCRIBE_URL}}} {% raw %}||{ { {EMAIL}}} { { {EMAIL}}}"},
		"entity bomb":       {feed: `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>` + rss(`<item><title>&c;</title></item>`)[21:], items: -1},
		"external entity":   {feed: `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + rss(`<item><title>&a;</title></item>`)[21:], items: -1},
		"broken":            {feed: `<rss><channel><item><title>x`, items: -1},
		"no feed":           {feed: `<html><body>hello</body></html>`, fails: true},
		"empty":             {feed: ``, fails: true},
		"huge":              {feed: strings.Repeat("x", app.MaxFeedSize+1), fails: true},
	} {
		items, err := feeds.Parse([]byte(tt.feed), base)
		if tt.fails {
			if err == nil {
				t.Errorf("%s: %d items", name, len(items))
			}
			continue
		}
		if tt.items < 0 { // whatever it is, it is small and harmless
			for _, i := range items {
				if len(i.Title) > 2000 || strings.Contains(i.Title, "root:") {
					t.Errorf("%s: %q", name, i.Title)
				}
			}
			continue
		}
		if err != nil || len(items) != tt.items {
			t.Errorf("%s: %d items, %v", name, len(items), err)
			continue
		}
		got := items[0].Title + "|" + items[0].URL + "|" + strings.ReplaceAll(items[0].Content, ` rel="noopener noreferrer"`, "")
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}
