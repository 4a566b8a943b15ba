package feedback

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

func TestEachProviderHasReader(t *testing.T) {
	sources := app.FeedbackSources()
	if !slices.Equal(sources, []string{"postmark", "mailgun", "sendgrid", "generic"}) {
		t.Errorf("sources are %q: they are shown in this order", sources)
	}
	var read []string
	for _, p := range providers {
		if p.read != nil {
			read = append(read, p.source)
		}
	}
	if !slices.Equal(read, sources) {
		t.Errorf("readers of %q for the sources %q", read, sources)
	}
	for _, source := range append(sources, app.SourceSES, app.BounceSource, "", "other") {
		_, err := Read(source, []byte("no JSON"))
		var refusal *app.Error
		if !errors.As(err, &refusal) || (refusal.Code == app.CodeNotFound) == slices.Contains(sources, source) {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestIDHeadersAreInstructions(t *testing.T) {
	for _, p := range providers {
		if p.IDHeader != nil && !app.InstructsProvider(strings.ToLower(p.IDHeader("x").Name)) {
			t.Errorf("a caller may set %s", p.IDHeader("x").Name)
		}
	}
}
