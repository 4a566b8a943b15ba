package audience_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Existing values of a key that is declared later stay; new values must have the type.
func TestNewPropertyKeepsOldValues(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	put := func(v app.PropertyValue) (id string, err error) {
		in := app.ContactInput{Email: "ann@example.net", Properties: app.PropertyChanges{"plan": &v}}
		n, err := in.Validate()
		testserver.Must(t, err)
		err = w.DB.Write(ctx, func(tx *db.Tx) error {
			cw, err := w.Services.Audience.NewContactWriter(tx, w.Key.TeamID)
			if err != nil {
				return err
			}
			if id, _, err = cw.Put(n, app.ConflictUpsert); err != nil {
				return err
			}
			return cw.Finish()
		})
		return id, err
	}
	text, seven := app.PropertyValue{Type: app.StringProperty, Text: "pro"}, app.PropertyValue{Type: app.NumberProperty, Number: 7}
	id, err := put(text)
	testserver.Must(t, err)
	p, err := w.Services.Properties.CreateProperty(ctx, w.Key, app.PropertyInput{Key: "plan", Type: app.NumberProperty})
	testserver.Must(t, err)
	_, err = put(text)
	testserver.WantCode(t, err, app.CodeValidation)
	holds := func(want app.PropertyValue) {
		t.Helper()
		w.Read(func(r *db.Reader) error {
			c, err := r.Contact(w.Key.TeamID, id)
			if c.Properties["plan"] != want {
				t.Errorf("the contact holds %+v", c.Properties)
			}
			return err
		})
	}
	holds(text)
	_, err = put(seven)
	testserver.Must(t, err)
	holds(seven)
	testserver.Must(t, w.Services.Properties.DeleteProperty(ctx, w.Key, p.ID))
	holds(app.PropertyValue{})
	_, err = put(text)
	testserver.Must(t, err)
	holds(text)
}

func TestDeletedPropertyIsRemovedFromContacts(t *testing.T) {
	testserver.BothEngines(t)
	a := newContactTest(t)
	text := func(s string) *app.PropertyValue { return &app.PropertyValue{Type: app.StringProperty, Text: s} }
	p, err := a.Services.Properties.CreateProperty(t.Context(), a.Key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	testserver.Must(t, err)
	inputs := make([]app.ContactInput, app.MaxContactBatch)
	for i := range inputs {
		inputs[i] = app.ContactInput{Email: fmt.Sprintf("c%d@example.org", i), Properties: app.PropertyChanges{"plan": text("pro")}}
		if i%2 == 0 {
			inputs[i].Properties["city"] = text("Bonn")
		}
	}
	_, err = a.put(app.ConflictError, false, inputs...)
	testserver.Must(t, err)
	both, one := a.create(app.ContactInput{Email: "both@example.org", Properties: app.PropertyChanges{"plan": text("x"), "city": text("y")}}),
		a.create(app.ContactInput{Email: "one@example.org", Properties: app.PropertyChanges{"plan": text("x")}})
	testserver.Must(t, a.Services.Properties.DeleteProperty(t.Context(), a.Key, p.ID))
	if got := a.contact(both).Properties; len(got) != 1 || got["city"].Text != "y" {
		t.Errorf("left: %v", got)
	}
	if got := a.contact(one).Properties; got != nil {
		t.Errorf("left: %v", got)
	}
	s, err := a.Services.Audience.CreateSegment(t.Context(), a.Key, app.SegmentInput{Name: "s", Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "property:plan", Op: app.OpIsSet}}}})
	testserver.Must(t, err)
	if _, n, err := a.Services.Audience.GetSegment(t.Context(), a.Key, s.ID); n != 0 || err != nil {
		t.Errorf("%d contacts have it still, %v", n, err)
	}
	if _, err := a.Services.Properties.CreateProperty(t.Context(), a.Key, app.PropertyInput{Key: "plan", Type: app.NumberProperty}); err != nil {
		t.Errorf("declared again: %v", err)
	}
}

func TestPropertyCantBeRecreatedDuringCleanup(t *testing.T) {
	a := newContactTest(t)
	p, err := a.Services.Properties.CreateProperty(t.Context(), a.Key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	testserver.Must(t, err)
	testserver.Must(t, a.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteProperty(a.Key.TeamID, p.ID, app.NewID()) }))
	in := app.PropertyInput{Key: "plan", Type: app.NumberProperty}
	if _, err := a.Services.Properties.CreateProperty(t.Context(), a.Key, in); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("while its values go: %v", err)
	}
	testserver.Must(t, a.Services.Audience.PurgeLeftovers(t.Context()))
	_, err = a.Services.Properties.CreateProperty(t.Context(), a.Key, in)
	testserver.Must(t, err)
}
