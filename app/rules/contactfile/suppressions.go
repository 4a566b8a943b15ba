package contactfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Service is a service whose suppression lists can be read.
type Service string

// The services. Two of them are presets of contact files too.
const (
	ServiceSendGrid Service = "sendgrid"
	ServicePostmark Service = "postmark"
	ServiceMailgun  Service = "mailgun"
	ServiceSES      Service = "ses"
)

// Services are all services.
var Services = []Service{ServiceSendGrid, ServicePostmark, ServiceMailgun, ServiceSES}

// ParseService parses the name of a service. Error: CodeValidation.
func ParseService(s string) (Service, error) {
	if !slices.Contains(Services, Service(s)) {
		return "", app.Invalid("from", "must be sendgrid, postmark, mailgun or ses")
	}
	return Service(s), nil
}

// entry is an entry of a list of any service.
type entry struct {
	email  string
	reason string // in the service's terms
	status string // status or code of a bounce
	origin string // who added it
	error  bool   // there is an error text
	ip     bool   // there is the IP address of the reporter
	tags   bool   // tags of the mail that it opted out of
	at     time.Time
}

// set stores a member of an object, or a cell, by its plain name.
func (e *entry) set(name, text string) {
	switch name {
	case "email", "emailaddress", "address", "recipient":
		e.email = text
	case "status", "code", "bouncecode":
		e.status = text
	case "type", "suppressionreason", "reason":
		e.error = e.error || name == "reason"
		if e.reason == "" || name != "reason" {
			e.reason = text
		}
	case "error":
		e.error = true
	case "origin":
		e.origin = text
	case "ip":
		e.ip = true
	case "tags", "tag":
		e.tags = true
	case "created", "createdat", "lastupdatetime", "lastupdated", "bouncedat", "date":
		e.at = parseTime(text)
	}
}

// reasonWords are the reasons of Postmark and SES in plain form; empty: ignored.
var reasonWords = map[string]app.SuppressionOrigin{
	"hardbounce": app.OriginBounce, "bounce": app.OriginBounce, "bademailaddress": app.OriginBounce,
	"spamcomplaint": app.OriginComplaint, "spamnotification": app.OriginComplaint, "complaint": app.OriginComplaint,
	"unsubscribe": app.OriginUnsubscribe, "manualsuppression": app.OriginManual, "manuallydeactivated": app.OriginManual,
	"softbounce": "", "transient": "", "blocked": "", "dnserror": "", "autoresponder": "", "addresschange": "", "challengeverification": "", "openrelaytest": "",
	"unknown": "", "virusnotification": "", "smtpapierror": "", "inbounderror": "", "dmarcpolicy": "", "templaterenderingfailed": "", "subscribe": "",
}

// listWords are parts of file names that determine the kind of list.
var listWords = []struct {
	word   string
	origin app.SuppressionOrigin
}{
	{"block", ""}, {"unsub", app.OriginUnsubscribe}, {"spam", app.OriginComplaint}, {"complain", app.OriginComplaint}, {"invalid", app.OriginBounce}, {"bounce", app.OriginBounce},
}

// classify returns the suppression origin of an entry; empty: ignored. file is the name of the
// list, which distinguishes the lists of SendGrid and Mailgun.
func (e *entry) classify(from Service, file string) (origin app.SuppressionOrigin, known bool) {
	if from == ServicePostmark || from == ServiceSES {
		origin, known = reasonWords[plain(e.reason)]
		if origin == app.OriginManual && strings.EqualFold(e.origin, "Recipient") { // by a link in the mail
			origin = app.OriginUnsubscribe
		}
		return origin, known
	}
	origin, known = e.byShape(from), true
	name := strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/")))
	for _, list := range listWords {
		if strings.Contains(name, list.word) {
			origin = list.origin
			break
		}
	}
	if origin == app.OriginBounce && strings.HasPrefix(e.status, "4") {
		return "", true
	}
	return origin, known
}

// byShape determines the kind of a list by the members of its entries. SendGrid's bounces and
// blocks have the same members; a block for policy reasons is not a bounce of the address.
func (e *entry) byShape(from Service) app.SuppressionOrigin {
	switch {
	case from == ServiceMailgun && (e.status != "" || e.error):
		return app.OriginBounce
	case from == ServiceMailgun && !e.tags, e.ip:
		return app.OriginComplaint
	case from == ServiceMailgun:
		return app.OriginUnsubscribe
	case strings.HasPrefix(e.status, "5.7"):
		return ""
	case e.status != "" || e.error:
		return app.OriginBounce
	}
	return app.OriginUnsubscribe
}

// person returns the contact of an entry. flaw is an earlier problem.
func (e *entry) person(from Service, file, flaw string) Contact {
	p := Contact{Problem: flaw, At: e.at}
	in := app.SuppressionInput{Email: e.email}
	s, err := in.Validate()
	switch {
	case flaw != "":
	case e.email == "":
		p.Problem = "There is no email address"
	case err != nil:
		p.Problem = "The email address is not valid"
	}
	if err != nil {
		return p
	}
	origin, known := e.classify(from, file)
	if !known {
		p.Problem = "The reason is none that is known"
		return p
	}
	p.Email, p.Origin, p.Ignored = s.Email, origin, origin == "" && p.Problem == ""
	return p
}

// entries returns the columns of a suppression list.
func (h headingSet) entries() ([]Column, error) {
	var out []Column
	email := false
	for i := range h {
		name := plain(h[i])
		email = email || presetHeadings[name] == app.EmailField || name == "address" || name == "recipient"
		out = append(out, h.column(i, entryField, name, ""))
	}
	if !email {
		return nil, app.Invalid("file", "has no column for the email address in its first row")
	}
	return out, nil
}

// ReadSuppressionList reads a suppression list of a service, CSV or JSON, and calls take for each
// entry with its line. Errors: io.EOF for an empty file, *FileError if the rest can't be read,
// CodeValidation for CSV without addresses, and those of r and take.
func ReadSuppressionList(r io.Reader, from Service, file string, take func(line int, p Contact) error) error {
	text, err := decoded(r)
	if err != nil {
		return err
	}
	b := bufio.NewReaderSize(text, importBuffer)
	start, err := b.Peek(1024)
	if err != nil && err != io.EOF {
		return err
	}
	start = bytes.TrimSpace(start)
	if len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		d := newSuppressionReader(b, from, file, take)
		return d.read()
	}
	rows, headings, err := Read(b)
	if err != nil {
		return err
	}
	columns, err := headingSet(headings).entries()
	if err != nil {
		return err
	}
	s := Sheet{Preset: Preset(from), Suppressions: true, List: file, Width: len(headings), Columns: columns}
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(row.Line, s.Contact(row)); err != nil {
			return err
		}
	}
}

// suppressionReader reads a JSON list: any number of entries, or of objects with arrays of
// entries.
type suppressionReader struct {
	d       *jsontext.Decoder
	limit   *recordLimit
	lines   *lineCounter
	from    Service
	file    string
	take    func(line int, p Contact) error
	started bool // something was read
}

func newSuppressionReader(r io.Reader, from Service, file string, take func(line int, p Contact) error) *suppressionReader {
	lines := &lineCounter{r: r, lines: 1}
	limit := &recordLimit{r: lines}
	d := jsontext.NewDecoder(limit, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return &suppressionReader{d: d, limit: limit, lines: lines, from: from, file: file, take: take}
}

// lineCounter counts the lines that were read.
type lineCounter struct {
	r     io.Reader
	lines int
}

// Read implements io.Reader.
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.lines += bytes.Count(p[:n], []byte{'\n'})
	return n, err
}

// more raises the read limit by one record.
func (u *suppressionReader) more() { u.limit.upTo = u.d.InputOffset() + MaxRecord + importBuffer }

// line returns the line of the next value, which was peeked.
func (u *suppressionReader) line() int {
	rest := u.d.UnreadBuffer()
	value := bytes.TrimLeft(rest, " \t\r\n,:")
	return u.lines.lines - bytes.Count(value, []byte{'\n'})
}

// read reads to the end.
func (u *suppressionReader) read() error {
	for {
		u.more()
		kind := u.d.PeekKind()
		var err error
		switch kind {
		case '[':
			err = u.array()
		case '{':
			err = u.object()
		default:
			if _, err = u.d.ReadToken(); errors.Is(err, io.EOF) && u.started {
				return nil
			} else if err == nil {
				err = &FileError{u.line(), "this is no list of suppressions"}
			}
		}
		if err != nil {
			return u.wrapError(err)
		}
		u.started = true
	}
}

// wrapError converts JSON errors to *FileError; other errors are unchanged.
func (u *suppressionReader) wrapError(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errRecordTooLong):
		return &FileError{u.line(), fmt.Sprintf("an entry is longer than %d bytes", MaxRecord)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FileError{u.lines.lines, "the file ends in the middle of its JSON"}
	case errors.As(err, &syntax):
		return &FileError{u.line(), "this is no valid JSON"}
	}
	return err
}

// array reads an array of entries.
func (u *suppressionReader) array() error {
	if _, err := u.d.ReadToken(); err != nil {
		return err
	}
	for {
		u.more()
		switch u.d.PeekKind() {
		case ']':
			_, err := u.d.ReadToken()
			return err
		case '{':
			if err := u.object(); err != nil {
				return err
			}
		case 0:
			_, err := u.d.ReadToken()
			return err
		default:
			line := u.line()
			if err := u.d.SkipValue(); err != nil {
				return err
			}
			if err := u.take(line, Contact{Problem: "The entry is no object"}); err != nil {
				return err
			}
		}
	}
}

// object reads an entry, or an object with arrays of entries.
func (u *suppressionReader) object() error {
	line, deep, lists := u.line(), u.d.StackDepth() > 0, false
	if _, err := u.d.ReadToken(); err != nil {
		return err
	}
	var e entry
	for u.d.PeekKind() != '}' {
		name, err := u.d.ReadToken()
		if err != nil {
			return err
		}
		key := plain(name.String())
		if u.d.PeekKind() == '[' && !deep && key != "tags" {
			lists = true
			err = u.array()
		} else {
			err = u.member(&e, key)
		}
		if err != nil {
			return err
		}
	}
	if _, err := u.d.ReadToken(); err != nil {
		return err
	}
	if lists && e.email == "" {
		return nil
	}
	return u.take(line, e.person(u.from, u.file, ""))
}

// member reads a member of an entry.
func (u *suppressionReader) member(e *entry, key string) error {
	switch u.d.PeekKind() {
	case '[', '{':
		e.set(key, "")
		return u.d.SkipValue()
	}
	value, err := u.d.ReadToken()
	if err == nil {
		e.set(key, textOf(value))
	}
	return err
}

// textOf returns a value as the text of a cell.
func textOf(v jsontext.Token) string {
	if v.Kind() == 'n' {
		return ""
	}
	return strings.TrimSpace(v.String())
}
