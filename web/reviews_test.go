package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

type planAnswer struct {
	Object     string
	Recipients int
	LeftOut    struct {
		Unsubscribed, Suppressed, Topic int
		SuppressedBy                    struct{ Bounce, Complaint, Manual, Unsubscribe int } `json:"suppressed_by"`
	} `json:"left_out"`
	FinishesAt *string `json:"finishes_at"`
	Waves      []struct {
		At    string
		Count int
	}
	Warning *struct{ Code string }
	Tags    []struct {
		Field, Tag string
		Line       int
		Refused    bool
	} `json:"unfilled_tags"`
	Score struct {
		Score     float64
		Penalties []struct{ ID string }
	}
}

func TestPlanNamesForeignTags(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 100, 2)
	draft := decoded[broadcastAnswer](t, a.call("POST", "/broadcasts", `{"from":"Acme <news@example.com>","subject":"s","html":"<p>x\n{{ RootURL }} ${y}</p>"}`)).ID
	got := decoded[planAnswer](t, a.call("POST", "/broadcasts/"+draft+"/plan", ""))
	if fmt.Sprint(got.Tags) != "[{html {{ RootURL }} 2 true} {html ${y} 2 false}]" || got.Recipients != 2 {
		t.Errorf("planned %+v", got)
	}
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/send", ""), 422, app.CodeValidation, "{{ RootURL }} (html, line 2)")
}

func TestPlan(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 100, 200)
	topic := a.topic("News", "")
	wantStatus(t, a.call("POST", "/contacts", `{"email":"gone@example.org","unsubscribed":true}`), 201)
	for _, email := range []string{"bad@example.org", "out@example.org"} {
		wantStatus(t, a.call("POST", "/contacts", `{"email":"`+email+`"}`), 201)
	}
	wantStatus(t, a.call("POST", "/suppressions", `{"email":"bad@example.org"}`), 201)
	wantStatus(t, a.call("PATCH", "/contacts/out@example.org/topics", `[{"id":"`+topic.ID+`","subscription":"opt_out"}]`), 200)
	draft := a.draft(`,"topic_id":"` + topic.ID + `"`).ID
	before := a.call("GET", "/broadcasts/"+draft, "").Body.String()
	got := decoded[planAnswer](t, a.call("POST", "/broadcasts/"+draft+"/plan", ""))
	if got.Object != "broadcast_plan" || got.Recipients != 200 || got.LeftOut.Unsubscribed != 1 || got.LeftOut.Suppressed != 1 || got.LeftOut.SuppressedBy.Manual != 1 || got.LeftOut.Topic != 1 {
		t.Errorf("planned %+v", got)
	}
	counts := ""
	for _, w := range got.Waves {
		counts += fmt.Sprint(w.Count, " ")
	}
	if got.Warning == nil || got.Warning.Code != "paced" || got.FinishesAt == nil || counts != "70 70 60 " {
		t.Errorf("200 of 70 a day in waves of %s: %+v", counts, got)
	}
	if got.Score.Score <= 0 || got.Score.Score >= 10 || len(got.Score.Penalties) == 0 {
		t.Errorf("score %+v", got.Score)
	}
	if after := a.call("GET", "/broadcasts/"+draft, "").Body.String(); after != before {
		t.Errorf("the plan changed the draft from %s to %s", before, after)
	}
	sent := a.planned(200, "/broadcasts/"+draft+"/send", "")
	if sent.Warning == nil || sent.Warning.Code != got.Warning.Code {
		t.Errorf("planned %+v, sent %+v", got.Warning, sent.Warning)
	}
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/plan", ""), 400, app.CodeInvalidParameter, "Only a draft")
	wantError(t, a.call("POST", "/broadcasts/"+unknownID+"/plan", ""), 404, app.CodeNotFound, "broadcast")
	wantError(t, a.call("POST", "/broadcasts/"+a.draft("").ID+"/plan", `{"scheduled_at":"soonish"}`), 422, app.CodeValidation, "`scheduled_at`")
}

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 10, 200)
	draft := a.draft("").ID
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/plan", ""), 422, app.CodeBroadcastTooLarge, "200 contacts")
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/send", ""), 422, app.CodeBroadcastTooLarge, "200 contacts")
}

type broadcastPreviewAnswer struct {
	Object, From, Subject, HTML, Text string
	PreviewText                       *string `json:"preview_text"`
	Missing                           []string
}

func TestBroadcastPreview(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	wantStatus(t, a.call("POST", "/contacts", `{"email":"bo@example.org","first_name":"<Bo>","properties":{"plan":"pro"}}`), 201)
	wantStatus(t, a.call("POST", "/contacts", `{"email":"ann@example.org"}`), 201)
	draft := a.broadcast(201, "POST", "/broadcasts", `{"from":"Acme <news@example.com>","subject":"Hi {{{FIRST_NAME}}}","preview_text":"On {{{plan}}}",`+
		`"html":"<p>Hi {{{FIRST_NAME|there}}}: {{{plan}}}</p><a href=\"{{{UNSUBSCRIBE_URL}}}\">out</a>"}`).ID
	preview := func(body string) broadcastPreviewAnswer {
		t.Helper()
		return decoded[broadcastPreviewAnswer](t, a.call("POST", "/broadcasts/"+draft+"/preview", body))
	}
	got := preview(`{"contact":"Bo@example.org"}`)
	if got.Object != "broadcast_preview" || got.Subject != "Hi <Bo>" || got.From != "Acme <news@example.com>" || *got.PreviewText != "On pro" || len(got.Missing) > 0 {
		t.Errorf("for Bo: %+v", got)
	}
	if !strings.Contains(got.HTML, "<p>Hi &lt;Bo&gt;: pro</p>") || !strings.Contains(got.Text, "Hi <Bo>: pro") {
		t.Errorf("for Bo: %s, %s", got.HTML, got.Text)
	}
	const link = `href="https://mail.example.com/unsubscribe/preview"`
	if !strings.Contains(got.HTML, link) || strings.Count(got.HTML, "/unsubscribe/") != 1 {
		t.Errorf("the way out of a preview: %s", got.HTML)
	}
	if _, ok := a.server.Sealer.ReadPageToken(app.UnsubscribePage, "preview"); ok {
		t.Error("the way out of a preview opens a page")
	}
	if got = preview(""); got.Subject != "Hi " || !slices.Equal(got.Missing, []string{"FIRST_NAME", "plan"}) || !strings.Contains(got.HTML, "<p>Hi there: </p>") {
		t.Errorf("for the newest contact: %+v", got)
	}
	wantError(t, a.call("POST", "/broadcasts/"+draft+"/preview", `{"contact":"nobody@example.org"}`), 404, app.CodeNotFound, "contact")
	wantError(t, a.call("POST", "/broadcasts/"+unknownID+"/preview", ""), 404, app.CodeNotFound, "broadcast")
}

func TestPreviewClicks(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	path := a.sentTo(3, `<p><a href="https://example.com/x?for={{{EMAIL}}}">x</a> <a href="https://example.com/y"><b>y</b></a> <a href="https://example.com/z">z</a></p>`)
	id := strings.TrimPrefix(path, "/broadcasts/")
	err := a.store.Write(t.Context(), func(tx *db.Tx) error {
		if err := tx.InsertBroadcastLinks(id, []string{"https://example.com/x?for={{{EMAIL}}}", "https://example.com/y", "https://example.com/z"}); err != nil {
			return err
		}
		for n, rec := range a.page(a.full, path+"/recipients").ids()[1:] {
			if err := tx.CountClick(id, rec, min(n, 1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(body string) string {
		return decoded[struct{ HTML string }](t, a.call("POST", path+"/preview", body)).HTML
	}
	got := shown(`{"clicks":true,"contact":"c1@example.org"}`)
	if !regexp.MustCompile(`for=C1%40example\.org">x</a><span style="[^"]*#e4e6ea[^"]*">1 · 33 %</span> <a href="https://example.com/y"><b>y</b></a><span style="[^"]*#17191c;color:#fff">2 · 67 %</span> <a href="https://example.com/z">z</a></p>`).MatchString(got) {
		t.Error(got)
	}
	if got = shown(`{"contact":"c1@example.org"}`); strings.Contains(got, " %") {
		t.Errorf("shares that nobody asked for: %s", got)
	}
}

func TestRenderTemplate(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(`{"name":"T","alias":"t","subject":"Hi {{{name}}}","html":"<p>{{{name}}} {{{n}}}</p><a href=\"{{{UNSUBSCRIBE_URL}}}\">out</a>",` +
		`"variables":[{"key":"name","type":"string"},{"key":"n","type":"number","fallback_value":7}]}`)
	a.template(200, "PATCH", "/templates/t", `{"subject":"Dear {{{name}}}"}`)
	for body, subject := range map[string]string{
		`{"variables":{"name":"<Bo>"}}`:                       "Dear <Bo>",
		`{"variables":{"name":"<Bo>"},"version":"draft"}`:     "Dear <Bo>",
		`{"variables":{"name":"<Bo>"},"version":"published"}`: "Hi <Bo>",
	} {
		got := decoded[struct{ Object, Subject, HTML, Text string }](t, a.call("POST", "/templates/"+id+"/render", body))
		if got.Object != "rendered_template" || got.Subject != subject || !strings.Contains(got.HTML, "<p>&lt;Bo&gt; 7</p>") || !strings.Contains(got.Text, "<Bo> 7") ||
			!strings.Contains(got.HTML, `href="https://mail.example.com/unsubscribe/preview"`) {
			t.Errorf("%s: %+v", body, got)
		}
	}
	for body, words := range map[string]string{
		``: "`variables.name` is required", `{"variables":{"name":5}}`: "`variables.name`", `{"variables":{"other":"x"}}`: "`variables.other`",
		`{"variables":{"name":"x"},"version":"old"}`: "`version`",
	} {
		wantError(t, a.call("POST", "/templates/t/render", body), 422, app.CodeValidation, words)
	}
	draft := a.template(201, "POST", "/templates", `{"name":"D","html":"<p>x</p>"}`).ID
	wantError(t, a.call("POST", "/templates/"+draft+"/render", `{"version":"published"}`), 422, app.CodeValidation, "`version`")
	wantError(t, a.call("POST", "/templates/nothing/render", ""), 404, app.CodeNotFound, "template")
}

func TestSegmentOfOutcome(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	id := strings.TrimPrefix(a.sentTo(4, `<a href="https://example.com/x">x</a><a href="https://example.com/y">y</a>`), "/broadcasts/")
	rows := a.page(a.full, "/broadcasts/"+id+"/recipients").ids()[1:] // the first one bounced
	mark := func(n int, bit app.Seen, link int) {
		t.Helper()
		err := a.store.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.MarkRecipient(id, rows[n], bit); err != nil || link < 0 {
				return err
			}
			return tx.CountClick(id, rows[n], link)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.store.Write(t.Context(), func(tx *db.Tx) error {
		return tx.InsertBroadcastLinks(id, []string{"https://example.com/x", "https://example.com/y"})
	}); err != nil {
		t.Fatal(err)
	}
	mark(0, app.SeenOpened, -1)
	mark(1, app.SeenClicked, 0)
	mark(2, app.SeenClicked, 1)
	for body, want := range map[string]int{
		`"outcome":"sent"`: 4, `"outcome":"opened"`: 1, `"outcome":"clicked"`: 2, `"outcome":"clicked","url":"https://example.com/y"`: 1,
		`"outcome":"not_opened"`: 1, `"outcome":"not_clicked"`: 2, `"outcome":"bounced"`: 1,
	} {
		if outcome := strings.Split(body, `"`)[3]; !strings.Contains(body, "url") {
			if listed := a.recipients("/broadcasts/" + id + "/recipients?type=" + outcome).Data; len(listed) != want {
				t.Errorf("%s: %d are listed, want %d", outcome, len(listed), want)
			}
		}
		w := a.call("POST", "/broadcasts/"+id+"/segment", `{"name":"S",`+body+`}`)
		wantStatus(t, w, 201)
		made := decoded[segmentAnswer](t, w)
		got := a.segmentAt("GET", "/segments/"+made.ID, "", 200)
		if made.Object != "segment" || *made.ContactCount != want || *got.ContactCount != want || string(got.Filter) != "null" {
			t.Errorf("%s: made %d, read %d, want %d", body, *made.ContactCount, *got.ContactCount, want)
		}
	}
	for body, words := range map[string]string{
		`{"name":"S","outcome":"loved"}`: "`outcome`", `{"outcome":"opened"}`: "`name`",
		`{"name":"S","outcome":"opened","url":"https://example.com/x"}`:  "`url`",
		`{"name":"S","outcome":"clicked","url":"https://example.com/z"}`: "`url`",
	} {
		wantError(t, a.call("POST", "/broadcasts/"+id+"/segment", body), 422, app.CodeValidation, words)
	}
	wantError(t, a.call("POST", "/broadcasts/"+a.draft("").ID+"/segment", `{"name":"S","outcome":"opened"}`), 400, app.CodeInvalidParameter, "draft")
	wantError(t, a.as(a.foreign, "POST", "/broadcasts/"+id+"/segment", `{"name":"S","outcome":"opened"}`), 404, app.CodeNotFound, "broadcast")
}

func TestInspectBroadcast(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	for i, properties := range []string{`"city":"Rome","site":"https://a.test","items":"a"`, `"city":"Oslo","site":"javascript:alert(1)","language":"de"`, `"items":"` + strings.Repeat("a,", 450) + `"`, `"plan":"pro"`} {
		wantStatus(t, a.call("POST", "/contacts", fmt.Sprintf(`{"email":"p%d@example.org","properties":{%s}}`, i, properties)), 201)
	}
	inspect := func(draft string) string {
		t.Helper()
		id := a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"s",`+draft+`}`).ID
		w := a.call("POST", "/broadcasts/"+id+"/inspect", "")
		wantStatus(t, w, 200)
		return strings.TrimSpace(w.Body.String())
	}
	for draft, want := range map[string]string{
		`"syntax":"liquid","html":"{{ contact.email }}<a href=\"{{{VIEW_URL}}}\">v</a><a href=\"{{{UNSUBSCRIBE_URL}}}\">u</a>"`: `{"object":"broadcast_inspection","inspected":4,"complete":true,"missing":[],"removed_links":0,"render_limit":0}`,
		`"html":"<p>x</p>"`: `{"object":"broadcast_inspection","inspected":0,"complete":true,"missing":[],"removed_links":0,"render_limit":0}`,
		`"html":"<p>{{{FIRST_NAME|you}}} {{{contact.city}}} {{{PLAN}}}</p>"`: `{"object":"broadcast_inspection","inspected":4,"complete":true,"missing":[{"name":"PLAN","recipients":3},{"name":"contact.city","recipients":2}],"removed_links":0,"render_limit":0}`,
		`"syntax":"liquid","html":"<a href=\"{{ contact.site | default: 'https://b.test' }}\">{{ contact.city }}</a>{% if contact.plan %}{{ contact.seats }}{% endif %}","variants":{"de":{"html":"{{ contact.plan }}<a href=\"{{ contact.site }}\">x</a>"}}`: `{"object":"broadcast_inspection","inspected":4,"complete":true,"missing":[{"name":"contact.city","recipients":2},{"name":"contact.plan","recipients":1},{"name":"contact.seats","recipients":1}],"removed_links":1,"render_limit":0}`,
		`"syntax":"liquid","html":"{% assign all = contact.items | split: ',' %}{% for x in all %}{% for y in all %}.{% endfor %}{% endfor %}"`:                                                                                                               `{"object":"broadcast_inspection","inspected":4,"complete":true,"missing":[],"removed_links":0,"render_limit":1}`,
	} {
		if got := inspect(draft); got != want {
			t.Errorf("%s:\n %s\nwant %s", draft, got, want)
		}
	}
	scheduled := a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"s","html":"x","send":true,"scheduled_at":"in 1 hour"}`).ID
	wantError(t, a.call("POST", "/broadcasts/"+scheduled+"/inspect", ""), 400, app.CodeInvalidParameter, "draft")
	wantError(t, a.call("POST", "/broadcasts/"+unknownID+"/inspect", ""), 404, app.CodeNotFound, "broadcast")
}
