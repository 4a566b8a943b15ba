package liquid

import (
	"slices"
	"strings"
)

// Template is a built document.
type Template struct {
	nodes  []node
	tokens []Token
}

// node is a token that is executed. Branches of a block are executed by the node of its first tag.
type node struct {
	tok      *Token
	branches []branch
}

// branch is a part of a block. tok begins it: the tag of the block itself or one within it.
type branch struct {
	tok  *Token
	body []node
}

// ends are the tags that end blocks.
var ends = map[string]string{"if": "endif", "unless": "endunless", "case": "endcase", "for": "endfor", "capture": "endcapture"}

// Build builds the template of a sequence of tokens: those of Scan, or others that were made from
// them. It keeps the tokens. Errors: *Error.
func Build(tokens []Token) (*Template, error) {
	b := &builder{tokens: tokens}
	nodes, err := b.list(nil)
	if err != nil {
		return nil, err
	}
	return &Template{nodes, tokens}, nil
}

type builder struct {
	tokens []Token
	at     int
	open   []*Token // the blocks that are open
}

func (b *builder) within(name string) bool {
	return slices.ContainsFunc(b.open, func(t *Token) bool { return t.tag.name == name })
}

// list builds the tokens up to the next tag that belongs to an open block, which it does not skip.
func (b *builder) list(block *Token) (out []node, err error) {
	for ; b.at < len(b.tokens); b.at++ {
		tok := &b.tokens[b.at]
		if tok.Kind != Tag {
			if (tok.Kind == Placeholder || tok.Kind == Leaf) && b.within("capture") {
				return nil, tok.fault("has {{{ }}} within capture, which can hold Liquid only")
			}
			out = append(out, node{tok: tok})
			continue
		}
		n := node{tok: tok}
		switch name := tok.tag.name; name {
		case "if", "unless", "case", "for", "capture":
			if len(b.open) == maxDepth {
				return nil, tok.fault("has more than %d blocks within each other", maxDepth)
			}
			b.open = append(b.open, tok)
			if n.branches, err = b.block(tok); err != nil {
				return nil, err
			}
			b.open = b.open[:len(b.open)-1]
		case "break", "continue":
			if !b.within("for") {
				return nil, tok.fault("has %s outside of for", name)
			}
		case "elsif", "else", "when", "endif", "endunless", "endcase", "endfor", "endcapture":
			if block == nil {
				return nil, tok.fault("has %s without the tag that it belongs to", name)
			}
			return out, nil
		}
		out = append(out, n)
	}
	if block != nil {
		return nil, block.fault("opens %s, which never ends with %s", block.tag.name, ends[block.tag.name])
	}
	return out, nil
}

// block builds the branches of a block, and skips its last tag but one token.
func (b *builder) block(first *Token) (out []branch, err error) {
	block, last := first.tag.name, first
	for {
		b.at++
		body, err := b.list(first)
		if err != nil {
			return nil, err
		}
		if block == "case" && last == first {
			if i := slices.IndexFunc(body, func(n node) bool { return n.tok.Kind != Text || strings.Trim(n.tok.Text, blanks) != "" }); i >= 0 {
				return nil, body[i].tok.fault("has content between case and its first when")
			}
		} else {
			out = append(out, branch{last, body})
		}
		tok := &b.tokens[b.at]
		name := tok.tag.name
		if name == ends[block] {
			return out, nil
		}
		ended := last.tag.name == "else"
		switch {
		case name == "when" && block == "case" && !ended:
		case name == "elsif" && (block == "if" || block == "unless") && !ended:
		case name == "else" && block != "capture" && !ended && (block != "case" || last != first):
		default:
			return nil, tok.fault("has %s within %s (line %d), which ends with %s", name, block, first.Line, ends[block])
		}
		last = tok
	}
}
