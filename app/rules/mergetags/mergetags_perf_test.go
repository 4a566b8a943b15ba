//go:build perf

package mergetags

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfLongTextsTakeLinearTime(t *testing.T) {
	for _, piece := range []string{"{", "{{", "{{{a", "{{ ", "{{{ x }}", "*|", "[%", "-", "<%", "%7B", "&lt;%", "{$", "{%", "@TrackLink", "{{ if }}", "{{#a}}", "{{- x -}} \n", "{{&nbsp;"} {
		for d := range formsOf {
			apptest.Linear(t, piece, 1<<11, func(n int) func() {
				text := strings.Repeat(piece, n/len(piece))
				return func() { Convert(d, Broadcast, text) }
			})
		}
	}
}
