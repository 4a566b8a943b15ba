package web

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
	"mailer/web/rest"
)

// shownImage is what the tests read of an image.
type shownImage struct {
	Object, ID, URL, Alt string
	ContentType          string `json:"content_type"`
	Width, Height, Bytes int
	Sizes                []struct {
		URL           string
		Width, Height int
	}
	UsedAt string `json:"used_at"`
}

// aPicture returns a PNG of several pieces.
func aPicture(t testing.TB, width, height int) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	seed := uint32(1)
	for i := range m.Pix {
		if seed = seed*1664525 + 1013904223; i%4 == 3 {
			m.Pix[i] = 255
		} else {
			m.Pix[i] = byte(seed >> 24)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A picture in a saved block is used: it stays for good, as the block's mail does.
func TestImageOfBlockIsUsed(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	add := func(width int) shownImage {
		t.Helper()
		body, header := form(t, field{"file", aPicture(t, width, 10)})
		return decoded[shownImage](t, r.as(r.full, "POST", "/images", body, header))
	}
	first, second := add(10), add(20)
	w := r.as(r.full, "POST", "/blocks", `{"name":"Logo","html":"<img src='`+first.URL+`'>"}`)
	wantStatus(t, w, 201)
	wantStatus(t, r.as(r.full, "PATCH", "/blocks/"+decoded[blockAnswer](t, w).ID, `{"html":"<img src='`+second.URL+`'>"}`), 200)
	for _, i := range []shownImage{first, second} {
		if w := r.as(r.full, "GET", "/images/"+i.ID, ""); decoded[shownImage](t, w).UsedAt == "" {
			t.Errorf("not used: %s", w.Body)
		}
	}
}

func TestImages(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	file := aPicture(t, 700, 50)
	body, header := form(t, field{"file", file}, field{"alt", " A tree "})
	w := r.as(r.full, "POST", "/images", body, header)
	wantStatus(t, w, 201)
	i := decoded[shownImage](t, w)
	name, found := strings.CutPrefix(i.URL, "https://mail.example.com/i/")
	if !found || i.Object != "image" || i.Width != 700 || i.Height != 50 || i.ContentType != "image/png" || i.Alt != "A tree" || i.UsedAt != "" || len(i.Sizes) != 2 ||
		i.Sizes[0].URL != i.URL || i.Sizes[1].URL != strings.TrimSuffix(i.URL, ".png")+"-600.png" || i.Sizes[1].Width != 600 || i.Sizes[1].Height != 43 {
		t.Fatalf("%s", w.Body)
	}
	for _, size := range i.Sizes {
		w := r.do("GET", strings.TrimPrefix(size.URL, "https://mail.example.com"), "")
		if m, err := png.Decode(w.Body); err != nil || m.Bounds().Dx() != size.Width {
			t.Errorf("%s: %d %v", size.URL, w.Code, err)
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Set-Cookie": "", "Cross-Origin-Resource-Policy": "cross-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if w := r.do("HEAD", "/i/"+name, ""); w.Code != 200 || w.Header().Get("Content-Length") != fmt.Sprint(i.Bytes) || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	base := strings.TrimSuffix(name, ".png")
	for _, none := range []string{base + ".jpg", base + "-700.png", base + "-1200.png", base + "-600.jpg", base + "-0600.png", base + "-.png", base, strings.ToUpper(base) + ".png", "..%2f" + name, strings.Repeat("0", 32) + ".png"} {
		if w := r.do("GET", "/i/"+none, ""); w.Code != 404 || w.Body.Len() > 0 || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", none, w.Code, w.Header())
		}
	}
	// The same in JSON.
	w = r.as(r.full, "POST", "/images", `{"content":"`+base64.StdEncoding.EncodeToString([]byte(file))+`","alt":"Another tree"}`)
	wantStatus(t, w, 201)
	if again := decoded[shownImage](t, w); again.ID != i.ID || again.Alt != "Another tree" {
		t.Errorf("%s", w.Body)
	}
	path := "/images/" + i.ID
	wantStatus(t, r.as(r.full, "PATCH", path, `{}`), 200)
	for body, want := range map[string]string{`{"alt":"An oak"}`: `"alt":"An oak"`, `{"alt":null}`: `"alt":null`} {
		if w := r.as(r.full, "PATCH", path, body); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", body, w.Body)
		}
		if w := r.as(r.full, "GET", path, ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("after %s: %s", body, w.Body)
		}
	}
	if w := r.as(r.full, "GET", "/images?limit=1", ""); !strings.Contains(w.Body.String(), i.ID) || !strings.Contains(w.Body.String(), `"has_more":false`) {
		t.Errorf("%s", w.Body)
	}
	content := r.as(r.full, "GET", path+"/content", "")
	if m, err := png.Decode(content.Body); err != nil || m.Bounds().Dx() != 600 || content.Header().Get("Content-Type") != "image/png" || content.Header().Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
		t.Errorf("the content: %d %v %v", content.Code, err, content.Header())
	}
	wantStatus(t, r.as(r.full, "POST", "/emails", `{"from":"a@shop.example","to":"b@example.net","subject":"s","html":"<img src='`+i.URL+`'>"}`), 200)
	if w := r.as(r.full, "GET", path, ""); decoded[shownImage](t, w).UsedAt == "" {
		t.Errorf("not used: %s", w.Body)
	}
	wantError(t, r.as(r.full, "DELETE", path, ""), 409, app.CodeConflict, "force=true")
	wantError(t, r.as(r.full, "DELETE", path+"?force=yes", ""), 422, app.CodeValidation, "`force`")
	if w := r.as(r.full, "DELETE", path+"?force=true", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"deleted":true`) {
		t.Errorf("%s", w.Body)
	}
	if w := r.do("GET", "/i/"+name, ""); w.Code != 404 {
		t.Errorf("a deleted image: %d", w.Code)
	}
	wantError(t, r.as(r.full, "GET", path, ""), 404, app.CodeNotFound)
}

// TestImagesAtHosts: the pages host serves images, and nothing that has a session or a key.
func TestImagesAtHosts(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.PagesHost = "pages.internal"
	r := newTestAPI(t, cfg, func(cfg *Config, _ *rest.Limits) { cfg.OneHost, cfg.PagesHost = true, "pages.internal" })
	r.newTeam("Other")
	body, header := form(t, field{"file", aPicture(t, 20, 20)})
	w := r.as(r.full, "POST", "/images", body, header)
	wantStatus(t, w, 201)
	url := decoded[shownImage](t, w).URL
	path, found := strings.CutPrefix(url, "https://pages.internal")
	if !found {
		t.Fatal(url)
	}
	ask := func(host, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest("GET", path, nil)
		q.Host = host
		q.Header.Set("Authorization", "Bearer "+r.full)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		return w
	}
	for host, want := range map[string]int{"pages.internal": 200, "PAGES.internal.:443": 200, "mail.example.com": 404, "links.tenant.test": 404, "127.0.0.1": 404} {
		if w := ask(host, path); w.Code != want {
			t.Errorf("at %s: %d", host, w.Code)
		}
	}
	for _, path := range []string{"/dashboard/sign-in", "/emails", "/images", "/manual", "/openapi.json", "/"} {
		if w := ask("pages.internal", path); w.Code != 404 || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s at the pages host: %d", path, w.Code)
		}
	}
}

func TestImageUploadErrors(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	cfg := captured()
	cfg.MaxImages = 8 << 10
	r := newTestAPI(t, cfg)
	const json = "Content-Type: application/json"
	multi := func(fields ...field) [2]string {
		body, header := form(t, fields...)
		return [2]string{body, header}
	}
	content := func(file string) [2]string {
		return [2]string{`{"content":"` + base64.StdEncoding.EncodeToString([]byte(file)) + `"}`, json}
	}
	small := aPicture(t, 9, 9)
	for name, tt := range map[string]struct {
		sent   [2]string
		status int
		code   app.Code
		part   string
	}{
		"SVG":             {multi(field{"file", `<svg xmlns="http://www.w3.org/2000/svg"/>`}), 422, app.CodeValidation, "`file` is an SVG: use a PNG, a JPEG, a GIF"},
		"SVG in JSON":     {content(`<svg xmlns="http://www.w3.org/2000/svg"/>`), 422, app.CodeValidation, "`content` is an SVG"},
		"HTML":            {multi(field{"file", "<!doctype html>"}), 422, app.CodeValidation, "`file` is not a picture"},
		"no file":         {multi(field{"alt", "x"}), 422, app.CodeValidation, "`file` is required"},
		"empty file":      {multi(field{"file", ""}), 422, app.CodeValidation, "`file` must not be empty"},
		"two files":       {multi(field{"file", small}, field{"file", small}), 422, app.CodeValidation, "`file` is there more than once"},
		"unknown field":   {multi(field{"file", small}, field{"name", "x"}), 422, app.CodeValidation, "`name`"},
		"unknown member":  {[2]string{`{"content":"","name":"x"}`, json}, 422, app.CodeValidation, "`name`"},
		"long text":       {multi(field{"file", small}, field{"alt", strings.Repeat("x", app.MaxImageAlt+1)}), 422, app.CodeValidation, "`alt` must be one line"},
		"no base64":       {[2]string{`{"content":"###"}`, json}, 422, app.CodeValidation, "`content`"},
		"no JSON":         {[2]string{`{"content":`, json}, 400, app.CodeInvalidPayload, ""},
		"no form":         {[2]string{"x", "Content-Type: multipart/form-data; boundary=x"}, 400, app.CodeInvalidPayload, ""},
		"above 5 MiB":     {multi(field{"file", strings.Repeat("x", app.MaxImageFile+1)}), 422, app.CodeValidation, "the limit is 5120 KB"},
		"above the body":  {multi(field{"file", strings.Repeat("x", 8<<20)}), 413, app.CodePayloadTooLarge, "larger than"},
		"above the limit": {multi(field{"file", aPicture(t, 60, 60)}), 413, app.CodePayloadTooLarge, "The images of this team may take 8.0 KiB"},
	} {
		w := r.as(r.full, "POST", "/images", tt.sent[0], tt.sent[1])
		if w.Code != tt.status || !strings.Contains(w.Body.String(), string(tt.code)) || !strings.Contains(w.Body.String(), strings.ReplaceAll(tt.part, `"`, `\"`)) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := r.as(r.full, "GET", "/images", ""); !strings.Contains(w.Body.String(), `"data":[]`) {
		t.Errorf("left: %s", w.Body)
	}
	sent := multi(field{"file", small})
	wantStatus(t, r.as(r.key(r.team.ID, app.KeyInput{Role: app.RoleMember}), "POST", "/images", sent[0], sent[1]), 201)
	wantStatus(t, r.as(r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), "POST", "/images", sent[0], sent[1]), 403)
}
