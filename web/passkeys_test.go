package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"mailer/app/testing/testserver"
)

// device is a software authenticator.
type device struct {
	rp   virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

// wholeKey is how long a P-256 key with both coordinates whole is in COSE, in
// bytes.
const wholeKey = 77

func newDevice(origin string) *device {
	key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	// The library leaves leading zeros of a coordinate out, which RFC 9053
	// section 7.1.1 forbids: about one key in 128 is none.
	for len(key.Key.AttestationData()) != wholeKey {
		key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return &device{
		rp:   virtualwebauthn.RelyingParty{Name: "Mailer", ID: "mail.example.com", Origin: origin},
		auth: virtualwebauthn.NewAuthenticator(), key: key,
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

func TestPasskeySignIn(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	d := newDevice("https://mail.example.com")
	answer := d.make(t, b.want(200, "POST", "/users/me/passkeys/options", ""))
	made := b.want(201, "POST", "/users/me/passkeys?name=Phone", answer)
	if codes, _ := made["recovery_codes"].([]any); made["name"] != "Phone" || len(codes) != 10 {
		t.Fatalf("made %v", made)
	}
	b.want(409, "POST", "/users/me/passkeys", answer)
	away := r.visitor("192.0.2.5")
	if partial := away.want(200, "POST", "/auth/sign-in", annSignsIn); partial["user"] != nil || partial["second_factor"] == nil {
		t.Fatalf("by password alone: %v", partial)
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

// withPasskey has a person make a passkey for his account.
func (b *visitor) withPasskey() (d *device, id string) {
	b.r.t.Helper()
	d = newDevice("https://mail.example.com")
	answer := d.make(b.r.t, b.want(200, "POST", "/users/me/passkeys/options", ""))
	return d, b.want(201, "POST", "/users/me/passkeys", answer)["id"].(string)
}

// proves signs in by a passkey, and proves the status of the answer.
func (b *visitor) proves(status int, d *device) map[string]any {
	b.r.t.Helper()
	return b.want(status, "POST", "/auth/passkey", d.sign(b.r.t, b.want(200, "POST", "/auth/passkey/options", "")))
}

func TestPasskeyAsSecondFactor(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	b.withTOTP()
	d, _ := b.withPasskey()
	partial := r.visitor("192.0.2.7")
	if got := partial.want(200, "POST", "/auth/sign-in", annSignsIn); len(got["second_factor"].([]any)) != 2 {
		t.Fatalf("half: %v", got)
	}
	waits := partial.cookies[sessionCookie]
	partial.want(401, "GET", "/users/me", "")
	partial.proves(200, d)
	partial.want(200, "GET", "/users/me", "")
	old := r.visitor("192.0.2.7")
	old.cookies[sessionCookie] = waits
	old.want(401, "POST", "/auth/totp", `{"code":"000000"}`)

	before := partial.cookies[sessionCookie]
	r.clock = time.Now().Add(11 * time.Minute)
	wantError(t, partial.ask("POST", "/users/me/passkeys/options", ""), 403, "reauthentication_required")
	partial.proves(200, d)
	r.clock = time.Now()
	partial.want(200, "POST", "/users/me/passkeys/options", "")
	old.cookies[sessionCookie] = before
	old.want(401, "GET", "/users/me", "")
}

func TestInvalidPasskeys(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	d, id := b.withPasskey()
	good, counter := *d, uint32(0)
	for name, spoil := range map[string]func(d *device){
		"origin":               func(d *device) { d.rp.Origin = "https://evil.example" },
		"host":                 func(d *device) { d.rp.ID = "evil.example" },
		"user":                 func(d *device) { d.auth.Options.UserHandle = []byte(unknownID) },
		"nobody unlocks it":    func(d *device) { d.auth.Options.UserNotVerified = true },
		"nobody is there":      func(d *device) { d.auth.Options.UserNotPresent = true },
		"key":                  func(d *device) { d.key.Key = newDevice("").key.Key },
		"no passkey of theirs": func(d *device) { d.key.ID = newDevice("").key.ID },
	} {
		spoiled := good
		spoil(&spoiled)
		options := b.want(200, "POST", "/auth/passkey/options", "")
		if w := r.visitor(fromNew(&counter)).ask("POST", "/auth/passkey", spoiled.sign(t, options)); w.Code != 401 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	away := func() *visitor { return r.visitor(fromNew(&counter)) }
	away().want(401, "POST", "/auth/passkey", d.sign(t, map[string]any{"publicKey": map[string]any{"challenge": "QUFBQUFBQUFBQUFBQUFBQUFBQUE"}}))
	making := b.want(200, "POST", "/users/me/passkeys/options", "")["publicKey"].(map[string]any)
	away().want(401, "POST", "/auth/passkey", d.sign(t, map[string]any{"publicKey": map[string]any{"challenge": making["challenge"]}}))

	d.key.Counter = 50
	away().proves(200, d)
	d.key.Counter = 20 // a copy that was used less
	away().proves(401, d)
	d.key.Counter = 60
	away().proves(200, d)
	b.want(200, "DELETE", "/users/me/passkeys/"+id, "")
	b.want(404, "DELETE", "/users/me/passkeys/"+id, "")
	away().proves(401, d)
	var acts []string
	for _, e := range r.logged(0) {
		if strings.HasPrefix(e.Action, "passkey.") {
			acts = append(acts, e.Action)
		}
	}
	if got := strings.Join(acts, " "); got != "passkey.remove passkey.add" && got != "passkey.add passkey.remove" {
		t.Errorf("audit: %s", got)
	}
}

func TestNewPasskeyIsBound(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	b := r.firstPerson()
	options := func() map[string]any { return b.want(200, "POST", "/users/me/passkeys/options", "") }
	d := newDevice("https://evil.example")
	b.want(422, "POST", "/users/me/passkeys", d.make(t, options()))
	d = newDevice("https://mail.example.com")
	d.auth.Options.UserNotVerified = true
	b.want(422, "POST", "/users/me/passkeys", d.make(t, options()))
	b.want(422, "POST", "/users/me/passkeys", `{}`)
	d = newDevice("https://mail.example.com")
	other := options()
	other["publicKey"].(map[string]any)["challenge"] = b.want(200, "POST", "/auth/passkey/options", "")["publicKey"].(map[string]any)["challenge"]
	b.want(422, "POST", "/users/me/passkeys", d.make(t, other))
	outsider := r.visitor("192.0.2.3")
	outsider.cookies[sessionCookie] = r.signedIn("stranger", "", false, time.Until(testTime))
	outsider.want(422, "POST", "/users/me/passkeys", d.make(t, options()))
	if rows := b.want(200, "GET", "/users/me/passkeys", "")["data"].([]any); len(rows) != 0 {
		t.Errorf("passkeys %v", rows)
	}
}

// fromNew returns an address that was not used before, so that no limit applies.
func fromNew(n *uint32) string {
	*n++
	return fmt.Sprintf("198.51.100.%d", *n)
}
