package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/jpeg"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/kit/membudget"
	"mailer/app/rules/brand"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/web/rest"
)

// brandShown is what the tests read of a brand.
type brandShown struct {
	LogoURL         string `json:"logo_url"`
	LogoWidth       int    `json:"logo_width"`
	Color, Font     string
	Footer, Warning string
	FontStack       string `json:"font_stack"`
}

// aLogo returns the body of an upload of a JPEG that needs a memory reservation to be served.
func aLogo(t *testing.T) (body string) {
	t.Helper()
	noise := image.NewGray(image.Rect(0, 0, 600, 200))
	for i, seed := range noise.Pix {
		noise.Pix[i] = seed + byte(i*i>>7) ^ byte(i*31)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, noise, &jpeg.Options{Quality: 100}); err != nil || b.Len() <= membudget.FreeBytes {
		t.Fatal(b.Len(), err)
	}
	return `{"content":"` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"}`
}

func TestBrandOnHostedPages(t *testing.T) {
	t.Parallel()
	p := newPages(t, func(cfg *Config, _ *rest.Limits) { cfg.OneHost = true })
	change := func(method, path, body string) (b brandShown) {
		t.Helper()
		w := p.as(p.key, method, path, body)
		wantStatus(t, w, 200)
		if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	style := func() string {
		t.Helper()
		w := p.do("GET", p.all.unsubscribe, "")
		text := textOf(elements(t, w, "style")[0])
		sum := sha256.Sum256([]byte(text))
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
			t.Errorf("the policy forbids the style: %s", policy)
		}
		return text
	}
	if before := style(); strings.Contains(before, "2450c8") || strings.Count(before, "--accent: ") != 2 {
		t.Error("the default is not ink")
	}
	b := change("PATCH", "/team/brand", `{"color":"#FFD400","font":"georgia","footer":"ACME\r\n1 Main St"}`)
	if b.Color != "#ffd400" || b.Font != "georgia" || b.Footer != "ACME\n1 Main St" || !strings.Contains(b.Warning, "1.4:1") || !strings.Contains(b.FontStack, "Georgia") {
		t.Errorf("%+v", b)
	}
	// Yellow: black on the button, links as text on the light card and yellow on the dark one.
	for _, want := range []string{"--accent: #ffd400;", "--on-accent: #000000;", "--link: var(--text);", "--link: #ffd400;", "font-family: Georgia"} {
		if !strings.Contains(style(), want) {
			t.Errorf("no %s in %s", want, style())
		}
	}
	if now := change("PATCH", "/team/brand", `{"color":"#1f4fd8","footer":null}`); now.Warning != "" || now.Footer != "" || now.Font != "georgia" {
		t.Errorf("%+v", now)
	}
	if now := style(); !strings.Contains(now, "--on-accent: #ffffff; --link: #1f4fd8;") {
		t.Error(now)
	}

	body := aLogo(t)
	b = change("POST", "/team/logo", body)
	path, found := strings.CutPrefix(b.LogoURL, "https://mail.example.com/i/")
	if !found || b.LogoWidth != 600 {
		t.Fatalf("%+v", b)
	}
	w := p.do("GET", p.topic.preferences, "")
	if images := elements(t, w, "img"); len(images) != 1 || attr(images[0], "src") != "../i/"+path || !strings.Contains(w.Header().Get("Content-Security-Policy"), "; img-src 'self'") {
		t.Errorf("%s\n%v", w.Body, w.Header())
	}
	for _, host := range []string{"mail.example.com", "links.shop.example"} {
		w = httptest.NewRecorder()
		p.handler.ServeHTTP(w, httptest.NewRequest("GET", "http://"+host+"/i/"+path, nil))
		if shown, err := jpeg.Decode(w.Body); w.Code != 200 || err != nil || shown.Bounds().Dx() != 600 {
			t.Fatalf("at %s: %d %v %v", host, w.Code, err, w.Header())
		}
		for name, want := range map[string]string{
			"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Set-Cookie": "", "Cross-Origin-Resource-Policy": "cross-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if w = p.do("HEAD", "/i/"+path, ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
	change("DELETE", "/team/logo", "")
	for _, gone := range []string{path, strings.TrimSuffix(path, "jpg") + "png", "x", strings.ToUpper(path), "..%2f" + path, strings.TrimSuffix(path, ".jpg")} {
		if w = p.do("GET", "/i/"+gone, ""); w.Code != 404 || w.Body.Len() > 0 || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", gone, w.Code, w.Header())
		}
	}
	if w = p.do("GET", p.topic.preferences, ""); len(elements(t, w, "img")) != 0 || strings.Contains(w.Header().Get("Content-Security-Policy"), "img-src") {
		t.Errorf("still a logo: %s", w.Body)
	}
}

// TestRemoteLogoInPolicy but its own origin.
func TestRemoteLogoInPolicy(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for address, want := range map[string]string{
		"https://cdn.example/a;b.png?x='y'":     "; img-src https://cdn.example",
		"https://cdn.example:8443/l.png":        "; img-src https://cdn.example:8443",
		"https://cdn.example;script-src*/l.png": "",
		"https://*/l.png":                       "",
		"https://cdn.example,default-src/l.png": "",
		"https://b\u00fccher.example/l.png":     "",
	} {
		body, _ := json.Marshal(map[string]string{"logo_url": address})
		wantStatus(t, p.as(p.key, "PATCH", "/team", string(body)), 200)
		w := p.do("GET", p.all.unsubscribe, "")
		policy := w.Header().Get("Content-Security-Policy")
		_, rest, _ := strings.Cut(policy, "; frame-ancestors 'self'")
		if rest != want || (want != "") != (len(elements(t, w, "img")) == 1) {
			t.Errorf("%s: %s", address, policy)
		}
	}
}

// TestOwnHostedPage changes colours, texts and link of the hosted pages.
func TestOwnHostedPage(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	p := newPages(t)
	p.domain(p.garden.ID, "shop.example", true)
	p.domain(p.garden.ID, "new.example", false)
	other, _ := p.newTeam("Other")
	p.domain(other.ID, "other.example", true)
	for want, page := range map[string]string{
		"`page.text_color` has a contrast of 1.4:1":                     `{"card_color":"#ffd400","text_color":"#ffffff"}`,
		"`page.after_unsubscribe_url` must be at a verified domain":     `{"after_unsubscribe_url":"https://new.example/"}`,
		"`page.after_unsubscribe_url` must be at a verified domain of ": `{"after_unsubscribe_url":"https://www.other.example/"}`,
		"evil-shop.example is not":                                      `{"after_unsubscribe_url":"https://evil-shop.example/"}`,
		"shop.example.evil.example is not":                              `{"after_unsubscribe_url":"https://shop.example.evil.example/"}`,
		"`page.texts[0].language`":                                      `{"texts":[{"language":"tlh"}]}`,
	} {
		wantError(t, p.as(p.key, "PATCH", "/team", `{"page":`+page+`}`), 422, app.CodeValidation, want)
	}
	const own = `{"background_color":"#002244","card_color":"#101318","text_color":"#E9ECF1","texts":[{"language":"en","unsubscribe":"Sorry <b>to</b>\nsee you go","unsubscribed":"Come back","preferences":"Pick some","link":"Back to the shop"},{"language":"de","unsubscribed":"Auf bald"}],"after_unsubscribe_url":"https://www.shop.example/bye?a=1&b=2"}`
	w := p.as(p.key, "PATCH", "/team", `{"page":`+own+`}`)
	wantStatus(t, w, 200)
	if shown := decoded[struct{ Page map[string]any }](t, w).Page; shown["text_color"] != "#e9ecf1" || len(shown["texts"].([]any)) != 2 {
		t.Errorf("%v", shown)
	}
	ask := p.do("GET", p.all.unsubscribe, "")
	for _, want := range []string{`<p dir="auto">Sorry &lt;b&gt;to&lt;/b&gt;</p>`, `<p dir="auto">see you go</p>`, "color-scheme: dark; --ground: #002244; --card: #101318;", "--text: #e9ecf1;"} {
		if !strings.Contains(ask.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, ask.Body)
		}
	}
	if strings.Contains(ask.Body.String(), "shop.example") {
		t.Error("the page that asks has the link")
	}
	if w := p.do("GET", p.topic.preferences, ""); !strings.Contains(w.Body.String(), "Pick some") {
		t.Errorf("%s", w.Body)
	}
	done := p.do("POST", p.all.unsubscribe, "List-Unsubscribe=One-Click", "Content-Type: application/x-www-form-urlencoded")
	const link = `<a href="https://www.shop.example/bye?a=1&amp;b=2" rel="noopener noreferrer nofollow">`
	if done.Code != 200 || done.Header().Get("Location") != "" || !strings.Contains(done.Body.String(), link+"Back to the shop</a>") || !strings.Contains(done.Body.String(), "Come back") {
		t.Errorf("%d %v\n%s", done.Code, done.Header(), done.Body)
	}
	if w := p.do("GET", p.all.unsubscribe, "", "Accept-Language: de"); !strings.Contains(w.Body.String(), link+"www.shop.example</a>") || !strings.Contains(w.Body.String(), "Auf bald") {
		t.Errorf("%s", w.Body)
	}
	p.write(func(tx *db.Tx) error {
		return tx.Write(`UPDATE domains SET status = 'failed' WHERE name = 'shop.example'`)
	})
	if w := p.do("GET", p.all.unsubscribe, ""); strings.Contains(w.Body.String(), "shop.example") {
		t.Error("the link is shown though its domain is not verified any more")
	}
	wantStatus(t, p.as(p.key, "PATCH", "/team", `{"name":"Acme"}`), 200) // leaves the page
	if w := p.as(p.key, "PATCH", "/team", `{"page":null}`); !strings.Contains(w.Body.String(), `"page":null`) {
		t.Errorf("%s", w.Body)
	}
	if w := p.do("GET", p.all.unsubscribe, ""); strings.Contains(w.Body.String(), "Come back") || strings.Contains(w.Body.String(), "#101318;\n") {
		t.Errorf("%s", w.Body)
	}
}

func TestBrandFieldErrors(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	svg := base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`))
	large := base64.StdEncoding.EncodeToString(make([]byte, brand.MaxLogoBytes+1))
	for _, tt := range []struct{ method, path, body, part string }{
		{"PATCH", "/team/brand", `{"color":"red"}`, "`color`"},
		{"PATCH", "/team/brand", `{"font":"comic"}`, "`font`"},
		{"PATCH", "/team/brand", `{"footer":"` + strings.Repeat("x", brand.MaxFooter+1) + `"}`, "`footer`"},
		{"PATCH", "/team/brand", `{"logo":"x"}`, "`logo`"},
		{"POST", "/team/logo", `{"content":"` + svg + `"}`, "`content` is an SVG: use a PNG"},
		{"POST", "/team/logo", `{"content":"` + large + `"}`, "the limit is 512 KB"},
		{"POST", "/team/logo", `{"content":""}`, "`content` must not be empty"},
		{"POST", "/team/logo", `{"content":"###"}`, "`content`"},
		{"POST", "/team/logo", `{}`, "`content`"},
	} {
		wantError(t, r.as(r.full, tt.method, tt.path, tt.body), 422, app.CodeValidation, tt.part)
	}
	body := aLogo(t)
	member := r.key(r.team.ID, app.KeyInput{Role: app.RoleMember})
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	wantStatus(t, r.as(member, "GET", "/team/brand", ""), 200)
	for _, key := range []string{member, sending} {
		for _, call := range [][3]string{{"PATCH", "/team/brand", `{"color":"#000000"}`}, {"POST", "/team/logo", body}, {"DELETE", "/team/logo", ""}} {
			if w := r.as(key, call[0], call[1], call[2]); w.Code != 401 && w.Code != 403 {
				t.Errorf("%s %s: %d %s", call[0], call[1], w.Code, w.Body)
			}
		}
	}
}
