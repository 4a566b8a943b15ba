package jobs_test

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestErasureCoversFormerAddresses(t *testing.T) {
	w := testserver.New(t)
	w.CreateContact(w.Key.TeamID, "former@example.net")
	w.CreateContact(w.Key.TeamID, "taken@example.net")
	w.Send("former@example.net")
	kept := w.Send("taken@example.net")
	for _, move := range [][2]string{{"former@example.net", "between@example.net"}, {"taken@example.net", "elsewhere@example.net"}, {"between@example.net", "taken@example.net"},
		{"taken@example.net", "now@example.net"}} {
		_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, move[0], app.ContactPatch{Email: move[1]})
		testserver.Must(t, err)
	}
	w.CreateContact(w.Key.TeamID, "taken@example.net") // belongs to another contact now
	w.Erase("now@example.net")
	for _, address := range []string{"former@example.net", "between@example.net", "now@example.net"} {
		w.WantNoTrace(address)
	}
	if to := w.Email(kept).To; len(to) != 1 || !strings.Contains(to[0].String(), "taken@example.net") {
		t.Errorf("another contact's mail was erased: %v", to)
	}
}
