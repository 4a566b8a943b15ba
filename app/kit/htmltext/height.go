package htmltext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Estimated sizes of text without styles, in CSS pixels.
const (
	lineHeight  = 24
	lineLength  = 76 // characters in 640 pixels
	pageMargins = 48
	maxHeight   = 4000
)

// Height estimates the height of an HTML mail in a browser at a width of 640 CSS pixels: the lines
// of its text plus the heights given for images and cells.
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
