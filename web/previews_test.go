package web

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

type previewAnswer struct {
	Object string
	Count  int
	Exact  bool
	Sample []struct{ Email string }
}

func TestPreviewSegment(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	other, _ := a.newTeam("Strangers")
	for i := range 12 {
		wantStatus(t, a.call("POST", "/contacts", fmt.Sprintf(`{"email":"c%02d@example.org","unsubscribed":%v}`, i, i%4 == 0)), 201)
	}
	a.contactOf(other.ID, "c99@example.org")
	topic := a.topic("News", "")
	wantStatus(t, a.call("POST", "/suppressions", `{"email":"c01@example.org"}`), 201)
	wantStatus(t, a.call("PATCH", "/contacts/c02@example.org/topics", `[{"id":"`+topic.ID+`","subscription":"opt_out"}]`), 200)
	filter := func(c string) string { return `"filter":{"match":"all","conditions":[` + c + `]}` }
	for body, want := range map[string]struct {
		count, sample int
		newest        string
	}{
		`{` + filter("") + `}`: {12, 10, "c11@example.org"},
		`{` + filter(`{"field":"unsubscribed","op":"is_true"}`) + `}`:                                                 {3, 3, "c08@example.org"},
		`{` + filter(`{"field":"email","op":"starts_with","value":"c0"}`) + `}`:                                       {10, 10, "c09@example.org"},
		`{` + filter("") + `,"topic_id":"` + topic.ID + `"}`:                                                          {7, 7, "c11@example.org"},
		`{` + filter(`{"field":"email","op":"starts_with","value":"c0"}`) + `,"topic_id":"` + topic.ID + `"}`:         {5, 5, "c09@example.org"},
		`{` + filter(`{"field":"email","op":"equals","value":"c99@example.org"}`) + `,"topic_id":"` + topic.ID + `"}`: {0, 0, ""},
	} {
		got := decoded[previewAnswer](t, a.call("POST", "/segments/preview", body))
		if got.Object != "segment_preview" || got.Count != want.count || !got.Exact || len(got.Sample) != want.sample {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
		if want.sample > 0 && got.Sample[0].Email != want.newest {
			t.Errorf("%s: the newest is %s", body, got.Sample[0].Email)
		}
	}
	if got := a.page(a.full, "/segments").ids(); len(got) > 0 {
		t.Errorf("previews made segments %q", got)
	}
	for body, words := range map[string]string{
		`{}`: "`filter` is required", `{"filter":null}`: "`filter` is required", `{"filter":{"match":"some"}}`: "`filter.match`",
		`{` + filter(`{"field":"id","op":"equals","value":"x"}`) + `}`: "`filter.conditions[0].field`",
		`{` + filter("") + `,"topic_id":"x"}`:                          "`topic_id`",
	} {
		wantError(t, a.call("POST", "/segments/preview", body), 422, app.CodeValidation, words)
	}
	wantError(t, a.call("POST", "/segments/preview", `{`+filter("")+`,"topic_id":"`+unknownID+`"}`), 404, app.CodeNotFound, "topic")
}

func TestSearchContacts(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	other, _ := a.newTeam("Strangers")
	a.contactOf(other.ID, "ann@example.org")
	segment := a.segment(`{"name":"Hand"}`)
	pro := a.segment(`{"name":"Pro","filter":` + proFilter + `}`)
	topic := a.want(201, "POST", "/topics", `{"name":"News","default_subscription":"opt_out"}`)
	for _, body := range []string{
		`{"email":"ann@example.org","first_name":"Ann","last_name":"Ürün"}`,
		`{"email":"bo@example.org","first_name":"Joann","properties":{"plan":"pro"},"topics":[{"id":"` + topic.ID + `","subscription":"opt_in"}]}`,
		`{"email":"Joann@example.org","segments":[{"id":"` + segment.ID + `"}]}`,
		`{"email":"100%_@example.org"}`,
	} {
		wantStatus(t, a.call("POST", "/contacts", body), 201)
	}
	wantStatus(t, a.call("PATCH", "/contacts/bo@example.org", `{"unsubscribed":true}`), 200)
	wantStatus(t, a.call("POST", "/suppressions", `{"email":"ann@example.org"}`), 201)
	for query, want := range map[string][]string{
		"state=subscribed&search=ann":                    {"Joann@example.org", "ann@example.org"},
		"state=unsubscribed":                             {"bo@example.org"},
		"state=suppressed":                               {"ann@example.org"},
		"search=ann":                                     {"Joann@example.org", "bo@example.org", "ann@example.org"},
		"search=ANN":                                     {"Joann@example.org", "bo@example.org", "ann@example.org"},
		"search=Ann@Example.ORG":                         {"ann@example.org"},
		"search=oann@example.org":                        {"Joann@example.org"},
		"search=" + url.QueryEscape("ann ürün"):          {"ann@example.org"},
		"search=ÜRÜN":                                    {"ann@example.org"},
		"search=" + url.QueryEscape("%"):                 {"100%_@example.org"},
		"search=nobody":                                  nil,
		"search=ann&segment_id=" + segment.ID:            {"Joann@example.org"},
		"search=ann&segment_id=" + pro.ID:                {"bo@example.org"},
		"search=ann@example.org&segment_id=" + pro.ID:    nil,
		"topic_id=" + topic.ID:                           {"bo@example.org"},
		"topic_id=" + topic.ID + "&search=ann@":          nil,
		"topic_id=" + topic.ID + "&segment_id=" + pro.ID: {"bo@example.org"},
	} {
		got := decoded[struct {
			HasMore bool `json:"has_more"`
			Data    []struct{ Email string }
		}](t, a.call("GET", "/contacts?"+query, ""))
		var emails []string
		for _, c := range got.Data {
			emails = append(emails, c.Email)
		}
		if !slices.Equal(emails, want) || got.HasMore {
			t.Errorf("%s: %q, has more %v, want %q", query, emails, got.HasMore, want)
		}
	}
	wantError(t, a.call("GET", "/contacts?topic_id="+unknownID, ""), 404, app.CodeNotFound, "topic")
	wantError(t, a.call("GET", "/contacts?search=a&segment_id="+unknownID, ""), 404, app.CodeNotFound, "segment")
	wantError(t, a.call("GET", "/contacts?search=a&before="+unknownID, ""), 422, app.CodeValidation, "`before`")
	wantError(t, a.call("GET", "/contacts?search=a&after="+unknownID, ""), 422, app.CodeValidation, "`after`")
	wantError(t, a.call("GET", "/contacts?search=a%00", ""), 422, app.CodeValidation, "`search`")
}

func TestSearchContinues(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	for i := range 5 {
		wantStatus(t, a.call("POST", "/contacts", fmt.Sprintf(`{"email":"c%d@example.org"}`, i)), 201)
	}
	var emails []string
	after := ""
	for range 5 {
		got := decoded[struct {
			HasMore    bool    `json:"has_more"`
			SearchedTo *string `json:"searched_to"`
			Data       []struct{ ID, Email string }
		}](t, a.call("GET", "/contacts?limit=2&search=c"+after, ""))
		for _, c := range got.Data {
			emails = append(emails, c.Email)
		}
		if got.HasMore != (got.SearchedTo != nil) {
			t.Fatalf("has_more %v, searched to %v", got.HasMore, got.SearchedTo)
		}
		if !got.HasMore {
			break
		}
		after = "&after=" + *got.SearchedTo
	}
	if want := []string{"c4@example.org", "c3@example.org", "c2@example.org", "c1@example.org", "c0@example.org"}; !slices.Equal(emails, want) {
		t.Errorf("found %q, want %q", emails, want)
	}
}
