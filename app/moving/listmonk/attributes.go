package listmonk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
)

// maxKeys is the maximum number of properties of the team.
const maxKeys = 1000

// Reasons why attributes can't be imported.
const (
	reasonNested  = "objects and arrays are no property: strings and numbers are"
	reasonKey     = "its name makes no key of letters, digits and _"
	reasonTwice   = "another attribute of the same subscriber has this name here"
	reasonValue   = "it is longer than a property can be, or holds the character NUL"
	reasonMany    = "a contact has at most 100 properties"
	reasonMaxKeys = "no more than 1000 properties are made"
)

// properties converts a subscriber's attributes to properties and counts those that can't be.
func (r *reader) properties(raw jsontext.Value) map[string]any {
	var attributes map[string]jsontext.Value
	if raw.Kind() != '{' || decode(raw, &attributes) != nil {
		return nil
	}
	out := map[string]any{}
	for _, exact := range []bool{true, false} { // exact names take precedence over converted ones
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			key := keyOf(name)
			if (key == name) != exact {
				continue
			}
			v, ok, why := valueOf(attributes[name])
			if ok {
				why = r.fits(out, key, v)
			}
			if why != "" {
				r.odd("attribute \""+app.Excerpt(name)+"\"", why)
			} else if ok {
				if !exact {
					r.odd("attribute \""+app.Excerpt(name)+"\"", fmt.Sprintf("it is the property %q here, in templates and campaigns too", key))
				}
				r.s.Keys[key] = r.s.Keys[key] || v.Type == app.StringProperty
				out[key] = plain(v)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// fits returns why a contact can't have another value; empty: it can.
func (r *reader) fits(has map[string]any, key string, v app.PropertyValue) string {
	_, there := has[key]
	_, known := r.s.Keys[key]
	switch {
	case key == "":
		return reasonKey
	case there:
		return reasonTwice
	case (app.PropertyChanges{key: &v}).Validate() != nil:
		return reasonValue
	case len(has) == app.MaxProperties:
		return reasonMany
	case !known && len(r.s.Keys) == maxKeys:
		return reasonMaxKeys
	}
	return ""
}

// keyOf returns a property key for an attribute name, as tags in templates are converted; empty:
// none is possible.
func keyOf(name string) string {
	key := strings.Map(func(c rune) rune {
		if c < 0x80 && app.CheckPropertyKey(string(c), 1) == nil {
			return c
		}
		return '_'
	}, name)
	if strings.Trim(key, "_") == "" || app.CheckPropertyKey(key, app.MaxPropertyKey) != nil {
		return ""
	}
	return key
}

// valueOf reads one attribute. ok is false if there is none or why is set.
func valueOf(raw jsontext.Value) (v app.PropertyValue, ok bool, why string) {
	v.Type = app.StringProperty
	switch raw.Kind() {
	case 'n':
		return v, false, ""
	case '{', '[':
		return v, false, reasonNested
	case '"':
		if decode(raw, &v.Text) != nil {
			return v, false, reasonValue
		}
		return v, v.Text != "", ""
	case '0':
		n, err := strconv.ParseFloat(string(raw), 64)
		if v.Text = string(raw); err == nil && !longer(v.Text, n) {
			return app.PropertyValue{Type: app.NumberProperty, Number: n + 0}, true, ""
		}
		return v, true, ""
	}
	v.Text = string(raw) // true or false
	return v, true, ""
}

// longer reports whether an integer has more digits than a float represents, as ids do.
func longer(text string, n float64) bool {
	return strings.Trim(text, "-0123456789") == "" && strconv.FormatFloat(n, 'f', -1, 64) != text && n != 0
}

func plain(v app.PropertyValue) any {
	if v.Type == app.NumberProperty {
		return v.Number
	}
	return v.Text
}

// conclude writes what is known only at the end: the type of each property, which is string if one
// value is, and the counts of unmovable things.
func (r *reader) conclude(ctx context.Context) error {
	if err := r.narrowed(ctx); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(r.s.Keys)) {
		p := archive.Property{Key: key, Type: app.NumberProperty}
		if r.s.Keys[key] {
			p.Type = app.StringProperty
		}
		if err := r.w.Put(archive.Properties, &p); err != nil {
			return err
		}
	}
	for _, odd := range slices.Sorted(maps.Keys(r.s.Odd)) {
		what, why, _ := strings.Cut(odd, "\x00")
		if err := r.unmovable(fmt.Sprintf("%s (%d)", what, r.s.Odd[odd]), why); err != nil {
			return err
		}
	}
	return nil
}
