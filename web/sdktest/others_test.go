package sdktest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// otherAnswer is what a client that is none of the five said of one call.
type otherAnswer struct {
	Data  json.RawMessage
	Error *string
	Name  string
}

func (a otherAnswer) String() string {
	if a.Error != nil {
		return fmt.Sprintf("%s: %s", a.Name, *a.Error)
	}
	return string(a.Data)
}

func (a otherAnswer) thing(t *testing.T) (v thing) {
	t.Helper()
	if a.Error != nil || json.Unmarshal(a.Data, &v) != nil {
		t.Errorf("answered %s", a)
	}
	return v
}

// runOther runs a script of others/, which has its own lock file.
func (w *fixture) runOther(t *testing.T, script string, env ...string) map[string]otherAnswer {
	t.Helper()
	needNode(t)
	_, err := os.Stat("others/node_modules")
	need(t, err == nil, "others/node_modules: run `npm ci --ignore-scripts` in others")
	env = append(env, "RESEND_BASE_URL="+w.in.url, "RESEND_API_KEY="+w.key, "FROM=shop@example.test", "BINARY="+asNumbers(everyByte()))
	out, err := runJS(t, env, filepath.Join("others", script))
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	var got map[string]otherAnswer
	out.into(t, &got)
	return got
}

// TestOlderClientsOfResend walks through one release of each line of the npm
// package before the newest.
func TestOlderClientsOfResend(t *testing.T) {
	part(t, "clients")
	inBothModes(t, olderClientsOfResend)
}

func olderClientsOfResend(t *testing.T, mode compat) {
	for _, line := range []string{"resend-1", "resend-2", "resend-3", "resend-4", "resend-6"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, &fixtureOptions{direct: true, compat: mode})
			got := w.runOther(t, "resend.mjs", "PACKAGE="+line)
			sent := got["send"].thing(t)
			w.checkArrived(t, arrival{
				id: sent.ID, subject: "from an older client", from: "shop@example.test", envelope: []string{"ann@example.com", "carl@example.com"},
				header: map[string]string{"Reply-To": "r@example.com", "X-Entity-Ref-ID": "1"}, html: "<p>hello</p>", text: "hello",
				files: map[string][]byte{"data.bin": everyByte()},
			})
			if e := got["email"].thing(t); e.ID != sent.ID {
				t.Errorf("read back %s", got["email"])
			}
			checkOlderErrors(t, got)
			if line != "resend-1" {
				w.checkOlderLists(t, got)
			}
		})
	}
}

func checkOlderErrors(t *testing.T, got map[string]otherAnswer) {
	t.Helper()
	for name, want := range map[string]string{"nobody": "`to`", "elsewhere": "elsewhere.test"} {
		if a := got[name]; a.Error == nil || a.Name != "validation_error" || !strings.Contains(*a.Error, want) {
			t.Errorf("%s: %s, want an error of %s", name, a, want)
		}
	}
	for _, name := range []string{"domains", "keys", "key", "keyGone"} {
		if got[name].Error != nil {
			t.Errorf("%s: %s", name, got[name])
		}
	}
}

func (w *fixture) checkOlderLists(t *testing.T, got map[string]otherAnswer) {
	t.Helper()
	made := got["contact"].thing(t)
	if made.ID == "" {
		t.Errorf("contact: %s", got["contact"])
	}
	for _, name := range []string{"contactAgain", "contactElsewhere"} {
		if again := got[name].thing(t); again.ID != made.ID {
			t.Errorf("%s: %s, want the contact %s", name, got[name], made.ID)
		}
	}
	var there things
	if err := json.Unmarshal(got["contactsElsewhere"].Data, &there); err != nil || there.names() != "ann@example.com" {
		t.Errorf("in the second audience: %s", got["contactsElsewhere"])
	}
	for _, name := range []string{"batch", "contactChanged", "contactGone"} {
		if got[name].Error != nil {
			t.Errorf("%s: %s", name, got[name])
		}
	}
	w.sink.wait(t, 2, time.Minute, subjectIs("one of two"))
}

// TestOtherTransports sends through what other projects have for Resend.
func TestOtherTransports(t *testing.T) {
	part(t, "clients")
	inBothModes(t, otherTransports)
}

func otherTransports(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{direct: true, compat: mode})
	got := w.runOther(t, "transports.mjs")
	refused := map[string]string{"payload: no subject": "`subject`", "payload: attachment by address": "path"}
	for name, a := range got {
		want := refused[name]
		if (a.Error != nil) != (want != "") || want != "" && !strings.Contains(*a.Error, want) {
			t.Errorf("%s: %s, wanted refusal: %q", name, a, want)
		}
	}
	if len(got) != 8 {
		t.Errorf("%d calls: %v", len(got), got)
	}
	for name, from := range map[string]string{
		"payload": "shop@example.test", "payload: name with a comma": `"Shop, Inc." <shop@example.test>`,
		"nodemailer": `"Shop" <shop@example.test>`, "nodemailer: name with a comma": `"Shop, Inc. (news)" <shop@example.test>`,
		"nodemailer: quoted by its user": `"Shop, Inc." <shop@example.test>`,
	} {
		if got[name].Error == nil {
			w.checkSender(t, got[name].thing(t).ID, name, from)
		}
	}
	if m := w.sink.wait(t, 1, time.Minute, subjectIs("Sign in to app.example.test")); len(m) > 0 && bareAddresses(m[0].header("From")) != "shop@example.test" {
		t.Errorf("auth.js: From %s", m[0].header("From"))
	}
}

// checkSender checks the From header of an email on the wire: its name is quoted or needs no
// quotes.
func (w *fixture) checkSender(t *testing.T, id, what, want string) {
	t.Helper()
	if id == "" {
		t.Errorf("%s: no id", what)
		return
	}
	found := w.sink.wait(t, 1, time.Minute, func(m *message) bool { return m.header("X-Mailer-Email-ID") == id })
	names := []string{want, strings.ReplaceAll(want, `"`, "")}
	if got := found[0].header("From"); !slices.Contains(names, got) && got != "Shop <"+want+">" {
		t.Errorf("%s: From %s, want %s", what, got, want)
	}
}
