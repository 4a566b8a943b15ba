package sdktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestPostgresSignInWithClockSkew: sessions, links, invitations, one-time passwords and passkeys
// that people begin at one of two servers are valid on the other for as long, and each once.
func TestPostgresSignInWithClockSkew(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	const base, password = "http://localhost:3000", "a long enough secret"
	p, _ := startWithClocks(t, "--base-url", base)
	ops := newBrowser(t, p.nodes[0].url)
	ops.want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(p.nodes[0].run(t, "users", "create", "op@example.test", "--role", "owner", "--operator"))})
	for n, here := range p.nodes {
		there := p.nodes[1-n]
		b := newBrowser(t, here.url)
		at := func(in *instance) *browser { b.url = in.url; return b }
		op := func(in *instance) *browser { ops.url = in.url; return ops }

		// A link signs in at the other one, once; its session counts at both.
		op(here).team = ""
		op(here).ask(t, "GET", "/health/checks", nil, 200, []string{"clock differs from the database's by +1h0m0s", "clock differs from the database's by -1h0m0s"}[n])
		who := here.run(t, "users", "create", fmt.Sprintf("p%d@example.test", n), "--role", "member")
		at(there).want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(who)})
		newBrowser(t, here.url).want(t, 403, "POST", "/auth/link", map[string]any{"code": afterHash(who)})
		me := at(here).want(t, 200, "GET", "/users/me", nil)
		link := op(here).want(t, 201, "POST", "/users/"+me["id"].(string)+"/link", nil)["url"]
		at(there).want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(link)})
		for _, in := range p.nodes {
			session := at(in).want(t, 200, "GET", "/users/me", nil)["session"].(map[string]any)
			wantNear(t, session["created_at"], 0)
			wantNear(t, session["proved_at"], 0)
		}

		// An invitation of one is followed at the other, once.
		op(here).team = ops.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
		made := op(here).want(t, 201, "POST", "/invitations", map[string]any{"email": fmt.Sprintf("i%d@example.test", n), "role": "member"})
		wantNear(t, made["expires_at"], 7*24*time.Hour)
		joining := map[string]any{"code": afterHash(made["url"]), "password": password}
		b = newBrowser(t, there.url)
		at(there).want(t, 200, "POST", "/auth/invitation", joining)
		newBrowser(t, here.url).want(t, 403, "POST", "/auth/invitation", joining)

		// One-time passwords: begun at one server, confirmed at the other; each is valid once.
		secret := at(here).want(t, 200, "POST", "/users/me/totp", nil)["secret"].(string)
		at(there).want(t, 200, "POST", "/users/me/totp/confirm", map[string]any{"code": oneTimePassword(t, secret, -1)})
		signIn, code := map[string]any{"email": fmt.Sprintf("i%d@example.test", n), "password": password}, ""
		for _, way := range [2][2]*instance{{here, there}, {there, here}} {
			b = newBrowser(t, "")
			at(way[0]).want(t, 200, "POST", "/auth/sign-in", signIn)
			if code != "" { // from the opposite direction
				at(way[1]).want(t, 401, "POST", "/auth/totp", map[string]any{"code": code})
				break
			}
			code = oneTimePassword(t, secret, 0)
			at(way[1]).want(t, 200, "POST", "/auth/totp", map[string]any{"code": code})
			at(way[0]).want(t, 200, "GET", "/users/me", nil)
		}

		// A passkey that counts nothing, as those do that several devices share.
		b = newBrowser(t, "")
		at(here).want(t, 200, "POST", "/auth/sign-in", signIn)
		at(there).want(t, 200, "POST", "/auth/totp", map[string]any{"code": oneTimePassword(t, secret, 1)})
		device := newAuthenticator(t, base)
		answer := device.make(t, at(here).want(t, 200, "POST", "/users/me/passkeys/options", nil))
		at(there).want(t, 201, "POST", "/users/me/passkeys?name=Phone", answer)
		for _, way := range [2][2]*instance{{here, there}, {there, here}} {
			b = newBrowser(t, "")
			signed := device.sign(t, at(way[0]).want(t, 200, "POST", "/auth/passkey/options", nil))
			at(way[1]).want(t, 200, "POST", "/auth/passkey", signed)
			at(way[0]).want(t, 200, "GET", "/users/me", nil)
			for _, in := range way {
				newBrowser(t, in.url).want(t, 401, "POST", "/auth/passkey", signed)
			}
		}
	}
}

// wantNear checks that a time of an answer is so far ahead.
func wantNear(t *testing.T, said any, ahead time.Duration) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, said.(string))
	if off := time.Until(at) - ahead; err != nil || off.Abs() > 30*time.Second {
		t.Errorf("%v is %s off (%v)", said, off, err)
	}
}

// authenticator is a device with a passkey (WebAuthn level 3) on P-256, with a constant counter.
type authenticator struct {
	key    *ecdsa.PrivateKey
	id     []byte
	origin string
	user   string // as the server names the person
}

func newAuthenticator(t *testing.T, origin string) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	a := &authenticator{key: key, id: make([]byte, 32), origin: origin}
	_, _ = rand.Read(a.id) // never fails
	return a
}

// The bits of what an authenticator says of itself.
const (
	userPresent  = 1
	userVerified = 4
	hasKey       = 64
)

// data returns the authenticator data: server, user verification, and signature counter.
func (a *authenticator) data(flags byte) []byte {
	sum := sha256.Sum256([]byte("localhost"))
	return append(sum[:], userPresent|userVerified|flags, 0, 0, 0, 0)
}

// client is what the browser adds, in base64 and as it is.
func (a *authenticator) client(t *testing.T, kind string, options map[string]any) (text string, raw []byte) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": kind, "challenge": options["challenge"], "origin": a.origin, "crossOrigin": false})
	must(t, err)
	return base64.RawURLEncoding.EncodeToString(raw), raw
}

func (a *authenticator) answer(response map[string]any) map[string]any {
	id := base64.RawURLEncoding.EncodeToString(a.id)
	return map[string]any{"id": id, "rawId": id, "type": "public-key", "response": response}
}

// make answers the options for a new passkey, in CBOR (RFC 8949) and COSE (RFC 9053).
func (a *authenticator) make(t *testing.T, offered map[string]any) map[string]any {
	t.Helper()
	options := offered["publicKey"].(map[string]any)
	a.user = options["user"].(map[string]any)["id"].(string)
	point, err := a.key.PublicKey.Bytes() // 4, x, y
	must(t, err)
	data := append(a.data(hasKey), make([]byte, 16)...) // no model
	data = append(append(data, 0, byte(len(a.id))), a.id...)
	data = append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32)
	data = append(append(append(data, point[1:33]...), 0x22, 0x58, 32), point[33:]...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	text, _ := a.client(t, "webauthn.create", options)
	return a.answer(map[string]any{"clientDataJSON": text, "attestationObject": base64.RawURLEncoding.EncodeToString(append(object, data...))})
}

// sign answers the options for signing in.
func (a *authenticator) sign(t *testing.T, offered map[string]any) map[string]any {
	t.Helper()
	text, raw := a.client(t, "webauthn.get", offered["publicKey"].(map[string]any))
	sum := sha256.Sum256(raw)
	signed := sha256.Sum256(append(a.data(0), sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, signed[:])
	must(t, err)
	return a.answer(map[string]any{"clientDataJSON": text, "authenticatorData": base64.RawURLEncoding.EncodeToString(a.data(0)),
		"signature": base64.RawURLEncoding.EncodeToString(signature), "userHandle": a.user})
}
