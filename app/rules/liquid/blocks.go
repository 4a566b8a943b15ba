package liquid

// Block returns the name of the saved block that a tag stands for: {% block "NAME" %}. ok is false for
// other tokens. A run writes nothing for such a tag: the caller puts the block into the source before.
func (t *Token) Block() (name string, ok bool) {
	if t.Kind != Tag || t.tag.name != "block" {
		return "", false
	}
	return t.tag.group, true
}

// block parses the name of a saved block.
func (p *parser) block(t *tag) {
	at := p.now.at
	o := p.operand(0)
	if p.err != nil {
		return
	}
	if o.name != "" || o.contact != "" || o.literal.kind != stringKind {
		p.fail(at, "names no saved block, as in {%% block \"Footer\" %%}")
		return
	}
	t.group = o.literal.text
}

// CheckBlock checks the HTML of a saved block, which can stand between any tags of a document. It may
// use the contact alone, and no other block. Errors: *Error.
func CheckBlock(tokens []Token) error {
	t, err := Build(tokens)
	if err == nil {
		err = t.Check(Scope{})
	}
	if err != nil {
		return err
	}
	for i := range tokens {
		if _, ok := tokens[i].Block(); ok {
			return tokens[i].fault("has a saved block in a saved block")
		}
	}
	h := htmlChecker{}
	for i := range tokens {
		if err := h.token(&tokens[i]); err != nil {
			return err
		}
	}
	if len(tokens) > 0 && !h.isBetweenTags() {
		last := &tokens[len(tokens)-1]
		return last.faultAt(len(last.Text), "ends %s: a block must end between tags", &h.position)
	}
	return nil
}

// isBetweenTags reports whether any HTML can stand at the position.
func (p *position) isBetweenTags() bool { return p.state == inText && p.foreign == 0 && p.hidden == 0 }
