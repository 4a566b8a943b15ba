package mergetags

import (
	"slices"
	"strings"

	"mailer/app"
)

// kind is the kind of a tag.
type kind int

const (
	cannot         kind = iota // not convertible
	notATag                    // text
	ownPlaceholder             // a placeholder already
	field                      // of the contact
	value                      // a property, or a variable in a template
	fullName                   // first and last name
	link                       // to the unsubscribe page
	literal                    // text
)

// meaning is the meaning of a tag.
type meaning struct {
	kind                kind
	key                 string // of a field or value; or the literal text
	fallback            string
	has                 bool   // there is a fallback
	reason              string // why it is not convertible, or what differs
	trimLeft, trimRight bool   // white space around it
}

// Reasons why a tag is not convertible.
const (
	whyBlock    = "conditions and loops can't be kept: write one text for all, or a broadcast for each"
	whyInside   = "it is in a loop, where its name has another meaning"
	whyPartial  = "it puts another template in: put its text here"
	whyUnknown  = "nothing here means the same"
	whyBraces   = "two braces are no placeholder: three are"
	whyPath     = "it is a part of a larger value: values have no parts here"
	whySend     = "a send's own values are filled in templates only"
	whyRaw      = "its value is escaped in HTML now"
	whyNumber   = "the text does not tell which field this is: name it by its own tag"
	whyShadowed = "a property of this name can't be filled: the name is that of a contact's field"
)

// The forms of tags, longer beginnings first.
var formsOf = map[Dialect][]form{
	Resend:     {curly},
	Listmonk:   {curly},
	Mailchimp:  {{"*|", "|*"}},
	Brevo:      {curly, statement, comment},
	HubSpot:    {curly, statement, comment},
	SendGrid:   {ownForms, curly, {"<%", "%>"}, {"[%", "%]"}, {"[", "]"}, {"-", "-"}},
	Postmark:   {ownForms, curly},
	MailerLite: {{"{$", "}"}},
}

var (
	curly     = form{"{{", "}}"}
	statement = form{"{%", "%}"}
	comment   = form{"{#", "#}"}
)

// read returns the meaning of a tag with content s.
func (t *converter) read(f form, from, end int, s string) meaning {
	switch {
	case s == "" && len(f.open) == 1:
		return meaning{kind: notATag}
	case s == "":
		return meaning{reason: whyUnknown}
	case f == statement:
		return meaning{reason: whyBlock}
	case f == comment:
		return meaning{kind: literal}
	}
	switch t.dialect {
	case Resend:
		return meaning{reason: whyBraces}
	case Listmonk:
		return t.goTemplate(s)
	case Mailchimp:
		return mailchimp(s)
	case MailerLite:
		return mailerLite(s)
	case Brevo, HubSpot:
		return t.django(s)
	}
	switch f.open {
	case "<%":
		if s == "asm_group_unsubscribe_raw_url" || s == "asm_global_unsubscribe_raw_url" {
			return meaning{kind: link}
		}
		return meaning{reason: whyUnknown}
	case "[%":
		name, fallback, has := strings.Cut(s, "|")
		return contactValue(strings.TrimSpace(name)).or(strings.TrimSpace(fallback), has)
	case "[":
		return bracket(s)
	case "-":
		return t.hyphens(from, end, s)
	}
	return t.handlebars(f, s)
}

// or returns the meaning with a fallback.
func (m meaning) or(fallback string, has bool) meaning {
	m.fallback, m.has = fallback, has && (m.kind == field || m.kind == value)
	if has && m.kind == fullName {
		return meaning{reason: whyUnknown}
	}
	return m
}

// fieldNames are the names of contact fields, folded.
var fieldNames = map[string]string{
	"email": app.EmailField, "emailaddress": app.EmailField, "merge0": app.EmailField,
	"firstname": app.FirstNameField, "fname": app.FirstNameField, "givenname": app.FirstNameField,
	"lastname": app.LastNameField, "lname": app.LastNameField, "surname": app.LastNameField, "familyname": app.LastNameField,
}

// fold removes differences between spellings of a name.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// contactValue returns the meaning of a contact field or property.
func contactValue(name string) meaning {
	if f := fieldNames[fold(name)]; f != "" {
		return meaning{kind: field, key: f}
	}
	if strings.Contains(name, ".") {
		return meaning{reason: whyPath}
	}
	return meaning{kind: value, key: propertyKey(name)}
}

// propertyKey converts a name to a key as the import of contacts does.
func propertyKey(name string) string {
	if strings.ContainsAny(name, "@<>&") || strings.Trim(name, "_- ") == "" {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 && app.CheckPropertyKey(string(r), 1) == nil {
			return r
		}
		return '_'
	}, name)
}

// lowered returns the meaning with its key in lower case, as the import converts keys of services
// that only have capitals.
func (m meaning) lowered() meaning {
	m.key = strings.ToLower(m.key)
	return m
}

func bracket(s string) meaning {
	switch strings.ToLower(s) {
	case "unsubscribe":
		return meaning{kind: link}
	case "unsubscribe_preferences", "weblink", "sender_name", "sender_address", "sender_city", "sender_state", "sender_zip":
		return meaning{reason: whyUnknown}
	}
	return meaning{kind: notATag}
}

// hyphens reads a substitution tag. Any text has words between hyphens, so only known ones are
// converted.
func (t *converter) hyphens(from, end int, s string) meaning {
	f := fieldNames[fold(s)]
	near := t.in[max(0, from-1):from] + t.in[end:min(len(t.in), end+1)]
	if f == "" || len(s) != end-from-2 || strings.Contains(s, " ") || strings.ContainsFunc(near, func(r rune) bool { return r == '-' || propertyKey(string(r)) == string(r) }) {
		return meaning{kind: notATag}
	}
	return meaning{kind: field, key: f}
}

func mailchimp(s string) meaning {
	switch {
	case s == "UNSUB":
		return meaning{kind: link}
	case strings.HasPrefix(s, "IF") || strings.HasPrefix(s, "ELSE") || strings.HasPrefix(s, "END:"):
		return meaning{reason: whyBlock}
	case listed(mailchimpOwn, s) || propertyKey(s) != s:
		return meaning{reason: whyUnknown}
	}
	m := contactValue(s).lowered()
	if digits, ok := strings.CutPrefix(m.key, "merge"); ok && strings.Trim(digits, "0123456789") == "" {
		return meaning{reason: whyNumber}
	}
	return m
}

// mailchimpOwn are tags that are not merge fields.
const mailchimpOwn = " ARCHIVE ARCHIVE_LINK_SHORT UPDATE_PROFILE FORWARD REWARDS REWARDS_TEXT TRANSLATE UNIQID EMAIL_UID CAMPAIGN_UID CURRENT_YEAR OPTIN_DATE OPTIN_IP LIST_NAME MC_PREVIEW_TEXT MC_LANGUAGE MC_LANGUAGE_LABEL ABUSE_EMAIL SUBSCRIBE MERGES SHARE RSS RSSITEMS "

// mailerLiteOwn are tags that are not fields.
const mailerLiteOwn = " url forward preferences account subject campaign campaign_name date year unsubscribe_url web_version "

// sendGridOwn are tags for sender data and pages.
const sendGridOwn = " Sender_Name Sender_Address Sender_City Sender_State Sender_Zip Sender_Country unsubscribe_preferences weblink "

func listed(list, name string) bool { return strings.Contains(list, " "+name+" ") }

func mailerLite(s string) meaning {
	e, ok := parse(s)
	switch {
	case !ok || listed(mailerLiteOwn, e.name):
		return meaning{reason: whyUnknown}
	case e.name == "unsubscribe":
		return meaning{kind: link}
	case e.name == "name":
		return meaning{kind: field, key: app.FirstNameField}.or(e.fallback, e.has)
	}
	return contactValue(e.name).or(e.fallback, e.has)
}

// django reads the common syntax of Brevo and HubSpot.
func (t *converter) django(s string) meaning {
	e, ok := parse(s)
	if !ok {
		return meaning{reason: whyUnknown}
	}
	if name, ok := strings.CutPrefix(e.name, "contact."); ok {
		return contactValue(name).lowered().or(e.fallback, e.has)
	}
	name, ofSend := strings.CutPrefix(e.name, "params.")
	switch {
	case t.dialect == Brevo && ofSend:
		return t.sendValue(name).or(e.fallback, e.has)
	case e.name == "unsubscribe" && t.dialect == Brevo, listed(" unsubscribe_link unsubscribe_link_all ", e.name) && t.dialect == HubSpot:
		return meaning{kind: link}
	}
	return meaning{reason: whyUnknown}
}

// sendValue returns the meaning of a value given by a send.
func (t *converter) sendValue(name string) meaning {
	switch {
	case !t.use.template():
		return meaning{reason: whySend}
	case strings.Contains(name, "."):
		return meaning{reason: whyPath}
	case app.ReservedKey(name):
		name = strings.ToLower(name)
	}
	return meaning{kind: value, key: propertyKey(name)}
}

// handlebars reads the common syntax of SendGrid and Postmark.
func (t *converter) handlebars(f form, s string) meaning {
	word, _, _ := strings.Cut(s[1:], " ")
	switch s[0] {
	case '!':
		return meaning{kind: literal}
	case '#', '^':
		same := s[0] == '^' || listed(" if unless equals notEquals greaterThan lessThan and or not ", word)
		t.blocks = append(t.blocks, !same || t.inside())
		return meaning{reason: whyBlock}
	case '/':
		t.blocks = t.blocks[:max(0, len(t.blocks)-1)]
		return meaning{reason: whyBlock}
	case '>', '@':
		return meaning{reason: whyPartial}
	}
	raw := f == ownForms || s[0] == '&'
	e, ok := parse(strings.TrimPrefix(s, "&"))
	switch {
	case s == "else" || strings.HasPrefix(s, "else "):
		return meaning{reason: whyBlock}
	case s == "pm:unsubscribe" || s == "pm:unsubscribe_url" || s == "unsubscribe" && t.dialect == SendGrid:
		return meaning{kind: link}
	case !ok || listed(" this . ", e.name) || t.dialect == SendGrid && listed(sendGridOwn, e.name):
		return meaning{reason: whyUnknown}
	case t.inside():
		return meaning{reason: whyInside}
	}
	m := contactValue(e.name)
	if t.use.template() {
		m = t.sendValue(e.name)
	}
	if raw && m.kind == value && fieldNames[fold(e.name)] == "" {
		m.reason = whyRaw
	}
	return m.or(e.fallback, e.has)
}

// inside reports whether names have another meaning in an open block.
func (t *converter) inside() bool { return len(t.blocks) > 0 && t.blocks[len(t.blocks)-1] }

// goTemplate reads an action of a Go template.
func (t *converter) goTemplate(s string) meaning {
	rest, left := strings.CutPrefix(s, "- ")
	rest, right := strings.CutSuffix(rest, " -")
	m := t.goAction(strings.TrimSpace(rest))
	m.trimLeft, m.trimRight = left, right
	return m
}

func (t *converter) goAction(s string) meaning {
	word, _, _ := strings.Cut(s, " ")
	switch word {
	case "if":
		t.blocks = append(t.blocks, t.inside())
		return meaning{reason: whyBlock}
	case "range", "with", "define", "block":
		t.blocks = append(t.blocks, true)
		return meaning{reason: whyBlock}
	case "end":
		t.blocks = t.blocks[:max(0, len(t.blocks)-1)]
		return meaning{reason: whyBlock}
	case "else", "break", "continue":
		return meaning{reason: whyBlock}
	case "template":
		return meaning{reason: whyPartial}
	}
	kinds, args := words(s)
	isText := slices.Contains([]string{"wq", "wqw"}, kinds) && (args[0] == "TrackLink" || args[0] == "Safe") && !strings.Contains(args[1], "\\")
	e, ok := parse(s)
	if kinds == "wwq" && args[0] == "index" {
		e, ok = expression{name: args[1] + "." + args[2]}, true
	}
	name, fromTop := strings.CutPrefix(e.name, "$")
	switch {
	case strings.HasPrefix(s, "/*") || s == "TrackView" || s == "TrackView .":
		return meaning{kind: literal}
	case isText:
		return meaning{kind: literal, key: args[1]}
	case !ok:
		return meaning{reason: whyUnknown}
	case name == "UnsubscribeURL":
		return meaning{kind: link}
	case t.inside() && !fromTop:
		return meaning{reason: whyInside}
	}
	return t.goValue(name).or(e.fallback, e.has)
}

// goValue reads a field of the data. listmonk's first and last names are parts of its single name,
// which its import splits into ours.
func (t *converter) goValue(name string) meaning {
	if key, ok := strings.CutPrefix(name, ".Subscriber.Attribs."); ok {
		switch {
		case strings.Contains(key, "."):
			return meaning{reason: whyPath}
		case listed(" email first_name last_name ", key):
			return meaning{reason: whyShadowed}
		}
		return meaning{kind: value, key: propertyKey(key)}
	}
	if key, ok := strings.CutPrefix(name, ".Tx.Data."); ok {
		return t.sendValue(key)
	}
	switch name {
	case ".Subscriber.Name":
		return meaning{kind: fullName}
	case ".Subscriber.Email", ".Subscriber.FirstName", ".Subscriber.LastName":
		return contactValue(strings.TrimPrefix(name, ".Subscriber."))
	}
	return meaning{reason: whyUnknown}
}

// expression is a name and its fallback.
type expression struct {
	name, fallback string
	has            bool
}

// parse parses a name with an optional fallback in the syntax of all dialects.
func parse(s string) (e expression, ok bool) {
	kinds, a := words(s)
	switch kinds {
	case "w":
		return expression{name: a[0]}, true
	case "ww":
		if a[0] == "insert" {
			return expression{name: a[1]}, true
		}
		return expression{name: a[0]}, a[1] == "."
	case "w|w:q", "w|w(q)", "w|w(q,w)", "w|wq":
		return expression{a[0], a[2], true}, a[1] == "default"
	case "wqw":
		return expression{a[2], a[1], true}, a[0] == "default"
	case "w(q)", "w(q,q)":
		return expression{a[1], a[len(a)-1], len(a) == 3}, a[0] == "personalization_token"
	case "wwq":
		if a[0] == "insert" {
			fallback, named := strings.CutPrefix(a[2], "default=")
			return expression{a[1], fallback, true}, named
		}
		return expression{a[0], a[2], true}, a[1] == "or"
	}
	return e, false
}

// words tokenizes the content of a tag: in kinds w is a word, q a quoted text; other characters
// are themselves, without args.
func words(s string) (kinds string, args []string) {
	const punctuation = "|:(),"
	for len(kinds) < 9 {
		s = strings.TrimLeft(s, " \t\r\n\u00a0")
		if rest, ok := strings.CutPrefix(s, "&nbsp;"); ok {
			s = rest
			continue
		}
		if s == "" {
			return kinds, args
		}
		if q := quote(s); q != "" {
			inside, rest, closed := strings.Cut(s[len(q):], q)
			if !closed {
				break
			}
			kinds, args, s = kinds+"q", append(args, inside), rest
			continue
		}
		n := 0
		for n < len(s) && !strings.Contains(punctuation+" \t\r\n", s[n:n+1]) && !strings.HasPrefix(s[n:], "&nbsp;") && quote(s[n:]) == "" {
			n++
		}
		if n == 0 {
			kinds, s = kinds+s[:1], s[1:]
			continue
		}
		kinds, args, s = kinds+"w", append(args, strings.TrimSuffix(s[:n], "\u00a0")), s[n:]
	}
	return "?", nil
}

// quote returns the quotation mark at the beginning of s; empty: none.
func quote(s string) string {
	for _, q := range [...]string{`"`, `'`, "`", "&quot;", "&#34;", "&#39;", "&apos;", "&#x27;"} {
		if strings.HasPrefix(s, q) {
			return q
		}
	}
	return ""
}

// Of returns the dialect of a text: usual, unless another one is certain, since users often take
// templates along.
func Of(text string, usual Dialect) Dialect {
	if d, found := Detect(text); found {
		return d
	}
	return usual
}

// Detect returns the dialect of a text. Plain names in double braces are ambiguous.
func Detect(text string) (d Dialect, found bool) {
	text = strings.ReplaceAll(text, " ", "")
	for _, sign := range strings.Fields(signs) {
		name, sign, _ := strings.Cut(sign, "=")
		if strings.Contains(text, sign) {
			return Dialect(name), true
		}
	}
	return "", false
}

// signs are texts that only one service uses, without blanks, the most certain first.
const signs = `resend=UNSUBSCRIBE_URL}}} resend={{{FIRST_NAME resend={{{contact.
 listmonk=.Subscriber. listmonk=UnsubscribeURL}} listmonk=@TrackLink postmark=pm:unsubscribe sendgrid=<%asm_ sendgrid=&lt;%asm_
 sendgrid="default= sendgrid={{{unsubscribe}}} sendgrid={{{unsubscribe_preferences}}} hubspot={{unsubscribe_link hubspot=personalization_token(
 hubspot=contact.firstname hubspot=contact.lastname hubspot={{site_settings. brevo={{contact. brevo={{params. brevo={{unsubscribe}} brevo={{mirror}}
 mailchimp=*|UNSUB|* mailchimp=*|FNAME|* mailchimp=*|EMAIL|* mailchimp=*|LIST: mailchimp=*|IF: mailchimp=*|ARCHIVE|* mailchimp=*|MC:
 mailerlite={$unsubscribe} mailerlite={$name} mailerlite={$email} mailerlite={$url}`
