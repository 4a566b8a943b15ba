package app_test

import (
	"strings"
	"testing"

	"mailer/app"
)

// TestFormOrigins: origins are stored as browsers send them.
func TestFormOrigins(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://Shop.example":           "https://shop.example",
		"https://shop.example:443/":      "https://shop.example",
		"https://shop.example:8443":      "https://shop.example:8443",
		"https://shop.example:80":        "https://shop.example:80",
		"https://münchen.example":        "https://xn--mnchen-3ya.example",
		"https://MÜNCHEN.example:443":    "https://xn--mnchen-3ya.example",
		"https://xn--mnchen-3ya.example": "https://xn--mnchen-3ya.example",
		"https://intranet":               "https://intranet",
		"https://192.0.2.1:443":          "https://192.0.2.1",
		"http://localhost:80":            "http://localhost",
		"http://localhost:443":           "http://localhost:443",
		"http://[::1]:8080":              "http://[::1]:8080",
		"http://[::1]:80":                "http://[::1]",
		"https://mün chen.example":       "",
		"https://mü..example":            "",
		"http://shop.example":            "",
	} {
		in := app.FormInput{Name: "F", FormDefinition: app.FormDefinition{From: "a@example.com", AllowedOrigins: []string{given}}}
		f, err := in.Validate()
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "allowed_origins[0]")):
			t.Errorf("%s: %v", given, err)
		case want != "" && (err != nil || f.AllowedOrigins[0] != want):
			t.Errorf("%s is %v, not %s, %v", given, f.AllowedOrigins, want, err)
		}
	}
}

// TestRedirectToOrigin compares hosts in their canonical spelling.
func TestRedirectToOrigin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		origin, to, name string
		allowed          bool
	}{
		{"https://shop.example", "https://shop.example:443/thanks", "shop.example", true},
		{"https://xn--mnchen-3ya.example", "https://München.example/", "München.example", true},
		{"https://shop.example", "https://shop.example:8443/", "shop.example", false},
		{"https://shop.example", "https://MÜNCHEN.example/", "xn--mnchen-3ya.example", false},
	} {
		f := app.Form{FormDefinition: app.FormDefinition{AllowedOrigins: []string{tt.origin}, RedirectURL: tt.to}}
		if name, allowed := f.RedirectsToOrigin(); name != tt.name || allowed != tt.allowed {
			t.Errorf("%s for %s: %q %t", tt.to, tt.origin, name, allowed)
		}
	}
}

// TestFormFieldNames: no field has the name of an input that every form has.
func TestFormFieldNames(t *testing.T) {
	t.Parallel()
	for name, refusedName := range map[string]bool{"email": true, "topics": true, "topics[]": true, "proof": true, "opened": true, "form-opened": true, "form-button": true, "website-url": true,
		"opt-in-decision": true, "email_2": false, "first_name": false, "city": false} {
		fields := []app.FormField{{Property: "age"}, {Property: name}}
		in := app.FormInput{Name: "F", FormDefinition: app.FormDefinition{From: "a@example.com", Fields: fields}}
		_, created := in.Validate()
		patch := app.FormPatch{Fields: &fields}
		_, changed := patch.Apply(app.Form{Name: "F", FormDefinition: app.FormDefinition{Confirm: app.DoubleOptIn, From: "a@example.com"}})
		for _, err := range []error{created, changed} {
			if (err != nil) != refusedName || err != nil && (app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "fields[1].property")) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
