package app

import (
	"errors"
	"slices"
	"testing"
)

func TestEachProviderWithASecretHasAReader(t *testing.T) {
	sources := FeedbackSources()
	if !slices.Equal(sources, []string{"postmark", "mailgun", "sendgrid", "generic"}) {
		t.Errorf("sources are %q: they are shown in this order and named in web's enum", sources)
	}
	if len(readers) != len(sources) {
		t.Errorf("%d readers for %d sources", len(readers), len(sources))
	}
	for _, source := range append(sources, SourceSES, BounceSource, "", "other") {
		_, err := ReadFeedback(source, []byte("no JSON"))
		var refusal *Error
		if !errors.As(err, &refusal) || (refusal.Code == CodeNotFound) == slices.Contains(sources, source) {
			t.Errorf("%q: %v", source, err)
		}
	}
}
