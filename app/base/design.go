package base

import (
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// MaxDesign is the largest design of a visual editor, in bytes.
const MaxDesign = 256 << 10

// CheckDesign checks the design that a visual editor stores with its HTML: a JSON object of at most
// MaxDesign bytes, or an empty text. Error: CodeValidation.
func CheckDesign(s string) error {
	if s != "" && (len(s) > MaxDesign || s[0] != '{' || !jsontext.Value(s).IsValid()) {
		return app.Invalid("design", "must be a JSON object of at most %d bytes", MaxDesign)
	}
	return nil
}
