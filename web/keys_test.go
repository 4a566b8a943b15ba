package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// role makes a full-access key of a role.
func (r *testAPI) role(teamID string, role app.Role) string {
	r.t.Helper()
	token, _, err := r.server.Teams.CreateKey(r.t.Context(), teamID, app.KeyInput{Name: string(role), Permission: app.FullAccess, Role: role})
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

type keyRow struct {
	Object, ID, Name, Token, Permission, Role string
	CreatedAt                                 string  `json:"created_at"`
	LastUsedAt                                *string `json:"last_used_at"`
	DomainID                                  *string `json:"domain_id"`
	Deleted                                   bool
}

func decoded[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

// create makes a key over the API.
func (r *testAPI) create(token, body string) keyRow {
	r.t.Helper()
	w := r.as(token, "POST", "/api-keys", body)
	wantStatus(r.t, w, http.StatusCreated)
	k := decoded[keyRow](r.t, w)
	if k.Object != "api_key" || k.ID == "" || !strings.HasPrefix(k.Token, "mlr_") {
		r.t.Errorf("created %s", w.Body)
	}
	return k
}

func (r *testAPI) keys(token string) []keyRow {
	r.t.Helper()
	w := r.as(token, "GET", "/api-keys", "")
	wantStatus(r.t, w, http.StatusOK)
	if tokens.MatchString(w.Body.String()) || strings.Contains(w.Body.String(), "token") {
		r.t.Errorf("the list has a token: %s", w.Body)
	}
	return decoded[struct{ Data []keyRow }](r.t, w).Data
}

// keyID finds the id of the key with a token's name.
func (r *testAPI) keyID(name string) string {
	r.t.Helper()
	for _, k := range r.keys(r.full) {
		if k.Name == name {
			return k.ID
		}
	}
	r.t.Fatalf("no key %q", name)
	return ""
}

func TestKeyRoutes(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	d := r.domain(r.team.ID, "example.com", true)
	full := r.create(r.full, `{"name":"full"}`)
	scoped := r.create(r.full, `{"name":"scoped","permission":"sending_access","domain_id":"`+strings.ToUpper(d.ID)+`","role":null}`)
	rows := r.keys(full.Token)
	if len(rows) != 3 || rows[0].ID != scoped.ID || rows[1].ID != full.ID || rows[2].Name != "test" {
		t.Fatalf("keys %+v", rows)
	}
	if k := rows[0]; k.Name != "scoped" || k.Permission != "sending_access" || k.Role != "owner" || k.DomainID == nil || *k.DomainID != d.ID || k.LastUsedAt != nil {
		t.Errorf("listed %+v", k)
	}
	if k := rows[1]; k.Permission != "full_access" || k.DomainID != nil || k.CreatedAt == "" {
		t.Errorf("listed %+v", k)
	}
	wantStatus(t, r.as(scoped.Token, "POST", "/emails", sendFrom("a@example.com")), 200)
	wantError(t, r.as(scoped.Token, "POST", "/emails", sendFrom("a@other.example")), 403, app.CodeRestrictedAPIKey)

	w := r.as(full.Token, "PATCH", "/api-keys/"+scoped.ID, `{"name":"Grüße","id":"`+scoped.ID+`"}`)
	wantStatus(t, w, 200)
	if k := decoded[keyRow](t, w); k.Object != "api_key" || k.ID != scoped.ID || k.Name != "Grüße" || k.Token != "" {
		t.Errorf("renamed %s", w.Body)
	}
	if got := r.keys(r.full)[0].Name; got != "Grüße" {
		t.Errorf("the name is %q", got)
	}
	wantStatus(t, r.as(scoped.Token, "POST", "/emails", sendFrom("a@example.com")), 200)
	wantJSON(t, r.as(r.full, "DELETE", "/api-keys/"+scoped.ID, ""), `{"object":"api_key","id":"`+scoped.ID+`","deleted":true}`)
	wantError(t, r.as(scoped.Token, "POST", "/emails", sendFrom("a@example.com")), 401, app.CodeInvalidAPIKey)
	wantError(t, r.as(r.full, "DELETE", "/api-keys/"+scoped.ID, ""), 404, app.CodeNotFound, "API key")
	wantError(t, r.as(r.full, "PATCH", "/api-keys/"+scoped.ID, `{"name":"x"}`), 404, app.CodeNotFound, "API key")

	// A key may end itself.
	wantStatus(t, r.as(full.Token, "DELETE", "/api-keys/"+full.ID, ""), 200)
	wantError(t, r.as(full.Token, "GET", "/api-keys", ""), 401, app.CodeInvalidAPIKey)
}

func TestKeyFieldErrors(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	other, _ := r.newTeam("Other")
	own, foreign := r.domain(r.team.ID, "example.com", true), r.domain(other.ID, "theirs.example", true)
	sending := func(domainID string) string {
		return fmt.Sprintf(`{"name":"k","permission":"sending_access","domain_id":%q}`, domainID)
	}
	for _, tt := range []struct {
		body   string
		status int
		name   app.Code
		words  string
	}{
		{`{}`, 422, app.CodeValidation, "`name`"},
		{`{"name":""}`, 422, app.CodeValidation, "`name`"},
		{`{"name":" "}`, 422, app.CodeValidation, "`name`"},
		{`{"name":"` + strings.Repeat("ü", 51) + `"}`, 422, app.CodeValidation, "`name`"},
		{`{"name":"a\u0007"}`, 422, app.CodeValidation, "`name`"},
		{`{"name":1}`, 422, app.CodeValidation, "`name`"},
		{`{"name":"k","permission":"all"}`, 422, app.CodeValidation, "`permission`"},
		{`{"name":"k","role":"root"}`, 422, app.CodeValidation, "`role`"},
		{`{"name":"k","colour":"red"}`, 422, app.CodeValidation, "`colour`"},
		{`{"name":"k","domain_id":"` + own.ID + `"}`, 422, app.CodeValidation, "`domain_id`"},
		{`{"name":"k","permission":"full_access","domain_id":"` + own.ID + `"}`, 422, app.CodeValidation, "`domain_id`"},
		{sending("x"), 422, app.CodeValidation, "`domain_id`"},
		{sending(unknownID), 404, app.CodeNotFound, "domain"},
		{sending(foreign.ID), 404, app.CodeNotFound, "domain"},
		{`[]`, 422, app.CodeValidation, ""},
		{`{"name":`, 400, app.CodeInvalidPayload, ""},
		{``, 400, app.CodeInvalidPayload, ""},
	} {
		wantError(t, r.as(r.full, "POST", "/api-keys", tt.body), tt.status, tt.name, tt.words)
	}
	if rows := r.keys(r.full); len(rows) != 1 {
		t.Errorf("%d keys after refusals alone", len(rows))
	}
	id := r.create(r.full, `{"name":"`+strings.Repeat("ü", 50)+`","permission":"","domain_id":"","role":""}`).ID
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":null}`, `{"name":"x","id":"` + unknownID + `"}`, `{"name":"x","role":"owner"}`} {
		wantError(t, r.as(r.full, "PATCH", "/api-keys/"+id, body), 422, app.CodeValidation)
	}
	for _, bad := range []string{"x", unknownID, "%00"} {
		wantError(t, r.as(r.full, "DELETE", "/api-keys/"+bad, ""), 404, app.CodeNotFound, "API key")
	}
	for i := range 6 {
		r.create(r.full, fmt.Sprintf(`{"name":"k%d"}`, i))
	}
	all := r.page(r.full, "/api-keys")
	for limit := 1; limit <= len(all.Data)+1; limit++ {
		if down := r.walk("/api-keys", "after", limit); !slices.Equal(down, all.ids()) {
			t.Errorf("by %d after: %q", limit, down)
		}
		if up := r.walk("/api-keys", "before", limit); !slices.Equal(up, all.ids()[:len(all.Data)-1]) {
			t.Errorf("by %d before: %q", limit, up)
		}
	}
	r.wantPageErrors("/api-keys", all.ids()[0])
}

func TestKeysOfHigherRoles(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	tokens := map[app.Role]string{}
	for _, role := range []app.Role{app.RoleOwner, app.RoleAdmin, app.RoleMember} {
		tokens[role] = r.role(r.team.ID, role)
	}
	for _, tt := range []struct {
		of    app.Role
		role  string // of the new key
		got   string // "": refused
		perms string
	}{
		{app.RoleOwner, "", "owner", ""}, {app.RoleOwner, "owner", "owner", ""}, {app.RoleOwner, "admin", "admin", ""}, {app.RoleOwner, "member", "member", ""},
		{app.RoleAdmin, "", "admin", ""}, {app.RoleAdmin, "admin", "admin", ""}, {app.RoleAdmin, "member", "member", ""},
		{app.RoleAdmin, "owner", "", ""}, {app.RoleAdmin, "owner", "", "sending_access"},
		{app.RoleMember, "", "", ""}, {app.RoleMember, "member", "", ""}, {app.RoleMember, "owner", "", ""}, {app.RoleMember, "member", "", "sending_access"},
	} {
		body := fmt.Sprintf(`{"name":"new","role":%q,"permission":%q}`, tt.role, tt.perms)
		if tt.got == "" {
			wantError(t, r.as(tokens[tt.of], "POST", "/api-keys", body), 403, app.CodeForbidden)
			continue
		}
		made := r.create(tokens[tt.of], body)
		if k := r.keys(r.full)[0]; k.ID != made.ID || k.Role != tt.got {
			t.Errorf("%s makes %+v of %s", tt.of, k, body)
		}
		wantStatus(t, r.as(tokens[tt.of], "DELETE", "/api-keys/"+made.ID, ""), 200)
	}
	for _, of := range []app.Role{app.RoleAdmin, app.RoleMember} {
		for name := range tokens {
			id := r.keyID(string(name))
			if of == app.RoleAdmin && name != app.RoleOwner {
				wantStatus(t, r.as(tokens[of], "PATCH", "/api-keys/"+id, `{"name":"`+string(name)+`"}`), 200)
				continue
			}
			wantError(t, r.as(tokens[of], "PATCH", "/api-keys/"+id, `{"name":"mine"}`), 403, app.CodeForbidden)
			wantError(t, r.as(tokens[of], "DELETE", "/api-keys/"+id, ""), 403, app.CodeForbidden)
		}
	}
	if rows := r.keys(tokens[app.RoleMember]); len(rows) != 4 {
		t.Errorf("a member lists %+v", rows)
	}
	wantStatus(t, r.as(tokens[app.RoleOwner], "DELETE", "/api-keys/"+r.keyID("admin"), ""), 200)
	wantError(t, r.as(tokens[app.RoleAdmin], "GET", "/emails", ""), 401, app.CodeInvalidAPIKey)
}

// TestRolesOnEveryRoute asks each route that is served: members read domains,
// webhooks and keys, and change all else.
func TestRolesOnEveryRoute(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	admin, member := r.role(r.team.ID, app.RoleAdmin), r.role(r.team.ID, app.RoleMember)
	refused := 0
	for _, op := range r.operations(unknownID, unknownID) {
		method, target := op[0], strings.NewReplacer("{", "", "}", "").Replace(op[1])
		resource, _, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
		managed := slices.Contains([]string{"domains", "webhooks", "api-keys", "routes"}, resource) || target == "/team/brand" || strings.Contains(target, "/archive")
		unseen := slices.Contains([]string{"audit-logs", "team", "members", "invitations"}, resource) && target != "/team/brand"
		w := r.as(member, method, target, `{}`)
		if managed && method != "GET" || unseen {
			wantError(t, w, 403, app.CodeForbidden)
			refused++
		} else if w.Code == http.StatusForbidden {
			t.Errorf("%s %s is refused to members: %s", method, target, w.Body)
		}
		for _, token := range []string{r.full, admin} {
			if w := r.as(token, method, target, `{}`); w.Code == http.StatusForbidden {
				t.Errorf("%s %s: %s", method, target, w.Body)
			}
		}
	}
	if refused < 12 {
		t.Errorf("only %d routes are refused", refused)
	}
}

func TestRevokedKeyOnOpenConnection(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	k := r.create(r.full, `{"name":"short-lived"}`)
	get := func() (status int, reused bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/domains", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+k.Token)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, reused
	}
	for range 3 {
		if status, _ := get(); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	wantStatus(t, r.as(r.full, "DELETE", "/api-keys/"+k.ID, ""), 200)
	if status, reused := get(); status != 401 || !reused {
		t.Errorf("status %d after the key was revoked, on the same connection: %v", status, reused)
	}
}

// tokens finds tokens of keys; what a list shows of one ends before its second part.
var tokens = regexp.MustCompile(`mlr_[A-Za-z0-9]{8,}_`)

func TestKeysOnEveryRoute(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, validSend)
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	_, other, _ := strings.Cut(r.full, "_")
	operations := r.operations(id, unknownID)
	if len(operations) < 7 {
		t.Fatalf("only %d routes need a key: %q", len(operations), operations)
	}
	for _, op := range operations {
		method, target := op[0], op[1]
		for _, header := range []string{"X-None: x", "Authorization: Basic " + r.full, "Authorization: " + r.full, "Authorization: Bearer "} {
			w := r.do(method, target, validSend, header)
			wantError(t, w, 401, app.CodeMissingAPIKey)
			r.checkErrorBody(w)
		}
		for _, wrong := range []string{r.full[:len(r.full)-1] + "_", "re_123456789", other, strings.ToUpper(r.full)} {
			r.clock = r.clock.Add(time.Hour) // too many in a minute are refused before they are looked at
			wantError(t, r.as(wrong, method, target, validSend), 401, app.CodeInvalidAPIKey)
		}
		// What a sending key may do, it may do to its own emails; id is another's.
		w := r.as(sending, method, target, validSend)
		switch method + " " + strings.Replace(target, id, "{id}", 1) {
		case "POST /emails", "POST /email":
			wantStatus(t, w, 200)
		case "POST /emails/batch":
			wantError(t, w, 422, app.CodeValidation, "array")
		case "POST /emails/{id}/cancel":
			wantError(t, w, 404, app.CodeNotFound)
		case "PATCH /emails/{id}":
			wantError(t, r.as(sending, method, target, `{"scheduled_at":"in 1 hour"}`), 404, app.CodeNotFound)
		case "POST /mcp": // its tools check the key's access
			wantError(t, w, 400, app.CodeInvalidPayload)
		default:
			wantError(t, w, 403, app.CodeRestrictedAPIKey)
		}
	}
}

func TestKeyOfOneDomain(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	r.domain(r.team.ID, "example.com", true)
	r.domain(r.team.ID, "other.example.com", true)
	scoped := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: "example.com"})
	for from, status := range map[string]int{
		"a@example.com": 200, "A <a@EXAMPLE.com>": 200,
		"a@other.example.com": 403, "a@unknown.test": 403, `"a@example.com" <a@other.example.com>`: 422,
	} {
		w := r.as(scoped, "POST", "/emails", sendFrom(from))
		if w.Code != status {
			t.Errorf("%s: %d %s, want %d", from, w.Code, w.Body, status)
		}
		if status == 403 {
			wantError(t, w, 403, app.CodeRestrictedAPIKey, "example.com")
		}
	}
	wantStatus(t, r.as(r.full, "POST", "/emails", sendFrom("a@other.example.com")), 200)
}
