package htmltext

import "golang.org/x/net/html"

// Unexported names for the external tests.

var (
	LowerASCII = lowerASCII
	VisibleNUL = visibleNUL
)

func (t *Tokens) Attributes(yield func(key, value string) bool) { t.attributes(yield) }

func (t *Tokens) Kind() html.TokenType { return t.kind }
