package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// TemplateStatus says whether a template can be sent.
type TemplateStatus string

// The states of a template. A published template that is edited stays published: sends use the
// last published version.
const (
	DraftTemplate     TemplateStatus = "draft"
	PublishedTemplate TemplateStatus = "published"
)

// Template is a mail with variables. Its content is the version being edited; lists leave it out.
type Template struct {
	ID          string
	TeamID      string
	Name        string
	Alias       string // empty: none
	CurrentID   string // version being edited
	PublishedID string // version used by sends; empty: a draft
	PublishedAt time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
	TemplateContent
}

// Status reports whether the template was published.
func (t *Template) Status() TemplateStatus {
	if t.PublishedID == "" {
		return DraftTemplate
	}
	return PublishedTemplate
}

// Edited reports whether the current version was never published.
func (t *Template) Edited() bool { return t.CurrentID != t.PublishedID }

// TemplateContent is one immutable version of a template.
type TemplateContent struct {
	ID        string // of the version
	From      string // empty: each send gives it
	ReplyTo   []string
	Subject   string // empty: each send gives it
	HTML      string
	Text      *string // nil: derived from HTML when sent; empty: none
	Design    string  `json:",omitzero"` // JSON document of the visual editor that HTML was made from; empty: none
	Variables []TemplateVariable
	Syntax    Syntax   `json:",omitzero"`
	Variants  Variants `json:",omitzero"`
}

// Size returns the bytes of all bodies.
func (c *TemplateContent) Size() int {
	own := Variant{HTML: c.HTML, Text: c.Text}
	return own.size() + c.Variants.Size()
}

// DeclaresViewURL reports whether the content has a text variable ViewKey, which Mailer fills in.
func (c *TemplateContent) DeclaresViewURL() bool {
	return slices.ContainsFunc(c.Variables, func(v TemplateVariable) bool { return v.Key == ViewKey && v.Type == StringProperty })
}

// TemplateVariable is a variable that a send fills in.
type TemplateVariable struct {
	ID        string
	Key       string
	Type      PropertyType
	Fallback  *PropertyValue // nil: each send must give a value
	CreatedAt time.Time
	UpdatedAt time.Time
}

// TemplateInput is a template to create.
type TemplateInput struct {
	Name  string
	Alias string // empty: none
	TemplateContent
	Languages VariantChanges // become the Variants
}

// Validate checks the input and returns the template without id, team and times; its variables
// have ids and times. Errors: CodeValidation.
func (in *TemplateInput) Validate(now time.Time) (Template, error) {
	t := Template{Name: in.Name, Alias: in.Alias, TemplateContent: in.TemplateContent}
	t.ReplyTo = Present(t.ReplyTo)
	variants, err := ChangeVariants(t.Variants, Change[VariantChanges]{Set: true, Value: in.Languages})
	if err != nil {
		return t, err
	}
	t.Variants = variants
	if err := t.checkHead(); err != nil {
		return t, err
	}
	if err := t.TemplateContent.Check(); err != nil {
		return t, err
	}
	t.Variables = withIDs(t.Variables, nil, now)
	return t, nil
}

// checkHead checks name and alias.
func (t *Template) checkHead() error {
	switch {
	case strings.TrimSpace(t.Name) == "":
		return Invalid("name", "is required")
	case utf8.RuneCountInString(t.Name) > MaxTemplateName:
		return Invalid("name", "can have at most %d characters", MaxTemplateName)
	case HasControl(t.Name):
		return Invalid("name", "must not contain line breaks or other control characters")
	case t.Alias == "":
		return nil
	}
	if _, isID := ParseID(t.Alias); isID {
		return Invalid("alias", "must not look like an id")
	}
	if !validAlias(t.Alias) {
		return Invalid("alias", "must be 1 to %d letters, digits, dots, dashes and underscores, the first a letter or a digit", MaxTemplateAlias)
	}
	return nil
}

func validAlias(s string) bool {
	if s == "" || len(s) > MaxTemplateAlias {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z' || s[i] >= '0' && s[i] <= '9'
		if !letter && (i == 0 || s[i] != '.' && s[i] != '_' && s[i] != '-') {
			return false
		}
	}
	return true
}

// Check checks the content without the database: addresses, bodies, variables, and the placeholders of
// a plain one. The caller checks other documents (render.CheckTemplate). Errors: CodeValidation.
func (c *TemplateContent) Check() error {
	if c.Syntax != PlainSyntax && c.Syntax != LiquidSyntax {
		return Invalid("syntax", "must be plain or liquid")
	}
	for _, check := range []func() error{c.checkAddresses, c.checkBodies, c.checkVariables, c.checkParts} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *TemplateContent) checkAddresses() error {
	if len(c.ReplyTo) > MaxRecipients {
		return Invalid("reply_to", "must not hold more than %d addresses", MaxRecipients)
	}
	if c.From != "" {
		if err := checkTemplateAddress("from", c.From); err != nil {
			return err
		}
	}
	for i, address := range c.ReplyTo {
		if err := checkTemplateAddress(fmt.Sprintf("reply_to[%d]", i), address); err != nil {
			return err
		}
	}
	return nil
}

func checkTemplateAddress(field, s string) error {
	if strings.Contains(s, "{{{") {
		return Invalid(field, "can't contain placeholders: use them in subject, html and text only")
	}
	if _, err := ParseAddress(s); err != nil {
		return Invalid(field, "%v", err)
	}
	return nil
}

func (c *TemplateContent) checkBodies() error {
	if c.HTML == "" {
		return Invalid("html", "is required")
	}
	if err := checkBody("html", c.HTML); err != nil {
		return err
	}
	if c.Text != nil {
		if err := checkBody("text", *c.Text); err != nil {
			return err
		}
	}
	own := Variant{HTML: c.HTML, Text: c.Text}
	if own.size() > MaxRendered {
		return Invalid("html", "and `text` must not be longer than %d bytes together", MaxRendered)
	}
	if c.Subject != "" {
		if err := checkSubject("subject", c.Subject); err != nil {
			return err
		}
	}
	for _, lang := range c.Variants.Languages() {
		if c.Variants[lang].Preview != "" {
			return Invalid("variants."+lang+".preview_text", "is not a part of templates")
		}
	}
	if err := c.Variants.check(); err != nil {
		return err
	}
	return c.Variants.checkTotal(own.size(), MaxRendered)
}

func (c *TemplateContent) checkVariables() error {
	if len(c.Variables) > MaxTemplateVariables {
		return Invalid("variables", "can hold at most %d variables", MaxTemplateVariables)
	}
	seen := make(map[string]bool, len(c.Variables))
	for i := range c.Variables {
		field := fmt.Sprintf("variables[%d]", i)
		if err := c.Variables[i].check(field, c.Syntax); err != nil {
			return err
		}
		if key := c.Variables[i].Key; seen[key] {
			return Invalid(field+".key", "is declared twice: %s", key)
		}
		seen[c.Variables[i].Key] = true
	}
	return nil
}

// check also removes an empty fallback of a number, which some clients send for none. An empty
// string is a fallback: the variable is then optional.
func (v *TemplateVariable) check(field string, syntax Syntax) error {
	if v.Key == "" {
		return Invalid(field+".key", "is required")
	}
	if err := CheckPropertyKey(v.Key, MaxVariableKey); err != nil {
		return Invalid(field+".key", "%s", err)
	}
	if ReservedKey(v.Key) {
		return Invalid(field+".key", "is the reserved name %s", v.Key)
	}
	if v.Type == "" {
		return Invalid(field+".type", "is required")
	}
	if err := v.checkType(field+".type", syntax); err != nil {
		return err
	}
	if v.Fallback != nil && v.Fallback.Empty() && v.Type == NumberProperty {
		v.Fallback = nil
	}
	if v.Fallback == nil {
		return nil
	}
	fallback, err := v.Value(*v.Fallback)
	if err != nil {
		return Invalid(field+".fallback_value", "%s", err)
	}
	v.Fallback = &fallback
	return nil
}

func (v *TemplateVariable) checkType(field string, syntax Syntax) error {
	switch v.Type {
	case StringProperty, NumberProperty:
		return nil
	case BooleanVariable, ListVariable, ObjectVariable, HTMLVariable:
		if syntax == LiquidSyntax {
			return nil
		}
		return Invalid(field, "must be string or number: %s needs a template whose `syntax` is liquid", v.Type)
	}
	return Invalid(field, "must be string, number, boolean, list, object or html")
}

// Value returns a given value as one of the variable: HTML is given as a string. The error does not
// name a field.
func (v *TemplateVariable) Value(given PropertyValue) (PropertyValue, error) {
	if v.Type == HTMLVariable && given.Type == StringProperty {
		given.Type = HTMLVariable
	}
	if given.Type != v.Type {
		return given, fmt.Errorf("must be %s", article[v.Type])
	}
	return given, checkVariableValue(given)
}

// article are the types of variables in a sentence.
var article = map[PropertyType]string{
	StringProperty: "a string", NumberProperty: "a number", BooleanVariable: "true or false", ListVariable: "an array", ObjectVariable: "an object", HTMLVariable: "a string of HTML",
}

// checkParts checks the placeholders of a plain content.
func (c *TemplateContent) checkParts() error {
	if c.Syntax != PlainSyntax {
		return nil
	}
	for _, part := range c.Parts() {
		if err := c.CheckPlaceholders(part); err != nil {
			return err
		}
	}
	return nil
}

// CheckPlaceholders checks that every placeholder of a part is declared or reserved. Errors:
// CodeValidation.
func (c *TemplateContent) CheckPlaceholders(part Part) error {
	return checkPlaceholders(part.Field, part.Text, "which `variables` does not declare", func(key string) bool {
		return ReservedKey(key) || slices.ContainsFunc(c.Variables, func(v TemplateVariable) bool { return v.Key == key })
	})
}

// withIDs returns variables with ids and times. A variable whose key existed keeps its id.
func withIDs(variables, old []TemplateVariable, now time.Time) []TemplateVariable {
	out := slices.Clone(variables)
	for i := range out {
		v := &out[i]
		was := slices.IndexFunc(old, func(o TemplateVariable) bool { return o.Key == v.Key })
		switch {
		case was < 0:
			v.ID, v.CreatedAt, v.UpdatedAt = NewID(), now, now
		case old[was].same(v):
			*v = old[was]
		default:
			v.ID, v.CreatedAt, v.UpdatedAt = old[was].ID, old[was].CreatedAt, now
		}
	}
	return out
}

// same reports whether two variables are equal except for ids and times.
func (v *TemplateVariable) same(o *TemplateVariable) bool {
	return v.Key == o.Key && v.Type == o.Type && equalPtr(v.Fallback, o.Fallback)
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Equal reports whether two versions have equal content.
func (c *TemplateContent) Equal(o *TemplateContent) bool {
	return c.From == o.From && c.Subject == o.Subject && c.HTML == o.HTML && c.Design == o.Design && equalPtr(c.Text, o.Text) &&
		c.Syntax == o.Syntax && c.Variants.Equal(o.Variants) &&
		slices.Equal(c.ReplyTo, o.ReplyTo) &&
		slices.EqualFunc(c.Variables, o.Variables, func(a, b TemplateVariable) bool { return a.same(&b) })
}

// TemplatePatch changes a template. In a Change, null clears the field. An empty text or list
// means absent, except for Text.
type TemplatePatch struct {
	Name      string // empty: unchanged
	HTML      string // empty: unchanged
	Alias     Change[string]
	From      Change[string]
	Subject   Change[string]
	Text      Change[string] // null: derived from HTML again; empty: none
	Design    Change[string] // cleared if HTML changes without a new design
	ReplyTo   Change[[]string]
	Variables Change[[]TemplateVariable]
	Syntax    string // empty: unchanged
	Variants  Change[VariantChanges]
	CurrentID string // the version that the change is based on; empty: any
}

// ApplyHead returns the template with the patch's name and alias. Errors: CodeValidation.
func (p *TemplatePatch) ApplyHead(t Template) (Template, error) {
	if p.Name != "" {
		t.Name = p.Name
	}
	changeText(&t.Alias, p.Alias)
	return t, t.checkHead()
}

// ApplyContent returns the content with the patch applied. Errors: CodeValidation.
func (p *TemplatePatch) ApplyContent(old TemplateContent, now time.Time) (TemplateContent, error) {
	c := old
	changeBodies(&c.HTML, &c.Design, &c.Text, changeOf(p.HTML), p.Design, p.Text)
	changeText(&c.From, p.From)
	changeText(&c.Subject, p.Subject)
	if replyTo := Present(p.ReplyTo.Value); p.ReplyTo.Null || len(replyTo) > 0 {
		c.ReplyTo = replyTo
	}
	if p.Variables.Null || len(p.Variables.Value) > 0 {
		c.Variables = slices.Clone(p.Variables.Value)
	}
	syntax, err := ParseSyntax(p.Syntax)
	if err != nil {
		return c, err
	}
	if p.Syntax != "" {
		c.Syntax = syntax
	}
	if c.Variants, err = ChangeVariants(c.Variants, p.Variants); err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, err
	}
	c.Variables = withIDs(c.Variables, old.Variables, now)
	return c, nil
}

func changeText(s *string, c Change[string]) {
	if c.Null || c.Value != "" {
		*s = c.Value
	}
}

// Copy returns a draft with the same content, without alias, id and times.
func (t *Template) Copy(now time.Time) Template {
	const suffix = " (copy)"
	name := []rune(t.Name)
	name = name[:min(len(name), MaxTemplateName-len(suffix))]
	out := Template{TeamID: t.TeamID, Name: string(name) + suffix, TemplateContent: t.TemplateContent}
	out.Variables = slices.Clone(t.Variables)
	for i := range out.Variables {
		v := &out.Variables[i]
		v.ID, v.CreatedAt, v.UpdatedAt = NewID(), now, now
	}
	return out
}

// SortedKeys returns the keys of a map in sorted order.
func SortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// TemplateUse is the template of a send with its values.
type TemplateUse struct {
	ID        string // or alias
	Language  string // BCP 47; empty: none
	Variables map[string]PropertyValue
	Contact   *Contact `json:"-"` // whose names and properties the reserved placeholders show; nil: they show their fallback. Callers can't set it
}

// Validate checks the values without the template. Errors: CodeValidation.
func (u *TemplateUse) Validate() error {
	if u.ID == "" {
		return Invalid("template.id", "is required")
	}
	if len(u.Variables) > MaxTemplateVariables {
		return Invalid("template.variables", "can hold at most %d variables", MaxTemplateVariables)
	}
	if _, ok := WantedLanguage(u.Language); u.Language != "" && !ok {
		return Invalid("template.language", "is not a language tag like de or pt-BR")
	}
	data := 0
	for _, key := range SortedKeys(u.Variables) {
		v := u.Variables[key]
		if v.structured() || utf8.RuneCountInString(v.Text) > maxVariableText { // the long text may be HTML
			data += len(v.Text)
			v.Type = HTMLVariable
		}
		if err := checkVariableValue(v); err != nil {
			return Invalid("template.variables."+Excerpt(key), "%s", err)
		}
	}
	if data > maxVariableData {
		return Invalid("template.variables", "must not hold arrays, objects and HTML of more than %d bytes together", maxVariableData)
	}
	return nil
}

// checkVariableValue accepts a string of at most maxVariableText characters, a number that JavaScript
// represents exactly, and data of at most maxVariableData bytes.
func checkVariableValue(v PropertyValue) error {
	const maxInteger = 1<<53 - 1
	data := v.structured() || v.Type == HTMLVariable
	switch {
	case v.Type == NumberProperty && !(v.Number >= -maxInteger && v.Number <= maxInteger):
		return fmt.Errorf("must be a number between -(2^53-1) and 2^53-1")
	case data && len(v.Text) > maxVariableData:
		return fmt.Errorf("can have at most %d bytes", maxVariableData)
	case !data && utf8.RuneCountInString(v.Text) > maxVariableText:
		return fmt.Errorf("can have at most %d characters", maxVariableText)
	case !utf8.ValidString(v.Text) || strings.Contains(v.Text, "\x00"):
		return fmt.Errorf("must be valid UTF-8 without the character NUL")
	}
	return nil
}
