//go:build perf

package insights

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfInspectingTakesLinearTime(t *testing.T) {
	for _, piece := range []string{`<a href="https://example.org">bank.com `, "<a ", "<svg>", "https://", `<img src=x>`, "<title>", `<a href=x `} {
		apptest.Linear(t, piece, 1<<14, func(n int) func() {
			html, text := plainMail(), plainMail()
			html.HTML = strings.Repeat(piece, n/len(piece))
			text.Text = html.HTML
			return func() {
				OfMail(html, true, "https://mailer.test")
				OfMail(text, true, "https://mailer.test")
			}
		})
	}
}
