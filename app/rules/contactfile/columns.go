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
	MaxErrors         = 10_000  // stored row errors of one import
	MaxErrorsShown    = 100     // of them, shown with the import
	MaxUnfinished     = 10      // unfinished imports of a team
	MaxRecord         = 1 << 20 // bytes of one row with its line breaks
	MaxNewSegments    = 1000    // created by one file
	MaxStored         = 1 << 30 // bytes of an unpacked file
	maxImportHeadings = 1000    // columns of a file
)

// Retention is how long a finished import and its row errors are stored.
const Retention = 30 * 24 * time.Hour

// Status is the state of an import of contacts.
type Status string

// The statuses. An import that is being uploaded or deleted is not visible.
const (
	Uploading  Status = "uploading"
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Deleted    Status = "deleted"
)

// ParseStatus parses the filter of a list; empty means all.
func ParseStatus(s string) (Status, error) {
	switch status := Status(s); status {
	case "", Queued, InProgress, Completed, Failed:
		return status, nil
	}
	return "", app.Invalid("status", "must be queued, in_progress, completed or failed")
}

// Counts counts the rows of an import by result.
type Counts struct {
	Created, Updated, Skipped, Failed int
}

// Total returns the number of processed rows.
func (c Counts) Total() int { return c.Created + c.Updated + c.Skipped + c.Failed }

// Import is a file whose rows become contacts.
type Import struct {
	ID     string
	TeamID string
	Status Status
	Plan   Plan
	Counts
	Error       string // why the whole import failed; empty: it did not
	CreatedAt   time.Time
	CompletedAt time.Time // zero: not finished
}

// RowError is a refused row. The message contains no data of the row; erasures clean Value.
type RowError struct {
	ID      string
	Line    int // where the row begins in the file, from 1
	Message string
	Value   string // the refused value (Contact.Value)
}

// ColumnMap assigns columns by their headings.
type ColumnMap struct {
	Email        string // empty: detected by its heading
	FirstName    string // empty: ignored, as the following
	LastName     string
	Unsubscribed string
	Properties   map[string]PropertyColumn // by property key
}

// PropertyColumn is the column of a property.
type PropertyColumn struct {
	Column string
	Type   string // string, boolean, a number or a date type; empty: as declared, or string
}

// booleanColumn is the type of a column whose values become the strings "true" and "false".
const booleanColumn = "boolean"

// Input is an import as the caller describes it.
type Input struct {
	Columns  *ColumnMap // nil: detected by headings
	Preset   string     // the service that wrote the file; empty: detected
	FileName string     // empty: unknown
	// EmailColumn is the heading of the address column if the other columns are detected; empty:
	// detected too.
	EmailColumn string
	OnConflict  string // upsert or skip; empty: skip
	Segments    []app.SegmentRef
	Topics      []app.TopicChoice
	// TriggerAutomations: automations start and continue because of what the import changes.
	TriggerAutomations bool
}

// Plan is an Input checked against the file's headings.
type Plan struct {
	Conflict app.OnConflict    `json:"on_conflict"`
	Name     string            `json:"name,omitempty"` // file name; empty: unknown
	Sheet                      // if the file is one table
	Sheets   []Sheet           `json:"sheets,omitempty"` // if the file is a ZIP archive
	Segments []string          `json:"segments,omitempty"`
	Topics   []app.TopicChoice `json:"topics,omitempty"`
	Triggers bool              `json:"trigger_automations,omitempty"`

	Parts       []Part     `json:"parts,omitempty"` // of an unpacked file
	OptOutPass  OptOutPass `json:"first,omitzero"`
	NewSegments int        `json:"made,omitempty"` // segments created by the import
}

// OptOutPass is the progress of the first pass, which processes rows that opt out. They are
// processed before all others, and again in order.
type OptOutPass struct {
	Pending bool `json:"due"`     // not finished
	Rows    int  `json:"rows"`    // examined
	Created int  `json:"created"` // not counted yet
	Updated int  `json:"updated"`
}

// MayOptOut reports whether rows may opt out.
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

// Sheet is a table of a file with its columns.
type Sheet struct {
	File         string     `json:"file,omitempty"` // name in a ZIP archive; empty: the file is not an archive
	Preset       Preset     `json:"preset,omitempty"`
	Status       ListStatus `json:"standing,omitempty"` // of all its rows
	Suppressions bool       `json:"dump,omitempty"`     // it is a suppression list
	List         string     `json:"list,omitempty"`     // file name of a suppression list, which may tell its kind
	Width        int        `json:"width"`              // columns of each row
	Columns      []Column   `json:"columns"`
	Left         []string   `json:"-"` // names of ignored columns
}

// Column is a used column.
type Column struct {
	Index int         `json:"index"`
	Name  string      `json:"name"`          // in row errors
	Field string      `json:"field"`         // contact field, "properties", or a field of presets
	Key   string      `json:"key,omitempty"` // of the property
	Type  string      `json:"type,omitempty"`
	Role  ConsentRole `json:"sense,omitempty"` // of a consent column
}

// maxFileName limits the stored file name, in characters.
const maxFileName = 100

// fileName returns the name under which an import is listed. A name with an @ may contain an
// address and is dropped.
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

// begin validates all fields except for the columns.
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
	plan.Segments, plan.Topics, plan.Triggers = compact(checked.Segments), checked.Topics, in.TriggerAutomations
	return plan, nil
}

// Plan checks the input against a file's headings and the declared properties. declare are
// properties to declare. Errors: CodeValidation.
func (in *Input) Plan(headings []string, declared map[string]app.PropertyType) (plan *Plan, declare []app.PropertyInput, err error) {
	if plan, err = in.begin(); err != nil {
		return nil, nil, err
	}
	if plan.Sheet, err = in.sheet(in.FileName, headings, declared); err != nil {
		return nil, nil, err
	}
	return plan, plan.Sheet.declare(declared, nil), nil
}

// sheet determines the columns of a table.
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

// declare adds the undeclared properties of a table to out.
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

// fieldHeadings are the headings of fields in lower case without blanks, underscores and hyphens.
var fieldHeadings = map[string]string{
	"email": app.EmailField, "emailaddress": app.EmailField,
	"firstname": app.FirstNameField, "givenname": app.FirstNameField,
	"lastname": app.LastNameField, "surname": app.LastNameField, "familyname": app.LastNameField,
	"unsubscribed": unsubscribedField,
}

// headingSet is the first row of a file.
type headingSet []string

// field returns the field of a heading, in English or a language of the presets; "" for none.
// "Mail" is the address if no other heading is.
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

// column returns the column of a field or property.
func (h headingSet) column(i int, field, key, kind string) Column {
	return Column{Index: i, Name: columnName(h[i], i), Field: field, Key: key, Type: kind}
}

// maxColumnName limits the part of a heading that row errors contain, in characters.
const maxColumnName = 60

// columnName returns the name of a column in row errors. A heading with an @ may be an address in
// a file without headings; the column's number is used instead.
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

// guessed returns every column with a known heading.
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

// ofPreset returns the columns of a service's file in order: all but the service's internal ones
// become properties, up to the maximum of a contact.
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

// freeKey returns an unused key, with a number appended if necessary, and records it.
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

// columnType returns the type of a column for the declared type of its property, or string.
func columnType(t app.PropertyType) string { return cmp.Or(string(t), string(app.StringProperty)) }

// propertyKey converts a heading to a property key; "" if that is not possible: it has no valid
// characters, is too long, or is an address.
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
