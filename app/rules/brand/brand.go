// Package brand is how a team looks to the people it writes to: logo, colour, font and
// footer. The hosted pages and the visual editor of the dashboard show them.
//
// Failure policy: a value that cannot be used is refused with an *app.Error that names its
// field; a stored value is always usable.
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
	// MaxFooter bounds a footer, in characters.
	MaxFooter = 500
	// MaxFooterLines bounds the lines of a footer.
	MaxFooterLines = 10
	// Ink is the colour of a team that chose none.
	Ink = "#1b1f27"
	// MinContrast is the contrast of text with what is behind it that WCAG 2.2 asks for at
	// level AA.
	MinContrast = 4.5
	// LogoPath is where uploaded logos are served, on every host of this server.
	LogoPath = "/i/"
	// MaxLogoBytes bounds the file of an uploaded logo.
	MaxLogoBytes = 512 << 10
	// MaxLogoSide bounds each side of an uploaded logo, in pixels.
	MaxLogoSide = 2048
	// MaxStoredLogos is how many uploaded logos of a team are kept, the newest: email that was
	// sent earlier shows them.
	MaxStoredLogos = 10
)

// Brand is the brand of a team.
type Brand struct {
	Team    string // the team's name
	Logo    Logo   // the one that was uploaded
	LogoURL string // the address of a logo on another server; empty: none
	Color   string // #rrggbb in lower case; empty: Ink
	Font    Font
	Footer  string // plain text with LF between lines; empty: none
}

// Logo is an uploaded logo. Its ID is empty where there is none.
type Logo struct {
	ID            string
	Type          string // image/png or image/jpeg
	Width, Height int    // pixels
}

// extensions are the endings of the addresses of logos.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}

// Path is the path of a logo on this server; empty where there is none.
func (l *Logo) Path() string {
	if l.ID == "" {
		return ""
	}
	return LogoPath + l.ID + extensions[l.Type]
}

// Address is the address of the logo; empty: there is none. base is the address of this
// server, without a slash at its end.
func (b *Brand) Address(base string) string {
	if path := b.Logo.Path(); path != "" {
		return base + path
	}
	return b.LogoURL
}

// Font names a font stack that mail programs and browsers have.
type Font string

// The fonts. SystemFont is that of the reader's device.
const (
	SystemFont  Font = "system"
	ArialFont   Font = "arial"
	VerdanaFont Font = "verdana"
	GeorgiaFont Font = "georgia"
	TimesFont   Font = "times"
	CourierFont Font = "courier"
)

// Fonts are the names of all fonts.
var Fonts = []Font{SystemFont, ArialFont, VerdanaFont, GeorgiaFont, TimesFont, CourierFont}

// Stack is the value of the CSS property font-family. It holds no double quotes, so that it
// may stand in an attribute.
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

// CheckFooter checks a footer and returns it with LF between its lines and no white space
// at their ends. Error: CodeValidation.
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

// Contrast is the contrast ratio of two colours as WCAG 2.2 defines it, from 1 to 21. Both
// must be as CheckColor returns them.
func Contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of a colour (WCAG 2.2).
func luminance(color string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8) // six digits, by CheckColor
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

// OnColor is the colour of text on a button of the given colour: white, or black where
// white has too little contrast. One of them always has enough.
func OnColor(color string) string {
	if Contrast(color, white) >= MinContrast {
		return white
	}
	return black
}

// TextColor is the colour of links on a background: the given colour where its contrast is
// enough, else fallback.
func TextColor(color, background, fallback string) string {
	if Contrast(color, background) >= MinContrast {
		return color
	}
	return fallback
}

// Warning says in words what a colour with too little contrast means; empty where its
// contrast with white is enough.
func Warning(color string) string {
	if color == "" {
		return ""
	}
	ratio := Contrast(color, white)
	if ratio >= MinContrast {
		return ""
	}
	// Cut, not rounded: 4.49 must not be said to be 4.5.
	return "The contrast of " + color + " with white is " + strconv.FormatFloat(math.Floor(ratio*10)/10, 'f', 1, 64) +
		":1, and text needs 4.5:1 (WCAG 2.2 AA). Links stay dark, and buttons of this color have black text. A darker color is used for links too."
}
