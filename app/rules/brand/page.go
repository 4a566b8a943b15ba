package brand

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

const (
	// MaxPageText is the maximum length of a text of the hosted pages, in characters.
	MaxPageText = 500
	// MaxPageLines is the maximum number of lines of such a text.
	MaxPageLines = 5
	// MaxLinkText is the maximum length of the text of the link, in characters.
	MaxLinkText = 60
	// MaxPageURL is the maximum length of the link, in bytes.
	MaxPageURL = 2048
)

// Default colours of the hosted pages, in light mode.
const (
	PageGround = "#f3f4f7"
	PageCard   = white
	PageInk    = Ink
)

// PageLanguages are the languages of the hosted pages.
var PageLanguages = []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"}

// Page is what a team changes of its hosted pages. The zero value changes nothing.
type Page struct {
	Background string     `json:"background_color,omitempty"` // around the card, as #rrggbb; empty: PageGround
	Card       string     `json:"card_color,omitempty"`       // behind the text; empty: PageCard
	Text       string     `json:"text_color,omitempty"`       // empty: PageInk
	Texts      []PageText `json:"texts,omitempty"`            // at most one of each language
	URL        string     `json:"after_unsubscribe_url,omitempty"`
}

// PageText is what a team adds to its hosted pages in a language. Empty fields add nothing.
type PageText struct {
	Language     string `json:"language"`
	Unsubscribe  string `json:"unsubscribe,omitempty"`  // on the page that asks
	Unsubscribed string `json:"unsubscribed,omitempty"` // on the page afterwards
	Preferences  string `json:"preferences,omitempty"`
	Link         string `json:"link,omitempty"` // text of the link to Page.URL; empty: its host
}

// HostedPage returns the page of a brand.
func (b *Brand) HostedPage() (p Page) {
	if b.Page != "" && json.Unmarshal([]byte(b.Page), &p) != nil {
		return Page{} // stored values are usable, see Encode
	}
	return p
}

// Encode returns the stored form of a checked page; empty for the zero value.
func (p *Page) Encode() (string, error) {
	if p.plain() && len(p.Texts) == 0 && p.URL == "" {
		return "", nil
	}
	b, err := json.Marshal(p)
	return string(b), err
}

// plain reports whether the page has the default colours.
func (p *Page) plain() bool { return p.Background+p.Card+p.Text == "" }

// Colors returns the colours of the page, and false if they are the default.
func (p *Page) Colors() (background, card, text string, own bool) {
	return cmp.Or(p.Background, PageGround), cmp.Or(p.Card, PageCard), cmp.Or(p.Text, PageInk), !p.plain()
}

// TextIn returns the texts in a language; the zero value: none.
func (p *Page) TextIn(language string) PageText {
	for _, t := range p.Texts {
		if t.Language == language {
			return t
		}
	}
	return PageText{}
}

// Check checks a page and brings its values into the stored form. It can't tell whether the team
// may use the host of URL, which Host returns. Errors: CodeValidation, which names the field.
func (p *Page) Check() error {
	for _, f := range []struct {
		name  string
		value *string
	}{{"background_color", &p.Background}, {"card_color", &p.Card}, {"text_color", &p.Text}} {
		if *f.value == "" {
			continue
		}
		color, err := CheckColor(*f.value)
		if err != nil {
			return app.Invalid("page."+f.name, "must be # and six hexadecimal digits, like #1f6feb")
		}
		*f.value = color
	}
	_, card, text, _ := p.Colors()
	if ratio := Contrast(text, card); ratio < MinContrast {
		name, other := "text_color", "card"
		if p.Text == "" {
			name, other = "card_color", "text"
		}
		return app.Invalid("page."+name, "has a contrast of %s:1 with the %s (text %s on %s), and text needs %.1f:1 (WCAG 2.2 AA)", floor(ratio), other, text, card, MinContrast)
	}
	seen := map[string]bool{}
	for i := range p.Texts {
		if err := p.Texts[i].check(fmt.Sprintf("page.texts[%d].", i)); err != nil {
			return err
		}
		if seen[p.Texts[i].Language] {
			return app.Invalid(fmt.Sprintf("page.texts[%d].language", i), "must not repeat that of another text")
		}
		seen[p.Texts[i].Language] = true
	}
	return p.checkURL()
}

// floor formats a ratio. It cuts instead of rounding: 4.49 must not be displayed as 4.5.
func floor(ratio float64) string { return strconv.FormatFloat(math.Floor(ratio*10)/10, 'f', 1, 64) }

func (t *PageText) check(prefix string) error {
	if !slices.Contains(PageLanguages, t.Language) {
		return app.Invalid(prefix+"language", "must be one of %s", strings.Join(PageLanguages, ", "))
	}
	for _, f := range []struct {
		name       string
		value      *string
		max, lines int
	}{{"unsubscribe", &t.Unsubscribe, MaxPageText, MaxPageLines}, {"unsubscribed", &t.Unsubscribed, MaxPageText, MaxPageLines},
		{"preferences", &t.Preferences, MaxPageText, MaxPageLines}, {"link", &t.Link, MaxLinkText, 1}} {
		clean := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(*f.value))
		if app.HasControl(strings.ReplaceAll(clean, "\n", " ")) || !utf8.ValidString(clean) {
			return app.Invalid(prefix+f.name, "must be plain text without control characters")
		}
		if utf8.RuneCountInString(clean) > f.max || strings.Count(clean, "\n") >= f.lines {
			return app.Invalid(prefix+f.name, "must have at most %d characters and %d lines", f.max, f.lines)
		}
		*f.value = clean
	}
	return nil
}

func (p *Page) checkURL() error {
	if p.URL == "" {
		return nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Host != u.Hostname() || u.User != nil || len(p.URL) > MaxPageURL || app.HasControl(p.URL) || p.Host() != strings.ToLower(u.Host) {
		return app.Invalid("page.after_unsubscribe_url", "must be an https address without user and port, of at most %d bytes", MaxPageURL)
	}
	return nil
}

// Host returns the host of the link in lower case; empty: none.
func (p *Page) Host() string {
	u, err := url.Parse(p.URL)
	if err != nil || p.URL == "" || strings.Trim(strings.ToLower(u.Host), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return ""
	}
	return strings.ToLower(u.Host)
}
