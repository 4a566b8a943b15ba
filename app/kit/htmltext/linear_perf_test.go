//go:build perf

package htmltext_test

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app/kit/htmltext"
	"mailer/app/rules/tracking"
	"mailer/app/testing/apptest"
)

func TestPerfReadingHTMLTakesLinearTime(t *testing.T) {
	for _, piece := range []string{
		"<script><!--<script></script>", "<script><!--<script>", "<script></script>", "<title></titl", "<textarea>", "<plaintext>", "<!--", "<!---->", "</", "</a", "<p a=", `<p a="`, "<p a=b/ a=c/>", "<p a=b ",
		" a=b/", "&#", "&aaaaaaaa", "&amp", `<a href="&copy;&x;">`, "<", "<DIV>", `<div style="a&b"`, "<pre>\r", "<li>x", "\xff",
	} {
		for _, before := range []string{"", "<p"} {
			apptest.Linear(t, before+piece, 1<<14, func(n int) func() {
				source := before + strings.Repeat(piece, n/len(piece)) + "/>"
				return func() {
					htmltext.PlainText(source)
					links := tracking.Scan(source)
					links.Rewrite(source, func(target string) string { return target }, "")
				}
			})
		}
	}
}

// TestPerfLargeTagDoesNotSlowLaterTags: a tag with very many attributes must not slow the tags
// after it.
func TestPerfLargeTagDoesNotSlowLaterTags(t *testing.T) {
	apptest.Linear(t, "attributes, then tags", 2000, func(n int) func() {
		source := largeTag(n)
		return func() { htmltext.PlainText(source) }
	})
}

func TestPerfLookingForRemoteImagesTakesLinearTime(t *testing.T) {
	apptest.Linear(t, "images", 1000, func(n int) func() {
		source := strings.Repeat(`<img style="url(((((((" src=https://x.example/a`, n)
		return func() { htmltext.RemoteImages(source) }
	})
}

// largeTag returns a tag with n attributes and n tags after it.
func largeTag(n int) string {
	var in strings.Builder
	in.WriteString("<p")
	for i := range n {
		fmt.Fprintf(&in, " a%d", i)
	}
	in.WriteString(">" + strings.Repeat("x<b>y</b>", n))
	return in.String()
}
