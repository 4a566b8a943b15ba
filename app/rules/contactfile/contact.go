package contactfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Contact is the content of a row.
type Contact struct {
	Email     string          // as written
	Contact   *app.NewContact // nil: none
	Segments  []string        // by name
	CreatedAt time.Time       // zero: unknown
	Origin    app.SuppressionOrigin
	At        time.Time // of the suppression; zero: unknown
	Ignored   bool      // an entry of a suppression list that is ignored
	Problem   string    // why the row, or a part of it, is invalid; only its opt-out counts then
	Value     string    // the invalid value, shortened; empty: none, or not stored
}

// OptsOut reports whether the contact gets no mail, or no bulk mail.
func (p *Contact) OptsOut() bool {
	return p.Origin != "" || p.Contact != nil && p.Contact.Contact.Unsubscribed
}

// reading is a row being read.
type reading struct {
	in     app.ContactInput
	person Contact
	entry  entry
	status ListStatus
}

// Contact converts a row to a contact, or returns its problem without data of the row. An invalid
// row with an address still counts if it opts out.
func (s *Sheet) Contact(row Row) Contact {
	r := reading{status: s.Status}
	flaw, value := s.problemOf(row), ""
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Index >= len(row.Cells) {
			break
		}
		if err := r.set(c, strings.TrimSpace(row.Cells[c.Index]), s.Preset); err != nil && flaw == "" {
			flaw, value = "Column "+c.Name+" "+err.Error(), row.Cells[c.Index]
		}
	}
	if s.Suppressions {
		return r.entry.person(Service(s.Preset), s.List, flaw)
	}
	r.raiseStatus()
	n, err := r.in.Validate()
	if err != nil && flaw == "" {
		flaw, value = s.Describe(err), s.cellOf(err, row)
	}
	if flaw == "" {
		r.person.Email, r.person.Contact = n.Contact.Email, n
		return r.person
	}
	out := r.rest(flaw)
	out.Value = badValue(value)
	return out
}

// raiseStatus applies the status of the row to the contact.
func (r *reading) raiseStatus() {
	switch r.status {
	case subscribed, bounced: // a corrected address gets mail again
	default:
		r.in.Unsubscribed = true
	}
	if r.status != subscribed && r.status != optedOut {
		r.person.Origin = app.SuppressionOrigin(r.status)
	}
}

// rest returns what counts of an invalid row.
func (r *reading) rest(flaw string) Contact {
	out := Contact{Problem: flaw}
	if r.status == subscribed && !r.in.Unsubscribed {
		return out
	}
	bare := app.ContactInput{Email: r.in.Email, Unsubscribed: r.in.Unsubscribed}
	if n, err := bare.Validate(); err == nil {
		out.Email, out.Contact, out.Origin = n.Contact.Email, n, r.person.Origin
	}
	return out
}

// problemOf returns what is wrong with a row before its cells are read.
func (s *Sheet) problemOf(row Row) string {
	if row.Problem != "" {
		return row.Problem
	}
	if len(row.Cells) != s.Width {
		return fmt.Sprintf("The row has %d columns, the first row of the file has %d", len(row.Cells), s.Width)
	}
	if i := slices.IndexFunc(row.Cells, func(s string) bool { return !utf8.ValidString(s) }); i >= 0 {
		return "Column " + s.name(i) + " is not valid UTF-8"
	}
	return ""
}

// name returns the name of a column for errors, also of an ignored one.
func (s *Sheet) name(index int) string {
	for i := range s.Columns {
		if s.Columns[i].Index == index {
			return s.Columns[i].Name
		}
	}
	return strconv.Itoa(index + 1)
}

// set stores the text of a cell. An empty cell is ignored.
func (r *reading) set(c *Column, text string, preset Preset) error {
	if c.Field == entryField {
		r.entry.set(c.Key, text)
		return nil
	}
	if c.Field == consentField {
		status, err := c.Role.read(text)
		r.status = r.status.strongest(status)
		return err
	}
	if text == "" {
		if c.Field == app.EmailField || c.Field == statusField {
			return errors.New("is empty")
		}
		return nil
	}
	switch c.Field {
	case app.EmailField:
		r.in.Email = text
	case app.FirstNameField:
		r.in.FirstName = text
	case app.LastNameField:
		r.in.LastName = text
	case fullNameField:
		r.in.FirstName, r.in.LastName, _ = strings.Cut(text, " ")
		r.in.LastName = strings.TrimSpace(r.in.LastName)
	case unsubscribedField:
		status, err := ConsentRefused.read(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		r.status = r.status.strongest(status)
	case propertyField:
		v, err := c.value(text)
		r.property(c.Key, v)
		return err
	default:
		return r.special(c.Field, text, preset)
	}
	return nil
}

func (r *reading) property(key string, v *app.PropertyValue) {
	if r.in.Properties == nil {
		r.in.Properties = app.PropertyChanges{}
	}
	r.in.Properties[key] = v
}

// special stores a field that only presets have.
func (r *reading) special(field, text string, preset Preset) error {
	switch field {
	case statusField:
		word := plain(text)
		status, ok := statusWords[word]
		if !ok {
			status, ok = looseWords[word]
		}
		if !ok {
			if status, err := ConsentStatus.read(text); err == nil {
				r.status = r.status.strongest(status)
				return nil
			}
			return errors.New("has no known value for active or opted out")
		}
		r.status = r.status.strongest(status)
	case hintField:
		status, _ := ConsentStatus.read(text)
		r.status = r.status.strongest(status)
	case optOutField, bounceField, complaintField:
		if isAffirmative(text) {
			r.status = r.status.strongest(statusOfValue(field))
		}
	case segmentsField:
		return r.join(splitNames(text, preset), "")
	case listIDsField:
		return r.join(splitNames(strings.Trim(text, "[]"), preset), "List ")
	case createdField:
		if r.person.CreatedAt.IsZero() {
			r.person.CreatedAt = parseTime(text)
		}
	case attributesField:
		return r.attributes(text)
	}
	return nil
}

// statusOfValue returns the meaning of yes in a column.
func statusOfValue(field string) ListStatus {
	switch field {
	case bounceField:
		return bounced
	case complaintField:
		return complained
	}
	return optedOut
}

// isAffirmative reports whether a text is anything but no: a reason, or a time.
func isAffirmative(text string) bool {
	if folded := fold(text); folded != "" {
		return !noWords[folded]
	}
	status, _ := ConsentReason.read(text) // only symbols
	return status != subscribed
}

// join adds segments by name.
func (r *reading) join(names []string, lead string) error {
	for _, name := range names {
		if utf8.RuneCountInString(lead+name) > app.MaxSegmentName || app.HasControl(name) {
			return fmt.Errorf("has a name that is longer than %d characters, or has control characters", app.MaxSegmentName)
		}
		if !slices.Contains(r.person.Segments, lead+name) {
			r.person.Segments = append(r.person.Segments, lead+name)
		}
	}
	if len(r.person.Segments) > app.MaxContactLinks {
		return fmt.Errorf("has more than %d names", app.MaxContactLinks)
	}
	return nil
}

// splitNames splits a service's list of names. Quoted names may contain separators.
func splitNames(text string, preset Preset) (names []string) {
	separators := ",;|"
	switch preset {
	case Mailchimp:
		separators = ","
	case HubSpot:
		separators = ";"
	}
	quoted, start := false, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] == '"' {
			quoted = !quoted
		}
		if i < len(text) && (quoted || !strings.Contains(separators, text[i:i+1])) {
			continue
		}
		if name := strings.TrimSpace(strings.Trim(strings.TrimSpace(text[start:i]), `"`)); name != "" {
			names = append(names, strings.ReplaceAll(name, `""`, `"`))
		}
		start = i + 1
	}
	return names
}

// attributes stores the members of an object as properties: values that are neither strings nor
// numbers as JSON.
func (r *reading) attributes(text string) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return errors.New("is not an object of JSON")
	}
	for name, v := range members {
		key := propertyKey(name)
		if key == "" {
			continue
		}
		value := app.PropertyValue{Type: app.StringProperty, Text: string(v)}
		switch v.Kind() {
		case 'n':
			continue
		case '"':
			_ = json.Unmarshal(v, &value.Text) // it is a string
		case '0':
			value.Type, value.Text = app.NumberProperty, ""
			if json.Unmarshal(v, &value.Number) != nil {
				return errors.New("has a number that is too large")
			}
		}
		r.property(key, &value)
	}
	return nil
}

// timeLayouts are the time formats of services, with normalized separators.
var timeLayouts = []string{
	time.RFC3339, time.DateTime, "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// parseTime parses a service's time, in UTC without a zone; zero if it is ambiguous, like a day
// that may be a month.
func parseTime(text string) time.Time {
	layouts := timeLayouts
	switch {
	case len(text) >= 10 && text[2] == '-' && text[5] == '-':
		layouts = []string{"02-01-2006 15:04:05", "02-01-2006 15:04", "02-01-2006"}
	case len(text) > 4 && text[3] == ',':
		layouts = []string{time.RFC1123, time.RFC1123Z}
	case len(text) < 10 || text[4] != '-':
		layouts = nil
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return isPlausible(t)
		}
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e11 {
		return isPlausible(time.Unix(int64(n), 0))
	}
	return time.Time{}
}

// isPlausible drops times before there was mail, and times that JSON can't represent.
func isPlausible(t time.Time) time.Time {
	if t.Year() < 1971 || t.Year() > 9000 {
		return time.Time{}
	}
	return t.UTC()
}

// propertyType returns the type of the column's values.
func (c *Column) propertyType() app.PropertyType {
	if isNumber(c.Type) {
		return app.NumberProperty
	}
	return app.StringProperty
}
