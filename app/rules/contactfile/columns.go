package contactfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mailer/app"
)

// Limits of imports.
const (
	MaxErrors         = 10_000  // row errors that are kept of one import
	MaxErrorsShown    = 100     // of them, with the import itself
	MaxUnfinished     = 10      // imports of a team that are not over
	MaxRecord         = 1 << 20 // bytes of one row, its line breaks included
	MaxNewSegments    = 1000    // that the names in one file make
	MaxStored         = 1 << 30 // bytes of a file that is kept unpacked
	maxImportHeadings = 1000    // columns of a file
)

// Retention is for how long an import that is over is kept with its row errors.
const Retention = 30 * 24 * time.Hour

// Status says how far an import of contacts is.
type Status string

// The statuses. One that is still arriving, or was deleted and is being removed, is
// seen by nobody.
const (
	Uploading  Status = "uploading"
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Deleted    Status = "deleted"
)

// ParseStatus reads the filter of a list; empty stands for all.
func ParseStatus(s string) (Status, error) {
	switch status := Status(s); status {
	case "", Queued, InProgress, Completed, Failed:
		return status, nil
	}
	return "", app.Invalid("status", "must be queued, in_progress, completed or failed")
}

// Counts are rows of an import by what became of them.
type Counts struct {
	Created, Updated, Skipped, Failed int
}

// Total is how many rows were worked off.
func (c Counts) Total() int { return c.Created + c.Updated + c.Skipped + c.Failed }

// Import is a CSV file whose rows become contacts.
type Import struct {
	ID     string
	TeamID string
	Status Status
	Plan   Plan
	Counts
	Error       string // why the whole import failed; empty: it did not
	CreatedAt   time.Time
	CompletedAt time.Time // zero: not over
}

// RowError is a row that an import could not take. The message tells nothing
// of what the row holds; erasures clean Value.
type RowError struct {
	ID      string
	Line    int // of the file, from 1, where the row begins
	Message string
	Value   string // that could not be taken (Contact.Value)
}

// ColumnMap says which columns of a file hold what, by their headings.
type ColumnMap struct {
	Email        string // empty: found by its heading
	FirstName    string // empty, as the next: not taken
	LastName     string
	Unsubscribed string
	Properties   map[string]PropertyColumn // by key
}

// PropertyColumn is the column of a property.
type PropertyColumn struct {
	Column string
	Type   string // string, number, boolean or one of a date; empty: as it is declared, else string
}

// booleanColumn is the type of a column whose values are stored as the strings
// "true" and "false".
const booleanColumn = "boolean"

// Input is what a caller says about a file of contacts.
type Input struct {
	Columns  *ColumnMap // nil: found by their headings
	Preset   string     // the service that wrote the file; empty: found by its headings
	FileName string     // as the caller has it; empty: not told
	// EmailColumn is the heading of the column that holds the address, where the other
	// columns are found by theirs; empty: found as well.
	EmailColumn string
	OnConflict  string // upsert or skip; empty: skip
	Segments    []app.SegmentRef
	Topics      []app.TopicChoice
}

// Plan is an Input that was checked against the file's headings.
type Plan struct {
	Conflict app.OnConflict    `json:"on_conflict"`
	Name     string            `json:"name,omitempty"` // of the file; empty: not told
	Sheet                      // of a file alone
	Sheets   []Sheet           `json:"sheets,omitempty"` // of a ZIP archive
	Segments []string          `json:"segments,omitempty"`
	Topics   []app.TopicChoice `json:"topics,omitempty"`

	Parts       []Part     `json:"parts,omitempty"` // of a file that was unpacked
	OptOutPass  OptOutPass `json:"first,omitzero"`
	NewSegments int        `json:"made,omitempty"` // segments that are new with it
}

// OptOutPass is how far an import is with the rows of those who opted out, which all come
// before the first of the others, and again at their places.
type OptOutPass struct {
	Pending bool `json:"due"`     // not over
	Rows    int  `json:"rows"`    // that were looked at
	Created int  `json:"created"` // that were not counted yet
	Updated int  `json:"updated"`
}

// MayOptOut reports whether there may be rows of somebody who opted out.
func (p *Plan) MayOptOut() bool {
	for _, s := range p.All() {
		if s.Preset != "" {
			return true
		}
		for i := range s.Columns {
			if f := s.Columns[i].Field; f == unsubscribedField || f == consentField {
				return true
			}
		}
	}
	return false
}

// Sheet is one table of a file, and what its columns hold.
type Sheet struct {
	File         string     `json:"file,omitempty"` // in a ZIP archive; empty: a file alone
	Preset       Preset     `json:"preset,omitempty"`
	Status       ListStatus `json:"standing,omitempty"` // of all its rows
	Suppressions bool       `json:"dump,omitempty"`     // of suppressions alone
	List         string     `json:"list,omitempty"`     // name of a file of suppressions, which may tell their kind
	Width        int        `json:"width"`              // columns of each row
	Columns      []Column   `json:"columns"`
	Left         []string   `json:"-"` // names of columns that are not taken
}

// Column is a column that an import takes.
type Column struct {
	Index int         `json:"index"`
	Name  string      `json:"name"`          // in row errors
	Field string      `json:"field"`         // of a contact, "properties", or what a preset knows
	Key   string      `json:"key,omitempty"` // of the property
	Type  string      `json:"type,omitempty"`
	Role  ConsentRole `json:"sense,omitempty"` // of a column that speaks of consent
}

// maxFileName bounds what is kept of the name of a file, in characters.
const maxFileName = 100

// fileName is the name by which an import is listed. One with an @ may hold somebody's
// address, and is not kept.
func fileName(name string) string {
	if at := strings.LastIndexAny(name, `/\\`); at >= 0 {
		name = name[at+1:]
	}
	if strings.Contains(name, "@") || strings.Contains(name, "%40") || !utf8.ValidString(name) {
		return ""
	}
	runes := []rune(badValue(name))
	return string(runes[:min(len(runes), maxFileName)])
}

// begin checks what is said beside the columns.
func (in *Input) begin() (*Plan, error) {
	plan := &Plan{Conflict: app.ConflictSkip, Name: fileName(in.FileName)}
	switch o := app.OnConflict(in.OnConflict); o {
	case "":
	case app.ConflictSkip, app.ConflictUpsert:
		plan.Conflict = o
	default:
		return nil, app.Invalid("on_conflict", "must be upsert or skip")
	}
	if _, err := ParsePreset(in.Preset); err != nil {
		return nil, err
	}
	if in.Preset != "" && in.Columns != nil {
		return nil, app.Invalid("preset", "can't be used together with `column_map`")
	}
	links := app.ContactInput{Email: "a@example.com", Segments: in.Segments, Topics: in.Topics}
	checked, err := links.Validate()
	if err != nil {
		return nil, err
	}
	plan.Segments, plan.Topics = compact(checked.Segments), checked.Topics
	return plan, nil
}

// Plan checks the input against a file's headings and the properties that the
// team declared. declare are properties that the team lacks. Errors:
// CodeValidation.
func (in *Input) Plan(headings []string, declared map[string]app.PropertyType) (plan *Plan, declare []app.PropertyInput, err error) {
	if plan, err = in.begin(); err != nil {
		return nil, nil, err
	}
	if plan.Sheet, err = in.sheet(in.FileName, headings, declared); err != nil {
		return nil, nil, err
	}
	return plan, plan.Sheet.declare(declared, nil), nil
}

// sheet finds what the columns of a table hold.
func (in *Input) sheet(file string, headings []string, declared map[string]app.PropertyType) (s Sheet, err error) {
	if len(headings) > maxImportHeadings {
		return s, app.Invalid("file", "can have at most %d columns", maxImportHeadings)
	}
	for i := range headings {
		if !utf8.ValidString(headings[i]) {
			return s, app.Invalid("file", "must be UTF-8 text")
		}
	}
	s.Width, s.Preset = len(headings), Preset(in.Preset)
	h, err := in.headings(headings)
	if err != nil {
		return s, err
	}
	if in.Columns != nil {
		if s.Columns, err = h.mapped(in.Columns, declared); err == nil {
			s.Columns = append(s.Columns, h.consentColumns(s.Columns, nil)...)
		}
		return s, err
	}
	if s.Preset == "" {
		s.Preset = detect(headings)
	}
	switch {
	case s.Preset == "":
		if s.Columns, err = h.guessed(declared); err == nil {
			s.Columns = append(s.Columns, h.consentColumns(s.Columns, nil)...)
		}
	case s.Preset.isSuppressionList(headings):
		s.Suppressions, s.List = true, file
		s.Columns, err = h.entries()
	default:
		s.Status = s.Preset.statusOfFile(file)
		if s.Columns, s.Left, err = h.ofPreset(s.Preset, declared); err == nil {
			s.Columns = append(s.Columns, h.consentColumns(s.Columns, func(i int) bool { return s.Preset.role(strings.TrimSpace(h[i])) != "" })...)
		}
	}
	return s, err
}

// declare adds the properties of a table that the team and out lack.
func (s *Sheet) declare(declared map[string]app.PropertyType, out []app.PropertyInput) []app.PropertyInput {
	for i := range s.Columns {
		c := &s.Columns[i]
		same := func(p app.PropertyInput) bool { return p.Key == c.Key }
		if c.Field == propertyField && declared[c.Key] == "" && !slices.ContainsFunc(out, same) {
			out = append(out, app.PropertyInput{Key: c.Key, Type: c.propertyType()})
		}
	}
	return out
}

func compact(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

const unsubscribedField = "unsubscribed"

const propertyField = "properties"

// fieldHeadings are the headings of fields, without blanks, underscores and
// hyphens and in lower case.
var fieldHeadings = map[string]string{
	"email": app.EmailField, "emailaddress": app.EmailField,
	"firstname": app.FirstNameField, "givenname": app.FirstNameField,
	"lastname": app.LastNameField, "surname": app.LastNameField, "familyname": app.LastNameField,
	"unsubscribed": unsubscribedField,
}

// headingSet is the first row of a file.
type headingSet []string

// field returns the field that a heading stands for, in English or a language of the
// presets; "" for none. "Mail" is the address where no other heading is.
func (h headingSet) field(i int) string {
	name := plain(h[i])
	if name == "mail" && !slices.ContainsFunc(h, func(other string) bool { return presetHeadings[plain(other)] == app.EmailField }) {
		return app.EmailField
	}
	if field, ok := fieldHeadings[name]; ok {
		return field
	}
	switch field := presetHeadings[name]; field {
	case app.EmailField, app.FirstNameField, app.LastNameField:
		return field
	}
	return ""
}

// column makes the column of a field or a property.
func (h headingSet) column(i int, field, key, kind string) Column {
	return Column{Index: i, Name: columnName(h[i], i), Field: field, Key: key, Type: kind}
}

// maxColumnName bounds what row errors repeat of a heading, in characters.
const maxColumnName = 60

// columnName is how row errors name a column. A heading with an @ may be
// somebody's address, in a file without headings, and is counted instead.
func columnName(heading string, i int) string {
	name := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '"' || r == '`' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.TrimSpace(heading)))
	if len(name) == 0 || slices.Contains(name, '@') {
		return fmt.Sprintf("%d", i+1)
	}
	if len(name) > maxColumnName {
		name = append(name[:maxColumnName], '…')
	}
	return `"` + string(name) + `"`
}

// guessed takes every column whose heading says what it holds.
func (h headingSet) guessed(declared map[string]app.PropertyType) ([]Column, error) {
	var out []Column
	seen := map[string]bool{}
	properties := 0
	for i := range h {
		field, key, kind := h.field(i), "", ""
		if field == "" {
			if key = propertyKey(h[i]); key == "" {
				continue
			}
			properties++
			field, kind = propertyField, columnType(declared[key])
		}
		if seen[field+" "+key] {
			return nil, app.Invalid("file", "has more than one column that can be %s: say which with `column_map`", cmp.Or(key, field))
		}
		seen[field+" "+key] = true
		out = append(out, h.column(i, field, key, kind))
	}
	switch {
	case !seen[app.EmailField+" "]:
		return nil, app.Invalid("file", "has no column for the email address in its first row: name it email, or say which it is with `column_map`")
	case properties > app.MaxProperties:
		return nil, app.Invalid("file", "has more than %d columns that would become properties: say which to take with `column_map`", app.MaxProperties)
	}
	return out, nil
}

// ofPreset takes the columns of a service's file, in the order of the file: all but those
// that the service made for itself become properties, as many as a contact can have.
func (h headingSet) ofPreset(p Preset, declared map[string]app.PropertyType) (out []Column, left []string, err error) {
	seen := map[string]bool{}
	properties := 0
	for i := range h {
		role := p.role(strings.TrimSpace(h[i]))
		switch {
		case role == app.EmailField && seen[role]:
			role = leftField
		case role == app.FirstNameField, role == app.LastNameField, role == fullNameField, role == app.EmailField:
			if seen[role] {
				role = ""
			}
			seen[role] = true
		}
		key, kind := "", ""
		if role == "" {
			role = leftField
			if key = freeKey(seen, propertyKey(strings.ToLower(h[i]))); key != "" && properties < app.MaxProperties {
				role, kind = propertyField, columnType(declared[key])
				properties++
			}
		}
		if role != leftField {
			out = append(out, h.column(i, role, key, kind))
		} else if strings.TrimSpace(h[i]) != "" {
			left = append(left, columnName(h[i], i))
		}
	}
	if !seen[app.EmailField] {
		return nil, nil, app.Invalid("file", "has no column for the email address in its first row, as files of %s have", p)
	}
	return out, left, nil
}

// freeKey returns a key that no column has, the same with a number behind it for the
// second one of a name, and keeps it.
func freeKey(seen map[string]bool, key string) string {
	free := key
	for n := 2; key != "" && seen[propertyField+" "+free]; n++ {
		free = fmt.Sprintf("%s_%d", key, n)
	}
	if len(free) > app.MaxPropertyKey {
		return ""
	}
	seen[propertyField+" "+free] = true
	return free
}

// columnType is the type of a column whose property is declared as t, or not
// declared.
func columnType(t app.PropertyType) string { return cmp.Or(string(t), string(app.StringProperty)) }

// propertyKey makes a key of a heading; "" where none can be made: nothing of it
// is a letter or digit that keys can have, it is too long, or it is an address.
func propertyKey(heading string) string {
	plain := false
	key := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			plain = true
			return r
		}
		return '_'
	}, strings.TrimSpace(heading))
	if !plain || strings.Contains(heading, "@") || app.CheckPropertyKey(key, app.MaxPropertyKey) != nil {
		return ""
	}
	return key
}
