package app

import (
	"fmt"
	"strings"
	"testing"
)

func TestImageNames(t *testing.T) {
	a, b := strings.Repeat("0123456789abcdef", 2), strings.Repeat("f", 32)
	texts := []string{
		`<img src="https://links.example/i/` + a + `.png" srcset="https://x.example/i/` + a + `-600.png 1x"><td background=/i/` + b + `.jpg>`,
		"/i/" + a + "/i/" + strings.ToUpper(b) + ".png /i/" + b[:31] + " /i/", "", `{"src":"\/i\/x"}`,
	}
	if got := fmt.Sprint(ImageNames(texts...)); got != fmt.Sprint([]string{a, b}) {
		t.Error(got)
	}
	var many strings.Builder
	for i := range 2 * maxImageNames {
		fmt.Fprintf(&many, "/i/%032x", i)
	}
	if n := len(ImageNames(many.String(), "/i/"+a)); n != maxImageNames {
		t.Error(n)
	}
	long := strings.Repeat("/i/"+a[:31]+"-", 30_000)
	if got := ImageNames(long); got != nil {
		t.Error(got)
	}
}

func TestImagePath(t *testing.T) {
	i := Image{Name: "n", Type: "image/jpeg", Sizes: []ImageSize{{Width: 900, Bytes: 7}, {Width: 600, Bytes: 5}}}
	if got := i.Path(0) + " " + i.Path(1); got != "/i/n.jpg /i/n-600.jpg" || i.Bytes() != 12 {
		t.Error(got, i.Bytes())
	}
}

func TestImageAlt(t *testing.T) {
	if alt, err := CheckImageAlt(" A “tree” \n"); alt != "A “tree”" || err != nil {
		t.Errorf("%q %v", alt, err)
	}
	for _, text := range []string{"a\nb", "a\x00", "\xff", strings.Repeat("ä", MaxImageAlt+1)} {
		if _, err := CheckImageAlt(text); CodeOf(err) != CodeValidation {
			t.Errorf("%q: %v", text, err)
		}
	}
}
