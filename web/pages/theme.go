package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"regexp"

	"mailer/app/rules/brand"
)

// theme is a team's brand on a page. The zero value is a page without a team.
type theme struct {
	style string // CSS after the common style
	logo  string // URL; empty: none
	from  string // source of the logo in the Content-Security-Policy
}

// Page backgrounds in page.css, light and dark.
const (
	lightCard = "#ffffff"
	darkCard  = "#191d24"
)

// themeOf returns the theme of a page that is one level deep, like most.
func themeOf(b *brand.Brand) (l theme) { return themeBelow("..", b) }

// themeBelow returns the theme of a page from which a relative path leads to the root.
func themeBelow(root string, b *brand.Brand) (l theme) {
	if path := b.Logo.Path(); path != "" {
		l.logo, l.from = root+path, "'self'"
	} else if from, ok := originOf(b.LogoURL); ok {
		l.logo, l.from = b.LogoURL, from
	}
	page := b.HostedPage()
	background, card, text, own := page.Colors()
	if own {
		l.style += "\n:root { " + ownColors(background, card, text) + " }\n"
	}
	switch {
	case b.Color != "" && own:
		l.style += ":root { " + colors(b.Color, card, text) + " }\n"
	case b.Color != "":
		l.style += "\n:root { " + colors(b.Color, lightCard, "var(--text)") + " }\n" +
			"@media (prefers-color-scheme: dark) { :root { " + colors(b.Color, darkCard, "var(--text)") + " } }\n"
	}
	if b.Font != "" && b.Font != brand.SystemFont {
		l.style += "body { font-family: " + b.Font.Stack() + "; }\n"
	}
	return l
}

// ownColors declares a team's colours of the page, in light and dark mode alike. All text has the
// contrast that brand.Page.Check requires.
func ownColors(background, card, text string) string {
	scheme := "light"
	if brand.OnColor(card) == lightCard {
		scheme = "dark"
	}
	return "color-scheme: " + scheme + "; --ground: " + background + "; --card: " + card + "; --note: " + card + "; --good: " + card +
		"; --text: " + text + "; --soft: " + text + "; --good-line: " + text + "; --line: color-mix(in srgb, " + text + " 25%, " + card + ")" +
		"; --bad: " + text + "; --accent: " + text + "; --accent-deep: " + text + "; --on-accent: " + card + "; --link: " + text + ";"
}

// colors declares the colours derived from a team's colour: of buttons, of their text, and of
// links, which have the text colour if the team's is not readable.
func colors(color, card, text string) string {
	return "--accent: " + color + "; --accent-deep: " + color + "; --on-accent: " + brand.OnColor(color) +
		"; --link: " + brand.TextColor(color, card, text) + ";"
}

// hostName matches hosts that may be written into a Content-Security-Policy: other texts could
// extend the policy.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)

// originOf returns the origin of an https URL for a Content-Security-Policy.
func originOf(address string) (origin string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !hostName.MatchString(u.Host) {
		return "", false
	}
	return "https://" + u.Host, true
}

// policy returns the Content-Security-Policy of a page with the given style.
func (page *hostedPage) policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'" // the dashboard frames the pages
	if page.Script != "" {
		policy += "; script-src 'self'; connect-src 'self'; worker-src 'self'"
	}
	if page.Frame != "" {
		policy += "; frame-src 'self'"
	}
	if page.Theme.from != "" {
		policy += "; img-src " + page.Theme.from
	}
	return policy
}
