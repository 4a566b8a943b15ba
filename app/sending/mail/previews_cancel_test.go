package mail

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mailer/app"
)

// A canceled caller takes no free permit, and a large mail is not parsed for it.
func TestCanceledPreviewReadsNothing(t *testing.T) {
	s := &Service{renders: make(renders, largeRenders)}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // select chooses at random
		p := Previews{service: s}
		out, err := p.KeepDraft(gone, &app.Key{TeamID: app.NewID()}, strings.Repeat("x", SmallRender+1), "", nil, false)
		if !errors.Is(err, context.Canceled) || out.Token != "" || len(s.renders) != 0 {
			t.Fatalf("%+v, %v; %d permits are taken", out, err, len(s.renders))
		}
	}
}
