package automations

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// CreateEvent declares a custom event. Errors: CodeValidation; CodeConflict if the name is taken.
func (s *Service) CreateEvent(ctx context.Context, key *app.Key, name string, schema map[string]app.EventFieldType) (e app.CustomEvent, err error) {
	if err := automation.CheckCustomEventName("name", name); err != nil {
		return e, err
	}
	if err := checkSchema(schema); err != nil {
		return e, err
	}
	e = app.CustomEvent{ID: app.NewID(), TeamID: key.TeamID, Name: name, Schema: schema}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		n, err := tx.CountCustomEvents(key.TeamID, app.MaxCustomEvents)
		if err != nil {
			return err
		}
		if n == app.MaxCustomEvents {
			return app.Errorf(app.CodeValidation, "A team can declare at most %d events; delete one that is not used any more", app.MaxCustomEvents)
		}
		e.CreatedAt = tx.Now
		if err := tx.InsertCustomEvent(&e); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "event.create", e.ID, nil, map[string]any{"name": name, "schema": schema})
	})
	if errors.Is(err, db.ErrConflict) {
		return e, app.Errorf(app.CodeConflict, "An event with the name %q exists already", name)
	}
	return e, base.Unavailable(err)
}

func checkSchema(schema map[string]app.EventFieldType) error {
	if len(schema) > app.MaxEventFields {
		return app.Invalid("schema", "can have at most %d members", app.MaxEventFields)
	}
	for _, field := range slices.Sorted(maps.Keys(schema)) {
		switch {
		case field == "" || utf8.RuneCountInString(field) > app.MaxEventName || app.HasHidden(field) || !utf8.ValidString(field):
			return app.Invalid("schema", "has a member whose name is empty, longer than %d characters, or not plain text", app.MaxEventName)
		case !slices.Contains([]app.EventFieldType{app.EventString, app.EventNumber, app.EventBoolean, app.EventDate}, schema[field]):
			return app.Invalid("schema."+field, "must be string, number, boolean or date")
		}
	}
	return nil
}

// ListEvents returns a page of the team's custom events, newest first. Errors: CodeValidation for an unknown
// cursor.
func (s *Service) ListEvents(ctx context.Context, key *app.Key, page app.Page) (rows []app.CustomEvent, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.CustomEvent, bool, error) {
		return r.ListCustomEvents(key.TeamID, page)
	})
	return rows, more, base.Cursor(page, err)
}

// GetEvent returns a custom event by its id or name. Error: CodeNotFound.
func (s *Service) GetEvent(ctx context.Context, key *app.Key, name string) (e app.CustomEvent, err error) {
	e, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.CustomEvent, error) { return readEvent(r, key.TeamID, name) })
	return e, base.Lookup("event", err)
}

func readEvent(r *db.Reader, teamID, name string) (app.CustomEvent, error) {
	if id, ok := app.ParseID(name); ok {
		e, err := r.CustomEvent(teamID, id)
		if !errors.Is(err, db.ErrNotFound) {
			return e, err
		}
	}
	return r.CustomEventNamed(teamID, name)
}

// UpdateEvent changes the schema of a custom event; nil allows any payload. Errors: CodeNotFound,
// CodeValidation.
func (s *Service) UpdateEvent(ctx context.Context, key *app.Key, name string, schema map[string]app.EventFieldType) (e app.CustomEvent, err error) {
	if err := checkSchema(schema); err != nil {
		return e, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if e, err = readEvent(&tx.Reader, key.TeamID, name); err != nil {
			return err
		}
		before := e.Schema
		e.Schema, e.UpdatedAt = schema, tx.Now
		if err := tx.UpdateCustomEvent(&e); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "event.update", e.ID, map[string]any{"name": e.Name, "schema": before}, map[string]any{"name": e.Name, "schema": schema})
	})
	return e, base.Lookup("event", err)
}

// DeleteEvent deletes the declaration of a custom event. Automations that it starts stay. Error: CodeNotFound.
func (s *Service) DeleteEvent(ctx context.Context, key *app.Key, name string) (e app.CustomEvent, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if e, err = readEvent(&tx.Reader, key.TeamID, name); err != nil {
			return err
		}
		if err := tx.DeleteCustomEvent(key.TeamID, e.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "event.delete", e.ID, map[string]any{"name": e.Name, "schema": e.Schema}, nil)
	})
	return e, base.Lookup("event", err)
}

// Sent is an event to send.
type Sent struct {
	Event     string
	ContactID string // this or Email
	Email     string // of a contact, which is created if there is none
	Payload   jsontext.Value
}

// Validate checks an event without the database. Errors: CodeValidation.
func (in *Sent) Validate() error {
	if err := automation.CheckCustomEventName("event", in.Event); err != nil {
		return err
	}
	switch {
	case in.ContactID == "" && in.Email == "":
		return app.Errorf(app.CodeValidation, "One of `contact_id` and `email` is required")
	case in.ContactID != "" && in.Email != "":
		return app.Errorf(app.CodeValidation, "Only one of `contact_id` and `email` can be given")
	}
	if in.ContactID != "" {
		id, ok := app.ParseID(in.ContactID)
		if !ok {
			return app.Invalid("contact_id", "must be the id of a contact")
		}
		in.ContactID = id
	} else if _, _, err := app.ParseBareAddress(in.Email); err != nil {
		return app.Invalid("email", "%v", err)
	}
	switch {
	case len(in.Payload) > app.MaxEventPayload:
		return app.Invalid("payload", "can have at most %d bytes", app.MaxEventPayload)
	case in.Payload != nil && in.Payload.Kind() == 'n':
		in.Payload = nil
	case in.Payload != nil && in.Payload.Kind() != '{':
		return app.Invalid("payload", "must be an object")
	}
	return nil
}

// Coerce returns the payload with the types of a schema: texts of numbers and booleans become these. Members
// that the schema does not name stay, missing ones are allowed. Errors: CodeValidation.
func Coerce(payload jsontext.Value, schema map[string]app.EventFieldType) (jsontext.Value, error) {
	if schema == nil || payload == nil {
		return payload, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, app.Invalid("payload", "must be an object with each member once")
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		v, ok := members[name]
		if !ok || v.Kind() == 'n' {
			continue
		}
		coerced, ok := coerce(v, schema[name])
		if !ok {
			return nil, app.Invalid("payload."+name, "must be a %s, as the schema of the event declares", schema[name])
		}
		members[name] = coerced
	}
	out, err := json.Marshal(members, json.Deterministic(true))
	return out, err
}

func coerce(v jsontext.Value, to app.EventFieldType) (jsontext.Value, bool) {
	var text string
	isText := v.Kind() == '"' && json.Unmarshal(v, &text) == nil
	switch to {
	case app.EventString:
		switch v.Kind() {
		case '"':
			return v, true
		case '0', 't', 'f':
			out, err := json.Marshal(string(v))
			return out, err == nil
		}
	case app.EventNumber:
		if v.Kind() == '0' {
			return v, true
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); isText && err == nil {
			out, err := json.Marshal(n)
			return out, err == nil
		}
	case app.EventBoolean:
		if v.Kind() == 't' || v.Kind() == 'f' {
			return v, true
		}
		if isText && (text == "true" || text == "false") {
			return jsontext.Value(text), true
		}
	case app.EventDate:
		if _, _, _, ok := automation.ParseDate(text); isText && ok {
			return v, true
		}
		if v.Kind() == '0' { // Unix milliseconds
			var ms int64
			if json.Unmarshal(v, &ms) == nil {
				out, err := json.Marshal(time.UnixMilli(ms).UTC().Format(time.RFC3339))
				return out, err == nil
			}
		}
	}
	return nil, false
}

// Send stores an event of a contact. An address without a contact becomes one if an automation listens.
// Errors: CodeValidation, CodeNotFound for a contact, CodePlanLimitReached.
func (s *Service) Send(ctx context.Context, key *app.Key, in Sent) error {
	if err := in.Validate(); err != nil {
		return err
	}
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return s.SendIn(tx, key, in) })
	return base.Unavailable(err)
}
