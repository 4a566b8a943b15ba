package render

import (
	"fmt"
	"html"
	"strings"

	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// Clicks counts clicks by link target as written in the content.
type Clicks map[string]int64

// ClicksOf returns the clicks of links.
func ClicksOf(links []app.BroadcastLink) Clicks {
	c := Clicks{}
	for i := range links {
		c[links[i].URL] += links[i].Clicks
	}
	return c
}

// The badge after a link. The most clicked link has its own colour. Styles are inline, since the
// mail has no style sheet of ours.
const (
	badgeStyle = "display:inline-block;margin-left:6px;padding:1px 6px;border-radius:3px;font:600 12px/16px Arial,sans-serif;letter-spacing:0;text-transform:none;white-space:nowrap;vertical-align:middle;"
	plainBadge = "background:#e4e6ea;color:#17191c"
	firstBadge = "background:#17191c;color:#fff"
)

// sums returns the clicks of all links, and of the most clicked one.
func (c Clicks) sums() (all, highest int64) {
	for _, clicks := range c {
		all, highest = all+clicks, max(highest, clicks)
	}
	return all, highest
}

// badge returns the badge of a link; empty: no clicks.
func (c Clicks) badge(target string, all, highest int64) string {
	n := c[target]
	if n == 0 {
		return ""
	}
	look := plainBadge
	if n == highest {
		look = firstBadge
	}
	return fmt.Sprintf(`<span style=%q>%s</span>`, badgeStyle+look, html.EscapeString(fmt.Sprintf("%d · %d %%", n, (200*n+all)/(2*all))))
}

// badged returns marked HTML with a badge after each link.
func (m *marks) badged(source string, clicks Clicks) string {
	var b strings.Builder
	z := htmltext.NewTokens(source)
	done, badge := 0, ""
	all, highest := clicks.sums()
	for {
		switch z.Next() {
		case nethtml.ErrorToken: // the end: a string has no other error
			b.WriteString(source[done:])
			return b.String()
		case nethtml.StartTagToken:
			if z.Name == "a" {
				href, _ := z.Value("href")
				badge = clicks.badge(m.replaced(htmltext.NormalizeLink(href), mark.String), all, highest)
			}
		case nethtml.EndTagToken:
			if z.Name == "a" && badge != "" {
				b.WriteString(source[done:z.At])
				b.WriteString(badge)
				done, badge = z.At, ""
			}
		}
	}
}
