package render

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/liquid"
)

// CheckBlock checks the HTML of a saved block. Any block that it accepts leaves a document valid,
// wherever the document uses the block. Errors: CodeValidation with line and column.
func CheckBlock(source string) error {
	source = htmltext.RepairPageLinks(source)
	err := app.CheckBlockPlaceholders("html", source)
	if err != nil {
		return err
	}
	tokens, err := liquid.Scan(source)
	if err == nil {
		err = liquid.CheckBlock(tokens)
	}
	if err != nil {
		return app.Invalid("html", "%s", err)
	}
	return nil
}

// blockTag matches the beginning of a tag for a saved block.
var blockTag = regexp.MustCompile(`{%-?\s*block\b`)

// usesBlocks reports whether a text may use saved blocks.
func usesBlocks(syntax app.Syntax, source string) bool {
	return syntax == app.LiquidSyntax && blockTag.MatchString(source)
}

// BlockNames returns the names of the saved blocks that the texts of a document use, sorted. Texts that
// can't be scanned use none.
func BlockNames(syntax app.Syntax, parts []app.Part) []string {
	names := map[string]bool{}
	for _, part := range parts {
		if !usesBlocks(syntax, part.Text) {
			continue
		}
		tokens, _ := liquid.Scan(part.Text)
		for i := range tokens {
			if name, ok := tokens[i].Block(); ok {
				names[name] = true
			}
		}
	}
	return app.SortedKeys(names)
}

// checkBlocks checks the saved blocks of a part. Errors: CodeValidation with line and column.
func checkBlocks(part app.Part, tokens []liquid.Token, known app.Blocks) error {
	used := 0
	for i := range tokens {
		t := &tokens[i]
		name, ok := t.Block()
		if !ok {
			continue
		}
		used++
		var fault string
		switch _, exists := known[name]; {
		case !strings.HasSuffix(part.Field, "html"):
			fault = "uses a saved block, which html alone can"
		case !exists:
			fault = "uses the saved block " + app.Excerpt(name) + ", which does not exist"
		case used > app.MaxBlocks:
			fault = "uses more saved blocks than a document can"
		default:
			continue
		}
		return app.Invalid(part.Field, "%s", &liquid.Error{Line: t.Line, Column: t.Column, Text: fault})
	}
	return nil
}

// expandBlocks replaces the saved blocks in HTML. One that is not among blocks leaves nothing.
func expandBlocks(syntax app.Syntax, source string, blocks app.Blocks) string {
	if !usesBlocks(syntax, source) || len(blocks) == 0 {
		return source
	}
	tokens, err := liquid.Scan(source)
	if err != nil {
		return source // the caller reports it
	}
	var b strings.Builder
	done := 0
	for i := range tokens {
		t := &tokens[i]
		name, ok := t.Block()
		if !ok {
			continue
		}
		before, after := source[done:t.Offset], t.Offset+len(t.Text)
		if strings.HasPrefix(t.Text, "{%-") {
			before = strings.TrimRight(before, htmltext.Blanks)
		}
		if strings.HasSuffix(t.Text, "-%}") {
			after = len(source) - len(strings.TrimLeft(source[after:], htmltext.Blanks))
		}
		b.WriteString(before)
		b.WriteString(blocks[name])
		done = after
	}
	b.WriteString(source[done:])
	return b.String()
}

// Expanded returns a broadcast that was queued with its saved blocks put in, which may not exist any more.
func Expanded(b *app.Broadcast) *app.Broadcast {
	if b.Snapshot == nil || len(b.Snapshot.Blocks) == 0 {
		return b
	}
	out := *b
	out.HTML, out.Variants = expandAll(b.Syntax, b.HTML, b.Variants, b.Snapshot.Blocks)
	return &out
}

// expandAll is expandBlocks for a document and its variants.
func expandAll(syntax app.Syntax, html string, variants app.Variants, blocks app.Blocks) (string, app.Variants) {
	out := maps.Clone(variants)
	for lang, v := range out {
		v.HTML = expandBlocks(syntax, v.HTML, blocks)
		out[lang] = v
	}
	return expandBlocks(syntax, html, blocks), out
}

// WithBlocks returns a template in whose texts the saved blocks are replaced. A block may contain the
// link to the page that shows the mail, which then is a variable of the template.
func WithBlocks(c *app.TemplateContent, blocks app.Blocks) *app.TemplateContent {
	out := *c
	out.HTML, out.Variants = expandAll(c.Syntax, c.HTML, c.Variants, blocks)
	linked := false
	for _, html := range blocks {
		linked = linked || strings.Contains(html, app.ViewKey)
	}
	declared := slices.ContainsFunc(c.Variables, func(v app.TemplateVariable) bool { return v.Key == app.ViewKey })
	if linked && !declared {
		out.Variables = append(c.Variables[:len(c.Variables):len(c.Variables)], app.TemplateVariable{Key: app.ViewKey, Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty}})
	}
	return &out
}
