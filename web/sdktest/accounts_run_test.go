package sdktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	bits "encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// oneTimePassword is what an authenticator shows (RFC 6238), some steps from now.
func oneTimePassword(t *testing.T, secret string, steps int64) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	must(t, err)
	mac := hmac.New(sha1.New, key)
	must(t, bits.Write(mac, bits.BigEndian, time.Now().Unix()/30+steps))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", (bits.BigEndian.Uint32(sum[at:])&0x7fffffff)%1_000_000)
}

// TestSetupAndSignIn: the first person sets up the binary and signs in; nothing secret is stored.
func TestSetupAndSignIn(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	link := strings.TrimSpace(in.run(t, "users", "setup"))
	address, code, _ := strings.Cut(link, "#")
	if address != in.url+"/dashboard/setup" {
		t.Fatalf("link %s", link)
	}
	const password = "quite a long secret"
	b := newBrowser(t, in.url)
	b.want(t, 200, "POST", "/auth/setup", map[string]string{"code": code, "email": "ann@example.com", "password": password})
	b.want(t, 404, "POST", "/auth/setup", map[string]string{"code": code, "email": "eve@example.com", "password": password})
	secret := b.want(t, 200, "POST", "/users/me/totp", nil)["secret"].(string)
	codes := b.want(t, 200, "POST", "/users/me/totp/confirm", map[string]string{"code": oneTimePassword(t, secret, -1)})["recovery_codes"].([]any)
	b.want(t, 200, "POST", "/auth/sign-out", nil)
	b.want(t, 401, "GET", "/users/me", nil)
	signIn := map[string]string{"email": "ann@example.com", "password": password}
	b.want(t, 401, "POST", "/auth/sign-in", map[string]string{"email": "ann@example.com", "password": "wrong"})
	b.want(t, 200, "POST", "/auth/sign-in", signIn)
	b.want(t, 401, "GET", "/users/me", nil)
	b.want(t, 200, "POST", "/auth/totp", map[string]string{"code": oneTimePassword(t, secret, 0)})
	me := b.want(t, 200, "GET", "/users/me", nil)
	if me["operator"] != true || fmt.Sprint(me["second_factor"]) != "[totp]" {
		t.Errorf("me %v", me)
	}
	b.want(t, 404, "GET", "/emails", nil) // an operator says which team
	b.team = me["teams"].([]any)[0].(map[string]any)["id"].(string)
	b.want(t, 200, "GET", "/emails", nil)
	for what, text := range map[string]string{"code": code, "password": password, "secret": secret, "recovery code": strings.ReplaceAll(codes[0].(string), "-", "")} {
		for _, file := range []string{in.db, in.db + "-wal", in.logFile()} {
			kept, err := os.ReadFile(file)
			must(t, err)
			if bytes.Contains(kept, []byte(text)) {
				t.Errorf("the %s is in %s in clear", what, file)
			}
		}
	}
}
