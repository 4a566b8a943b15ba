package web

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

const annSignsIn = `{"email":"ann@example.com","password":"` + goodPassword + `"}`

// withTOTP enables one-time passwords, and returns the secret and the recovery codes.
func (b *visitor) withTOTP() (secret string, codes []any) {
	b.r.t.Helper()
	offer := b.want(200, "POST", "/users/me/totp", "")
	secret = offer["secret"].(string)
	b.want(422, "POST", "/users/me/totp/confirm", `{"code":"000"}`)
	on := b.want(200, "POST", "/users/me/totp/confirm", `{"code":"`+oneTime(b.r.t, secret, -1)+`"}`)
	return secret, on["recovery_codes"].([]any)
}

// oneTime is the password of a step from now.
func oneTime(t testing.TB, secret string, steps int) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestPartialSession(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	secret, codes := b.withTOTP()
	if len(codes) != 10 {
		t.Fatalf("codes %v", codes)
	}
	b.want(409, "POST", "/users/me/totp", "")
	partial := r.visitor("192.0.2.7")
	got := partial.want(200, "POST", "/auth/sign-in", annSignsIn)
	if fmt.Sprint(got) != "map[second_factor:[totp]]" {
		t.Fatalf("half: %v", got)
	}
	for _, op := range r.sessionOperations() {
		if op.path != "/auth/totp" {
			w := partial.ask(op.method, strings.ReplaceAll(op.path, "{id}", unknownID), "{}", "X-Team: "+r.team.ID)
			if w.Code != 401 {
				t.Errorf("%s: %d %s", op, w.Code, w.Body)
			}
		}
	}
	if w := partial.ask("GET", "/emails", "", "X-Team: "+r.team.ID); w.Code != 401 {
		t.Errorf("mail: %d", w.Code)
	}
	partial.want(422, "POST", "/auth/totp", `{}`)
	partial.want(401, "POST", "/auth/totp", `{"code":"12"}`)
	before := partial.cookies[sessionCookie]
	code := oneTime(t, secret, 0)
	partial.want(200, "POST", "/auth/totp", `{"code":"`+code+`"}`)
	if partial.cookies[sessionCookie] == before {
		t.Error("the token of the half session stays")
	}
	partial.want(200, "GET", "/users/me", "")
	replay := r.visitor("192.0.2.8")
	replay.want(200, "POST", "/auth/sign-in", annSignsIn)
	replay.want(401, "POST", "/auth/totp", `{"code":"`+code+`"}`)
	recovery := fmt.Sprintf(`{"recovery_code":"%s"}`, strings.ToUpper(codes[3].(string)))
	replay.want(200, "POST", "/auth/totp", recovery)
	replay.want(200, "POST", "/auth/sign-in", annSignsIn)
	replay.want(401, "POST", "/auth/totp", recovery)
	me := partial.want(200, "GET", "/users/me", "")
	if fmt.Sprint(me["second_factor"]) != "[totp]" || me["recovery_codes"] != 9.0 {
		t.Errorf("me %v", me)
	}
	partial.want(200, "DELETE", "/users/me/totp", "")
	partial.want(200, "POST", "/auth/sign-in", annSignsIn)
	partial.want(200, "GET", "/users/me", "")
}

// sessionOperations returns the operations for sessions only.
func (r *testAPI) sessionOperations() (out []*apiOperation) {
	r.t.Helper()
	doc := readDocument(r.t, document())
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.method, op.path = strings.ToUpper(method), path; op.opensTo("session") {
				out = append(out, op)
			}
		}
	}
	if len(out) < 8 {
		r.t.Fatalf("%d operations", len(out))
	}
	return out
}

func TestPasswordChangeEndsSessions(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	current := r.firstPerson()
	other := r.visitor("192.0.2.2")
	other.want(200, "POST", "/auth/sign-in", annSignsIn)
	old := current.cookies[sessionCookie]
	current.want(401, "POST", "/users/me/password", `{"current":"wrong","new":"another long secret"}`)
	current.want(422, "POST", "/users/me/password", `{"current":"`+goodPassword+`","new":"qwertyqwerty"}`)
	current.want(200, "POST", "/users/me/password", `{"current":"`+goodPassword+`","new":"another long secret"}`)
	other.want(401, "GET", "/users/me", "")
	current.want(200, "GET", "/users/me", "")
	other.cookies[sessionCookie] = old
	other.want(401, "GET", "/users/me", "")
	other.want(401, "POST", "/auth/sign-in", annSignsIn)
	other.want(200, "POST", "/auth/sign-in", strings.Replace(annSignsIn, goodPassword, "another long secret", 1))
}

func TestProofRotatesToken(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	r.clock = time.Now().Add(11 * time.Minute)
	w := b.ask("POST", "/users/me/totp", "")
	wantError(t, w, 403, "reauthentication_required")
	old := b.cookies[sessionCookie]
	b.want(401, "POST", "/auth/confirm", `{"password":"wrong"}`)
	b.want(200, "POST", "/auth/confirm", `{"password":"`+goodPassword+`"}`)
	r.clock = time.Now()
	b.want(200, "POST", "/users/me/totp", "")
	if b.cookies[sessionCookie] == old {
		t.Error("the token stays")
	}
}

func TestSignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	r.firstPerson()
	link, err := r.server.Accounts.DevLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(link, "/dashboard/link?to=/emails#")
	b := r.visitor("192.0.2.9")
	b.want(403, "POST", "/auth/link", `{"code":"`+strings.Repeat("A", 22)+`"}`)
	got := b.want(200, "POST", "/auth/link", `{"code":"`+code+`"}`)
	if got["user"].(map[string]any)["operator"] != true {
		t.Errorf("%v", got)
	}
	b.want(403, "POST", "/auth/link", `{"code":"`+code+`"}`)
	me := b.want(200, "GET", "/users/me", "")
	if me["password"] != false {
		t.Errorf("me %v", me)
	}
	b.want(200, "POST", "/users/me/password", `{"new":"another long secret"}`)
}

// withoutProof requests a secret with a session that is too old.
func withoutProof(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	r.clock = time.Now().Add(11 * time.Minute)
	return b.ask("POST", "/users/me/totp", "")
}
