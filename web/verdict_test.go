package web

import (
	"fmt"
	"strings"
	"testing"
)

// verdictAnswer is an email as far as its verdict goes.
type verdictAnswer struct {
	Verdict struct {
		Code, Tone, Text, Fix string
		Params                map[string]any
		Parts                 []struct{ Code, Text, Fix string }
	}
}

func TestAnEmailIsAnsweredWithItsVerdict(t *testing.T) {
	a := newPeople(t)
	other, strangers := a.newTeam("Strangers")
	a.contactOf(other.ID, "c0@example.org")
	get := func(id string) verdictAnswer {
		t.Helper()
		w := a.call("GET", "/emails/"+id, "")
		wantStatus(t, w, 200)
		return decoded[verdictAnswer](t, w)
	}
	id := a.mailTo(a.full, "one", `["ann@example.org","bob@example.org","bounced@simulator.mailer.test"]`)
	got := get(id).Verdict
	if got.Code != "mixed" || len(got.Parts) != 2 || got.Parts[0].Code != "captured" || got.Parts[1].Code != "test_recipient" ||
		!strings.Contains(got.Text, "this server keeps the mail for 2 recipients") || got.Params["total"] != 3.0 {
		t.Errorf("%+v", got)
	}
	wantError(t, a.as(strangers, "GET", "/emails/"+id, ""), 404, "not_found")

	w := a.call("POST", "/emails", `{"from":"a@example.com","to":"ann@example.org","subject":"later","text":"x","scheduled_at":"in 2 hours"}`)
	wantStatus(t, w, 200)
	id = decoded[struct{ ID string }](t, w).ID
	if got := get(id).Verdict; got.Code != "scheduled" || got.Tone != "neutral" || !strings.Contains(got.Text, fmt.Sprint(got.Params["next_at"])) {
		t.Errorf("%+v", got)
	}

	b := a.sentTo(2, "<p>Hi</p>")
	list := decoded[struct{ Data []struct{ ID, Email string } }](t, a.call("GET", b+"/recipients", ""))
	for _, r := range list.Data {
		want := "captured"
		if strings.HasPrefix(r.Email, "bounced@") {
			want = "test_recipient"
		}
		if got := get(r.ID).Verdict; got.Code != want || got.Params["address"] != r.Email || !strings.HasSuffix(b, fmt.Sprint(got.Params["broadcast_id"])) {
			t.Errorf("%s: %+v", r.Email, got)
		}
	}
	if len(list.Data) != 3 {
		t.Errorf("%d recipients", len(list.Data))
	}
}
