package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
)

// device is a software authenticator.
type device struct {
	rp   virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

func newDevice(origin string) *device {
	return &device{
		rp:   virtualwebauthn.RelyingParty{Name: "Mailer", ID: "mail.example.com", Origin: origin},
		auth: virtualwebauthn.NewAuthenticator(), key: virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2),
	}
}

// optionsText returns options as text.
func optionsText(t testing.TB, options map[string]any) string {
	t.Helper()
	b, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// make answers the options for a new passkey.
func (d *device) make(t testing.TB, options map[string]any) string {
	t.Helper()
	o, err := virtualwebauthn.ParseAttestationOptions(optionsText(t, options))
	if err != nil {
		t.Fatal(err)
	}
	d.auth.Options.UserHandle = []byte(o.UserID)
	return virtualwebauthn.CreateAttestationResponse(d.rp, d.auth, d.key, *o)
}

// sign answers the options for signing in.
func (d *device) sign(t testing.TB, options map[string]any) string {
	t.Helper()
	o, err := virtualwebauthn.ParseAssertionOptions(optionsText(t, options))
	if err != nil {
		t.Fatal(err)
	}
	d.key.Counter++
	return virtualwebauthn.CreateAssertionResponse(d.rp, d.auth, d.key, *o)
}

func TestAPasskeySignsInAloneAndOnce(t *testing.T) {
	r := newReal(t, relayed())
	b := r.firstPerson()
	d := newDevice("https://mail.example.com")
	answer := d.make(t, b.want(200, "POST", "/users/me/passkeys/options", ""))
	made := b.want(201, "POST", "/users/me/passkeys?name=Phone", answer)
	if codes, _ := made["recovery_codes"].([]any); made["name"] != "Phone" || len(codes) != 10 {
		t.Fatalf("made %v", made)
	}
	b.want(409, "POST", "/users/me/passkeys", answer)
	away := r.visitor("192.0.2.5")
	if half := away.want(200, "POST", "/auth/sign-in", annSignsIn); half["user"] != nil || half["second_factor"] == nil {
		t.Fatalf("by password alone: %v", half)
	}
	signed := d.sign(t, away.want(200, "POST", "/auth/passkey/options", ""))
	if got := away.want(200, "POST", "/auth/passkey", signed); got["user"].(map[string]any)["email"] != "ann@example.com" {
		t.Errorf("%v", got)
	}
	away.want(200, "GET", "/users/me", "")
	thief := r.visitor("192.0.2.6")
	thief.want(401, "POST", "/auth/passkey", signed)
	thief.want(401, "POST", "/auth/passkey", `{"id":"x"}`)
	other := newDevice("https://mail.example.com")
	other.auth.Options.UserHandle = d.auth.Options.UserHandle
	thief.want(401, "POST", "/auth/passkey", other.sign(t, thief.want(200, "POST", "/auth/passkey/options", "")))
	d.rp.Origin = "https://evil.example"
	thief.want(401, "POST", "/auth/passkey", d.sign(t, r.visitor("192.0.2.9").want(200, "POST", "/auth/passkey/options", "")))
	rows := b.want(200, "GET", "/users/me/passkeys", "")["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["last_used_at"] == nil {
		t.Errorf("passkeys %v", rows)
	}
	b.want(200, "DELETE", "/users/me/passkeys/"+made["id"].(string), "")
	if me := b.want(200, "GET", "/users/me", ""); me["recovery_codes"] != 0.0 {
		t.Errorf("me %v", me)
	}
	if strings.Contains(r.log.String(), signed[100:200]) {
		t.Error("the log has an assertion")
	}
}
