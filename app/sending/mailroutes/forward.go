package mailroutes

import (
	"context"
	"errors"
	"fmt"
	"html"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/htmltext"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/inbound"
	"mailer/app/sending/mail"
	"mailer/db"
)

const (
	// maxForwardedText bounds the text and the HTML of a forwarded mail each, in bytes.
	maxForwardedText = 5 << 20
	// maxSenderName bounds the name of the author in the From of a forwarded mail, in bytes.
	maxSenderName = 100
	// maxReplyTo is how many addresses of the Reply-To field a forwarded mail repeats.
	maxReplyTo = 10
)

// forward forwards a received email to the destination of an effect. Errors: those of mail.Accept.
func (s *Service) forward(ctx context.Context, w *db.RouteWork, e *app.Received, m *inbound.Message, raw []byte, effect app.RouteEffect) error {
	var d app.ForwardAddress
	team := ""
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if d, err = r.ForwardAddress(w.TeamID, effect.DestinationID); err != nil {
			return err
		}
		brand, err := r.Brand(w.TeamID)
		team = brand.Team
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return app.Errorf(app.CodeConflict, "The destination was deleted")
	}
	if err != nil {
		return base.Unavailable(err)
	}
	check := func(r *db.Reader) (string, error) {
		now, err := r.ForwardAddress(w.TeamID, d.ID)
		if err != nil {
			return "The destination was deleted", base.IgnoreNotFound(err)
		}
		return refusalOf(&now), nil
	}
	f := &forwarded{e: e, m: m, to: &d, at: e.Recipients[w.Recipient], team: app.CutText(app.OneLine(team), maxTeam), stop: s.link(&d, stopLink)}
	f.readFiles(raw)
	// A mail that can't be sent with its files, or with its content, is sent without.
	for _, leaveOut := range []func(){func() {}, f.withoutFiles, f.withoutContent} {
		leaveOut()
		var email *app.Email
		if email, err = f.email(w.TeamID); err == nil {
			err = s.accept(ctx, w, effect, email, check)
		}
		if code := app.CodeOf(err); code != app.CodePayloadTooLarge && code != app.CodeValidation {
			return err
		}
	}
	return err
}

// forwarded is a mail that forwards a received email.
type forwarded struct {
	e     *app.Received
	m     *inbound.Message
	to    *app.ForwardAddress
	at    string // the address that received the email
	team  string
	stop  string // URL of the page that stops it
	files []app.Attachment
	bytes int64  // of files
	note  string // what is left out, as a sentence; empty: nothing
	bare  bool   // without content
}

// readFiles reads the attachments if they fit into a mail.
func (f *forwarded) readFiles(raw []byte) {
	for i := range f.m.Files {
		f.bytes += f.m.Files[i].Size
	}
	if f.bytes > app.DefaultMaxAttachmentBytes || len(f.m.Files) > app.MaxAttachments {
		f.withoutFiles()
		return
	}
	if f.m.Cut {
		f.note = fmt.Sprintf("It exceeds limits, so that parts are missing here. All of it is in the account of %s, with the id %s.", f.team, f.e.ID)
	}
	shown := map[string]bool{}
	for i := range f.m.Files {
		file := &f.m.Files[i]
		content, ok := inbound.Part(raw, file.Part)
		if !ok {
			f.note = "Some attachments could not be read and are not forwarded."
			continue
		}
		a := app.Attachment{Filename: safeFilename(file.Filename, i), ContentType: safeType(file.ContentType), Content: content}
		if a.Content == nil {
			a.Content = []byte{}
		}
		if id := file.ContentID; isContentID(id) && !shown[id] {
			shown[id], a.ContentID = true, id
		}
		f.files = append(f.files, a)
	}
}

func (f *forwarded) withoutFiles() {
	f.files = nil
	if n := len(f.m.Files); n > 0 {
		f.note = fmt.Sprintf("Its attachments (%d, %d KB together) can't be forwarded. They are in the account of %s, with the id %s.", n, (f.bytes+1023)/1024, f.team, f.e.ID)
	}
}

func (f *forwarded) withoutContent() {
	f.withoutFiles()
	f.bare = true
	f.note = fmt.Sprintf("Its content can't be forwarded. It is in the account of %s, with the id %s.", f.team, f.e.ID)
}

// email makes the email. Errors: CodeValidation.
func (f *forwarded) email(teamID string) (*app.Email, error) {
	text, htmlText := "", ""
	if !f.bare && len(f.m.Text) <= maxForwardedText && len(f.m.HTML) <= maxForwardedText {
		text, htmlText = f.m.Text, f.m.HTML
	} else if !f.bare {
		f.withoutContent()
	}
	text = withoutPlaceholders(text) + f.footer()
	in := &app.EmailInput{From: f.sender(), To: []string{f.to.Address}, ReplyTo: f.replyTo(), Subject: f.m.Subject, Text: &text, Headers: f.headers(), Attachments: f.files,
		Compat: app.CompatResend} // its rules allow files that the HTML shows, and the fields of headers
	if strings.TrimSpace(in.Subject) == "" {
		in.Subject = "(no subject)"
	}
	if htmlText != "" {
		in.HTML = withFooter(withoutPlaceholders(htmlText), f.htmlFooter())
	}
	email, err := mail.NewEmail(&app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: mail.SourceAPI}, in)
	if err != nil {
		return nil, err
	}
	email.ForwardID = f.to.ID
	addHeader(email, ForwardedHeader, "1")
	return email, nil
}

// withoutPlaceholders breaks placeholders of templates: what a stranger wrote must not become a link of this server.
func withoutPlaceholders(text string) string { return strings.ReplaceAll(text, "{{{", "{ { {") }

// footer returns the end of the text.
func (f *forwarded) footer() string {
	var b strings.Builder
	b.WriteString("\n\n-- \n")
	if f.note != "" {
		b.WriteString(f.note + "\n")
	}
	b.WriteString("This mail arrived at " + f.at + ", and " + f.team + " forwards it to you. To stop this for all mail:\n" + f.stop + "\n")
	return b.String()
}

func (f *forwarded) htmlFooter() string {
	note := ""
	if f.note != "" {
		note = "<p>" + html.EscapeString(f.note) + "</p>"
	}
	return `<div style="margin-top:24px;padding-top:8px;border-top:1px solid #cccccc;color:#555555;font:13px sans-serif">` + note + "<p>This mail arrived at " + html.EscapeString(f.at) + ", and " +
		html.EscapeString(f.team) + ` forwards it to you. <a href="` + html.EscapeString(f.stop) + `">Stop this for all mail</a></p></div>`
}

// withFooter adds a footer before the end of the body, or at the end: where a reader sees it, even if the text has a
// comment, an element or a tag that does not end.
func withFooter(text, footer string) string {
	at := footerAt(text)
	return text[:at] + footer + text[at:]
}

func footerAt(text string) int {
	tokens, body, tag := htmltext.NewTokens(text), -1, 0
	for {
		open := len(text) // start of what does not end
		kind := tokens.Next()
		last := tokens.At == len(text)
		switch kind {
		case xhtml.ErrorToken:
			if body >= 0 {
				return body
			}
			return tokens.Begin
		case xhtml.StartTagToken:
			tag = tokens.Begin
		case xhtml.EndTagToken:
			if tokens.Name == "body" {
				body = tokens.Begin
			}
		case xhtml.TextToken:
			if last && tokens.Element != "" { // as of style
				open = tag
			}
		case xhtml.CommentToken:
			if raw := tokens.Raw(); last && (!strings.HasSuffix(raw, ">") || strings.HasPrefix(raw, "<!--") && !strings.HasSuffix(raw, "-->")) {
				open = tokens.Begin
			}
		}
		if open < len(text) && body < 0 {
			return open
		}
	}
}

// sender returns the From: the address that received the email, with the name of the author.
func (f *forwarded) sender() string {
	at, err := app.ParseAddress(f.at)
	if err != nil {
		return f.at
	}
	at.Name = ""
	name := ""
	if i := strings.LastIndexByte(f.e.From, '<'); i > 0 {
		name = f.e.From[:i]
	} else if author, err := app.ParseAddress(f.e.From); err == nil {
		name = author.Local
	}
	name = strings.Map(func(r rune) rune {
		if mailbox.IsHidden(r) || r == '@' || r == '"' || r == utf8.RuneError { // an @ makes a name look like an address
			return ' '
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		name = "Mail"
	}
	named := at
	named.Name = app.CutText(name, maxSenderName) + " via " + at.Domain
	if _, err := app.ParseAddress(named.String()); err != nil {
		return at.String()
	}
	return named.String()
}

// replyTo returns the addresses to which an answer goes: those that the author chose, or the author.
func (f *forwarded) replyTo() (out []string) {
	seen := map[app.AddressKey]bool{}
	for _, text := range f.m.ReplyTo {
		if a, err := app.ParseAddress(text); err == nil && len(out) < maxReplyTo && !seen[a.Key()] {
			seen[a.Key()] = true
			out = append(out, a.String())
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, text := range []string{f.e.From, f.e.FromEmail} {
		if a, err := app.ParseAddress(text); err == nil {
			return []string{a.String()}
		}
	}
	return nil
}

// addHeader adds a field that callers can't set. Fields are sorted by name.
func addHeader(email *app.Email, name, value string) {
	email.Headers = append(email.Headers, app.Header{Name: name, Value: value})
	slices.SortFunc(email.Headers, func(a, b app.Header) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
}

// headers returns the fields that say how the email was made, and those that keep a conversation together.
func (f *forwarded) headers() map[string]string {
	out := map[string]string{}
	switch f.e.AutoSubmitted {
	case app.AutoNone:
	case app.AutoReply:
		out["Auto-Submitted"] = "auto-replied"
	default:
		out["Auto-Submitted"] = "auto-generated"
	}
	addReferences(out, f.m.References, f.e.MessageID)
	return out
}

const (
	maxReferences   = 20
	maxReferenceLen = 250 // bytes
)

// addReferences adds References (RFC 5322 3.6.4): ids without angle brackets, and the id of the message with them.
func addReferences(out map[string]string, ids []string, last string) {
	var list []string
	for _, id := range append(append([]string(nil), ids[max(0, len(ids)-maxReferences):]...), strings.Trim(last, "<>")) {
		if id != "" && len(id) <= maxReferenceLen && app.IsASCII(id) && !app.HasControl(id) && !strings.ContainsAny(id, " <>") {
			list = append(list, "<"+id+">")
		}
	}
	if len(list) > 0 {
		out["References"] = strings.Join(list, " ")
	}
}

// safeFilename returns the name of a file without what a mail must not hold.
func safeFilename(name string, n int) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || app.HasControl(string(r)) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimSpace(app.CutText(name, 200))
	if name == "" || name == "." || name == ".." {
		return fmt.Sprintf("attachment-%d", n+1)
	}
	return name
}

// safeType returns a media type that may be attached.
func safeType(contentType string) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.Contains(kind, "/") || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") || len(contentType) > 200 || mime.FormatMediaType(kind, params) == "" {
		return "application/octet-stream"
	}
	return contentType
}

// isContentID reports whether an id may be in a mail: atoms of ASCII with dots, and at most one @.
func isContentID(id string) bool {
	if id == "" || len(id) > app.MaxContentID || strings.Count(id, "@") > 1 {
		return false
	}
	for atom := range strings.SplitSeq(strings.ReplaceAll(id, "@", "."), ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool { return r >= utf8.RuneSelf || !mailbox.IsAtext(r) }) {
			return false
		}
	}
	return true
}
