// Package brand defines a team's logo, colour, font and footer, which hosted pages and the
// dashboard's visual editor use.
//
// Failure policy: an unusable value is refused with an *app.Error that names its field. Stored
// values are always usable.
package brand

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
)

const (
	// MaxFooter is the maximum length of a footer in characters.
	MaxFooter = 500
	// MaxFooterLines is the maximum number of lines of a footer.
	MaxFooterLines = 10
	// Ink is the default colour.
	Ink = "#1b1f27"
	// MinContrast is the minimum contrast of text with its background for WCAG 2.2 level AA.
	MinContrast = 4.5
	// LogoPath is the path of uploaded logos on every host of this server.
	LogoPath = app.ImagePath
	// MaxLogoBytes is the maximum size of an uploaded logo.
	MaxLogoBytes = 512 << 10
	// MaxLogoSide is the maximum width and height of an uploaded logo in pixels.
	MaxLogoSide = 2048
	// MaxStoredLogos is how many uploaded logos of a team are stored, newest first: earlier emails
	// show them.
	MaxStoredLogos = 10
)

// Brand is the brand of a team.
type Brand struct {
	Team    string // name of the team
	Logo    Logo   // uploaded logo
	LogoURL string // URL of a logo on another server; empty: none
	Color   string // #rrggbb in lower case; empty: Ink
	Font    Font
	Footer  string // plain text with LF between lines; empty: none
	Page    string // see HostedPage; empty: default
}

// Logo is an uploaded logo. An empty ID means none.
type Logo struct {
	ID            string
	Type          string // image/png or image/jpeg
	Width, Height int    // pixels
}

// extensions are the file extensions in logo URLs.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}

// Path returns the path of a logo on this server; empty: none.
func (l *Logo) Path() string {
	if l.ID == "" {
		return ""
	}
	return LogoPath + l.ID + extensions[l.Type]
}

// Address returns the URL of the logo; empty: none. base is the base URL of this server without a
// final slash.
func (b *Brand) Address(base string) string {
	if path := b.Logo.Path(); path != "" {
		return base + path
	}
	return b.LogoURL
}

// Font is the name of a font stack of common fonts.
type Font string

// The fonts. SystemFont is the default font of the reader's device.
const (
	SystemFont  Font = "system"
	ArialFont   Font = "arial"
	VerdanaFont Font = "verdana"
	GeorgiaFont Font = "georgia"
	TimesFont   Font = "times"
	CourierFont Font = "courier"
)

// Fonts are all fonts.
var Fonts = []Font{SystemFont, ArialFont, VerdanaFont, GeorgiaFont, TimesFont, CourierFont}

// Stack returns the CSS font-family. It contains no double quotes, so that it can be used in an
// attribute.
func (f Font) Stack() string {
	switch f {
	case ArialFont:
		return "Arial, Helvetica, sans-serif"
	case VerdanaFont:
		return "Verdana, Geneva, sans-serif"
	case GeorgiaFont:
		return "Georgia, 'Times New Roman', serif"
	case TimesFont:
		return "'Times New Roman', Times, serif"
	case CourierFont:
		return "'Courier New', Courier, monospace"
	}
	return "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
}

// CheckFont checks the name of a font. Error: CodeValidation.
func CheckFont(name string) (Font, error) {
	names := make([]string, len(Fonts))
	for i, f := range Fonts {
		if string(f) == name {
			return f, nil
		}
		names[i] = string(f)
	}
	return "", app.Invalid("font", "must be one of %s", strings.Join(names, ", "))
}

var sixDigits = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// CheckColor checks a colour and returns it in lower case. Error: CodeValidation.
func CheckColor(text string) (string, error) {
	if !sixDigits.MatchString(text) {
		return "", app.Invalid("color", "must be # and six hexadecimal digits, like #1f6feb")
	}
	return strings.ToLower(text), nil
}

// CheckFooter checks a footer and returns it with LF between lines and without trailing white
// space. Error: CodeValidation.
func CheckFooter(text string) (string, error) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(text)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
		if app.HasControl(strings.ReplaceAll(line, "\t", " ")) || !utf8.ValidString(line) {
			return "", app.Invalid("footer", "must be plain text without control characters")
		}
	}
	clean := strings.Join(lines, "\n")
	if utf8.RuneCountInString(clean) > MaxFooter || len(lines) > MaxFooterLines {
		return "", app.Invalid("footer", "must have at most %d characters and %d lines", MaxFooter, MaxFooterLines)
	}
	if strings.Contains(clean, "{{{") {
		return "", app.Invalid("footer", "must not hold variables: remove {{{")
	}
	return clean, nil
}

// Contrast returns the contrast ratio of two colours by WCAG 2.2, from 1 to 21. Both must be
// results of CheckColor.
func Contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a colour (WCAG 2.2).
func luminance(color string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8) // CheckColor guarantees six digits
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

const (
	white = "#ffffff"
	black = "#000000"
)

// OnColor returns the colour of text on a button of a colour: white, or black if white has too
// little contrast. One of them always has enough.
func OnColor(color string) string {
	if Contrast(color, white) >= MinContrast {
		return white
	}
	return black
}

// TextColor returns the colour of links on a background: color if its contrast is sufficient,
// otherwise fallback.
func TextColor(color, background, fallback string) string {
	if Contrast(color, background) >= MinContrast {
		return color
	}
	return fallback
}

// Warning returns a warning about a colour whose contrast with white is too low; empty: it is
// sufficient.
func Warning(color string) string {
	if color == "" {
		return ""
	}
	ratio := Contrast(color, white)
	if ratio >= MinContrast {
		return ""
	}
	return "The contrast of " + color + " with white is " + floor(ratio) +
		":1, and text needs 4.5:1 (WCAG 2.2 AA). Links stay dark, and buttons of this color have black text. A darker color is used for links too."
}
