package feeds_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/net/fetch"
	"mailer/app/sending/feeds"
)

// TestParseShapes reads feeds in the shapes in which widespread programs write them.
func TestParseShapes(t *testing.T) {
	t.Parallel()
	for file, tt := range map[string]struct {
		items   int
		first   feeds.Item // without its content
		content string     // part of the content
	}{
		"wordpress.xml": {2, feeds.Item{Title: "Boats – and what they’re for", URL: "https://harbour.example/2026/03/boats/", Author: "Mara Quist", Image: "https://harbour.example/wp-content/boats.jpg", Date: "2026-03-03T08:15:00.000Z",
			Summary: "Eleven boats came in. […] The post Boats (https://harbour.example/2026/03/boats/) appeared first on Harbour Notes (https://harbour.example)."},
			`<figure><img width="1024" height="683" src="https://harbour.example/wp-content/boats.jpg" alt="Boats"></figure>`},
		"ghost.xml": {1, feeds.Item{Title: "Rye & patience", URL: "https://kitchen.example/rye/", Author: "Olu Hart", Image: "https://kitchen.example/content/images/rye.jpg", Date: "2026-03-05T09:30:00.000Z", Summary: "A loaf in three days"},
			`<p>Day one: <em>wait</em>.</p><div>Subscribe</div>`},
		"substack.xml": {1, feeds.Item{Title: "Rates, again", URL: "https://margin.example/p/rates-again", Author: "Ira Vane", Image: "https://cdn.example/rates.jpeg", Date: "2026-03-04T11:01:12.000Z", Summary: "Why nothing moved"},
			`<p>Nothing moved.</p><div></div>`},
		"hugo.xml": {2, feeds.Item{Title: "Ferns", URL: "https://field.example/posts/ferns/", Image: "https://field.example/posts/ferns/fern.png", Date: "2026-02-28T23:00:00.000Z", Summary: "Three kinds, and moss."},
			`<a href="https://field.example/posts/moss/" target="_blank">and moss</a>`},
		"jekyll.xml": {1, feeds.Item{Title: "Springs & gears", URL: "https://clock.example/2026/03/02/springs.html", Author: "Noor Bell", Image: "https://clock.example/spring.png", Date: "2026-03-02T08:00:00.000Z", Summary: "Wound tight."},
			`<a href="https://clock.example/gears" target="_blank">More</a>`},
		"youtube.xml": {1, feeds.Item{Title: "The bowline", URL: "https://www.youtube.com/watch?v=k1n2o3t4", Author: "Knots Weekly", Image: "https://i1.ytimg.com/vi/k1n2o3t4/hqdefault.jpg", Date: "2026-03-01T17:00:09.000Z", Summary: "Tie it with <one> hand. More at https://knots.example"},
			`Tie it with &lt;one&gt; hand.`},
		"medium.xml": {1, feeds.Item{Title: "Queues I have stood in", URL: "https://medium.com/@ada/queues-1?source=rss-1------2", Author: "Ada", Image: "https://cdn-images-1.medium.com/max/1024/q.png", Date: "2026-03-01T07:00:00.000Z", Summary: "First One queue (https://medium.com/tag/x)."},
			`<h3>First</h3><figure><img alt="" src="https://cdn-images-1.medium.com/max/1024/q.png"></figure>`},
		"blogger.xml": {1, feeds.Item{Title: "Gas", URL: "https://lamps.example/2026/03/gas.html", Author: "Tomas", Date: "2026-03-03T07:00:00.000Z", Summary: "It hums. Share"},
			`<div>It hums.<br><a>Share</a></div>`},
		"jsonfeed.json": {2, feeds.Item{Title: "Isles", URL: "https://maps.example/isles", Author: "Jun", Image: "https://maps.example/isles.png", Date: "2026-03-04T09:00:00.000Z", Summary: "Nine of them"},
			`<p>Nine <a href="https://maps.example/all" target="_blank">isles</a></p>`},
		"podcast.xml": {1, feeds.Item{Title: "12: Vienna", URL: "https://trains.example/12", Author: "Lea Ruiz", Image: "https://trains.example/12.jpg", Date: "2026-02-27T10:00:00.000Z", Summary: "Via Linz. Notes (https://trains.example/12)"},
			`<p>Via Linz. <a href="https://trains.example/12" target="_blank">Notes</a></p>`},
	} {
		items := parsed(t, "testdata/"+file)
		if len(items) != tt.items {
			t.Errorf("%s: %d items", file, len(items))
			continue
		}
		for _, item := range items {
			for _, active := range []string{"<script", "<form", "<input", "<iframe", "<svg", "javascript:", "onclick", "data-attrs", "class="} {
				if strings.Contains(item.Content, active) {
					t.Errorf("%s: %s in %s", file, active, item.Content)
				}
			}
		}
		got := items[0]
		if content := strings.ReplaceAll(got.Content, ` rel="noopener noreferrer"`, ""); !strings.Contains(content, tt.content) {
			t.Errorf("%s:\n got %s\nwant %s", file, content, tt.content)
		}
		if a, b := fmt.Sprint(got.Title, "|", got.URL, "|", got.Author, "|", got.Image, "|", got.Date, "|", got.Summary), fmt.Sprint(tt.first.Title, "|", tt.first.URL, "|", tt.first.Author, "|", tt.first.Image, "|", tt.first.Date, "|", tt.first.Summary); a != b {
			t.Errorf("%s:\n got %s\nwant %s", file, a, b)
		}
	}
	if note := parsed(t, "testdata/jsonfeed.json")[1]; note.Content != "No title &amp; &lt;no&gt; HTML" || note.Summary != "No title & <no> HTML" {
		t.Errorf("plain text of a JSON Feed: %q %q", note.Content, note.Summary)
	}
}

func parsed(t *testing.T, file string) []feeds.Item {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("https://blog.test/feed.xml")
	items, err := feeds.Parse(body, base)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return items
}

// TestHostileFeedsAreBounded: whatever a feed holds, what comes out is small, harmless and in valid UTF-8, or it is
// an error of one line.
func TestHostileFeedsAreBounded(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://blog.test/feed.xml")
	item := func(inside string) string { return rss("<item><guid>1</guid>" + inside + "</item>") }
	bomb := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "ha">`
	for n := range 20 {
		bomb += fmt.Sprintf(`<!ENTITY a%d "%s">`, n+1, strings.Repeat(fmt.Sprintf("&a%d;", n), 10))
	}
	for name, feed := range map[string]string{
		"entity bomb":       bomb + `]>` + item(`<title>&a20;</title><description>&a20;</description>`)[21:],
		"external entity":   `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY % b SYSTEM "http://127.0.0.1/x">%b;]>` + item(`<title>&a;</title>`)[21:],
		"many items":        rss(strings.Repeat(`<item><title>x</title></item>`, 100_000)),
		"long title":        item(`<title>` + strings.Repeat("ü", 1<<20) + `</title>`),
		"long content":      item(`<description>` + strings.Repeat("&lt;b&gt;ü", 300_000) + `</description>`),
		"long link":         item(`<title>x</title><link>https://blog.test/` + strings.Repeat("x", 1<<20) + `</link>`),
		"long guid":         rss(`<item><title>x</title><guid>` + strings.Repeat("g", 1<<20) + `</guid></item>`),
		"deep elements":     `<?xml version="1.0"?><rss version="2.0"><channel>` + strings.Repeat("<a>", 100_000) + item(`<title>x</title>`),
		"deep content":      item(`<description>` + strings.Repeat("&lt;div&gt;", 100_000) + `</description>`),
		"deep JSON":         `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","x":` + strings.Repeat("[", 100_000),
		"wrong charset":     "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + item("<title>Caf\xe9 \xff</title><description>\xe9&lt;b&gt;</description>")[21:],
		"unknown charset":   `<?xml version="1.0" encoding="x-none"?>` + item(`<title>x</title>`)[21:],
		"UTF-16":            "\xff\xfe<\x00r\x00s\x00s\x00>\x00",
		"control":           item("<title>a\x00b\x07 &#x202e;c&#10;d</title>"),
		"javascript links":  item(`<title>x</title><link>JavaScript:alert(1)</link><description>&lt;a href="javascript:evil()"&gt;x&lt;/a&gt;&lt;img src=x onerror=evil()&gt;&lt;script&gt;evil()&lt;/script&gt;</description><enclosure url="javascript:evil()" type="image/png"/>`),
		"bad base":          `<?xml version="1.0"?><rss version="2.0"><channel><link>javascript:evil()</link><item><title>x</title><link>/x</link><description>&lt;a href="y"&gt;x&lt;/a&gt;</description></item></channel></rss>`,
		"bad dates":         rss(`<item><guid>1</guid><title>x</title><pubDate>Mon, 99 Foo 99999 99:99</pubDate></item><item><guid>2</guid><title>y</title><pubDate>0001-01-01</pubDate></item><item><guid>3</guid><title>z</title></item>`),
		"duplicate guids":   rss(strings.Repeat(`<item><guid>same</guid><title>x</title></item>`, 50)),
		"template language": item(`<title>{{{EMAIL}}} {% if x %} &amp;#123;{{UNSUBSCRIBE_URL}}}</title><link>https://blog.test/{{{EMAIL}}}</link><description>{&lt;b&gt;&lt;/b&gt;{{EMAIL}}} &amp;lbrace;&amp;lbrace;&amp;lbrace;EMAIL}}} {{ contact.email }}</description><author>{{{EMAIL}}}</author>`),
		"script in fields":  item(`<title>&lt;script&gt;evil()&lt;/script&gt;T</title><author>&lt;img src=x onerror=evil()&gt;</author><description>&lt;style&gt;@import "x"&lt;/style&gt;&lt;iframe srcdoc="x"&gt;&lt;/iframe&gt;&lt;p style="x"&gt;y</description>`),
	} {
		items, err := feeds.Parse([]byte(feed), base)
		if err != nil && (len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\r\n")) {
			t.Errorf("%s: error %q", name, err)
		}
		if len(items) > app.MaxFeedItems {
			t.Errorf("%s: %d items", name, len(items))
		}
		keys := map[string]bool{}
		for _, i := range items {
			all := i.Title + i.Summary + i.Author + i.URL + i.Image + i.Date + i.Content
			if len(i.Title) > 1200 || len(i.Summary) > 4000 || len(i.Author) > 1200 || len(i.URL) > 3*app.MaxFeedURL || len(i.Content) > 1<<20 || len(i.Key) > 20 || keys[i.Key] {
				t.Errorf("%s: %d of title, %d of summary, %d of content, key %s", name, len(i.Title), len(i.Summary), len(i.Content), i.Key)
			}
			keys[i.Key] = true
			for _, bad := range []string{"{{", "<script", "<iframe", "<style", "style=", "onerror=evil()>", "root:", "\x00"} {
				if strings.Contains(all, bad) && !(bad == "onerror=evil()>" && strings.Contains(i.Author, bad)) { // the author is text
					t.Errorf("%s: %q in %.300q", name, bad, all)
				}
			}
			for _, address := range []string{i.URL, i.Image} {
				if address != "" && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
					t.Errorf("%s: address %s", name, address)
				}
			}
			if strings.Contains(i.Content, `="javascript`) || strings.ToValidUTF8(all, "") != all || strings.ContainsAny(i.Title+i.Summary+i.Author, "\r\n") {
				t.Errorf("%s: %.300q", name, all)
			}
		}
	}
}

// TestLargeFeedsAreNotRead: a body of 50 MB, and one that never ends, are given up at the limit.
func TestLargeFeedsAreNotRead(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat("<item>", 1<<14))
		for n := 0; r.URL.Path == "/endless" || n < 50<<20; n += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer host.Close()
	f := fetch.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for _, path := range []string{"/50mb", "/endless"} {
		_, _, err := f.Fetch(t.Context(), app.NewID(), []string{host.URL + path}, app.MaxFeedSize)
		var refused *app.FetchError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
