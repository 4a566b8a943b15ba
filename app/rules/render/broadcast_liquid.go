package render

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/liquid"
)

// ErrLimit is the error for a mail whose rendering passes a bound of Liquid.
var ErrLimit = liquid.ErrLimit

// marked replaces the placeholders of s by marks, and what is Liquid in a document with Liquid.
// plain converts s to HTML; nil: it is HTML. Errors: CodeValidation.
func (c *compiler) marked(m *marks, field, s string, plain func(string) string) (string, error) {
	if c.broadcast.Syntax != app.LiquidSyntax {
		source, err := m.put(s, plain)
		if err != nil {
			return "", app.Invalid(field, "%s", err)
		}
		return source, nil
	}
	tokens, err := c.scan(field, s)
	if err != nil {
		return "", err
	}
	if plain != nil { // it becomes text of the HTML
		for i := range tokens {
			tokens[i].Placeholder.Fallback = plain(tokens[i].Placeholder.Fallback)
			if tokens[i].Kind == liquid.Text {
				tokens[i].Text = plain(tokens[i].Text)
			}
		}
		if err := liquid.CheckHTML(tokens); err != nil {
			return "", app.Invalid(field, "%s", err)
		}
	}
	return m.putTokens(tokens), nil
}

// liquidSlot returns the slot of a placeholder in the HTML of a document with Liquid.
func (c *compiler) liquidSlot(m mark) *slot {
	context := m.token.Context
	return c.slot(m.Placeholder, m.Fallback, func(v string) string {
		escaped, _ := context.Escape(v)
		return escaped
	})
}

// scan returns the tokens of a part, and notes what it reads of the contact. Errors:
// CodeValidation.
func (c *compiler) scan(field, s string) ([]liquid.Token, error) {
	t, tokens, err := scanPart(field, s, broadcastScope)
	if err != nil {
		return nil, err
	}
	for _, key := range t.ContactKeys() {
		if !slices.Contains(c.mail.keys, key) {
			c.mail.keys = append(c.mail.keys, key)
		}
		if key != app.EmailField {
			c.mail.fields[fieldOf("contact."+key)] = true
		}
	}
	return tokens, nil
}

// plainLiquid compiles a plain text with Liquid.
func (c *compiler) plainLiquid(field, s string, escape func(string) string) (*compiledText, error) {
	tokens, err := c.scan(field, s)
	if err != nil {
		return nil, err
	}
	var out textBuilder
	for i := range tokens {
		switch t := &tokens[i]; {
		case t.Kind == liquid.Text:
			out.add(escape(t.Text))
		case t.Kind == liquid.Placeholder && field == "text":
			out.fill(c.slotAt(s[:t.Offset], t.Placeholder, escape(t.Placeholder.Fallback), escape).escaped)
		case t.Kind == liquid.Placeholder:
			out.fill(c.slot(t.Placeholder, escape(t.Placeholder.Fallback), escape).escaped)
		default:
			out.token(textOutput(t, field == "text" && inQuery(s[:t.Offset])))
		}
	}
	return c.done(field, &out)
}

// percentEncoded marks outputs within the query of a link in plain text.
type percentEncoded struct{}

// encodes matches an output that percent-encodes itself.
var encodes = regexp.MustCompile(`\|\s*url_encode\s*-?}}$`)

// textOutput returns a token for plain text, percent-encoded within the query of a link.
func textOutput(t *liquid.Token, query bool) *liquid.Token {
	out := *t
	out.Context = liquid.Context{}
	if query && !encodes.MatchString(t.Text) {
		out.Leaf = percentEncoded{}
	}
	return &out
}

// build makes the program of a text with Liquid. Errors: CodeValidation.
func (c *compiler) build(field string, t *compiledText) error {
	tokens := make([]liquid.Token, 0, 2*len(t.steps))
	for i := range t.steps {
		step := &t.steps[i]
		if step.fixed != nil {
			tokens = append(tokens, liquid.Token{Kind: liquid.Text, Text: step.fixed.Text, Leaf: step.fixed})
		}
		switch {
		case step.token != nil:
			tokens = append(tokens, *step.token)
		case step.fill != nil || step.link != nil || step.linkEnd:
			tokens = append(tokens, liquid.Token{Kind: liquid.Leaf, Leaf: step})
		}
	}
	var err error
	if t.program, err = liquid.Build(tokens); err != nil {
		return app.Invalid(field, "%s", err)
	}
	return nil
}

// run renders the text for a recipient. plain, if not nil, receives the text without tracking.
func (t *compiledText) run(f *fillState, plain *strings.Builder) *app.Body {
	out := &bodySink{f: f, body: &app.Body{NonASCII: t.wide, Pieces: make([]app.Piece, 0, len(t.steps))}, plain: plain}
	if f.err == nil {
		f.err = t.program.Run(f.env(), out)
	}
	if len(out.body.Pieces) == 0 {
		out.body.Pieces = []app.Piece{{Personal: "\n"}} // a mail needs a body
	}
	return out.body
}

// bodySink collects the pieces of a body.
type bodySink struct {
	f     *fillState
	body  *app.Body
	plain *strings.Builder // nil: not needed
	link  *filledLink      // whose value is being written; nil: none
	value strings.Builder  // of the link
}

// Text implements liquid.Sink.
func (s *bodySink) Text(t *liquid.Token) {
	if s.link != nil {
		s.value.WriteString(t.Text)
		return
	}
	s.body.Pieces = append(s.body.Pieces, app.Piece{Shared: t.Leaf.(*app.SharedText)})
	s.note(t.Text)
}

// Placeholder implements liquid.Sink. A document's placeholders are leaves.
func (s *bodySink) Placeholder(*liquid.Token) {}

// Value implements liquid.Sink.
func (s *bodySink) Value(t *liquid.Token, v string) {
	if t.Leaf == (percentEncoded{}) {
		v = queryValue(v)
	}
	s.personal(cleanValue(v))
}

// Leaf implements liquid.Sink.
func (s *bodySink) Leaf(t *liquid.Token) {
	step := t.Leaf.(*textStep)
	switch {
	case step.link != nil:
		s.link = step.link
	case step.linkEnd:
		s.endLink()
	case step.fill != nil && s.f.bytes < maxFilled:
		text := step.fill(s.f)
		s.f.bytes += len(text)
		if step.source == nil {
			s.personal(text)
			return
		}
		s.append(text)
		s.note(*step.source)
	}
}

// personal appends text of one recipient.
func (s *bodySink) personal(v string) {
	switch {
	case v == "":
	case s.link != nil:
		s.value.WriteString(v)
	default:
		s.append(v)
		s.note(v)
	}
}

// append appends a piece of one recipient, to the piece before it if that has room.
func (s *bodySink) append(v string) {
	if n := len(s.body.Pieces); n > 0 && s.body.Pieces[n-1].Personal == "" {
		s.body.Pieces[n-1].Personal = v
		return
	}
	s.body.Pieces = append(s.body.Pieces, app.Piece{Personal: v})
}

func (s *bodySink) note(v string) {
	if s.plain != nil {
		s.plain.WriteString(v)
	}
}

// endLink appends the link whose value was written.
func (s *bodySink) endLink() {
	link, value := s.link, s.value.String()
	s.link = nil
	s.value.Reset()
	s.append(link.tracked(s.f, value, htmltext.AttributeText(value)))
	s.note(value)
}

// env returns the values of Liquid for the recipient. Their time is that of the recipient's id, so
// that a mail is rendered alike each time.
func (f *fillState) env() *liquid.Env {
	if f.values != nil {
		return f.values
	}
	f.values = &liquid.Env{
		Lookup: func(name string) (liquid.Value, bool) {
			key, ofContact := strings.CutPrefix(name, "contact.")
			if !ofContact {
				return liquid.Value{}, false
			}
			return f.contactValue(key)
		},
		Now: f.time(),
		Missing: func(path string) liquid.Value {
			key := strings.TrimPrefix(path, "contact.")
			if fallback := cleanValue(f.mail.fallbacks[key]); fallback != "" {
				return f.valueOf(key, fallback)
			}
			if !slices.Contains(f.missing, path) {
				f.missing = append(f.missing, path)
			}
			return liquid.Value{}
		},
		Removed: func(*liquid.Token) { f.removed++ },
	}
	return f.values
}

// contactValue returns the recipient's value of a key of the contact.
func (f *fillState) contactValue(key string) (liquid.Value, bool) {
	text := f.value(fieldOf("contact." + key))
	if text == "" {
		return liquid.Value{}, false
	}
	return f.valueOf(key, text), true
}

// valueOf returns the value of a key of the contact from its text.
func (f *fillState) valueOf(key, text string) liquid.Value {
	if f.mail.numbers[key] {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return liquid.Number(n)
		}
	}
	return liquid.String(text)
}

// time returns the time of the recipient's id.
func (f *fillState) time() time.Time {
	id, err := uuid.Parse(f.recipient.ID)
	if err != nil {
		return time.Time{}
	}
	sec, nsec := id.Time().UnixTime()
	return time.Unix(sec, nsec).UTC()
}

// Findings say what is remarkable about the mail to one recipient.
type Findings struct {
	Missing []string // what the content uses and the contact does not have, and has no fallback
	Removed int      // links without a valid address
	Limit   bool     // rendering passes a bound
}

// NeedsInspection reports whether Inspect can find anything.
func (b *Broadcast) NeedsInspection() bool {
	for _, m := range b.all() {
		if len(m.open) > 0 || m.runs() {
			return true
		}
	}
	return false
}

// runs reports whether a part of the mail is evaluated.
func (b *Broadcast) runs() bool {
	return slices.ContainsFunc([]*compiledText{b.subject, b.html, b.text}, func(t *compiledText) bool { return t != nil && t.program != nil })
}

// Inspect renders the mail to a contact, as Mail does.
func (b *Broadcast) Inspect(s *app.Sealer, contact *app.Contact) Findings {
	r := &app.BroadcastRecipient{ID: app.NewID(), Email: contact.Email, Fields: b.Fields(contact)}
	b = b.in(b.Language(contact))
	f := &fillState{mail: b, sealer: s, recipient: r}
	if b.runs() {
		b.subjectOf(f)
		b.bodies(f)
	}
	return Findings{Missing: b.missing(f), Removed: f.removed, Limit: errors.Is(f.err, ErrLimit)}
}
