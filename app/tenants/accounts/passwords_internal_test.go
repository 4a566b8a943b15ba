package accounts

import (
	"strings"
	"testing"

	"mailer/app"
)

func TestCommonPasswordsAreRefused(t *testing.T) {
	if n := len(commonWords()); n < 1000 || len(commonText) > 12<<10 {
		t.Errorf("%d words in %d bytes", n, len(commonText))
	}
	for _, bad := range []string{
		"short", "elevenchars", "passwordpassword", "Password12345", "PASSWORD!!!!!", "123456789012", "qwertyuiop123", "aaaaaaaaaaaa",
		"abcabcabcabc", "iloveyouiloveyou", "abcdefghijklmnop", "monkey dragon 12", "zyxwvutsrqponm", strings.Repeat("aB3$", 251),
	} {
		if err := CheckPassword("password", bad); app.CodeOf(err) != app.CodeValidation {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	for _, good := range []string{"correct horse battery", "kT8-wz1.Qp4x", "пароль для всех дней", "849302748561x9", strings.Repeat("aB3$ k", 166)} {
		if err := CheckPassword("password", good); err != nil {
			t.Errorf("%.20q: %v", good, err)
		}
	}
}

func TestPasswordIsRehashedWithNewParameters(t *testing.T) {
	h, ctx := newHasher(), t.Context()
	stored, err := h.hash(ctx, "correct horse battery", false)
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%q, %v", stored, err)
	}
	old := passwordHash{params: params{memory: 64, time: 1, lanes: 1}, salt: []byte("0123456789abcdef")}
	old.sum = old.params.sum("correct horse battery", old.salt, hashBytes)
	for _, tt := range []struct {
		name, stored, password string
		ok, stale              bool
	}{
		{"right", stored, "correct horse battery", true, false},
		{"wrong", stored, "correct horse batter", false, false},
		{"none kept", "", "correct horse battery", false, false},
		{"nothing", "", "", false, false},
		{"old parameters", old.String(), "correct horse battery", true, true},
		{"too long", stored, strings.Repeat("x", 2000), false, false},
	} {
		ok, stale, err := h.matches(ctx, tt.stored, tt.password, false)
		if err != nil || ok != tt.ok || stale != tt.stale {
			t.Errorf("%s: %v, %v, %v", tt.name, ok, stale, err)
		}
	}
	if _, _, err := h.matches(ctx, "$argon2id$damaged", "x", false); err == nil {
		t.Error("a damaged hash passes")
	}
}
