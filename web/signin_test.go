package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app/testing/testserver"
)

// visitor is a browser with cookies.
type visitor struct {
	r       *testAPI
	from    string // IP address
	cookies map[string]string
}

func (r *testAPI) visitor(from string) *visitor {
	return &visitor{r: r, from: from, cookies: map[string]string{}}
}

const sessionCookie = "__Host-mailer"

// ask sends a request with the browser's cookies and keeps those of the answer.
func (b *visitor) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	b.r.t.Helper()
	var cookies []string
	for name, value := range b.cookies {
		cookies = append(cookies, name+"="+value)
	}
	req := httptest.NewRequest(method, "https://mail.example.com"+target, strings.NewReader(body))
	req.RemoteAddr = b.from + ":1000"
	req.Header.Set("User-Agent", "Test/1")
	if len(cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.r.handler.ServeHTTP(w, req)
	b.r.checkAnswer(method, w)
	for _, line := range w.Result().Cookies() {
		if b.cookies[line.Name] = line.Value; line.MaxAge < 0 {
			delete(b.cookies, line.Name)
		}
	}
	return w
}

// want asks and proves the status of the answer, which is decoded.
func (b *visitor) want(status int, method, target, body string, headers ...string) map[string]any {
	b.r.t.Helper()
	w := b.ask(method, target, body, headers...)
	if w.Code != status {
		b.r.t.Fatalf("%s %s: %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		b.r.t.Fatal(err)
	}
	return out
}

const goodPassword = "correct horse battery"

// firstPerson makes the first account in a browser.
func (r *testAPI) firstPerson() *visitor {
	r.t.Helper()
	link, err := r.server.Accounts.SetupLink(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	_, code, _ := strings.Cut(link, "#")
	r.clock = time.Now() // sessions go by the store's
	b := r.visitor("192.0.2.1")
	b.want(200, "POST", "/auth/setup", `{"code":"`+code+`","email":"Ann@example.com","password":"`+goodPassword+`","name":"Ann"}`)
	return b
}

func TestSetupAndSignIn(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, relayed())
	link, err := r.server.Accounts.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil || u.Path != "/dashboard/setup" || u.RawQuery != "" {
		t.Fatalf("link %s: %v", link, err)
	}
	b := r.visitor("192.0.2.1")
	input := `{"code":"` + u.Fragment + `","email":"Ann@example.com","password":"` + goodPassword + `","team":"Acme"}`
	b.want(403, "POST", "/auth/setup", strings.Replace(input, u.Fragment, "x", 1))
	b.want(422, "POST", "/auth/setup", strings.Replace(input, goodPassword, "short", 1))
	b.want(422, "POST", "/auth/setup", strings.Replace(input, goodPassword, "password1234", 1))
	got := b.want(200, "POST", "/auth/setup", input)
	if user := got["user"].(map[string]any); user["email"] != "ann@example.com" || user["operator"] != true {
		t.Errorf("user %v", user)
	}
	if team := got["teams"].([]any)[0].(map[string]any); team["name"] != "Acme" || team["role"] != "owner" || team["id"] != r.team.ID {
		t.Errorf("team %v", team)
	}
	b.want(404, "POST", "/auth/setup", input)
	me := b.want(200, "GET", "/users/me", "")
	if me["email"] != "ann@example.com" || me["session"].(map[string]any)["address"] != "192.0.2.1" {
		t.Errorf("me %v", me)
	}
	b.want(200, "GET", "/emails", "", "X-Team: "+r.team.ID)
	b.want(404, "GET", "/emails", "", "X-Team: "+unknownID)
	stolen := b.cookies[sessionCookie]
	b.want(200, "POST", "/auth/sign-out", "")
	if b.cookies[sessionCookie] != "" {
		t.Error("the cookie stays")
	}
	b.cookies[sessionCookie] = stolen
	b.want(401, "GET", "/users/me", "")
	b.want(401, "POST", "/auth/sign-in", `{"email":"ann@example.com","password":"wrong"}`)
	b.want(200, "POST", "/auth/sign-in", `{"email":"ANN@example.com","password":"`+goodPassword+`"}`)
	b.want(200, "GET", "/users/me", "")
}

func TestSignInRotatesSession(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	planted := b.cookies[sessionCookie]
	b.want(200, "POST", "/auth/sign-in", `{"email":"ann@example.com","password":"`+goodPassword+`"}`)
	if b.cookies[sessionCookie] == planted {
		t.Fatal("the token stays")
	}
	thief := r.visitor("192.0.2.2")
	thief.cookies[sessionCookie] = planted
	thief.want(401, "GET", "/users/me", "")
	made := strings.Repeat("A", 43)
	victim := r.visitor("192.0.2.3")
	victim.cookies[sessionCookie] = made // planted by another
	victim.want(200, "POST", "/auth/sign-in", `{"email":"ann@example.com","password":"`+goodPassword+`"}`)
	thief.cookies[sessionCookie] = made
	thief.want(401, "GET", "/users/me", "")
}

func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	for _, headers := range [][]string{{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Origin: https://evil.example"}} {
		b.want(403, "PATCH", "/users/me", `{"name":"Eve"}`, headers...)
		b.want(403, "POST", "/auth/sign-out", "", headers...)
		b.want(403, "POST", "/auth/sign-in", `{"email":"ann@example.com","password":"`+goodPassword+`"}`, headers...)
	}
	if me := b.want(200, "PATCH", "/users/me", `{"name":"Anna","theme":"dark"}`, "Sec-Fetch-Site: same-origin", "Origin: https://mail.example.com"); me["name"] != "Anna" || me["theme"] != "dark" {
		t.Errorf("me %v", me)
	}
}

func TestListAndEndSessions(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	current := r.firstPerson()
	other, third := r.visitor("192.0.2.2"), r.visitor("192.0.2.3")
	for _, b := range []*visitor{other, third} {
		b.want(200, "POST", "/auth/sign-in", `{"email":"ann@example.com","password":"`+goodPassword+`"}`)
	}
	rows := current.want(200, "GET", "/users/me/sessions", "")["data"].([]any)
	if len(rows) != 3 || rows[2].(map[string]any)["current"] != true || rows[1].(map[string]any)["address"] != "192.0.2.2" {
		t.Fatalf("sessions %v", rows)
	}
	current.want(200, "DELETE", "/users/me/sessions/"+rows[1].(map[string]any)["id"].(string), "")
	other.want(401, "GET", "/users/me", "")
	third.want(200, "GET", "/users/me", "")
	if got := current.want(200, "DELETE", "/users/me/sessions", ""); got["ended"] != 1.0 {
		t.Errorf("ended %v", got)
	}
	third.want(401, "GET", "/users/me", "")
	current.want(200, "GET", "/users/me", "")
	current.want(404, "DELETE", "/users/me/sessions/"+unknownID, "")
}

// cookieLines returns the Set-Cookie headers of an answer.
func cookieLines(w *httptest.ResponseRecorder) []string { return w.Header().Values("Set-Cookie") }

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	lines := cookieLines(b.ask("POST", "/auth/sign-in", `{"email":"ann@example.com","password":"`+goodPassword+`"}`))
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, sessionCookie+"=") })
	if at < 0 {
		t.Fatalf("cookies %q", lines)
	}
	c, err := http.ParseSetCookie(lines[at])
	if err != nil || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 90*24*3600 {
		t.Errorf("%s: %v", lines[at], err)
	}
}
