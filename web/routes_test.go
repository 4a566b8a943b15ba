package web

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestRoutesByAPI: a route, the page on which the owner of its destination decides, and the audit log.
func TestRoutesByAPI(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	before := len(r.logged(0))
	w := r.as(r.full, "POST", "/routes", `{"match":"Support@ACME.test","actions":[{"type":"webhook"},{"type":"forward","to":"Ann@Example.org"}]}`)
	if w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	id := decoded[struct{ ID string }](t, w).ID
	want := `"position":1,"match":"support@acme.test","actions":[{"type":"webhook"},{"type":"forward","to":"ann@example.org"}],"destinations":[{"address":"ann@example.org","status":"waiting"}]`
	for _, at := range []string{"/routes", "/routes/" + id} {
		if w := r.as(r.full, "GET", at, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
	for body, field := range map[string]string{
		`{"match":"ann","actions":[{"type":"drop"}]}`:                                 "`match`",
		`{"match":"+a","actions":[{"type":"webhook"},{"type":"forward"}]}`:            "`actions[1].to`",
		`{"match":"+a","actions":[{"type":"reply_with","template_id":"` + id + `"}]}`: "`actions[0].template_id`",
		`{"match":"+a","actions":[{"type":"drop"}],"position":9}`:                     "`position`",
	} {
		if w := r.as(r.full, "POST", "/routes", body); w.Code != 422 || !strings.Contains(w.Body.String(), field) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	sent := decoded[struct{ Data []struct{ ID string } }](t, r.as(r.full, "GET", "/emails", ""))
	if len(sent.Data) != 1 {
		t.Fatalf("%+v", sent)
	}
	link := regexp.MustCompile(`/forwarding/[\w-]+`).FindString(r.as(r.full, "GET", "/emails/"+sent.Data[0].ID, "").Body.String())
	press := func(body string) string {
		w := r.do("POST", link, body, "Content-Type: application/x-www-form-urlencoded")
		if w.Code != 200 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		return w.Body.String()
	}
	status := func(want string) {
		t.Helper()
		if w := r.as(r.full, "GET", "/routes/"+id, ""); !strings.Contains(w.Body.String(), `"status":"`+want+`"`) {
			t.Errorf("want %s: %s", want, w.Body)
		}
	}
	if w := r.do("GET", link, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "ann@example.org") || w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	press("")
	press("forwarding=x")
	status("waiting") // neither reading nor a form without its button agrees
	press(url.Values{"forwarding": {"agree"}}.Encode())
	status("agreed")
	press(url.Values{"forwarding": {"stop"}}.Encode())
	status("stopped")
	if w := r.do("GET", link+"x", ""); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := r.as(r.full, "DELETE", "/routes/"+id, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	actions := ""
	for _, e := range r.logged(before) {
		actions += e.Action + " "
	}
	if actions != "route.delete route.create " && actions != "route.create route.delete " {
		t.Errorf("audit log: %s", actions)
	}
}
