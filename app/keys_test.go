package app

import (
	"strings"
	"testing"
)

func TestRolesAreOrdered(t *testing.T) {
	order := []Role{"", RoleMember, RoleAdmin, RoleOwner}
	for i, a := range order {
		for j, b := range order {
			if a.Above(b) != (i > j) {
				t.Errorf("%q above %q: %v", a, b, a.Above(b))
			}
		}
		if a.Manages() != (i >= 2) {
			t.Errorf("%q manages: %v", a, a.Manages())
		}
	}
}

func TestKeysAreMadeAndRead(t *testing.T) {
	token, public, hash := NewKey()
	if len(token) != 64 || !strings.HasPrefix(token, "mlr_"+public+"_") || len(public) != 16 || len(hash) != 32 {
		t.Fatalf("token %q, public part %q, hash of %d bytes", token, public, len(hash))
	}
	got, gotHash, ok := ParseKey(token)
	k := Key{Hash: hash}
	if !ok || got != public || !k.Matches(gotHash) {
		t.Errorf("read as %q, %v", got, ok)
	}
	for i := range hash {
		wrong := append([]byte(nil), hash...)
		wrong[i] ^= 1
		if k.Matches(wrong) {
			t.Errorf("matches with another byte %d", i)
		}
	}
	if k.Matches(nil) || k.Matches(hash[:31]) || (&Key{}).Matches(hash) {
		t.Error("matches what is shorter")
	}
	for _, bad := range []string{"", "mlr_", token[:63], token + "A", "re_" + token[4:], strings.Replace(token, "_", "-", 2), token[:4] + "_" + token[5:20] + "A" + token[21:]} {
		if _, _, ok := ParseKey(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
	if again, _, _ := NewKey(); again == token {
		t.Error("the same key twice")
	}
}

func TestKeyNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, strings.Repeat("ü", 50): true, " x ": true, "": false, " ": false, strings.Repeat("a", 51): false, "a\nb": false, "a\x1b[2J": false,
	} {
		if err := CheckKeyName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
