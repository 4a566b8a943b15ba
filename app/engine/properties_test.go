package engine

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/db"
)

// What a contact holds under a key that is declared later stays; what is written
// from then on must fit.
func TestADeclarationLeavesOldValuesAlone(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	put := func(v app.PropertyValue) (id string, err error) {
		in := app.ContactInput{Email: "ann@example.net", Properties: app.PropertyChanges{"plan": &v}}
		n, err := in.Validate()
		must(t, err)
		err = w.db.Write(ctx, func(tx *db.Tx) error {
			cw, err := w.e.newContactWriter(tx, w.key.TeamID, false)
			if err != nil {
				return err
			}
			if id, _, err = cw.put(n, app.ConflictUpsert); err != nil {
				return err
			}
			return cw.finish()
		})
		return id, err
	}
	word, seven := app.PropertyValue{Type: app.StringProperty, Text: "pro"}, app.PropertyValue{Type: app.NumberProperty, Number: 7}
	id, err := put(word)
	must(t, err)
	p, err := w.e.CreateProperty(ctx, w.key, app.PropertyInput{Key: "plan", Type: app.NumberProperty})
	must(t, err)
	_, err = put(word)
	wantCode(t, err, app.CodeValidation)
	holds := func(want app.PropertyValue) {
		t.Helper()
		w.read(func(r *db.Reader) error {
			c, err := r.Contact(w.key.TeamID, id)
			if c.Properties["plan"] != want {
				t.Errorf("the contact holds %+v", c.Properties)
			}
			return err
		})
	}
	holds(word)
	_, err = put(seven)
	must(t, err)
	holds(seven)
	must(t, w.e.DeleteProperty(ctx, w.key, p.ID))
	holds(app.PropertyValue{})
	_, err = put(word)
	must(t, err)
	holds(word)
}

func TestADeletedPropertyIsGoneFromAllContacts(t *testing.T) {
	a := newAudience(t)
	text := func(s string) *app.PropertyValue { return &app.PropertyValue{Type: app.StringProperty, Text: s} }
	p, err := a.e.CreateProperty(t.Context(), a.key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	must(t, err)
	inputs := make([]app.ContactInput, app.MaxContactBatch)
	for i := range inputs {
		inputs[i] = app.ContactInput{Email: fmt.Sprintf("c%d@example.org", i), Properties: app.PropertyChanges{"plan": text("pro")}}
		if i%2 == 0 {
			inputs[i].Properties["city"] = text("Bonn")
		}
	}
	_, err = a.put(app.ConflictError, false, inputs...)
	must(t, err)
	both, one := a.create(app.ContactInput{Email: "both@example.org", Properties: app.PropertyChanges{"plan": text("x"), "city": text("y")}}),
		a.create(app.ContactInput{Email: "one@example.org", Properties: app.PropertyChanges{"plan": text("x")}})
	must(t, a.e.DeleteProperty(t.Context(), a.key, p.ID))
	if got := a.contact(both).Properties; len(got) != 1 || got["city"].Text != "y" {
		t.Errorf("left: %v", got)
	}
	if got := a.contact(one).Properties; got != nil {
		t.Errorf("left: %v", got)
	}
	s, err := a.e.CreateSegment(t.Context(), a.key, app.SegmentInput{Name: "s", Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "property:plan", Op: app.OpIsSet}}}})
	must(t, err)
	if _, n, err := a.e.GetSegment(t.Context(), a.key, s.ID); n != 0 || err != nil {
		t.Errorf("%d contacts have it still, %v", n, err)
	}
	if _, err := a.e.CreateProperty(t.Context(), a.key, app.PropertyInput{Key: "plan", Type: app.NumberProperty}); err != nil {
		t.Errorf("declared again: %v", err)
	}
}

func TestAPropertyIsNotDeclaredAgainWhileItsValuesGo(t *testing.T) {
	a := newAudience(t)
	p, err := a.e.CreateProperty(t.Context(), a.key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
	must(t, err)
	must(t, a.db.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteProperty(a.key.TeamID, p.ID, app.NewID()) }))
	in := app.PropertyInput{Key: "plan", Type: app.NumberProperty}
	if _, err := a.e.CreateProperty(t.Context(), a.key, in); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("while its values go: %v", err)
	}
	must(t, a.e.clean(t.Context()))
	_, err = a.e.CreateProperty(t.Context(), a.key, in)
	must(t, err)
}
