//go:build perf

package liquid

import (
	"strings"
	"testing"
	"time"

	"mailer/app/testing/apptest"
)

// hostileSources make a source of about n bytes that is slow to read if anything is read twice.
var hostileSources = []func(n int) string{
	func(n int) string { return strings.Repeat("{", n) },
	func(n int) string { return strings.Repeat("{{ a }}", n/7) },
	func(n int) string { return strings.Repeat("{{- a -}} ", n/10) },
	func(n int) string { return strings.Repeat("{% # a %}\n", n/10) },
	func(n int) string { return strings.Repeat("{% comment %}", n/13) },
	func(n int) string { return "{% raw %}" + strings.Repeat("{{{A}}}{%", n/9) + "{% endraw %}" },
	func(n int) string { return "{{ " + strings.Repeat("&nbsp;", n/6) + "a }}" },
	func(n int) string { return "{{ a" + strings.Repeat("[0]", n/3) + " }}" },
	func(n int) string { return "{{ a" + strings.Repeat(" | upcase", n/9) + " }}" },
	func(n int) string { return "{% if a" + strings.Repeat(" or a", n/5) + " %}{% endif %}" },
	func(n int) string { return strings.Repeat("{% if a %}x{% endif %}", n/22) },
	func(n int) string { return strings.Repeat("<", n) },
	func(n int) string { return "<a " + strings.Repeat("a{% if a %} b{% endif %} ", n/25) + ">" },
	func(n int) string { return strings.Repeat("<a href='", n/9) },
	func(n int) string { return "<a href='https://x/?" + strings.Repeat("&{{ a }}", n/8) },
	func(n int) string { return "<style>" + strings.Repeat("</styl{% # %}", n/13) },
	func(n int) string { return "<style>" + strings.Repeat("</", n/2) },
	func(n int) string { return "<!--[if" + strings.Repeat("-", n) },
	func(n int) string { return "<!--[if]>" + strings.Repeat("<!--", n/4) },
	func(n int) string { return "<p style='" + strings.Repeat("&{% # %}", n/8) },
	func(n int) string { return "<" + strings.Repeat("a{% # %}", n/8) },
}

func TestPerfReadingTakesLinearTime(t *testing.T) {
	for _, source := range hostileSources {
		apptest.Linear(t, source(40), 1<<12, func(n int) func() {
			text := source(n)
			return func() {
				tokens, err := Scan(text)
				if err != nil {
					return
				}
				_ = CheckHTML(tokens)
				if built, err := Build(tokens); err == nil {
					_ = built.Check(Scope{})
					built.ContactKeys()
				}
			}
		})
	}
}

// A run within its bounds must not hold up the recipients after it.
func TestPerfHostileDocumentsAreFast(t *testing.T) {
	for _, c := range hostileDocuments {
		d := hostileEnv(t)
		tokens, err := Scan(c.source)
		if err != nil {
			continue
		}
		built, err := Build(tokens)
		if err != nil {
			continue
		}
		took := apptest.Fastest(func() { _ = built.Run(d.env(), &textSink{}) })
		if t.Logf("%v: %s", took, c.name); took > 200*time.Millisecond {
			t.Errorf("%s takes %v", c.name, took)
		}
	}
}
