package app

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Block is HTML that is written once and used by many documents in Liquid, as {% block "NAME" %}.
type Block struct {
	ID        string
	TeamID    string
	Name      string
	HTML      string // empty in lists
	CreatedAt time.Time
	UpdatedAt time.Time
}

// BlockInput is a block to create.
type BlockInput struct{ Name, HTML string }

// BlockPatch changes a block. Empty texts mean absent.
type BlockPatch struct{ Name, HTML string }

// Blocks are the saved blocks of a document: HTML by name.
type Blocks map[string]string

// Validate checks the input and returns the block without id, team and times. The caller checks its
// HTML (render.CheckBlock). Errors: CodeValidation.
func (in *BlockInput) Validate() (Block, error) {
	b := Block{Name: strings.TrimSpace(in.Name), HTML: in.HTML}
	return b, b.check()
}

// Apply returns the block with the patch applied. Errors: CodeValidation.
func (p *BlockPatch) Apply(b Block) (Block, error) {
	if p.Name != "" {
		b.Name = strings.TrimSpace(p.Name)
	}
	if p.HTML != "" {
		b.HTML = p.HTML
	}
	return b, b.check()
}

func (b *Block) check() error {
	switch {
	case b.Name == "":
		return Invalid("name", "is required")
	case utf8.RuneCountInString(b.Name) > MaxBlockName:
		return Invalid("name", "can have at most %d characters", MaxBlockName)
	case HasHidden(b.Name) || strings.ContainsAny(b.Name, `"{}%`):
		return Invalid("name", `must not contain ", {, }, %%, line breaks, other control characters or invisible formatting`)
	case b.HTML == "":
		return Invalid("html", "is required")
	case len(b.HTML) > MaxBlock:
		return Invalid("html", "must not be longer than %d bytes", MaxBlock)
	}
	return checkBody("html", b.HTML)
}
