package feedback

import (
	"errors"
	"slices"
	"testing"

	"mailer/app"
)

func TestEachProviderHasReader(t *testing.T) {
	sources := app.FeedbackSources()
	if !slices.Equal(sources, []string{"postmark", "mailgun", "sendgrid", "generic"}) {
		t.Errorf("sources are %q: they are shown in this order", sources)
	}
	if len(readers) != len(sources) {
		t.Errorf("%d readers for %d sources", len(readers), len(sources))
	}
	for _, source := range append(sources, app.SourceSES, app.BounceSource, "", "other") {
		_, err := Read(source, []byte("no JSON"))
		var refusal *app.Error
		if !errors.As(err, &refusal) || (refusal.Code == app.CodeNotFound) == slices.Contains(sources, source) {
			t.Errorf("%q: %v", source, err)
		}
	}
}
