package web

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

type versionAnswer struct {
	ID        string
	N         int
	ChangedBy struct{ Type, ID string } `json:"changed_by"`
}

// versions returns the versions of a list.
func (a *audienceAPI) versions(target string) []versionAnswer {
	a.t.Helper()
	w := a.call("GET", target, "")
	wantStatus(a.t, w, 200)
	return decoded[struct{ Data []versionAnswer }](a.t, w).Data
}

func TestRestoreBroadcastVersion(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.broadcast(201, "POST", "/broadcasts", `{"from":"Acme <a@example.com>","subject":"One","html":"<p>1</p>","preview_text":"p","reply_to":"r@example.com"}`).ID
	at := "/broadcasts/" + id
	if got := a.versions(at + "/versions"); len(got) != 0 {
		t.Fatalf("a new draft has %+v", got)
	}
	a.broadcast(200, "PATCH", at, `{"subject":"Two","html":"<p>2</p>","preview_text":null,"reply_to":null}`)
	a.broadcast(200, "PATCH", at, `{"subject":"Three"}`) // within a minute: no version of its own
	a.broadcast(200, "PATCH", at, `{"subject":"Three"}`)
	if got := a.versions(at + "/versions"); len(got) != 1 || got[0].N != 1 || got[0].ChangedBy.Type != "key" || got[0].ChangedBy.ID == "" {
		t.Fatalf("after quick edits: %+v", got)
	}
	a.broadcast(200, "PATCH", at, `{"text":"four"}`)
	a.broadcast(200, "POST", at+"/versions/1/restore", "")
	got := a.broadcast(200, "GET", at, "")
	if got.Subject != "One" || *got.HTML != "<p>1</p>" || got.PreviewText == nil || len(got.ReplyTo) != 1 || got.Text != nil {
		t.Errorf("restored %+v", got)
	}
	kept := a.versions(at + "/versions")
	if len(kept) != 2 || kept[0].N != 2 {
		t.Fatalf("after the restore: %+v", kept)
	}
	a.broadcast(200, "POST", at+"/versions/"+kept[0].ID+"/restore", "")
	if got := a.broadcast(200, "GET", at, ""); got.Subject != "Three" || got.Text == nil || *got.Text != "four" {
		t.Errorf("restored by its id: %+v", got)
	}
	for _, n := range []string{"99", "0", "-1", "x", unknownID} {
		wantError(t, a.call("POST", at+"/versions/"+n+"/restore", ""), 404, app.CodeNotFound, "version")
	}
	wantError(t, a.as(a.foreign, "POST", at+"/versions/1/restore", ""), 404, app.CodeNotFound, "broadcast")
	wantError(t, a.as(a.foreign, "GET", at+"/versions", ""), 404, app.CodeNotFound, "broadcast")
	wantStatus(t, a.call("DELETE", at, ""), 200)
}

func TestRestoreTemplateVersion(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.published(`{"name":"T","alias":"t","from":"a@example.com","subject":"One {{{n}}}","html":"<p>1</p>","variables":[{"key":"n","type":"number","fallback_value":7}]}`)
	a.template(200, "PATCH", "/templates/t", `{"subject":"Two","variables":null}`)
	a.template(200, "PATCH", "/templates/t", `{"subject":"Three"}`)
	if got := a.versions("/templates/t/versions"); len(got) != 1 {
		t.Fatalf("kept %+v", got)
	}
	a.template(200, "POST", "/templates/t/versions/1/restore", "")
	got := decoded[struct {
		Subject   string
		Status    string
		Variables []struct {
			Key      string
			Fallback float64 `json:"fallback_value"`
		}
	}](t, a.call("GET", "/templates/"+id, ""))
	if got.Subject != "One {{{n}}}" || got.Status != "published" || len(got.Variables) != 1 || got.Variables[0].Fallback != 7 {
		t.Errorf("restored %+v", got)
	}
	wantError(t, a.call("POST", "/templates/t/versions/9/restore", ""), 404, app.CodeNotFound, "version")
	wantError(t, a.as(a.foreign, "GET", "/templates/"+id+"/versions", ""), 404, app.CodeNotFound, "template")
}

// Two people edit one draft: the second gets an error, and the first edit stays.
func TestRevisionConflict(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	type revised struct {
		Revision  string
		VersionID string `json:"current_version_id"`
		Subject   string
	}
	ask := func(method, target, body string) revised {
		t.Helper()
		w := a.call(method, target, body)
		wantStatus(t, w, 200)
		return decoded[revised](t, w)
	}
	at := "/broadcasts/" + a.broadcast(201, "POST", "/broadcasts", `{"from":"a@example.com","subject":"One","html":"<p>1</p>"}`).ID
	began := ask("GET", at, "").Revision
	first := ask("PATCH", at, `{"subject":"Two","revision":"`+began+`"}`).Revision
	if began == "" || first == began || first != ask("GET", at, "").Revision {
		t.Errorf("revisions are %q and then %q", began, first)
	}
	wantError(t, a.call("PATCH", at, `{"subject":"Three","revision":"`+began+`"}`), 409, app.CodeConflict, "changed since it was read")
	if got := ask("GET", at, "").Subject; got != "Two" {
		t.Errorf("the refused change is there: %q", got)
	}
	ask("PATCH", at, `{"subject":"Three","revision":"`+first+`"}`)

	at = "/templates/" + a.published(`{"name":"T","from":"a@example.com","subject":"One","html":"<p>1</p>"}`)
	began = ask("GET", at, "").VersionID
	first = ask("PATCH", at, `{"subject":"Two","revision":"`+began+`"}`).VersionID
	wantError(t, a.call("PATCH", at, `{"subject":"Three","revision":"`+began+`"}`), 409, app.CodeConflict, "changed since it was read")
	ask("PATCH", at, `{"subject":"Three","revision":"`+first+`"}`)
}

func TestGetVersion(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	at := "/broadcasts/" + a.broadcast(201, "POST", "/broadcasts", `{"from":"Acme <a@example.com>","subject":"One","html":"<p>1</p>","preview_text":"p","reply_to":"r@example.com"}`).ID
	a.broadcast(200, "PATCH", at, `{"subject":"Two","html":"<p>2</p>"}`)
	w := a.call("GET", at+"/versions/1", "")
	wantStatus(t, w, 200)
	got := decoded[broadcastAnswer](t, w)
	if got.Subject != "One" || *got.HTML != "<p>1</p>" || *got.PreviewText != "p" || len(got.ReplyTo) != 1 || got.Text != nil {
		t.Errorf("it says %+v", got)
	}
	wantError(t, a.call("GET", at+"/versions/2", ""), 404, app.CodeNotFound, "version")
	wantError(t, a.as(a.foreign, "GET", at+"/versions/1", ""), 404, app.CodeNotFound, "broadcast")
	at = "/templates/" + a.published(`{"name":"T","from":"a@example.com","subject":"One","html":"<p>1</p>"}`)
	wantStatus(t, a.call("PATCH", at, `{"html":"<p>2</p>"}`), 200)
	w = a.call("GET", at+"/versions/1", "")
	wantStatus(t, w, 200)
	if got := decoded[broadcastAnswer](t, w); *got.HTML != "<p>1</p>" || got.Subject != "One" {
		t.Errorf("it says %+v", got)
	}
	wantError(t, a.as(a.foreign, "GET", at+"/versions/1", ""), 404, app.CodeNotFound, "template")
}
