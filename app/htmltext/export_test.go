package htmltext

import "golang.org/x/net/html"

// What the tests of this package from outside reach into it for.

func (x *Tokens) Attributes(a0 func(key string, value string) bool) { x.attributes(a0) }

func (x *Tokens) Kind() html.TokenType { return x.kind }

var LowerASCII = lowerASCII

var VisibleNUL = visibleNUL
