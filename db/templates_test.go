package db

import (
	"errors"
	"reflect"
	"testing"

	"mailer/app"
)

func addTemplate(t *testing.T, d *DB, teamID, alias string) app.Template {
	t.Helper()
	text := ""
	number, word := app.PropertyValue{Type: app.NumberProperty}, app.PropertyValue{Type: app.StringProperty}
	made := app.Template{ID: app.NewID(), TeamID: teamID, Name: "T", Alias: alias, CurrentID: app.NewID(), TemplateContent: app.TemplateContent{
		From: "a@example.com", ReplyTo: []string{"b@example.com"}, Subject: "S", HTML: "H", Text: &text,
	}}
	writeOK(t, d, func(tx *Tx) error {
		now := fromMilli(milli(tx.Now))
		made.CreatedAt, made.UpdatedAt = now, now
		made.Variables = []app.TemplateVariable{
			{ID: app.NewID(), Key: "N", Type: app.NumberProperty, Fallback: &number, CreatedAt: now, UpdatedAt: now},
			{ID: app.NewID(), Key: "S", Type: app.StringProperty, Fallback: &word, CreatedAt: now, UpdatedAt: now},
			{ID: app.NewID(), Key: "O", Type: app.StringProperty, CreatedAt: now, UpdatedAt: now},
		}
		return tx.InsertTemplate(&made)
	})
	return made
}

func TestTemplateRoundTrip(t *testing.T) {
	d, team := suppressionStore(t, 0)
	made := addTemplate(t, d, team.ID, "al")
	writeOK(t, d, func(tx *Tx) error {
		for _, name := range []string{made.ID, "al"} {
			got, err := tx.Template(team.ID, name)
			if err != nil {
				return err
			}
			if got.TemplateContent, err = tx.TemplateContent(team.ID, got.CurrentID); err != nil {
				return err
			}
			if !reflect.DeepEqual(got, made) {
				t.Errorf("read %+v, wrote %+v", got, made)
			}
		}
		if size, err := tx.TemplateSize(team.ID, made.CurrentID); err != nil || size != 1 {
			t.Errorf("size %d, %v", size, err)
		}
		return nil
	})
}

// A version that knows no syntax reads a placeholder that it refuses, instead of sending Liquid tags.
func TestTemplateWithSyntaxAndVariants(t *testing.T) {
	d, team := suppressionStore(t, 0)
	made := addTemplate(t, d, team.ID, "al")
	writeOK(t, d, func(tx *Tx) error {
		made.Syntax, made.Variants = app.LiquidSyntax, app.Variants{"de": {Subject: "S", HTML: "12", Text: new("3"), Design: "{}"}, "fr": {Text: new("")}}
		list := app.PropertyValue{Type: app.ListVariable, Text: "[1]"}
		made.Variables = []app.TemplateVariable{{ID: app.NewID(), Key: "L", Type: app.ListVariable, Fallback: &list, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt}}
		made.CurrentID = app.NewID()
		if err := tx.InsertTemplateVersion(&made); err != nil {
			return err
		}
		got, err := tx.TemplateContent(team.ID, made.CurrentID)
		if err != nil || !reflect.DeepEqual(got, made.TemplateContent) {
			t.Errorf("read %+v, %v, wrote %+v", got, err, made.TemplateContent)
		}
		if size, err := tx.TemplateSize(team.ID, made.CurrentID); err != nil || size < made.Size() {
			t.Errorf("size %d, %v", size, err)
		}
		var html string
		if err := tx.Row(`SELECT html FROM template_versions WHERE id = ?`, []any{made.CurrentID}, &html); err != nil {
			return err
		}
		if _, _, _, _, err := app.NextPlaceholder(html); err == nil || html == made.HTML {
			t.Errorf("an older version would send %q", html)
		}
		return nil
	})
}

func TestTemplateOfOtherTeamIsNotFound(t *testing.T) {
	d, team := suppressionStore(t, 0)
	made := addTemplate(t, d, team.ID, "al")
	other := app.NewID()
	writeOK(t, d, func(tx *Tx) error {
		foreign := made
		foreign.TeamID, foreign.Alias = other, ""
		_, byID := tx.Template(other, made.ID)
		_, byAlias := tx.Template(other, "al")
		_, content := tx.TemplateContent(other, made.CurrentID)
		_, size := tx.TemplateSize(other, made.CurrentID)
		_, _, list := tx.ListTemplates(other, app.Page{Limit: 1, After: made.ID})
		for i, err := range []error{byID, byAlias, content, size, list, tx.UpdateTemplate(&foreign), tx.DeleteTemplateVersion(other, made.CurrentID), tx.DeleteTemplate(other, made.ID)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%d: %v", i, err)
			}
		}
		return nil
	})
}

func TestTemplateAliasIsUniqueAndVersionsAreDeleted(t *testing.T) {
	d, team := suppressionStore(t, 0)
	first, second := addTemplate(t, d, team.ID, "al"), addTemplate(t, d, team.ID, "")
	addTemplate(t, d, team.ID, "")
	writeOK(t, d, func(tx *Tx) error {
		third := first
		third.ID, third.CurrentID = app.NewID(), app.NewID()
		if err := tx.InsertTemplate(&third); !errors.Is(err, ErrConflict) {
			t.Errorf("insert: %v", err)
		}
		second.Alias = "al"
		if err := tx.UpdateTemplate(&second); !errors.Is(err, ErrConflict) {
			t.Errorf("update: %v", err)
		}
		if err := tx.UpdateTemplate(&first); err != nil { // its own
			t.Error(err)
		}
		if err := tx.DeleteTemplate(team.ID, first.ID); err != nil {
			return err
		}
		if _, err := tx.TemplateContent(team.ID, first.CurrentID); !errors.Is(err, ErrNotFound) {
			t.Errorf("a version is left: %v", err)
		}
		return tx.UpdateTemplate(&second)
	})
}
