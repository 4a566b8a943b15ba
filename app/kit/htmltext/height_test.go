package htmltext

import (
	"strings"
	"testing"
)

// TestHeightIsEstimated covers lines, long lines, images, and content that is not shown.
func TestHeightIsEstimated(t *testing.T) {
	for source, want := range map[string][2]int{
		"":                                   {48, 72},
		"<p>It works.":                       {72, 100},
		"<p>" + strings.Repeat("word ", 150): {280, 340},
		strings.Repeat("<p>line</p>", 10):    {280, 540},
		`<img src="https://x.example/a.png" height="300">`:               {348, 380},
		`<td height=100><img height="x"><img height=-5>`:                 {148, 200},
		`<style>p { margin: 0 }</style><!-- much` + " text" + ` --><p>a`: {72, 100},
		strings.Repeat("<p>line</p>", 10_000):                            {maxHeight, maxHeight * 130},
		strings.Repeat("<img height=4000>", 10_000):                      {maxHeight, maxHeight + 100},
	} {
		if got := Height(source); got < want[0] || got > want[1] {
			t.Errorf("%.60q is %d high, want %d to %d", source, got, want[0], want[1])
		}
	}
}
