package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/db"
)

// Access of each kind of operation, independent of the flags of the routes: a route that loses or
// gains a flag fails TestRouteAccess.

// managed need the role admin or owner.
var managed = []string{
	"POST /domains/{id}/reports", "PATCH /domains/{id}/reports",
	"POST /domains", "PATCH /domains/{id}", "DELETE /domains/{id}", "POST /domains/{id}/verify", "POST /domains/{id}/dkim/rotate",
	"POST /topics/{id}/archive", "DELETE /topics/{id}/archive/{issue}",
	"POST /routes", "PATCH /routes/{id}", "DELETE /routes/{id}",
	"POST /domains/{id}/publish", "DELETE /domains/{id}/publish/token",
	"POST /webhooks", "PATCH /webhooks/{id}", "DELETE /webhooks/{id}", "POST /webhooks/{id}/signing-secret/rotate", "POST /webhooks/{id}/events/{event_id}/replay",
	"POST /api-keys", "PATCH /api-keys/{id}", "DELETE /api-keys/{id}",
	"POST /webhooks/{id}/test", "POST /webhooks/{id}/replay",
	"PATCH /team", "PATCH /team/brand", "POST /team/logo", "DELETE /team/logo", "POST /members", "PATCH /members/{id}", "DELETE /members/{id}", "POST /invitations", "DELETE /invitations/{id}",
	"GET /audit-logs", "GET /team", "GET /members", "GET /invitations",
}

// sendable accept keys that may only send; /mcp checks its tools itself.
var sendable = []string{"POST /email", "POST /emails", "POST /emails/batch", "POST /emails/{id}/cancel", "PATCH /emails/{id}", "POST /mcp"}

// above show all teams to an operator without a team.
var above = []string{"GET /queue", "GET /queue/doubts", "POST /queue/hold", "POST /queue/release", "POST /queue/retry", "POST /queue/drop", "POST /queue/requeue", "GET /audit-logs", "GET /live"}

// operators are the beginnings of what an operator alone reaches.
var operators = []string{"/relays", "/status", "/health/", "/backups", "/teams", "/queue/move", "/settings", "/disk", "/users/{id}"}

// operatorLists are prefixes of operator routes.
var operatorLists = []string{"/users", "/ingest"}

// ownRoutes are prefixes of routes for a person's own account.
var ownRoutes = []string{"/users/me", "/auth/confirm", "/auth/totp"}

// proven are those for which a person must have proved just now to be there.
var proven = []string{
	"POST /relays", "DELETE /relays/{region}", "POST /relays/{region}/pause", "POST /relays/{region}/resume", "POST /relays/{region}/routes", "PUT /relays/{region}/order", "PATCH /relays/{region}/failover", "POST /relays/{region}/switch", "DELETE /relays/{region}/routes/{id}", "POST /backups", "PATCH /settings", "DELETE /teams/{id}",
	"PATCH /users/{id}", "DELETE /users/{id}", "POST /users/{id}/link",
	"POST /api-keys", "DELETE /domains/{id}", "POST /domains/{id}/publish", "POST /users/me/totp", "DELETE /users/me/totp", "POST /users/me/recovery-codes",
	"POST /users/me/passkeys/options", "POST /users/me/passkeys", "DELETE /users/me/passkeys/{id}", "POST /webhooks/{id}/signing-secret/rotate",
}

func begins(path string, with []string) bool {
	return slices.ContainsFunc(with, func(s string) bool { return strings.HasPrefix(path, s) })
}

// caller is a kind of caller.
type caller struct {
	name    string
	head    []string // lines
	allowed func(op *apiOperation) bool
	unless  func(op *apiOperation) bool // refused all the same; nil: never
}

func isTeamRoute(op *apiOperation) bool { return !isOperatorRoute(op) && !begins(op.path, ownRoutes) }

func isOperatorRoute(op *apiOperation) bool {
	return begins(op.path, operators) || slices.Contains(operatorLists, op.path)
}

func nobody(*apiOperation) bool { return false }

func everybody(*apiOperation) bool { return true }

func changesOnly(op *apiOperation) bool { return op.method != http.MethodGet }

func isManaged(op *apiOperation) bool { return slices.Contains(managed, op.String()) }

func isProven(op *apiOperation) bool { return slices.Contains(proven, op.String()) }

// signedIn creates a signed-in person, a member of the team unless role is empty, and returns the
// session token.
func (r *testAPI) signedIn(name string, role app.Role, operator bool, provedAgo time.Duration) (token string) {
	r.t.Helper()
	secret := sha256.Sum256([]byte(name))
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	hash := sha256.Sum256([]byte(token))
	err := r.store.Write(r.t.Context(), func(tx *db.Tx) error {
		id := app.NewID()
		if err := tx.InsertUser(&db.User{ID: id, Address: name + "@example.com", Operator: operator, CreatedAt: tx.Now}); err != nil {
			return err
		}
		if role != "" {
			if err := tx.InsertMembership(&db.Membership{UserID: id, TeamID: r.team.ID, Role: role, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return tx.InsertSession(&db.Session{ID: app.NewID(), UserID: id, Hash: hash[:], CreatedAt: tx.Now, SeenAt: tx.Now, ProvedAt: testTime.Add(-provedAgo)})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

func (r *testAPI) callers() []caller {
	foreignTeam, _ := r.newTeam("theirs")
	tokens := map[string]string{
		"member": r.signedIn("member", app.RoleMember, false, 0), "admin": r.signedIn("admin", app.RoleAdmin, false, 0),
		"owner": r.signedIn("owner", app.RoleOwner, false, 0), "late": r.signedIn("late", app.RoleOwner, false, time.Hour),
		"operator": r.signedIn("operator", "", true, 0), "idle": r.signedIn("idle", "", true, time.Hour),
		"operating": r.signedIn("operating", app.RoleMember, true, 0), "removed": r.signedIn("removed", "", false, 0),
		"ended": base64.RawURLEncoding.EncodeToString(make([]byte, 32)),
	}
	cookie := func(name string, more ...string) []string {
		return append(more, "Cookie: __Host-mailer="+tokens[name])
	}
	ours, foreign, evil := "X-Team: "+r.team.ID, "X-Team: "+foreignTeam.ID, "Origin: https://evil.example"
	own := func(op *apiOperation) bool { return begins(op.path, ownRoutes) }
	noOperator := func(op *apiOperation) bool { return !isOperatorRoute(op) }
	allTeams := func(op *apiOperation) bool {
		return isOperatorRoute(op) || own(op) || slices.Contains(above, op.String())
	}
	key := func(role app.Role) []string { return []string{"Authorization: Bearer " + r.role(r.team.ID, role)} }
	return []caller{
		{"anonymous", nil, nobody, nil},
		{"sending key", []string{"Authorization: Bearer " + r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})},
			func(op *apiOperation) bool { return slices.Contains(sendable, op.String()) }, nil},
		{"member's key", key(app.RoleMember), isTeamRoute, isManaged},
		{"admin's key", key(app.RoleAdmin), isTeamRoute, nil},
		{"owner's key", key(app.RoleOwner), isTeamRoute, nil},
		{"member", cookie("member"), noOperator, isManaged},
		{"admin", cookie("admin"), noOperator, nil},
		{"owner", cookie("owner", ours), noOperator, nil},
		{"owner, proved long ago", cookie("late"), noOperator, isProven},
		{"operator", cookie("operator"), allTeams, nil},
		{"operator, proved long ago", cookie("idle"), allTeams, isProven},
		{"operator and member", cookie("operating", ours), everybody, isManaged},
		{"operator and member, without a team", cookie("operating"), allTeams, nil},
		{"removed member", cookie("removed", ours), own, nil},
		{"removed member, without a team", cookie("removed"), own, nil},
		{"owner in a foreign team", cookie("owner", foreign), own, nil},
		{"operator in a foreign team", cookie("operator", foreign), own, nil},
		{"owner, from a page of another site", cookie("owner", evil), noOperator, changesOnly},
		{"operator, from a page of another site", cookie("operator", evil), allTeams, changesOnly},
		{"ended session", cookie("ended"), nobody, nil},
	}
}

// allows reports whether a request passed the access checks; words is the answer.
func (r *testAPI) allows(op *apiOperation, as *caller) (in bool, words string) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	target := pathParameter.ReplaceAllString(op.path, unknownID)
	body := ""
	if op.RequestBody != nil {
		body = "{}"
	}
	req := httptest.NewRequestWithContext(ctx, op.method, "https://mail.example.com"+target, strings.NewReader(body))
	for _, line := range as.head {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	if op.path == "/live" { // an answer without an end
		defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	var e struct {
		Name    app.Code
		Message string
	}
	_ = json.Unmarshal(w.Body.Bytes(), &e) // a success has no name
	switch {
	case w.Code >= 500 && w.Code != http.StatusServiceUnavailable:
		r.t.Errorf("%s as %s: %d %s", op, as.name, w.Code, w.Body)
	case w.Code == http.StatusUnauthorized, e.Message == app.NoTeam().Message:
		return false, w.Body.String()
	case w.Code == http.StatusForbidden:
		return false, w.Body.String()
	}
	return true, w.Body.String()
}

// TestRouteAccess calls every operation of openapi.json as each caller: keys and people of each
// role, an operator, a removed person, and a cross-site page.
func TestRouteAccess(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	callers := r.callers()
	doc := readDocument(t, document())
	var all []*apiOperation
	for _, op := range doc.every() {
		if len(op.Security) > 0 {
			all = append(all, op)
		}
	}
	known := map[string]bool{}
	for _, op := range all {
		known[op.String()] = true
		for i := range callers {
			as := &callers[i]
			want := as.allowed(op) && (as.unless == nil || !as.unless(op))
			if got, words := r.allows(op, as); got != want {
				t.Errorf("%s as %s: let in %v, want %v; if that is meant, say so in the lists of this test\n%s", op, as.name, got, want, words)
			}
		}
	}
	for _, list := range [][]string{managed, sendable, above, proven} {
		for _, name := range list {
			if !known[name] {
				t.Errorf("%s is in a list of this test, and no operation", name)
			}
		}
	}
	if len(all) < 120 {
		t.Errorf("only %d operations", len(all))
	}
}
