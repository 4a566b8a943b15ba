// Package apptest holds data for tests of several packages: generated and hostile mail, and named
// values. Only tests import it. Errors end the test.
package apptest

import (
	"testing"

	"mailer/app"
	"mailer/app/kit/seal"
)

const (
	// Team is the id of the team that Broadcast belongs to.
	Team = "01920000-0000-7000-8000-00000000000a"
	// Pages is the base URL of hosted pages of Broadcast.
	Pages = "https://mail.acme.test"
	// PathEmail is the id of the email of a return path.
	PathEmail = "0199c2f0-7a3e-7d11-9a2b-0c1d2e3f4a5b"
)

// Broadcast returns a broadcast with HTML only, as it is after the send.
func Broadcast(content string) *app.Broadcast {
	none := ""
	return &app.Broadcast{
		TeamID: Team, From: app.Address{Local: "news", Domain: "acme.test"}, Subject: "s",
		BroadcastContent: app.BroadcastContent{HTML: content, Text: &none, Snapshot: &app.BroadcastSnapshot{Pages: Pages}},
	}
}

// String returns a string property value.
func String(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }

// Sealer returns a Sealer whose master key and seed begin with the given byte, so that it is
// deterministic.
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
