//go:build perf

package tracking

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfRewritingTakesLinearTime(t *testing.T) {
	for name, source := range map[string]func(n int) string{
		"a tag with many attributes, then many tags": func(n int) string {
			var b strings.Builder
			b.WriteString("<p ")
			for i := range 2 * n {
				fmt.Fprintf(&b, "a%d ", i)
			}
			return b.String() + ">" + strings.Repeat("<b x>", 2*n)
		},
		"text elements with many attributes": func(n int) string {
			return strings.Repeat("<style "+strings.Repeat("x1 ", 300)+"></style>", n/200)
		},
		"openings":   func(n int) string { return strings.Repeat("<", 4*n) },
		"comments":   func(n int) string { return strings.Repeat("<!--", n) },
		"ends":       func(n int) string { return strings.Repeat("</", n) },
		"quotes":     func(n int) string { return strings.Repeat(`<a href="`, n) },
		"equals":     func(n int) string { return strings.Repeat(`<a href=`, n) },
		"scripts":    func(n int) string { return "<script>" + strings.Repeat("<!--<script></", n) },
		"bodies":     func(n int) string { return strings.Repeat("</body>", n) },
		"links":      func(n int) string { return strings.Repeat(`<a href=https://a.test>`, n) },
		"one value":  func(n int) string { return `<a href="https://a.test/` + strings.Repeat("&amp;", n) + `">` },
		"one name":   func(n int) string { return `<a ` + strings.Repeat("=", 4*n) },
		"many hrefs": func(n int) string { return `<a ` + strings.Repeat("href=https://a.test ", n) + ">" },
	} {
		apptest.Linear(t, name, 4000, func(n int) func() {
			text := source(n)
			return func() { rewriteLinks(text, func(string) string { return "x" }) }
		})
	}
}
