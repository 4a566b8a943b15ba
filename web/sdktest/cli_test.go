package sdktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const resendCLI = "node_modules/resend-cli/dist/cli.cjs"

// runCLI calls Resend's command line, on Node, against the API.
func runCLI(t *testing.T, w *fixture, key string, args ...string) (nodeOutput, error) {
	t.Helper()
	noteCommand(args)
	return runJS(t, cliEnv(t, w.in.url, key), append([]string{resendCLI}, append(args, "--json")...)...)
}

func TestResendCommandLineFlow(t *testing.T) {
	part(t, "clients", shortForm)
	inBothModes(t, resendCommandLineFlow)
}

func resendCommandLineFlow(t *testing.T, mode compat) {
	needNode(t)
	needPythonDKIM(t)
	w := newFixture(t, &fixtureOptions{compat: mode})
	attached := filepath.Join(t.TempDir(), "data.bin")
	must(t, os.WriteFile(attached, everyByte(), 0o600))
	var sent struct{ ID string }
	out, err := runCLI(t, w, w.key, "emails", "send", "--from", "Shop <shop@example.test>", "--to", "ann@example.com",
		"--bcc", "dora@example.com", "--subject", "from the CLI", "--text", "hello", "--html", "<p>hello</p>",
		"--headers", "X-Entity-Ref-ID=cli", "--tags", "category=welcome", "--attachment", attached)
	must(t, err)
	out.into(t, &sent)
	client{w.in.url, w.key}.waitLast(t, sent.ID, time.Minute, "sent")
	out, err = runCLI(t, w, w.key, "emails", "get", sent.ID)
	must(t, err)
	var got email
	out.into(t, &got)
	if got.ID != sent.ID || got.From != "Shop <shop@example.test>" || got.LastEvent != "sent" || len(got.Bcc) != 1 {
		t.Errorf("emails get: %+v", got)
	}
	w.checkArrived(t, arrival{
		id: sent.ID, subject: "from the CLI", from: "shop@example.test",
		envelope: []string{"ann@example.com", "dora@example.com"}, header: map[string]string{"X-Entity-Ref-ID": "cli"},
		html: "<p>hello</p>", text: "hello", files: map[string][]byte{"data.bin": everyByte()},
	})
	var list struct {
		Data []struct{ ID, Filename string }
	}
	out, err = runCLI(t, w, w.key, "emails", "list")
	must(t, err)
	out.into(t, &list)
	if len(list.Data) != 1 || list.Data[0].ID != sent.ID {
		t.Errorf("emails list: %+v", list)
	}
	out, err = runCLI(t, w, w.key, "emails", "attachments", sent.ID)
	must(t, err)
	out.into(t, &list)
	if len(list.Data) != 1 || list.Data[0].Filename != "data.bin" {
		t.Fatalf("emails attachments: %+v", list)
	}
	out, err = runCLI(t, w, w.key, "emails", "attachment", sent.ID, list.Data[0].ID)
	must(t, err)
	var one struct {
		ID          string
		Size        int
		DownloadURL string `json:"download_url"`
	}
	out.into(t, &one)
	if one.ID != list.Data[0].ID || one.Size != len(everyByte()) || one.DownloadURL == "" {
		t.Errorf("emails attachment: %+v", one)
	}
	out, err = runCLI(t, w, w.key, "emails", "share", sent.ID)
	must(t, err)
	var shared struct{ URL string }
	out.into(t, &shared)
	if !strings.Contains(shared.URL, "/shared/") {
		t.Errorf("emails share: %+v", shared)
	}
	if _, err := runCLI(t, w, forgedKey(w.key), "emails", "get", sent.ID); err == nil {
		t.Error("a wrong key reads an email")
	}
}
