package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The tests of this file run other programs on the API's document: linters, and generators whose
// clients then send, list and import. Generated code is not kept.

// generatorTimeout bounds one program; compiling ogen's output takes longest.
const generatorTimeout = 15 * time.Minute

// generated is the output of the program around each generated client.
type generated struct {
	Sent     string
	Listed   []string
	Imported string
	Bounced  string
}

const (
	generatedCSV   = "email,first_name\nann@example.net,Ann\nbob@example.net,Bob\n"
	generatedEvent = `{"type":"email.bounced","created_at":"2026-08-01T09:30:00.000Z","data":{"email_id":"0197f2a4-5c1e-7b3a-9d84-2f6c1a0b3e57",
		"message_id":"<x@example.test>","created_at":"2026-08-01T09:29:00.000Z","from":"a@example.test","to":["ann@example.net"],"subject":"s",
		"recipient":"ann@example.net","bounce":{"message":"no such user","type":"Permanent","subType":"NoEmail","diagnosticCode":["smtp; 550"]}}}`
)

func needGenerators(t *testing.T) {
	t.Helper()
	needNode(t)
	_, err := os.Stat("node_modules/orval/package.json")
	need(t, err == nil, "the generators in node_modules: run `npm ci --ignore-scripts` in this folder")
}

// workshop is a folder in which clients are made, with both forms of the document.
type workshop struct {
	dir string
	env []string
}

func newWorkshop(t *testing.T, in *instance, folder string) workshop {
	t.Helper()
	w := workshop{dir: t.TempDir(), env: append(os.Environ(), "GOWORK=off", "NO_COLOR=1",
		"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")}
	must(t, os.CopyFS(w.dir, os.DirFS(filepath.Join("generators", folder))))
	for _, form := range []string{"openapi.json", "openapi-3.0.json"} {
		raw, err := fetch(in.url + "/" + form)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(w.dir, form), raw, 0o600))
	}
	return w
}

// withNode lets the folder find what npm installed.
func (w workshop) withNode(t *testing.T) workshop {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	must(t, err)
	must(t, os.Symlink(modules, filepath.Join(w.dir, "node_modules")))
	return w
}

// run runs a program in the workshop and returns its standard output.
func (w workshop) run(t *testing.T, name string, args ...string) nodeOutput {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generatorTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s\n%s", name, args, err, tail(out.Bytes(), 4000), tail(errs.Bytes(), 4000))
	}
	return out.Bytes()
}

// node runs a program that npm installed.
func (w workshop) node(t *testing.T, name string, args ...string) nodeOutput {
	t.Helper()
	return w.run(t, filepath.Join("node_modules", ".bin", name), args...)
}

// TestDocumentPassesLinters runs redocly and spectral with their recommended rules on both forms.
// Disabled rules are in generators/lint, with reasons.
func TestDocumentPassesLinters(t *testing.T) {
	part(t, "generators")
	t.Parallel()
	needGenerators(t)
	w := newWorkshop(t, start(t), "lint").withNode(t)
	for _, form := range []string{"openapi.json", "openapi-3.0.json"} {
		var judged struct {
			Totals   struct{ Errors, Warnings int }
			Problems []any
		}
		w.node(t, "redocly", "lint", form, "--config", "redocly.yaml", "--format", "json").into(t, &judged)
		if judged.Totals.Errors+judged.Totals.Warnings > 0 {
			t.Errorf("redocly on %s: %+v", form, judged)
		}
		w.node(t, "spectral", "lint", form, "--ruleset", "spectral.yaml", "--fail-severity", "warn")
	}
}

// TestLintersFindFaults: they would pass anything else.
func TestLintersFindFaults(t *testing.T) {
	part(t, "generators")
	t.Parallel()
	needGenerators(t)
	w := newWorkshop(t, start(t), "lint").withNode(t)
	path := filepath.Join(w.dir, "openapi.json")
	raw, err := os.ReadFile(path)
	must(t, err)
	broken := bytes.ReplaceAll(raw, []byte(`"security":[]`), []byte(`"x-security":[]`))
	must(t, os.WriteFile(path, bytes.Replace(broken, []byte(`"operationId":"list-emails",`), nil, 1), 0o600))
	for _, args := range [][]string{{"redocly", "lint", "openapi.json", "--config", "redocly.yaml"},
		{"spectral", "lint", "openapi.json", "--ruleset", "spectral.yaml", "--fail-severity", "warn"}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", args[0]), args[1:]...)
		cmd.Dir, cmd.Env = w.dir, w.env
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s passes it: %s", args[0], tail(out, 1000))
		}
	}
}

// TestOpenAPI30Generators validates the 3.0 form with kin-openapi, which accepts no keyword of 3.1
// there.
func TestOpenAPI30Generators(t *testing.T) {
	part(t, "generators")
	t.Parallel()
	in := startBare(t)
	newer, err := fetch(in.url + "/openapi.json")
	must(t, err)
	raw, err := fetch(in.url + "/openapi-3.0.json")
	must(t, err)
	want, err := loadDocument(newer)
	must(t, err)
	doc, err := loadDocument(raw)
	if err != nil || doc.spec.OpenAPI != "3.0.3" || len(doc.ops) != len(want.ops) {
		t.Fatalf("%d operations, %v", len(doc.ops), err)
	}
	for _, word := range []string{`"webhooks":`, `"const":`, `"examples":`, `"contentEncoding":`, `"contentMediaType":`, `"contentSchema":`, `"identifier":`, `["string","null"]`, `"type":"null"`} {
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("it has %s", word)
		}
	}
	if _, err := loadDocument(bytes.Replace(newer, []byte(`"openapi":"3.1.0"`), []byte(`"openapi":"3.0.3"`), 1)); err == nil {
		t.Error("3.1 passes for 3.0")
	}
}

// TestGeneratedClients has each generator make a client of the running server's own
// document, compiles it, and lets it work.
func TestGeneratedClients(t *testing.T) {
	part(t, "generators")
	t.Parallel()
	in := start(t)
	in.addDomain(t, "example.test")
	key := in.newKey(t)
	env := []string{"MAILER_URL=" + in.url, "MAILER_KEY=" + key, "MAILER_FROM=a@example.test", "MAILER_CSV=" + generatedCSV, "MAILER_EVENT=" + generatedEvent}
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		needGenerators(t)
		w := newWorkshop(t, in, "typescript").withNode(t)
		w.env = append(w.env, env...)
		w.node(t, "openapi-typescript", "openapi.json", "--output", "schema.ts")
		w.node(t, "openapi-ts", "--input", "openapi.json", "--output", "hey", "--no-log-file")
		w.node(t, "orval", "--config", "orval.config.js")
		w.node(t, "tsc", "--project", ".")
		for program, subject := range map[string]string{"fetch": "openapi-fetch", "heyapi": "hey-api", "orval": "orval"} {
			checkGenerated(t, client{in.url, key}, w.run(t, "node", filepath.Join("js", program+".js")), subject, "no such user")
		}
	})
	t.Run("oapi-codegen", func(t *testing.T) {
		t.Parallel()
		w := newWorkshop(t, in, "oapi")
		w.env = append(w.env, env...)
		must(t, os.Mkdir(filepath.Join(w.dir, "client"), 0o700))
		w.run(t, "go", "tool", "oapi-codegen", "-config", "config.yaml", "openapi.json")
		w.run(t, "go", "vet", "./...")
		checkGenerated(t, client{in.url, key}, w.run(t, "go", "run", "-trimpath", "."), "oapi-codegen", "no such user")
	})
	t.Run("ogen", func(t *testing.T) {
		t.Parallel()
		w := newWorkshop(t, in, "ogen")
		w.env = append(w.env, env...)
		w.run(t, "go", "tool", "ogen", "--config", "config.yaml", "--target", "client", "--package", "client", "openapi-3.0.json")
		w.run(t, "go", "vet", "./...")
		checkGenerated(t, client{in.url, key}, w.run(t, "go", "run", "-trimpath", "."), "ogen", "") // webhooks are not in 3.0
	})
}

// checkGenerated checks the output of a generated client with the server.
func checkGenerated(t *testing.T, api client, output nodeOutput, subject, bounced string) {
	t.Helper()
	var got generated
	must(t, json.Unmarshal(output, &got))
	var sent email
	api.get(t, "/emails/"+got.Sent, &sent)
	if sent.Subject != subject || len(sent.Tags) != 1 || sent.Tags[0].Value != "by_machine" {
		t.Errorf("%s sent %+v", subject, sent)
	}
	if !slices.Contains(got.Listed, got.Sent) {
		t.Errorf("%s lists %q without %s", subject, got.Listed, got.Sent)
	}
	if got.Bounced != bounced {
		t.Errorf("%s reads of the event %q", subject, got.Bounced)
	}
	eventually(t, time.Minute, "the import of "+subject, func() (bool, string) {
		var i struct {
			Status string
			Counts struct{ Total, Created, Updated int }
		}
		api.get(t, "/contacts/imports/"+got.Imported, &i)
		return i.Status == "completed" && i.Counts.Created+i.Counts.Updated == 2, i.Status
	})
}
