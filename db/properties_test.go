package db

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"mailer/app"
)

func TestPropertyRoundTrip(t *testing.T) {
	d, team := suppressionStore(t, 0)
	writeOK(t, d, func(tx *Tx) error {
		for key, p := range map[string]app.Property{
			"none":   {Type: app.StringProperty},
			"text":   {Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: `"7" <é>`}},
			"zero":   {Type: app.NumberProperty, Fallback: &app.PropertyValue{Type: app.NumberProperty}},
			"number": {Type: app.NumberProperty, Fallback: &app.PropertyValue{Type: app.NumberProperty, Number: -1.5e300}},
		} {
			p.ID, p.TeamID, p.Key, p.CreatedAt = app.NewID(), team.ID, key, fromMilli(milli(tx.Now))
			if err := tx.InsertProperty(&p); err != nil {
				return err
			}
			if got, err := tx.Property(team.ID, p.ID); err != nil || !reflect.DeepEqual(got, p) {
				t.Errorf("read %+v, %v; wrote %+v", got, err, p)
			}
			fallback := p.Fallback
			if err := tx.SetFallback(team.ID, p.ID, nil); err != nil {
				return err
			}
			if got, err := tx.Property(team.ID, p.ID); err != nil || got.Fallback != nil {
				t.Errorf("without its fallback %+v, %v", got, err)
			}
			if err := tx.SetFallback(team.ID, p.ID, fallback); err != nil {
				return err
			}
			if got, err := tx.Property(team.ID, p.ID); err != nil || !reflect.DeepEqual(got, p) {
				t.Errorf("with it again %+v, %v", got, err)
			}
		}
		types, err := tx.PropertyTypes(team.ID)
		if want := map[string]app.PropertyType{"none": "string", "text": "string", "zero": "number", "number": "number"}; !maps.Equal(types, want) {
			t.Errorf("types %v", types)
		}
		return err
	})
}

func TestPropertyOfOtherTeamIsNotFound(t *testing.T) {
	d, team := suppressionStore(t, 0)
	writeOK(t, d, func(tx *Tx) error {
		p := app.Property{ID: app.NewID(), TeamID: team.ID, Key: "k", Type: app.StringProperty, CreatedAt: tx.Now}
		if err := tx.InsertProperty(&p); err != nil {
			return err
		}
		again := p
		again.ID = app.NewID()
		if err := tx.InsertProperty(&again); !errors.Is(err, ErrConflict) {
			t.Errorf("declared twice: %v", err)
		}
		foreign := app.NewID()
		_, err := tx.Property(foreign, p.ID)
		_, _, err2 := tx.ListProperties(foreign, app.Page{Limit: 1, After: p.ID})
		for i, err := range []error{err, err2, tx.SetFallback(foreign, p.ID, nil), tx.DeleteProperty(foreign, p.ID, app.NewID())} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if types, err := tx.PropertyTypes(foreign); err != nil || len(types) != 0 {
			t.Errorf("types %v, %v", types, err)
		}
		return tx.DeleteProperty(team.ID, p.ID, app.NewID())
	})
}
