package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

// historyAnswer is a page of what a contact got.
type historyAnswer struct {
	HasMore    bool    `json:"has_more"`
	SearchedTo *string `json:"searched_to"`
	Data       []struct {
		ID, Subject string
		BroadcastID *string `json:"broadcast_id"`
		LastEvent   string  `json:"last_event"`
		Events      []struct{ Type, Recipient string }
	}
}

// mailTo sends an email and waits until it is through.
func (a *audienceAPI) mailTo(full, subject, to string) string {
	a.t.Helper()
	w := a.as(full, "POST", "/emails", fmt.Sprintf(`{"from":"a@example.com","to":%s,"subject":%q,"text":"x"}`, to, subject))
	wantStatus(a.t, w, 200)
	id := decoded[struct{ ID string }](a.t, w).ID
	a.eventually(full, "/emails/"+id+"/events", `"type":"sent"`)
	return id
}

// history walks all pages of what a contact got.
func (a *audienceAPI) history(contact string, limit int) (subjects []string) {
	a.t.Helper()
	after := ""
	for range 30 {
		got := decoded[historyAnswer](a.t, a.call("GET", fmt.Sprintf("/contacts/%s/events?limit=%d%s", contact, limit, after), ""))
		if got.HasMore != (got.SearchedTo != nil) || len(got.Data) > limit {
			a.t.Fatalf("a page of %d: %+v", limit, got)
		}
		for _, m := range got.Data {
			subjects = append(subjects, m.Subject)
		}
		if !got.HasMore {
			return subjects
		}
		after = "&after=" + *got.SearchedTo
	}
	a.t.Fatal("the list has no end")
	return nil
}

func TestContactHistory(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	other, strangers := a.newTeam("Strangers")
	a.contactOf(other.ID, "c1@example.org")
	first := a.mailTo(a.full, "one", `"c1@example.org"`)
	b := a.sentTo(3, "<p>Hi</p>")
	a.mailTo(a.full, "of another", `"c2@example.org"`)
	two := a.mailTo(a.full, "two", `["c2@example.org","C1@EXAMPLE.org"]`)
	send := `{"from":"Acme <news@example.com>","subject":"more","html":"<p>Hi</p>","send":true}`
	for range 2 {
		id := decoded[broadcastAnswer](t, a.call("POST", "/broadcasts", send)).ID
		a.eventually(a.full, "/broadcasts/"+id, `"status":"sent"`)
	}
	want := []string{"more", "more", "two", "News for {{{FIRST_NAME}}}", "one"}
	for limit := 1; limit < 7; limit++ {
		if got := a.history("c1@example.org", limit); !slices.Equal(got, want) {
			t.Errorf("by %d: %q, want %q", limit, got, want)
		}
	}
	whole := decoded[historyAnswer](t, a.call("GET", "/contacts/c1@example.org/events", "")).Data
	for limit := 1; limit < 7; limit++ { // from the oldest on, upwards
		got, before := []string{whole[4].Subject}, whole[4].ID
		for range 30 {
			page := decoded[historyAnswer](t, a.call("GET", fmt.Sprintf("/contacts/c1@example.org/events?limit=%d&before=%s", limit, before), ""))
			var subjects []string
			for _, m := range page.Data {
				subjects = append(subjects, m.Subject)
			}
			got = append(subjects, got...)
			if !page.HasMore {
				break
			}
			before = *page.SearchedTo
		}
		if !slices.Equal(got, want) {
			t.Errorf("upwards by %d: %q, want %q", limit, got, want)
		}
	}
	wantError(t, a.call("GET", "/contacts/c1@example.org/events?before="+unknownID, ""), 422, app.CodeValidation, "`before`")
	wantError(t, a.call("GET", "/contacts/c1@example.org/events?before="+first+"&after="+two, ""), 422, app.CodeValidation, "`before`")
	id := decoded[struct{ ID string }](t, a.call("GET", "/contacts/c1@example.org", "")).ID
	if got := a.history(id, 100); !slices.Equal(got, want) {
		t.Errorf("by its id: %q", got)
	}
	all := decoded[historyAnswer](t, a.call("GET", "/contacts/"+id+"/events", "")).Data
	for i, m := range all {
		if m.LastEvent != "sent" || len(m.Events) == 0 || (m.BroadcastID != nil) != slices.Contains([]int{0, 1, 3}, i) {
			t.Errorf("mail %d: %+v", i, m)
		}
		for _, e := range m.Events {
			if e.Recipient != "" && !strings.EqualFold(e.Recipient, "c1@example.org") {
				t.Errorf("mail %d tells of another recipient: %+v", i, e)
			}
		}
	}
	if all[2].ID != two || all[4].ID != first || "/broadcasts/"+*all[3].BroadcastID != b {
		t.Errorf("listed %+v", all)
	}
	foreign := decoded[historyAnswer](t, a.as(strangers, "GET", "/contacts/c1@example.org/events", ""))
	if len(foreign.Data) != 0 || foreign.HasMore {
		t.Errorf("of another team: %+v", foreign)
	}
	for key, path := range map[string]string{a.full: "/contacts/" + unknownID, strangers: "/contacts/" + id} {
		wantError(t, a.as(key, "GET", path+"/events", ""), 404, app.CodeNotFound, "contact")
	}
	wantError(t, a.as(strangers, "GET", "/contacts/c1@example.org/events?after="+first, ""), 422, app.CodeValidation, "`after`")
	wantError(t, a.call("GET", "/contacts/"+id+"/events?after="+unknownID, ""), 422, app.CodeValidation, "`after`")
	wantError(t, a.call("GET", "/contacts/"+id+"/events?limit=0", ""), 422, app.CodeValidation, "`limit`")
}
