package base

import (
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// MaxDesign is how many bytes the design of a visual editor may have.
const MaxDesign = 256 << 10

// CheckDesign wants what a visual editor keeps beside its HTML to be a JSON object; an
// empty text is none. Error: CodeValidation.
func CheckDesign(s string) error {
	if s != "" && (len(s) > MaxDesign || s[0] != '{' || !jsontext.Value(s).IsValid()) {
		return app.Invalid("design", "must be a JSON object of at most %d bytes", MaxDesign)
	}
	return nil
}
