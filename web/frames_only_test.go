package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mailer/app"
)

// opened requests a URL like a browser that navigates to it.
func (r *testAPI) opened(path, destination string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", path, nil)
	if destination != "" {
		request.Header.Set("Sec-Fetch-Dest", destination)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	return w
}

// TestMailContentInFramesOnly: a tenant's HTML is never a page of this server's origin.
func TestMailContentInFramesOnly(t *testing.T) {
	r := newTestAPI(t, captured())
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":"<h1>Sign in to your bank</h1>"}`)
	w := r.as(r.full, "POST", "/emails/"+id+"/preview", "")
	wantStatus(t, w, 200)
	preview, err := url.Parse(*decoded[frameAnswer](t, w).URL)
	if err != nil {
		t.Fatal(err)
	}
	w = r.as(r.full, "POST", "/emails/"+id+"/share", "")
	wantStatus(t, w, 200)
	shared, err := url.Parse(*decoded[frameAnswer](t, w).URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{"iframe", "frame", ""} {
		for _, path := range []string{preview.Path, shared.Path + "/body"} {
			if w := r.opened(path, frame); w.Code != 200 || !strings.Contains(w.Body.String(), "<h1>Sign in") || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s for %q: %d %s %v", path, frame, w.Code, w.Body, w.Header())
			}
		}
	}
	for _, other := range []string{"document", "object", "embed", "empty", "image"} {
		if w := r.opened(preview.Path, other); w.Code != 403 || strings.Contains(w.Body.String(), "bank") {
			t.Errorf("the preview for %s: %d %s", other, w.Code, w.Body)
		}
		w := r.opened(shared.Path+"/body", other)
		to, err := (&url.URL{Path: shared.Path + "/body"}).Parse(w.Header().Get("Location"))
		if err != nil || w.Code != 303 || to.Path != shared.Path || strings.Contains(w.Body.String(), "bank") {
			t.Errorf("the shared mail for %s: %d to %v: %s", other, w.Code, to, w.Body)
		}
	}
	if w := r.opened(shared.Path, "document"); w.Code != 200 || !strings.Contains(w.Body.String(), "<iframe") {
		t.Errorf("the page around it: %d %s", w.Code, w.Body)
	}
}

// TestScriptsCannotReadAttachments: what a tenant attached is no answer of the API to a page.
func TestScriptsCannotReadAttachments(t *testing.T) {
	r := newTestAPI(t, captured())
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","text":"t","attachments":[{"filename":"a.json","content":"e30=","content_type":"application/json"}]}`)
	list := decoded[struct {
		Data []struct {
			DownloadURL string `json:"download_url"`
		}
	}](t, r.as(r.full, "GET", "/emails/"+id+"/attachments", ""))
	if len(list.Data) != 1 {
		t.Fatalf("%+v", list)
	}
	at, err := url.Parse(list.Data[0].DownloadURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		destination, mode string
		status            int
	}{{"", "", 200}, {"document", "navigate", 200}, {"empty", "no-cors", 200}, {"", "cors", 200}, {"empty", "cors", 403}} {
		request := httptest.NewRequest("GET", at.Path, nil)
		request.Header.Set("Sec-Fetch-Dest", tt.destination)
		request.Header.Set("Sec-Fetch-Mode", tt.mode)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, request)
		if tt.status == 403 {
			wantError(t, w, 403, app.CodeForbidden)
		} else if w.Code != tt.status || w.Body.String() != "{}" || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%+v: %d %s", tt, w.Code, w.Body)
		}
	}
}

// TestSharedMailImages: none is fetched before the reader asks for them.
func TestSharedMailImages(t *testing.T) {
	r := newTestAPI(t, captured())
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":"<img src=\"https://img.example/a.png\">"}`)
	w := r.as(r.full, "POST", "/emails/"+id+"/share", "")
	wantStatus(t, w, 200)
	shared, err := url.Parse(*decoded[frameAnswer](t, w).URL)
	if err != nil {
		t.Fatal(err)
	}
	pictures := func(path, destination string) bool {
		return strings.Contains(r.opened(path, destination).Header().Get("Content-Security-Policy"), "img-src data: https:")
	}
	page := r.opened(shared.Path, "document").Body.String()
	if !strings.Contains(page, `href="?images=true"`) || pictures(shared.Path+"/body", "iframe") {
		t.Errorf("before it is asked for: %s", page)
	}
	page = r.opened(shared.Path+"?images=true", "document").Body.String()
	if !strings.Contains(page, `/body?images=true"`) || strings.Contains(page, `href="?images=true"`) || !pictures(shared.Path+"/body?images=true", "iframe") {
		t.Errorf("afterwards: %s", page)
	}
	gone := r.opened(shared.Path+"x", "document")
	if gone.Code != 404 || !strings.Contains(gone.Body.String(), "expired") {
		t.Errorf("a link that does not count: %d %s", gone.Code, gone.Body)
	}
}
