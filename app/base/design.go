package base

import (
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/render"
)

// MaxDesign is the largest design of a visual editor, in bytes.
const MaxDesign = 256 << 10

// CheckDesign checks the design that a visual editor stores with its HTML: a JSON object of at most
// MaxDesign bytes, or an empty text. Error: CodeValidation.
func CheckDesign(s string) error {
	if !isDesign(s) {
		return app.Invalid("design", designShape, MaxDesign)
	}
	return nil
}

const designShape = "must be a JSON object of at most %d bytes"

func isDesign(s string) bool {
	return s == "" || len(s) <= MaxDesign && s[0] == '{' && jsontext.Value(s).IsValid()
}

// CheckBroadcast checks the texts of a validated broadcast in their syntax, with the saved blocks that
// they use, and its designs. Errors: CodeValidation.
func CheckBroadcast(b *app.Broadcast, blocks app.Blocks) error {
	if err := checkDesigns(b.Design, b.Variants); err != nil {
		return err
	}
	return render.CheckBroadcast(b, blocks)
}

// CheckTemplate checks the texts of a validated content in their syntax, with the saved blocks that they
// use, and its designs. Errors: CodeValidation.
func CheckTemplate(c *app.TemplateContent, blocks app.Blocks) error {
	if err := checkDesigns(c.Design, c.Variants); err != nil {
		return err
	}
	return render.CheckTemplate(c, blocks)
}

func checkDesigns(own string, variants app.Variants) error {
	if err := CheckDesign(own); err != nil {
		return err
	}
	for _, lang := range variants.Languages() {
		if !isDesign(variants[lang].Design) {
			return app.Invalid("variants."+lang+".design", designShape, MaxDesign)
		}
	}
	return nil
}
