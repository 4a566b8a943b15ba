package audience

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/contactfile"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// ImportCounts are the numbers of an import's rows by result.
type ImportCounts struct {
	Total   int `json:"total" doc:"Rows that were worked off so far"`
	Created int `json:"created"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped" doc:"Their addresses had contacts already"`
	Failed  int `json:"failed" doc:"Rejected rows; their errors can be listed"`
}

// ImportItem is an import in a list.
type ImportItem struct {
	Object      string             `json:"object" enum:"contact_import"`
	ID          string             `json:"id" format:"uuid"`
	FileName    *string            `json:"file_name" doc:"The name of the file, where it was given and has no @ in it"`
	Status      contactfile.Status `json:"status" enum:"queued,in_progress,completed,failed"`
	CreatedAt   string             `json:"created_at" format:"date-time"`
	CompletedAt *string            `json:"completed_at" format:"date-time"`
	Counts      ImportCounts       `json:"counts"`
	Error       *string            `json:"error" doc:"Why the whole import failed; what it did before stays"`
}

// ImportFlaw is an error in a row.
type ImportFlaw struct {
	Line    int    `json:"line" doc:"The line of the file where the row begins, from 1"`
	Message string `json:"message"`
	Value   string `json:"value,omitempty" doc:"The value that could not be imported"`
}

type importRecord struct {
	ImportItem
	Consent []importConsent `json:"consent" doc:"The columns that decide who gets mail, and how they are read"`
	Errors  []ImportFlaw    `json:"errors" doc:"The first 100 rejected rows"`
}

// importConsent is a column that decides who gets mail.
type importConsent struct {
	File   string `json:"file,omitempty" doc:"In a ZIP archive"`
	Column string `json:"column"`
	Sense  string `json:"sense" enum:"agreed,refused,bounced,complaint,reason,since,status,hint,loose" doc:"Meaning of the column: agreed: consent to mail; refused or reason: an opt-out; since: time of the consent; bounced; complaint; status: a word such as unsubscribed; hint and loose: the same, if the word is known"`
	ReadAs string `json:"read_as" doc:"The same in words"`
}

// ImportErrorItem is a row that was not imported.
type ImportErrorItem struct {
	ID string `json:"id" format:"uuid"`
	ImportFlaw
}

type importRef struct {
	Object string `json:"object" enum:"contact_import"`
	ID     string `json:"id" format:"uuid"`
}

type removedImport struct {
	Object  string `json:"object" enum:"contact_import"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// propertyColumn is the column of a property: an object, or only the heading.
type propertyColumn struct {
	Column string `json:"column"`
	Type   string `json:"type,omitempty" enum:"string,number,number_point,number_comma,boolean,date_dmy,date_mdy,date_ymd"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *propertyColumn) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &c.Column)
	case '{':
		type plain propertyColumn
		return json.UnmarshalDecode(d, (*plain)(c))
	}
	return rest.WrongShape(d, "a string or an object")
}

// Schema implements openapi.SchemaProvider.
func (propertyColumn) Schema(*openapi.Registry) *openapi.Schema {
	heading := &openapi.Schema{Type: openapi.TypeString}
	return &openapi.Schema{OneOf: []*openapi.Schema{heading, {
		Type: openapi.TypeObject, Required: []string{"column"}, AdditionalProperties: false,
		Properties: map[string]*openapi.Schema{"column": heading, "type": {Type: openapi.TypeString, Enum: []any{"string", "number", "number_point", "number_comma", "boolean", "date_dmy", "date_mdy", "date_ymd"}}},
	}}}
}

type columnMap struct {
	Email        string                    `json:"email,omitempty" doc:"The heading of the column; where it is not given, the one that is named email"`
	FirstName    string                    `json:"first_name,omitempty"`
	LastName     string                    `json:"last_name,omitempty"`
	Unsubscribed string                    `json:"unsubscribed,omitempty"`
	Properties   map[string]propertyColumn `json:"properties,omitempty"`
}

// importForm holds the fields of an upload.
type importForm struct {
	ColumnMap *columnMap        `json:"column_map,omitempty"`
	Segments  []segmentRef      `json:"segments,omitempty"`
	Topics    []app.TopicChoice `json:"topics,omitempty"`

	conflict string
	preset   string
	fileName string
	triggers bool
}

// importQuery is the query of an upload.
type importQuery struct {
	Preset string `query:"preset" enum:"mailchimp,brevo,sendgrid,postmark,hubspot,mailerlite,resend,listmonk" doc:"The service that exported the file, as the field of the form"`
	// TriggerAutomations is also a field of the form.
	TriggerAutomations string `query:"trigger_automations" enum:"true,false" doc:"As the field of the form"`
}

// ImportPath is the path parameter of one import.
type ImportPath struct {
	ID string `path:"id" doc:"The id of the import" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *ImportPath) Resource() (kind string, id *string) { return "import", &p.ID }

type (
	importPageInput struct {
		rest.PageParams
		Status string `query:"status" enum:"queued,in_progress,completed,failed" doc:"Only those of this status"`
	}
	importErrorPageInput struct {
		ImportPath
		Limit  rest.PageLimit `query:"limit" doc:"Rows per page"`
		After  string         `query:"after" doc:"The id of the last error of the page before: later lines follow" format:"uuid"`
		Before string         `query:"before" doc:"The id of the first error of the page after: earlier lines come" format:"uuid"`
	}
	importOutput    struct{ Body importRecord }
	importRefOutput struct{ Body importRef }
)

var importTags = []string{"Contacts"}

// ImportRoutes are the routes of imports.
type ImportRoutes struct{ Service *audience.Imports }

// Add adds the routes to a handler.
func (r ImportRoutes) Add(h *rest.Handler) {
	create := rest.RegisterRaw(h, rest.Route{Stream: true}, openapi.Operation{
		OperationID: "create-contact-import", Method: http.MethodPost, Path: "/contacts/imports", DefaultStatus: http.StatusCreated,
		Summary: "Import contacts from a CSV file", Tags: importTags, Errors: []int{http.StatusNotFound, http.StatusConflict},
		Description: importDescription,
	}, r.createImport)
	h.OnDocument(func(doc *openapi.Document) { documentImport(h, doc.Components.Schemas, create) })
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-imports", Method: http.MethodGet, Path: "/contacts/imports",
		Summary: "List contact imports, newest first", Tags: importTags, Errors: []int{http.StatusUnprocessableEntity},
	}, r.listImports)
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "get-contact-import", Method: http.MethodGet, Path: "/contacts/imports/{id}",
		Summary: "Get a contact import with its first row errors", Tags: importTags, Errors: []int{http.StatusNotFound},
	}, r.getImport)
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "delete-contact-import", Method: http.MethodDelete, Path: "/contacts/imports/{id}",
		Summary: "Cancel or remove a contact import", Tags: importTags,
		Description: "One that waits or runs stops after the rows that are being stored, and its file goes; the contacts that it made stay. " +
			"One that is over goes with its row errors.",
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*ImportPath](r.Service.DeleteImport, func(id string) removedImport { return removedImport{Object: "contact_import", ID: id, Deleted: true} }))
	rest.Register(h, rest.Route{Priority: true}, openapi.Operation{
		OperationID: "list-contact-import-errors", Method: http.MethodGet, Path: "/contacts/imports/{id}/errors",
		Summary: "List the rows that a contact import refused, in the order of the file", Tags: importTags,
		Description: "The first 10,000 are kept; `counts.failed` of the import is exact.",
		Errors:      []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listImportErrors)
}

const importDescription = "The first row of the file names its columns; comma, semicolon and tab separate them. " +
	"Without `column_map` the columns email, first name, last name and unsubscribed are found by their names, " +
	"and every other column becomes a property. A file that another service exported is known by its headings or by `preset`: " +
	"its statuses, tags and lists become opt-outs, suppressions and segments, and its fields properties with keys in lower case. " +
	"Columns that speak of consent (subscribed, opted out, an email status, in many languages) decide who gets mail; a row whose consent can't be read is held back as an error of that row. " +
	"Rows of those who opted out come first, whatever `on_conflict` says. A row that can't be taken is an error of that row; " +
	"an import whose file can't be read further fails there, and what it did before stays. " +
	"An import never re-subscribes contacts, and sends no webhook events. " +
	"A team can have 10 that are not over; the next file is refused before it is read. Those that are over are kept for 30 days."

// triggersDescription describes trigger_automations.
const triggersDescription = "Automations start and continue because of the contacts that are written"

// readTriggers reads a value of trigger_automations; an empty one is false.
func readTriggers(value string) (bool, error) {
	if value != "" && value != "true" && value != "false" {
		return false, app.Invalid("trigger_automations", "must be true or false")
	}
	return value == "true", nil
}

// documentImport documents the form.
func documentImport(h *rest.Handler, registry *openapi.Registry, create *openapi.Operation) {
	file := openapi.Binary()
	file.Description = "CSV with a row of headings, in UTF-8, UTF-16 or Windows-1252, or a ZIP archive of such files; up to 200 MiB"
	form := registry.Inline(reflect.TypeFor[importForm]())
	fields := form.Properties
	form.Properties = map[string]*openapi.Schema{
		"file":                file,
		"preset":              {Type: openapi.TypeString, Enum: presetNames(), Description: "The service that exported the file; where it is not given, found by the headings if they are unmistakable"},
		"on_conflict":         {Type: openapi.TypeString, Enum: []any{"upsert", "skip"}, Default: "skip", Description: "What to do with rows whose address has a contact"},
		"trigger_automations": {Type: openapi.TypeBoolean, Default: false, Description: triggersDescription},
	}
	// Each field holds JSON. An array in the schema would mean several fields with one name
	// (OpenAPI 3.1, 4.8.14.4).
	for name, s := range fields {
		form.Properties[name] = &openapi.Schema{Type: openapi.TypeString, Description: "JSON", ContentMediaType: "application/json", ContentSchema: s}
	}
	form.Required = []string{"file"}
	create.RequestBody = &openapi.RequestBody{
		Required: true, Content: map[string]*openapi.MediaType{rest.FormType: {Schema: h.Component("ImportContactsForm", form)}},
	}
}

// presetNames returns the values of preset.
func presetNames() (out []any) {
	for _, p := range contactfile.Presets {
		out = append(out, string(p))
	}
	return out
}

func (r ImportRoutes) createImport(ctx context.Context, x *rest.Exchange, query *importQuery) (*importRefOutput, error) {
	boundary, err := rest.FormBoundary(x.RequestHeader)
	if err != nil {
		return nil, err
	}
	id, err := r.Service.CreateImport(ctx, x.Key, func(file io.Writer) (contactfile.Input, error) {
		in, err := readImport(x.Stream, boundary, file)
		if err := x.Stream.Failure(); err != nil {
			return in, err
		}
		if err == nil && query.Preset != "" {
			if in.Preset != "" && in.Preset != query.Preset {
				return in, app.Invalid("preset", "is another one in the query than in the form")
			}
			in.Preset = query.Preset
		}
		if err == nil && query.TriggerAutomations != "" {
			in.TriggerAutomations, err = readTriggers(query.TriggerAutomations)
		}
		return in, err
	})
	if err != nil {
		return nil, err
	}
	return &importRefOutput{importRef{Object: "contact_import", ID: id}}, nil
}

// maxImportField bounds each field but the file, in bytes.
const maxImportField = 256 << 10

// readImport reads a form, whose fields may come in any order, and writes the file to file as it
// arrives.
func readImport(body io.Reader, boundary string, file io.Writer) (contactfile.Input, error) {
	var form importForm
	seen, err := rest.ReadForm(body, boundary, func(name string, part *multipart.Part) error {
		if name == "file" {
			form.fileName = part.FileName()
		}
		return form.take(name, part, file)
	})
	if err != nil {
		return contactfile.Input{}, err
	}
	if !seen["file"] {
		return contactfile.Input{}, app.Invalid("file", "is required")
	}
	return form.input(), nil
}

// take reads one part of the form.
func (f *importForm) take(name string, part io.Reader, file io.Writer) error {
	switch name {
	case "file":
		return rest.CopyPart(file, part)
	case "column_map", "segments", "topics", "on_conflict", "preset", "trigger_automations":
	default:
		return app.Errorf(app.CodeValidation, "%s", rest.UnknownField(rest.MemberName(name)))
	}
	var text strings.Builder
	if err := rest.CopyPart(&text, io.LimitReader(part, maxImportField+1)); err != nil {
		return err
	}
	if text.Len() > maxImportField {
		return app.Invalid(name, "can have at most %d bytes", maxImportField)
	}
	value := strings.TrimSpace(text.String())
	switch name {
	case "on_conflict":
		f.conflict = value
		return nil
	case "preset":
		f.preset = value
		return nil
	case "trigger_automations":
		triggers, err := readTriggers(value)
		f.triggers = triggers
		return err
	}
	if value == "" {
		return nil
	}
	if !jsontext.Value(value).IsValid() {
		return app.Invalid(name, "must be valid JSON")
	}
	// Wrapped in an object with its name, so that errors have the full path.
	return rest.DecodeBody(fmt.Appendf(nil, "{%q:%s}", name, value), f)
}

func (f *importForm) input() contactfile.Input {
	in := contactfile.Input{Preset: f.preset, FileName: f.fileName, OnConflict: f.conflict, Segments: segmentRefs(f.Segments).refs(), Topics: f.Topics, TriggerAutomations: f.triggers}
	if m := f.ColumnMap; m != nil {
		in.Columns = &contactfile.ColumnMap{Email: m.Email, FirstName: m.FirstName, LastName: m.LastName, Unsubscribed: m.Unsubscribed,
			Properties: map[string]contactfile.PropertyColumn{}}
		for key, c := range m.Properties {
			in.Columns.Properties[key] = contactfile.PropertyColumn(c)
		}
	}
	return in
}

func (r ImportRoutes) listImports(ctx context.Context, key *app.Key, in *importPageInput) (*rest.ListOutput[ImportItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	status, err := contactfile.ParseStatus(in.Status)
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListImports(ctx, key, status, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newImportItem), nil
}

func (r ImportRoutes) getImport(ctx context.Context, key *app.Key, in *ImportPath) (*importOutput, error) {
	i, flaws, err := r.Service.GetImport(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	out := &importOutput{importRecord{ImportItem: newImportItem(&i), Consent: []importConsent{}, Errors: make([]ImportFlaw, len(flaws))}}
	for _, s := range i.Plan.All() {
		for _, c := range s.Consents() {
			out.Body.Consent = append(out.Body.Consent, importConsent{File: s.File, Column: c.Column, Sense: string(c.Role), ReadAs: c.ReadAs})
		}
	}
	for n, f := range flaws {
		out.Body.Errors[n] = ImportFlaw{f.Line, f.Message, f.Value}
	}
	return out, nil
}

func (r ImportRoutes) listImportErrors(ctx context.Context, key *app.Key, in *importErrorPageInput) (*rest.ListOutput[ImportErrorItem], error) {
	page, err := rest.PageParams{Limit: in.Limit, After: in.After, Before: in.Before}.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListImportErrors(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(f *contactfile.RowError) ImportErrorItem {
		return ImportErrorItem{f.ID, ImportFlaw{f.Line, f.Message, f.Value}}
	}), nil
}

func newImportItem(i *contactfile.Import) ImportItem {
	return ImportItem{
		Object: "contact_import", ID: i.ID, FileName: base.TextOrNull(i.Plan.Name), Status: i.Status, CreatedAt: app.FormatTime(i.CreatedAt), CompletedAt: app.FormatTimePtr(i.CompletedAt),
		Counts: ImportCounts{Total: i.Total(), Created: i.Created, Updated: i.Updated, Skipped: i.Skipped, Failed: i.Failed},
		Error:  base.TextOrNull(i.Error),
	}
}
