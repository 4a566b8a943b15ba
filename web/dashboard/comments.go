package dashboard

import (
	"bytes"
	"regexp"
)

// lineComments are the comments that take whole lines of a module or a style sheet. They are a
// tenth of the bytes that would go over the wire.
var lineComments = regexp.MustCompile(`(?m)^[ \t]*(?://.*|/\*(?:[^*]|\*+[^*/])*\*+/[ \t]*)$`)

// uncommented returns a source without those comments. Each line keeps its number.
func uncommented(source []byte) []byte {
	return lineComments.ReplaceAllFunc(source, func(comment []byte) []byte {
		return bytes.Repeat([]byte{'\n'}, bytes.Count(comment, []byte{'\n'}))
	})
}
