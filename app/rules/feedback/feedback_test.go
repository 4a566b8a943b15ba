package feedback

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

// TestProvidersAreComplete checks the table of providers.
func TestProvidersAreComplete(t *testing.T) {
	sources := Sources()
	if len(sources) != len(providers)-1 || slices.Contains(sources, app.SourceSES) || sources[len(sources)-1] != app.SourceGeneric {
		t.Errorf("sources are %q: they are shown in this order", sources)
	}
	for _, p := range providers {
		if (p.Proof == ProofSignature) != (p.checkKey != nil && p.verify != nil) || (p.read == nil) != (p.Proof == ProofSNS) {
			t.Errorf("%s is incomplete: %+v", p.Source, p)
		}
		for _, h := range p.Hosts {
			if found := ProviderByHost(h.Host); found.Source != p.Source && p.Proof != ProofSNS {
				t.Errorf("%s is recognised as %q", h.Host, found.Source)
			}
		}
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
