package htmltext

import "golang.org/x/net/html"

// What the external tests of this package need of its inside.

var (
	LowerASCII = lowerASCII
	VisibleNUL = visibleNUL
)

func (t *Tokens) Attributes(yield func(key, value string) bool) { t.attributes(yield) }

func (t *Tokens) Kind() html.TokenType { return t.kind }
