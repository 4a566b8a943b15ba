// Package apptest has what tests of several rules packages share: generated and
// hostile mail, and values with names. Tests alone import it; a program never does.
// What fails here fails the test that asked for it.
package apptest

import (
	"testing"

	"mailer/app"
	"mailer/app/kit/seal"
)

const (
	// Team is the id of the team that Broadcast belongs to.
	Team = "01920000-0000-7000-8000-00000000000a"
	// Pages is where the hosted pages of Broadcast are.
	Pages = "https://mail.acme.test"
	// PathEmail is the id of an email that a return path stands for.
	PathEmail = "0199c2f0-7a3e-7d11-9a2b-0c1d2e3f4a5b"
)

// Broadcast is a broadcast with an html body alone, frozen.
func Broadcast(content string) *app.Broadcast {
	none := ""
	return &app.Broadcast{
		TeamID: Team, From: app.Address{Local: "news", Domain: "acme.test"}, Subject: "s",
		BroadcastContent: app.BroadcastContent{HTML: content, Text: &none, Snapshot: &app.BroadcastSnapshot{Pages: Pages}},
	}
}

// String is a property value of text.
func String(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }

// Sealer seals under a master key that begins with that byte, which is its seed too, so that two of them
// differ and each is the same every time.
func Sealer(t testing.TB, first byte) *app.Sealer {
	t.Helper()
	master := make([]byte, seal.MasterKeySize)
	master[0] = first
	s, err := app.NewSealer(seal.MasterKey{Key: master})
	if err == nil {
		err = s.SetSeed(master)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
