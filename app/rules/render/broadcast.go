// Package render renders templates, and compiles broadcasts into the mail of each recipient. It
// does no I/O. Compiled broadcasts are immutable.
//
// Failure policy: the author's content is checked when a template is rendered or a broadcast
// compiled; errors name the field. After that no value of a recipient can make a mail fail.
package render

import (
	"html"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/liquid"
	"mailer/app/rules/tracking"
)

// Broadcast is a compiled broadcast: its placeholders and links are found, and its fixed parts are
// separated. It is immutable and safe for concurrent use.
type Broadcast struct {
	teamID    string
	topicID   string
	from      app.Address
	replyTo   []app.Address
	listID    app.Header
	pages     string // base URL of hosted pages; empty: unknown
	tracking  *app.Tracking
	trackHost string // host of tracked links
	links     []string
	subject   *compiledText
	html      *compiledText // nil: none
	text      *compiledText // nil: none
	fields    map[string]bool
	open      []missingSlot     // placeholders without a fallback
	keys      []string          // of the contact, that Liquid reads
	numbers   map[string]bool   // properties that are numbers
	fallbacks map[string]string // of properties
	files     []app.Attachment

	deriveText bool // the text is derived from each recipient's HTML

	variants map[string]*Broadcast // by language; nil: none
	replies  bool                  // each mail gets a reply address
	position []int                 // of links among those of all languages; nil: as in links
	shared   []string              // links of all languages
}

// Compile parses a broadcast's content once for all recipients. Without BroadcastContent.Snapshot
// nothing is tracked, properties have no fallbacks, and there is no unsubscribe link. Errors:
// CodeValidation as for the input of a broadcast.
func Compile(b *app.Broadcast) (*Broadcast, error) {
	if len(b.Variants) > 0 {
		return compileLanguages(b)
	}
	return compileContent(b)
}

// compileContent is Compile for one language.
func compileContent(b *app.Broadcast) (*Broadcast, error) {
	b = prepared(b)
	c := &compiler{broadcast: b, mail: &Broadcast{
		teamID: b.TeamID, topicID: b.TopicID, from: b.From, replyTo: b.ReplyTo, fields: map[string]bool{}, files: b.Attachments,
	}}
	if err := c.frame(); err != nil {
		return nil, err
	}
	if err := c.bodies(); err != nil {
		return nil, err
	}
	return c.mail, nil
}

// prepared returns the broadcast with its saved blocks and with repaired links to pages
// (htmltext.RepairPageLinks).
func prepared(b *app.Broadcast) *app.Broadcast {
	out := *b
	if b.Snapshot != nil {
		out.HTML = expandBlocks(b.Syntax, b.HTML, b.Snapshot.Blocks)
	}
	out.HTML = htmltext.RepairPageLinks(out.HTML)
	if b.Text != nil {
		text := htmltext.RepairPageLinks(*b.Text)
		out.Text = &text
	}
	return &out
}

// compiler compiles a Broadcast.
type compiler struct {
	broadcast *app.Broadcast
	mail      *Broadcast
	clicks    Clicks // to show after links
}

// frame sets everything except for the bodies.
func (c *compiler) frame() (err error) {
	b, m := c.broadcast, c.mail
	if f := b.Snapshot; f != nil {
		m.fallbacks, m.pages, m.tracking, m.numbers, m.replies = f.Fallbacks, f.Pages, f.Tracking, f.Numbers, f.ReplyAddresses
		if m.tracking != nil {
			m.trackHost = tracking.BaseHost(m.tracking)
		}
	}
	listID := b.TeamID
	for _, id := range []string{b.SegmentID, b.TopicID} {
		if id != "" {
			listID = id
		}
	}
	for _, given := range [...]struct{ field, id string }{{"team", b.TeamID}, {"topic_id", b.TopicID}} {
		if given.id != "" && uuid.Validate(given.id) != nil {
			return app.Invalid(given.field, "must be an id")
		}
	}
	m.listID = app.Header{Name: "List-Id", Value: "<" + listID + "." + b.From.Domain + ">"}
	m.subject, err = c.plain("subject", b.Subject, app.OneLine)
	return err
}

// bodies compiles HTML and text. Errors: CodeValidation.
func (c *compiler) bodies() (err error) {
	b, m := c.broadcast, c.mail
	if b.HTML == "" && (b.Text == nil || *b.Text == "") {
		return app.Invalid("html", "or `text` is required")
	}
	if b.HTML != "" {
		if err = c.html(); err != nil {
			return err
		}
	}
	if b.Text != nil && *b.Text != "" {
		m.text, err = c.plain("text", *b.Text, unescaped)
	}
	m.html.fill()
	m.text.fill()
	return err
}

func unescaped(s string) string { return s }

// plain compiles a plain text. escape escapes a value for it.
func (c *compiler) plain(field, s string, escape func(string) string) (*compiledText, error) {
	if c.broadcast.Syntax == app.LiquidSyntax {
		return c.plainLiquid(field, s, escape)
	}
	var out textBuilder
	for whole := s; ; {
		before, p, after, found, err := app.NextPlaceholder(s)
		if err != nil {
			return nil, app.Invalid(field, "%s", err)
		}
		out.add(escape(before))
		if !found {
			return c.done(field, &out)
		}
		link := ""
		if field == "text" {
			link = whole[:len(whole)-len(s)+len(before)]
		}
		out.fill(c.slotAt(link, p, escape(p.Fallback), escape).escaped)
		s = after
	}
}

// compiledText is a compiled part of the content.
type compiledText struct {
	steps   []textStep
	program *liquid.Template // its leaves are the steps; nil: no Liquid
	wide    bool
	bytes   int64 // of fixed text
}

// textStep is a fixed text and a variable one after it, or a part of Liquid.
type textStep struct {
	fixed   *app.SharedText           // nil: none
	fill    func(f *fillState) string // nil: none
	token   *liquid.Token             // output or tag; nil: none
	source  *string                   // what fill replaces, for the text that is derived; nil: what fill returns
	link    *filledLink               // begins here: what follows is its value; nil: none
	linkEnd bool
}

// textBuilder builds a compiledText.
type textBuilder struct {
	out    compiledText
	fixed  strings.Builder
	high   int  // non-ASCII bytes
	liquid bool // a step is a part of Liquid
}

// add appends fixed text.
func (b *textBuilder) add(s string) {
	b.fixed.WriteString(s)
	b.out.bytes += int64(len(s))
	for i := range len(s) {
		b.high += int(s[i] >> 7)
	}
}

// fill appends a variable text.
func (b *textBuilder) fill(fill func(f *fillState) string) { b.step(textStep{fill: fill}) }

// token appends a part of Liquid.
func (b *textBuilder) token(t *liquid.Token) {
	b.liquid = true
	b.step(textStep{token: t})
}

// step appends a step without fixed text, after the fixed text so far.
func (b *textBuilder) step(s textStep) {
	if b.fixed.Len() > 0 {
		s.fixed = &app.SharedText{Text: b.fixed.String()}
		b.fixed.Reset()
	}
	b.out.steps = append(b.out.steps, s)
}

// done returns the text without a program.
func (b *textBuilder) done() *compiledText {
	if b.fixed.Len() > 0 {
		b.step(textStep{})
	}
	b.out.wide = b.high > int(b.out.bytes)/3
	return &b.out
}

// done returns the text of a field. Errors: CodeValidation.
func (c *compiler) done(field string, b *textBuilder) (*compiledText, error) {
	t := b.done()
	if !b.liquid && !c.mail.deriveText { // which is written beside the HTML
		return t, nil
	}
	return t, c.build(field, t)
}

// fill adds a line end to a body that could be empty: a mail needs a body.
func (t *compiledText) fill() {
	if t != nil && t.bytes == 0 && t.program == nil {
		t.steps = append(t.steps, textStep{fixed: &app.SharedText{Text: "\n"}})
	}
}

// unsubscribeField is the field of the unsubscribe placeholder. The other fields are those of
// BroadcastRecipient.Fields: first_name, last_name, and PropertyPrefix with a key; email is the
// recipient's address.
const unsubscribeField = "unsubscribe"

// viewField is the field of the placeholder of the page that shows the mail.
const viewField = "view"

// fieldOf returns the field of a placeholder's key.
func fieldOf(key string) string {
	if app.IsUnsubscribeKey(key) {
		return unsubscribeField
	}
	if key == app.ViewKey {
		return viewField
	}
	key, ofContact := strings.CutPrefix(key, "contact.")
	switch key {
	case app.FirstNameField, app.LastNameField, app.EmailField:
		return key
	case "FIRST_NAME", "LAST_NAME", "EMAIL":
		if !ofContact {
			return strings.ToLower(key)
		}
	}
	return app.PropertyPrefix + key
}

// slot is a placeholder to be filled for each recipient.
type slot struct {
	field    string
	fallback string // escaped
	escape   func(string) string
	query    bool // a query parameter of a link, which is percent-encoded
}

// slot returns the slot of a placeholder. own is its own fallback in escaped form.
func (c *compiler) slot(p app.Placeholder, own string, escape func(string) string) *slot {
	s := &slot{field: fieldOf(p.Key), fallback: own, escape: escape}
	if s.field == unsubscribeField || s.field == viewField {
		s.fallback = ""
		return s
	}
	if s.field != app.EmailField {
		c.mail.fields[s.field] = true
	}
	if key, ok := strings.CutPrefix(s.field, app.PropertyPrefix); ok && !p.HasFallback {
		s.fallback = escape(cleanValue(valueOf(c.mail.fallbacks, key)))
	}
	if !p.HasFallback && s.fallback == "" {
		c.mail.open = append(c.mail.open, missingSlot{p.Key, s.field})
	}
	return s
}

// slotAt returns a slot after some text: a value of a link's query parameter is percent-encoded.
// The placeholder's own fallback is used as written.
func (c *compiler) slotAt(before string, p app.Placeholder, own string, escape func(string) string) *slot {
	if app.IsPageKey(p.Key) || !inQuery(before) {
		return c.slot(p, own, escape)
	}
	s := c.slot(p, own, func(v string) string { return escape(queryValue(v)) })
	s.escape, s.query = escape, true
	return s
}

// longestLink is how far inQuery searches back, in bytes.
const longestLink = 4 << 10

// inQuery reports whether the next text is a query parameter of a link:
// "https://example.com/?email=".
func inQuery(before string) bool {
	before = before[max(0, len(before)-longestLink):]
	link := before[strings.LastIndexAny(before, " \t\r\n\"'<>")+1:]
	mark := strings.IndexByte(link, '?')
	if mark < 0 {
		return false
	}
	scheme := strings.Index(link, ":")
	if (scheme < 0 || scheme > mark) && !strings.HasPrefix(link, "/") {
		return false
	}
	return strings.Contains(link[strings.LastIndexAny(link, "?&;")+1:], "=")
}

// queryValue percent-encodes a query value (RFC 3986 3.4).
func queryValue(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// valueOf returns the property with a key, or for a key in capitals, as placeholders used to be
// written, the one in lower case.
func valueOf(values map[string]string, key string) string {
	if v := values[key]; v != "" {
		return v
	}
	return values[strings.ToLower(key)]
}

// cleanValue removes characters that mail must not contain. Stored values do not contain any.
func cleanValue(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// fillState is the state of filling for one recipient.
type fillState struct {
	mail      *Broadcast
	sealer    *app.Sealer
	recipient *app.BroadcastRecipient
	page      string        // URL of the unsubscribe page; empty: unknown
	view      string        // URL of the page that shows the mail, created on demand
	tokens    []targetToken // of tracked links by number, created on demand
	bytes     int           // of filled values

	values  *liquid.Env // of Liquid, created on demand
	missing []string    // what Liquid used and the contact does not have
	removed int         // links whose address was none
	err     error       // of Liquid
}

// maxFilled is the maximum size of values in one mail: a short content that repeats them must not
// exhaust the memory. Further values are left out.
const maxFilled = 8 << 20

// escaped returns the escaped text of s.
func (s *slot) escaped(f *fillState) string {
	if v := s.plainValue(f); v != "" {
		return s.escape(v)
	}
	return s.fallback
}

// plain returns the text of s without escaping.
func (s *slot) plain(f *fillState) string {
	if v := s.plainValue(f); v != "" {
		return v
	}
	return s.fallback
}

// plainValue returns the recipient's value for plain text.
func (s *slot) plainValue(f *fillState) string {
	v := f.value(s.field)
	if s.query {
		v = queryValue(v)
	}
	return v
}

// value returns the recipient's value of a field; empty: none.
func (f *fillState) value(field string) string {
	switch field {
	case app.EmailField:
		return cleanValue(f.recipient.Email)
	case unsubscribeField:
		return f.page
	case viewField:
		if f.view == "" && f.mail.pages != "" {
			f.view = f.sealer.ViewURL(f.mail.pages, f.mail.teamID, f.recipient.ID)
		}
		return f.view
	}
	return cleanValue(f.recipient.Fields[field])
}

// Fields returns the values of a contact that the content uses, to be stored as
// BroadcastRecipient.Fields; nil: none.
func (b *Broadcast) Fields(c *app.Contact) map[string]string {
	b = b.in(b.Language(c))
	var out map[string]string
	for field := range b.fields {
		v := contactValue(c, field)
		if v == "" {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(b.fields))
		}
		out[field] = v
	}
	return out
}

// contactValue returns the contact's value of a field.
func contactValue(c *app.Contact, field string) string {
	switch field {
	case app.FirstNameField:
		return c.FirstName
	case app.LastNameField:
		return c.LastName
	}
	key := strings.TrimPrefix(field, app.PropertyPrefix)
	for _, k := range []string{key, strings.ToLower(key)} {
		if v, ok := c.Properties[k]; ok && !v.Empty() {
			return v.String()
		}
	}
	return ""
}

// Links returns the distinct tracked targets by number, with their placeholders.
func (b *Broadcast) Links() []string {
	if b.variants != nil {
		return b.shared
	}
	return b.links
}

// Size returns the approximate memory of the compiled broadcast in bytes, with the contents of its
// attachments in encoded form.
func (b *Broadcast) Size() int64 {
	n := b.MailSize("")
	for _, v := range b.variants {
		n += v.MailSize("") - app.SumSizes(v.files)*4/3
	}
	return n
}

// MailSize is Size for one language.
func (b *Broadcast) MailSize(language string) int64 {
	b = b.in(language)
	const step, encoded = 200, 3 // text, and its encoded form
	n := int64(1000)
	for _, t := range []*compiledText{b.subject, b.html, b.text} {
		if t != nil {
			n += encoded*t.bytes + step*int64(len(t.steps))
		}
	}
	for _, link := range b.links {
		n += int64(len(link))
	}
	return n + app.SumSizes(b.files)*4/3
}

// Attachments returns the files of the broadcast, as they were given to Compile.
func (b *Broadcast) Attachments() []app.Attachment { return b.files }

// Mail returns the mail to one recipient. It is deterministic. A missing value is replaced by the
// placeholder's own fallback, the property's, or nothing. With ErrLimit, which only
// Liquid causes, it is not whole.
func (b *Broadcast) Mail(s *app.Sealer, r *app.BroadcastRecipient) (*app.Mail, error) {
	b = b.in(r.Language)
	to := recipientAddress(r.Email)
	f := &fillState{mail: b, sealer: s, recipient: r}
	headers := []app.Header{b.listID}
	if b.pages != "" {
		hash := s.AddressHash(b.teamID, to.Key())
		f.page = s.UnsubscribeURL(b.pages, app.PageLink{TeamID: b.teamID, TopicID: b.topicID, Address: hash, Source: r.ID})
		headers = append(headers, app.UnsubscribeHeaders(f.page)...)
	}
	m := &app.Mail{
		From: b.from, To: []app.Address{to}, ReplyTo: b.replyTo, Headers: headers, TopicID: b.topicID,
		Subject: b.subjectOf(f), Bodies: b.bodies(f), Attachments: b.files,
	}
	if b.replies && len(m.ReplyTo) == 0 {
		m.ReplyTo = []app.Address{s.ReplyAddress(b.from.Domain, app.ReturnPath{EmailID: r.ID})}
	}
	return m, f.err
}

// Partial returns the mail to one recipient as far as it can be rendered.
func (b *Broadcast) Partial(s *app.Sealer, r *app.BroadcastRecipient) *app.Mail {
	m, _ := b.Mail(s, r)
	return m
}

// subjectOf returns the subject of the mail to one recipient.
func (b *Broadcast) subjectOf(f *fillState) string {
	return app.CutText(app.OneLine(b.subject.body(f).String()), app.MaxSubject)
}

// bodies returns the bodies of the mail to one recipient.
func (b *Broadcast) bodies(f *fillState) *app.Bodies {
	if !b.deriveText {
		return &app.Bodies{HTML: b.html.body(f), Text: b.text.body(f)}
	}
	var source strings.Builder
	source.Grow(int(b.html.bytes))
	out := &app.Bodies{HTML: b.html.run(f, &source)}
	if text := htmltext.PlainText(source.String()); text != "" {
		out.Text = &app.Body{Pieces: []app.Piece{{Personal: text}}}
	}
	return out
}

// body fills the text for a recipient; nil: none.
func (t *compiledText) body(f *fillState) *app.Body {
	if t == nil {
		return nil
	}
	if t.program != nil {
		return t.run(f, nil)
	}
	out := &app.Body{NonASCII: t.wide, Pieces: make([]app.Piece, len(t.steps))}
	for i := range t.steps {
		out.Pieces[i].Shared = t.steps[i].fixed
		if fill := t.steps[i].fill; fill != nil && f.bytes < maxFilled {
			out.Pieces[i].Personal = fill(f)
			f.bytes += len(out.Pieces[i].Personal)
		}
	}
	return out
}

// Subject returns the subject of the mail to one recipient.
func (b *Broadcast) Subject(r *app.BroadcastRecipient) string {
	b = b.in(r.Language)
	return b.subjectOf(&fillState{mail: b, recipient: r})
}

// recipientAddress parses a contact's address, its domain in A-labels.
func recipientAddress(email string) app.Address {
	at := max(0, strings.LastIndexByte(email, '@'))
	if local, domain := email[:at], strings.TrimPrefix(email[at:], "@"); app.IsASCII(email) && !app.HasControl(email) && mailbox.CheckLocal(local) == nil {
		return app.Address{Local: local, Domain: strings.ToLower(domain)}
	}
	if a, err := app.ParseAddress(email); err == nil {
		return app.Address{Local: a.Local, Domain: a.Domain}
	}
	email = app.OneLine(cleanValue(email)) // not possible for a stored address
	at = max(0, strings.LastIndexByte(email, '@'))
	return app.Address{Local: email[:at], Domain: strings.TrimPrefix(email[at:], "@")}
}

// escapeBare escapes a value for an attribute without quotes, or another position within a tag.
func escapeBare(s string) string {
	return bareEscaper.Replace(html.EscapeString(s))
}

var bareEscaper = strings.NewReplacer(" ", "&#32;", "\t", "&#9;", "\n", "&#10;", "\f", "&#12;", "\r", "&#13;", "=", "&#61;", "`", "&#96;")
