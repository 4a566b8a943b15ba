package brand

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestColorsAreChecked(t *testing.T) {
	for in, want := range map[string]string{"#1F6FEB": "#1f6feb", "#000000": "#000000"} {
		if got, err := CheckColor(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "#fff", "1f6feb", "#1f6feg", "#1f6feb ", "#1f6feb;x", "red", "#１f6feb", "#1f6feb\n"} {
		if got, err := CheckColor(in); err == nil || !strings.Contains(err.Error(), "`color`") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// TestContrast uses published ratios.
func TestContrast(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#ffffff", "#ffffff", 1}, {"#767676", "#ffffff", 4.54}, {"#777777", "#ffffff", 4.48}, {"#ff0000", "#ffffff", 4.00}, {"#0000ff", "#ffffff", 8.59}} {
		if got := Contrast(tt.a, tt.b); math.Abs(got-tt.want) > 0.006 || got != Contrast(tt.b, tt.a) {
			t.Errorf("%s on %s: %.3f, want %.2f", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestOnColorIsReadable(t *testing.T) {
	for r := 0; r < 256; r += 5 {
		for g := 0; g < 256; g += 5 {
			for b := 0; b < 256; b += 15 {
				color := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				if ratio := Contrast(color, OnColor(color)); ratio < MinContrast {
					t.Fatalf("text on %s has %.2f", color, ratio)
				}
				if link := TextColor(color, white, Ink); Contrast(link, white) < MinContrast {
					t.Fatalf("links for %s are %s", color, link)
				}
			}
		}
	}
}

func TestWarningOfLightColor(t *testing.T) {
	for _, color := range []string{"", "#000000", "#767676"} {
		if got := Warning(color); got != "" {
			t.Errorf("%q: %s", color, got)
		}
	}
	for color, part := range map[string]string{"#ffd400": "1.4:1", "#777777": "4.4:1"} {
		if got := Warning(color); !strings.Contains(got, color) || !strings.Contains(got, part) {
			t.Errorf("%q: %s", color, got)
		}
	}
}

func TestFontStacksFitAnAttribute(t *testing.T) {
	for _, f := range Fonts {
		if got, err := CheckFont(string(f)); err != nil || got != f {
			t.Errorf("%s: %s, %v", f, got, err)
		}
		if strings.ContainsAny(f.Stack(), `"<>&;{}`) {
			t.Errorf("%s: %s", f, f.Stack())
		}
	}
	if _, err := CheckFont("comic"); err == nil || !strings.Contains(err.Error(), "`font`") || !strings.Contains(err.Error(), "georgia") {
		t.Errorf("%v", err)
	}
}

func TestCheckFooter(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \r\n": "", "Acme Inc.\r\n1 Main St \rSpringfield\n": "Acme Inc.\n1 Main St\nSpringfield", "a\n\nb": "a\n\nb", "<b>&": "<b>&",
		strings.Repeat("é", MaxFooter): strings.Repeat("é", MaxFooter),
	} {
		if got, err := CheckFooter(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{strings.Repeat("é", MaxFooter+1), strings.Repeat("a\n", MaxFooterLines) + "b", "a\x00b", "a\u2028b", "a\xffb", "{{{UNSUBSCRIBE_URL}}}"} {
		if got, err := CheckFooter(in); err == nil || !strings.Contains(err.Error(), "`footer`") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestUploadedLogoPrecedesURL(t *testing.T) {
	for _, tt := range []struct {
		b    Brand
		want string
	}{
		{Brand{}, ""},
		{Brand{LogoURL: "https://cdn.example/l.png"}, "https://cdn.example/l.png"},
		{Brand{LogoURL: "https://cdn.example/l.png", Logo: Logo{ID: "abc", Type: "image/jpeg"}}, "https://mail.example/i/abc.jpg"},
		{Brand{Logo: Logo{ID: "abc", Type: "image/png"}}, "https://mail.example/i/abc.png"},
	} {
		if got := tt.b.Address("https://mail.example"); got != tt.want {
			t.Errorf("%+v: %s", tt.b, got)
		}
	}
}
