package render

import (
	"mailer/app"
	"mailer/app/kit/htmltext"
)

// CheckTemplate checks what TemplateContent.Check leaves: the texts of a content that is not plain.
// blocks are the saved blocks that it uses (BlockNames). Errors: CodeValidation.
func CheckTemplate(c *app.TemplateContent, blocks app.Blocks) error {
	if c.Syntax == app.PlainSyntax {
		return nil
	}
	for _, part := range c.Parts() {
		if err := CheckDocument(part, c.Syntax, Scope{Template: c, Blocks: blocks}); err != nil {
			return err
		}
	}
	return nil
}

// CheckBroadcast checks the texts of a broadcast in its syntax. blocks are the saved blocks that it uses
// (BlockNames). Errors: CodeValidation.
func CheckBroadcast(b *app.Broadcast, blocks app.Blocks) error {
	if b.Syntax == app.PlainSyntax {
		return b.CheckPlaceholders()
	}
	for _, part := range b.Parts() {
		if err := CheckDocument(part, b.Syntax, Scope{Blocks: blocks}); err != nil {
			return err
		}
	}
	return nil
}

// Scope is what a text of a document may name.
type Scope struct {
	Template *app.TemplateContent // declares the variables; nil: a broadcast, which names contacts
	Blocks   app.Blocks
}

// CheckDocument checks one text of a document in its syntax. Errors: CodeValidation with the line, of
// Liquid also with the column.
func CheckDocument(part app.Part, syntax app.Syntax, scope Scope) error {
	if !part.InHeader() {
		part.Text = htmltext.RepairPageLinks(part.Text)
	}
	names := broadcastScope
	var err error
	if scope.Template != nil {
		names = templateScope(scope.Template)
		err = scope.Template.CheckPlaceholders(part)
	} else {
		err = app.CheckBroadcastPlaceholders(part.Field, part.Text)
	}
	if err != nil || syntax != app.LiquidSyntax {
		return err
	}
	_, tokens, err := scanPart(part.Field, part.Text, names)
	if err != nil {
		return err
	}
	return checkBlocks(part, tokens, scope.Blocks)
}
