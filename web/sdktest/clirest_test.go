package sdktest

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// cliEnv is the environment of Resend's command line.
func cliEnv(t *testing.T, url, key string) []string {
	t.Helper()
	return []string{
		"RESEND_BASE_URL=" + url, "RESEND_API_KEY=" + key, "CI=true",
		"RESEND_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1", "RESEND_NO_UPDATE_NOTIFIER=1",
		"XDG_CONFIG_HOME=" + t.TempDir(),
	}
}

// caller returns a function that runs a command and reads its answer.
func (w *fixture) caller(t *testing.T) func(into any, args ...string) {
	return func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w, w.key, args...)
		if err != nil {
			t.Fatalf("%q: %v %s", args, err, out)
		}
		out.into(t, into)
	}
}

func TestResendCommandLineVocabulary(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineVocabulary)
}

func resendCommandLineVocabulary(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	call := w.caller(t)
	var made, changed, got thing
	var list things
	for _, tt := range []struct{ kind, create, update string }{
		{"segments", "--name Customers", "--name Buyers"},
		{"topics", "--name News --default-subscription opt_out", "--name Stories --description Long"},
		{"contact-properties", "--key plan --type string --fallback-value free", "--fallback-value none"},
	} {
		call(&made, append([]string{tt.kind, "create"}, strings.Fields(tt.create)...)...)
		call(&changed, append([]string{tt.kind, "update", made.ID}, strings.Fields(tt.update)...)...)
		got, list = thing{}, things{}
		call(&got, tt.kind, "get", made.ID)
		call(&list, tt.kind, "list")
		if changed.ID != made.ID || got.ID != made.ID || len(list.Data) != 1 || list.Data[0].ID != made.ID {
			t.Errorf("%s: made %+v, changed %+v, got %+v, list %+v", tt.kind, made, changed, got, list)
		}
		if text := got.Name + got.Description + got.Key; text != "Buyers" && text != "StoriesLong" && text != "plan" {
			t.Errorf("%s: %+v", tt.kind, got)
		}
	}
	if got.Fallback != "none" {
		t.Errorf("the fallback is %v", got.Fallback)
	}
	file := t.TempDir() + "/contacts.csv"
	must(t, os.WriteFile(file, []byte("email\nbob@example.com\n"), 0o600))
	call(&made, "contacts", "imports", "create", "--file", file)
	eventually(t, time.Minute, "the import is listed as complete", func() (bool, string) {
		call(&list, "contacts", "imports", "list", "--status", "completed")
		return len(list.Data) == 1 && list.Data[0].ID == made.ID && list.Data[0].Counts.Created == 1, "not yet"
	})
}

func TestResendCommandLineWebhooks(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineWebhooks)
}

func resendCommandLineWebhooks(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	call := w.caller(t)
	hooks := newReceiver(t)
	var made, got, list, rotated, events, event, attempts, replayed, removed hookThing
	call(&made, "webhooks", "create", "--endpoint", hooks.URL, "--events", "email.sent")
	call(&got, "webhooks", "get", made.ID)
	call(&list, "webhooks", "list")
	if made.SigningSecret == "" || got.Endpoint != hooks.URL || got.Status != "enabled" || len(list.Data) != 1 || list.Data[0].ID != made.ID {
		t.Errorf("made %+v, got %+v, list %+v", made, got, list)
	}
	id := (client{w.in.url, w.key}).send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "s", "text": "t"})
	first := hooks.wait(t, "email.sent", 1)
	eventually(t, time.Minute, "the event is done", func() (bool, string) {
		call(&events, "webhooks", "events", "list", made.ID)
		return len(events.Data) == 1 && events.Data[0].Status == "success", events.text()
	})
	call(&event, "webhooks", "events", "get", made.ID, events.Data[0].ID)
	call(&attempts, "webhooks", "events", "attempts", made.ID, events.Data[0].ID)
	call(&replayed, "webhooks", "events", "replay", made.ID, events.Data[0].ID)
	if again := hooks.wait(t, "email.sent", 2); again.body != first.body || !strings.Contains(first.body, id) {
		t.Errorf("replayed %s, first %s", again.body, first.body)
	}
	if event.Payload.Type != "email.sent" || len(attempts.Data) != 1 || attempts.Data[0].HTTPStatus != 200 || replayed.ID != events.Data[0].ID {
		t.Errorf("event %+v, attempts %+v, replayed %+v", event, attempts, replayed)
	}
	call(&rotated, "webhooks", "rotate-signing-secret", made.ID)
	call(&got, "webhooks", "update", made.ID, "--status", "disabled")
	call(&got, "webhooks", "get", made.ID)
	if rotated.SigningSecret == made.SigningSecret || got.SigningSecret != rotated.SigningSecret || got.Status != "disabled" {
		t.Errorf("rotated %+v, got %+v", rotated, got)
	}
	call(&removed, "webhooks", "delete", made.ID, "--yes")
	if !removed.Deleted || removed.ID != made.ID {
		t.Errorf("removed %+v", removed)
	}
}

// TestResendCommandLineListen runs the command that registers a webhook, prints its events, and
// removes it.
func TestResendCommandLineListen(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineListen)
}

func resendCommandLineListen(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	args := []string{"webhooks", "listen", "--url", "http://" + addr, "--port", port, "--events", "email.sent", "--json"}
	noteCommand(args)
	cmd := exec.Command("node", append([]string{resendCLI}, args...)...)
	cmd.Env = append(cleanEnv(t.TempDir()), cliEnv(t, w.in.url, w.key)...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	api := client{w.in.url, w.key}
	hooks := func() (list hookThing) {
		api.get(t, "/webhooks", &list)
		return list
	}
	eventually(t, time.Minute, "the webhook is registered", func() (bool, string) { return len(hooks().Data) == 1, errs.String() })
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "s", "text": "t"})
	shown := make(chan string, 1)
	go func() { shown <- readUntil(out, id) }()
	select {
	case text := <-shown:
		if !strings.Contains(text, "email.sent") || !strings.Contains(text, id) {
			t.Errorf("shown: %s", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("the command shows nothing")
	}
	must(t, cmd.Process.Signal(os.Interrupt))
	eventually(t, time.Minute, "the webhook is gone", func() (bool, string) { return len(hooks().Data) == 0, "still there" })
	_ = cmd.Wait()
}

func readUntil(r io.Reader, end string) string {
	var all strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), end) {
			break
		}
	}
	return all.String()
}

// TestResendCommandLineKey: the key comes from the environment; `login` accepts only Resend's own
// key format, and says so.
func TestResendCommandLineKey(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineKey)
}

func resendCommandLineKey(t *testing.T, mode compat) {
	needNode(t)
	w := &fixture{in: start(t, mode.flags()...)}
	w.key = w.in.newKey(t)
	var who struct {
		Authenticated bool
		Source        string
	}
	w.caller(t)(&who, "whoami")
	if !who.Authenticated || who.Source != "env" {
		t.Errorf("whoami: %+v", who)
	}
	noteCommand([]string{"login"})
	if out, err := runCLIAll(t, w, "login", "--key", w.key); err == nil || !strings.Contains(out, "invalid_key_format") {
		t.Errorf("login: %v, %s", err, out)
	}
}

// TestResendCommandLineUnsupported runs each command that this service
// has nothing for.
func TestResendCommandLineUnsupported(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineUnsupported)
}

func resendCommandLineUnsupported(t *testing.T, mode compat) {
	needNode(t)
	w := &fixture{in: start(t, mode.flags()...)}
	w.key = w.in.newKey(t)
	arguments := map[string]string{
		"domains claim create": "--name example.test",
		"oauth-grants list":    "", "oauth-grants revoke": "ID --yes",
	}
	for _, name := range absentMethods(t, cliClient) {
		rest, known := arguments[name]
		if !known {
			rest = "ID"
		}
		args := append(strings.Fields(name), strings.Fields(strings.ReplaceAll(rest, "ID", someID))...)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noteCommand(args)
			out, err := runCLIAll(t, w, args...)
			if err == nil || !strings.Contains(out, "This service has no ") {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// runCLIAll runs a command and returns all that it printed: errors are on standard
// error.
func runCLIAll(t *testing.T, w *fixture, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append(append([]string{resendCLI}, args...), "--json")...)
	cmd.Env = append(cleanEnv(t.TempDir()), cliEnv(t, w.in.url, w.key)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
