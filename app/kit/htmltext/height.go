package htmltext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// What a browser makes of a mail that says nothing about its size, in CSS pixels.
const (
	lineHeight  = 24
	lineLength  = 76 // characters, in 640 pixels
	pageMargins = 48
	maxHeight   = 4000
)

// Height estimates how high a browser shows an HTML mail that is 640 pixels wide, in CSS
// pixels: the lines of its text, and the heights that its pictures and cells name.
func Height(source string) int {
	height := pageMargins
	for line := range strings.SplitSeq(PlainText(source), "\n") {
		height += lineHeight * max(1, (utf8.RuneCountInString(line)+lineLength-1)/lineLength)
	}
	z := NewTokens(source)
	for height < maxHeight {
		switch z.Next() {
		case html.ErrorToken:
			return height
		case html.StartTagToken, html.SelfClosingTagToken:
			if z.Name != "img" && z.Name != "td" {
				continue
			}
			for key, value := range z.attributes {
				if n, err := strconv.Atoi(AttributeText(value)); lowerName(key) == "height" && err == nil && n > 0 {
					height += min(n, maxHeight)
				}
			}
		}
	}
	return maxHeight
}
