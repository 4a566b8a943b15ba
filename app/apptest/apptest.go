package apptest

import (
	"testing"

	"mailer/app"
)

const Team = "01920000-0000-7000-8000-00000000000a"

const Pages = "https://mail.acme.test"

// Broadcast is a broadcast with an html body alone, frozen.
func Broadcast(content string) *app.Broadcast {
	none := ""
	return &app.Broadcast{
		TeamID: Team, From: app.Address{Local: "news", Domain: "acme.test"}, Subject: "s",
		BroadcastContent: app.BroadcastContent{HTML: content, Text: &none, Frozen: &app.BroadcastFrozen{Pages: Pages}},
	}
}

func String(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }

func Sealer(t testing.TB, first byte) *app.Sealer {
	t.Helper()
	master := make([]byte, app.MasterKeySize)
	master[0] = first
	s, err := app.NewSealer(master)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const PathEmail = "0199c2f0-7a3e-7d11-9a2b-0c1d2e3f4a5b"
