package engine

import (
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
	holds(seven)
	_, err = put(word)
	must(t, err)
	holds(word)
}
