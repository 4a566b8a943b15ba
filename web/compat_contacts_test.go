package web

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func TestOnConflict(t *testing.T) {
	t.Parallel()
	for _, compat := range []app.Compat{app.CompatStrict, app.CompatResend} {
		b := newContactAPI(t)
		b.server.Settings.Compat = compat
		out := `"topics":[{"id":"` + b.in + `","subscription":"opt_out"}]`
		id := b.create(`{"email":"ann@example.org","first_name":"Ann","unsubscribed":true,` + out + `}`)
		again := `{"email":"ANN@example.org","first_name":"Bob","unsubscribed":false,"segments":["` + b.segment + `"],
			"topics":[{"id":"` + b.in + `","subscription":"opt_in"},{"id":"` + b.out + `","subscription":"opt_in"}]}`
		if w := b.call("POST", "/contacts", again); compat == app.CompatStrict {
			wantError(t, w, 409, app.CodeConflict, "exists already")
		} else {
			wantStatus(t, w, 200)
		}
		wantError(t, b.call("POST", "/contacts?on_conflict=error", again), 409, app.CodeConflict)
		wantError(t, b.call("POST", "/contacts?on_conflict=merge", again), 422, app.CodeValidation, "`on_conflict`")
		for _, param := range []struct{ query, name string }{{"skip", "Ann"}, {"upsert", "Bob"}} {
			if got := b.id(200, "POST", "/contacts?on_conflict="+param.query, again); got != id {
				t.Errorf("%s %s: %s, not %s", compat, param.query, got, id)
			}
			w := b.call("GET", "/contacts/"+id, "")
			if !strings.Contains(w.Body.String(), `"first_name":"`+param.name+`"`) || !strings.Contains(w.Body.String(), `"unsubscribed":true`) {
				t.Errorf("%s %s: %s", compat, param.query, w.Body)
			}
			if got := b.page(b.full, "/contacts?segment_id="+b.segment).ids(); len(got) != 1 {
				t.Errorf("%s %s: the segment has %q", compat, param.query, got)
			}
			topics := b.call("GET", "/contacts/"+id+"/topics", "").Body.String()
			if !strings.Contains(topics, `"name":"In","description":"d","subscription":"opt_out"`) || !strings.Contains(topics, `"name":"Out","description":null,"subscription":"opt_in"`) {
				t.Errorf("%s %s: %s", compat, param.query, topics)
			}
		}
		wantError(t, b.call("POST", "/contacts?on_conflict=skip", `{"email":"ann@example.org","segment_id":"`+unknownID+`"}`), 404, app.CodeNotFound, "segment")
		// In another team the address is new, and the segment unknown.
		wantStatus(t, b.as(b.foreign, "POST", "/contacts?on_conflict=skip", `{"email":"ann@example.org"}`), 201)
		wantError(t, b.as(b.foreign, "POST", "/contacts?on_conflict=skip", again), 404, app.CodeNotFound, "segment")
	}
}

func TestContactSegmentFields(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	var ids []string
	for i := range 4 {
		w := b.call("POST", "/segments", fmt.Sprintf(`{"name":"s%d"}`, i))
		ids = append(ids, strings.Split(w.Body.String(), `"`)[7])
	}
	id := b.create(fmt.Sprintf(`{"email":"ann@example.org","audience_id":%q,"segment_id":%q,"segments":[%q,{"id":%q}],"properties":[]}`, ids[0], strings.ToUpper(ids[1]), ids[2], ids[3]))
	if got := b.page(b.full, "/contacts/"+id+"/segments").ids(); len(got) != 4 {
		t.Fatalf("in %q", got)
	}
	w := b.batch("", fmt.Sprintf(`[{"email":"bob@example.org","audience_id":%q}]`, ids[0]))
	wantStatus(t, w, 201)
	if got := b.page(b.full, "/contacts?segment_id="+ids[0]).ids(); len(got) != 2 {
		t.Errorf("the first segment has %q", got)
	}
	for _, field := range []string{`"audience_id":%q`, `"segment_id":%q`, `"segments":[%q]`, `"segments":[{"id":%q}]`} {
		b.id(200, "PATCH", "/contacts/"+id, "{"+fmt.Sprintf(field, ids[0])+"}")
		wantError(t, b.call("PATCH", "/contacts/"+id, "{"+fmt.Sprintf(field, b.segment)+"}"), 422, app.CodeValidation, "POST /contacts/{contact}/segments/{segment}")
		wantError(t, b.call("PATCH", "/contacts/"+id, "{"+fmt.Sprintf(field, unknownID)+"}"), 422, app.CodeValidation, strings.Split(strings.Split(field, `"`)[1], `"`)[0])
	}
	picked := b.call("POST", "/segments", `{"name":"all","filter":{"match":"all","conditions":[]}}`)
	b.id(200, "PATCH", "/contacts/"+id, `{"segment_id":"`+strings.Split(picked.Body.String(), `"`)[7]+`"}`)
}

func TestContactChangesAddress(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	id := b.create(`{"email":"ann@example.org","first_name":"Ann","segment_id":"` + b.segment + `"}`)
	b.create(`{"email":"bob@example.org"}`)
	wantStatus(t, b.as(b.foreign, "POST", "/contacts", `{"email":"ann@example.net"}`), 201)
	wantError(t, b.call("PATCH", "/contacts/"+id, `{"email":"BOB@example.org"}`), 409, app.CodeConflict)
	for _, bad := range []string{"x", "Ann <ann@example.org>"} {
		wantError(t, b.call("PATCH", "/contacts/"+id, `{"email":"`+bad+`"}`), 422, app.CodeValidation, "`email`")
	}
	b.id(200, "PATCH", "/contacts/ann@example.org", `{"email":"ANN@example.org"}`)
	if w := b.call("GET", "/contacts/"+id, ""); !strings.Contains(w.Body.String(), `"email":"ann@example.org"`) {
		t.Errorf("an echo changed it: %s", w.Body)
	}
	b.id(200, "PATCH", "/contacts/"+id, `{"email":"Ann@example.org"}`)
	if w := b.call("GET", "/contacts/"+id, ""); !strings.Contains(w.Body.String(), `"email":"Ann@example.org"`) {
		t.Errorf("%s", w.Body)
	}
	if moved := b.id(200, "PATCH", "/contacts/ann@example.org", `{"email":"ann@example.net","last_name":"Lee"}`); moved != id {
		t.Errorf("another contact: %s", moved)
	}
	wantError(t, b.call("GET", "/contacts/ann@example.org", ""), 404, app.CodeNotFound)
	w := b.call("GET", "/contacts/ann@example.net", "")
	if !strings.Contains(w.Body.String(), id) || !strings.Contains(w.Body.String(), `"first_name":"Ann","last_name":"Lee"`) {
		t.Errorf("%s", w.Body)
	}
	if got := b.page(b.full, "/contacts?segment_id="+b.segment).ids(); len(got) != 1 || got[0] != id {
		t.Errorf("the segment has %q", got)
	}
	b.create(`{"email":"ann@example.org"}`) // it is free
	wantError(t, b.call("PATCH", "/contacts/"+id, `{"email":"ann@example.org"}`), 409, app.CodeConflict)
}

// Each route with path parameters accepts a body that repeats them, under any name, and no other
// value.
func TestRedundantIDsOnEveryRoute(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	b := newContactAPI(t)
	tried := 0
	b.handler.OpenAPI() // describes the operations
	for id, op := range b.handler.Operations() {
		if op.RequestBody == nil || !strings.Contains(op.Path, "{") || op.Route.Public || op.Route.Person || op.Route.Operator || id == "import-domain-reports" { // its body is a file
			continue
		}
		path, names := op.Path, []string{"id"}
		for kind, more := range map[string][]string{
			"segments": {"segment_id", "audience_id"}, "audiences": {"audience_id", "segment_id"}, "contacts": {"contact_id"}, "topics": {"topic_id"}, "templates": {"template_id"}, "blocks": {"block_id"}, "feeds": {"feed_id"}, "forms": {"form_id"}, "automations": {"automation_id"}, "events": {"event_id"},
			"broadcasts": {"broadcast_id"}, "domains": {"domain_id"}, "webhooks": {"webhook_id"}, "members": {"member_id"}, "api-keys": {"api_key_id"},
			"emails": {"email_id"}, "images": {"image_id"}, "routes": {"route_id"}, "contact-properties": {"contact_property_id", "property_id"},
		} {
			if strings.HasPrefix(path, "/"+kind+"/") {
				names = append(names, more...)
			}
		}
		if len(names) == 1 {
			t.Errorf("%s: what does %s name?", id, path)
		}
		tried++
		for _, param := range []string{"{id}", "{contact_id}", "{segment_id}", "{event_id}"} {
			path = strings.ReplaceAll(path, param, unknownID)
		}
		for _, name := range names {
			for value, fits := range map[string]bool{unknownID: true, strings.ToUpper(unknownID): true, "": true, emailID: false} {
				w := b.call(op.Method, path, `{"`+name+`":"`+value+`"}`)
				// An error for another member, or a 404, means that the member was accepted.
				blamed := w.Code == 422 && strings.Contains(w.Body.String(), "`"+name+"`")
				if blamed == fits && !(w.Code == 404 && !fits && strings.HasPrefix(path, "/contacts/") || w.Code == 404 && strings.HasPrefix(path, "/audiences/")) {
					t.Errorf("%s %s with %s %q: %d %s", op.Method, op.Path, name, value, w.Code, w.Body)
				}
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d routes", tried)
	}
}

func TestUnknownFilterIsRefused(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	for target, words := range map[string][]string{
		"/contacts?segment=" + b.segment:                         {"`segment`", "use `segment_id`"},
		"/contacts?segmentId=" + b.segment:                       {"`segmentId`", "use `segment_id`"},
		"/contacts?audience_id=" + b.segment:                     {"`audience_id`", "use `segment_id`"},
		"/contacts?email=ann@example.org":                        {"`email` is a field of the rows and no filter of this list, which takes `after`, `before`, `include`, `limit`, `search`, `segment_id`, `state`, `topic_id`"},
		"/contacts?limt=3":                                       {"use `limit`"},
		"/emails?message_id=x":                                   {"`message_id` is a field"},
		"/templates?status=draft":                                {"`status` is a field"},
		"/suppressions?orign=bounce":                             {"use `origin`"},
		"/segments/" + b.segment + "/contacts?unsubscribed=true": {"`unsubscribed` is a field"},
	} {
		wantError(t, b.call("GET", target, ""), 422, app.CodeValidation, words...)
	}
	wantError(t, b.call("POST", "/contacts/batch?onconflict=upsert", `[{"email":"a@example.org"}]`), 422, app.CodeValidation, "use `on_conflict`")
	wantError(t, b.call("DELETE", "/contacts/"+unknownID+"?erased=true", ""), 422, app.CodeValidation, "use `erase`")
	for _, target := range []string{"/contacts?utm_source=x&foo=bar&sort=desc&page=2", "/audiences/" + b.segment + "/contacts?audience_id=" + b.segment + "&id=x",
		"/segments/" + b.segment + "?limit=1&after=x&before=y", "/segments?%zz=1", "/emails?order=asc"} {
		wantStatus(t, b.call("GET", target, ""), 200)
	}
}

func TestDefaultTLSIsAccepted(t *testing.T) {
	t.Parallel()
	b := newContactAPI(t)
	w := b.call("POST", "/domains", `{"name":"example.org","tls":"opportunistic"}`)
	wantStatus(t, w, 201)
	id := strings.Split(strings.Split(w.Body.String(), `"id":"`)[1], `"`)[0]
	wantError(t, b.call("POST", "/domains", `{"name":"example.net","tls":"enforced"}`), 422, app.CodeValidation, "`tls`")
	for _, tls := range []string{"opportunistic", "enforced"} {
		wantError(t, b.call("PATCH", "/domains/"+id, `{"tls":"`+tls+`"}`), 422, app.CodeValidation, "`tls`")
	}
}
