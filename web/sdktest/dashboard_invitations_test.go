package sdktest

import "testing"

// TestAcceptInvitationWhenSignedIn: a person with an account is invited by another team, declines,
// is invited again and joins; the removal names the key that still works.
func TestAcceptInvitationWhenSignedIn(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := startBare(t)
	b := in.setUp(t)
	in.run(t, "teams", "create", "Crew")
	ann := newBrowser(t, in.url)
	ann.want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(in.run(t, "users", "create", "ann@example.test", "--role", "owner", "--team", "Crew"))})
	b.team = b.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	ask := func() {
		b.want(t, 201, "POST", "/members", map[string]any{"email": "ann@example.test", "role": "admin"})
	}

	ask()
	s := newScreen(t, in.url, ann.session(t))
	s.load("/account")
	s.sees("invited you to join as admin")
	s.press("Decline")
	s.sees("You declined the invitation to")
	ask()
	s.load("/account")
	s.press("Join")
	s.sees("You are now a member of")
	s.fine("joined")

	ann.team = b.team
	ann.want(t, 201, "POST", "/api-keys", map[string]any{"name": "a key that goes on"})
	owner := newScreen(t, in.url, b.session(t))
	owner.load("/team")
	owner.sees("ann@example.test")
	owner.press("More actions: ann@example.test")
	owner.press("Remove")
	owner.sees("loses access to")
	owner.press("Remove")
	owner.sees("API keys of ann@example.test still work", "a key that goes on")
	owner.fine("removed")
}
