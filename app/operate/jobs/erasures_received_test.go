package jobs_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/mailauth"
	"mailer/app/sending/receiving"
	"mailer/app/testing/testserver"
)

func TestErasureDeletesReceivedMail(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	w.Start()
	other := w.AddTeam("other", "other.example")
	s := w.Services.Receiving
	s.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return app.ReceivedAuth{} }
	take := func(teamID, from, to, cc, text string) {
		t.Helper()
		raw := fmt.Sprintf("From: Vic <%s>\r\nTo: <%s>\r\nCc: <%s>\r\nSubject: %s\r\n\r\n%s\r\n", from, to, cc, strings.Repeat("x", 3), text)
		testserver.Must(t, s.Take(t.Context(), receiving.Delivery{RemoteIP: netip.MustParseAddr("192.0.2.1"), MailFrom: from,
			To: []receiving.Target{{Address: to, TeamID: teamID, DomainID: app.NewID()}}, Raw: strings.NewReader(raw), Size: int64(len(raw))}))
	}
	const address, eve = testserver.ErasedAddress, "eve@example.net"
	take(w.Key.TeamID, address, "in@acme.test", eve, strings.Repeat("large\r\n", 1<<20)) // of more pieces than one write deletes
	take(w.Key.TeamID, eve, "in@acme.test", address, "x")
	take(w.Key.TeamID, eve, "in@acme.test", "x"+address, "kept")
	take(w.Key.TeamID, eve, "in@acme.test", eve, "kept: a text that mentions "+address)
	take(other.TeamID, address, "in@other.test", eve, "kept: another team's")
	c := w.CreateContact(w.Key.TeamID, address)
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
	for table, want := range map[string]string{"received_emails": "3", "received_contents": "3", "received_pieces": "3"} {
		if got := w.Count(table); got != want {
			t.Errorf("%s: %s, want %s", table, got, want)
		}
	}
}
