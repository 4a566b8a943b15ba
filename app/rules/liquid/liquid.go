// Package liquid evaluates a subset of the Liquid template language for mail. A source is scanned
// into tokens, the tokens are built into a template, and the template is run for each recipient.
// Templates are immutable and safe for concurrent use. Nothing does I/O or reads the clock.
//
// Failure policy: Scan, Build, Check and CheckHTML report faults of the document with their line
// and column. After that the only error is ErrLimit: a missing or unsuitable value gives an empty
// text. Bounds are counted, so that the same document and values end alike on every machine.
package liquid

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
)

// The bounds of one run.
const (
	maxSteps      = 100_000
	maxIterations = 10_000
	maxString     = 64 << 10 // bytes
	maxOutput     = 1 << 20  // bytes
	maxDepth      = 20       // nested blocks, and nested indexes of a name
)

// ErrLimit is the error of a run that passes a bound.
var ErrLimit = errors.New("the document passes a bound of rendering")

// Kind is the kind of a token.
type Kind uint8

// The kinds.
const (
	Text        Kind = iota // fixed text
	Output                  // {{ }}
	Tag                     // {% %}
	Placeholder             // {{{ }}}
	Leaf                    // from the caller
)

// Token is one part of a source.
type Token struct {
	Kind        Kind
	Text        string // of Text: the text; of others: the source
	Offset      int    // in the source, in bytes
	Line        int    // from 1
	Column      int    // from 1, in characters
	Placeholder app.Placeholder
	Context     Context // of Output, Placeholder and the tags cycle and capture: see CheckHTML
	Leaf        any     // not used by this package

	expr  *expression // of Output
	tag   *tag        // of Tag
	names []nameUse   // the names that it reads
}

// Error is a fault of a document. Text is a sentence without its subject, which follows the name
// of a field.
type Error struct {
	Line, Column int
	Text         string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Text, e.Line, e.Column)
}

func (t *Token) fault(format string, args ...any) *Error {
	return &Error{t.Line, t.Column, fmt.Sprintf(format, args...)}
}

// faultAt returns an error at an offset of the token.
func (t *Token) faultAt(at int, format string, args ...any) *Error {
	e, before := t.fault(format, args...), t.Text[:at]
	if n := strings.LastIndexByte(before, '\n'); n >= 0 {
		e.Line += strings.Count(before, "\n")
		e.Column = 1
		before = before[n+1:]
	}
	e.Column += utf8.RuneCountInString(before)
	return e
}

// Sink receives the output of a run in order.
type Sink interface {
	// Text receives fixed text. The pointer is the same in each run.
	Text(tok *Token)
	// Value receives the value of an output or of a cycle, escaped for tok.Context.
	Value(tok *Token, v string)
	Placeholder(tok *Token)
	Leaf(tok *Token)
}

// Env holds the values of one run.
type Env struct {
	// Lookup returns the value of a name of the Scope, or of "contact.KEY".
	Lookup func(name string) (Value, bool)
	Now    time.Time
	// Missing returns what an output shows for "contact.KEY" that is absent or empty, and that no
	// default replaces; nil: nothing.
	Missing func(path string) Value
	// Removed is called for a value that was to be a whole address and that is none of http, https,
	// mailto and tel. Nothing is written for it; nil: not called.
	Removed func(tok *Token)
}
