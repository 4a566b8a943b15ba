package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"regexp"

	"mailer/app/rules/brand"
)

// theme is how a page shows the brand of a team. The zero value is that of a page of no team.
type theme struct {
	style string // CSS after that of all pages
	logo  string // its address; empty: none
	from  string // where the logo comes from, as a Content-Security-Policy names it
}

// The backgrounds of pages, light and dark, as page.css has them.
const (
	lightCard = "#ffffff"
	darkCard  = "#191d24"
)

func themeOf(b *brand.Brand) (l theme) {
	if path := b.Logo.Path(); path != "" {
		l.logo, l.from = ".."+path, "'self'" // pages are one folder deep
	} else if from, ok := originOf(b.LogoURL); ok {
		l.logo, l.from = b.LogoURL, from
	}
	if b.Color != "" {
		l.style += "\n:root { " + colors(b.Color, lightCard, "var(--text)") + " }\n" +
			"@media (prefers-color-scheme: dark) { :root { " + colors(b.Color, darkCard, "var(--text)") + " } }\n"
	}
	if b.Font != "" && b.Font != brand.SystemFont {
		l.style += "body { font-family: " + b.Font.Stack() + "; }\n"
	}
	return l
}

// colors declares the colours that come from a team's: of buttons, of the text on them, and
// of links, which are as text where the colour cannot be read.
func colors(color, card, text string) string {
	return "--accent: " + color + "; --accent-deep: " + color + "; --on-accent: " + brand.OnColor(color) +
		"; --link: " + brand.TextColor(color, card, text) + ";"
}

// hostName is what may stand in a Content-Security-Policy as a host: anything else could add
// to the policy.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)

// originOf is the origin of an https address, as a Content-Security-Policy names it.
func originOf(address string) (origin string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !hostName.MatchString(u.Host) {
		return "", false
	}
	return "https://" + u.Host, true
}

// policy is the Content-Security-Policy of a page with the given style.
func (page *hostedPage) policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'" // the dashboard shows pages in frames
	if page.Frame != "" {
		policy += "; frame-src 'self'"
	}
	if page.Theme.from != "" {
		policy += "; img-src " + page.Theme.from
	}
	return policy
}
