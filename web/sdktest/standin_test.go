package sdktest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startStandIn builds and starts the stand-in for Resend's API that the importer's tests read, and
// returns its URL.
func startStandIn(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serve")
	build := exec.Command("go", "build", "-o", path, "./app/resend/resendtest/serve")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), path)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF || url == "" {
		t.Fatalf("the stand-in: %v %s", err, errs.String())
	}
	return strings.TrimSpace(url)
}

// TestNodeClientReadsStandIn: Resend's own client accepts the stand-in as Resend. Its calls are not
// counted.
func TestNodeClientReadsStandIn(t *testing.T) {
	part(t, "harness")
	needNode(t)
	url := startStandIn(t)
	raw, err := runJS(t, []string{"RESEND_BASE_URL=" + url, "RESEND_API_KEY=re_full_123456789", "SENDING_KEY=re_sending_123456789"}, filepath.Join("node", "standin.mjs"))
	if err != nil {
		t.Fatalf("standin.mjs: %v", err)
	}
	var got struct {
		Lists, Items map[string][]map[string]any
		Errors       map[string]apiError
		ByEmail      map[string]any `json:"byEmail"`
	}
	raw.into(t, &got)
	for name, want := range map[string]int{"contactProperties": 2, "segments": 3, "topics": 2, "contacts": 45, "templates": 5, "broadcasts": 4, "domains": 2, "webhooks": 3, "suppressions": 3,
		"apiKeys": 2, "automations": 1, "events": 1, "emails": 1, "receiving": 1, "members": 23, "contactSegments": 2, "contactTopics": 2} {
		if n := len(got.Lists[name]); n != want {
			t.Errorf("%s: %d items, not %d", name, n, want)
		}
		for i, item := range got.Items[name] {
			for member, value := range got.Lists[name][i] {
				if full, ok := item[member]; !ok || fmt.Sprint(full) != fmt.Sprint(value) {
					t.Errorf("%s: %s is %v in the list and %v in the item", name, member, value, full)
				}
			}
		}
	}
	for name, member := range map[string]string{"webhooks": "signing_secret", "domains": "records", "templates": "variables", "contacts": "properties", "broadcasts": "html"} {
		if got.Items[name][0][member] == nil || got.Lists[name][0][member] != nil {
			t.Errorf("%s: %s is %v, in the list %v", name, member, got.Items[name][0][member], got.Lists[name][0][member])
		}
	}
	if got.ByEmail["id"] != got.Lists["contacts"][1]["id"] {
		t.Errorf("by its address: %v", got.ByEmail)
	}
	for name, want := range map[string]apiError{"missing": {StatusCode: 404, Name: "not_found"}, "cursor": {StatusCode: 422, Name: "validation_error"},
		"sending": {StatusCode: 401, Name: "restricted_api_key"}, "wrong": {StatusCode: 403, Name: "validation_error"}} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
