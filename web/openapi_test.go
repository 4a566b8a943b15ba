package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

var update = flag.Bool("update", false, "write testdata/openapi.json anew")

func TestOpenAPIGolden(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	b := newFixture(t)
	w := b.do("GET", "/openapi.json", "")
	wantStatus(t, w, 200)
	var indented bytes.Buffer
	if err := json.Indent(&indented, w.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(indented.Bytes(), want) {
		t.Error("the API changed: look at the diff of testdata/openapi.json after go test ./web -run OpenAPIGolden -update")
	}
}

// TestOpenAPIDocument checks what a reader of the document relies on.
func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(document(), &doc); err != nil {
		t.Fatal(err)
	}
	info := doc["info"].(map[string]any)
	if doc["openapi"] != "3.1.0" || info["title"] != "Mailer" || info["version"] != "1.0.0" {
		t.Errorf("openapi %v, info %v", doc["openapi"], info)
	}
	public := map[string]bool{"/openapi.json": true, "/openapi-3.0.json": true, "/healthz": true, "/readyz": true, "/attachments/{token}": true, "/received/{token}": true,
		"/unsubscribe/{token}": true, "/preferences/{token}": true, "/t/o/{token}": true, "/t/c/{token}": true, "/shared/{token}": true, "/shared/{token}/body": true, "/view/{token}": true, "/forwarding/{token}": true, "/f/{form}": true, "/f/{form}/challenge": true, "/opt-in/{token}": true, "/opt-in/{token}/refuse": true, "/a/{topic}": true, "/a/{topic}/feed.xml": true, "/a/{topic}/feed.json": true, "/a/{topic}/{issue}": true, "/i/{name}": true, "/previews/{token}": true,
		"/auth/setup": true, "/auth/sign-in": true, "/auth/sign-out": true, "/auth/link": true, "/auth/invitation": true, "/auth/invitation/read": true, "/auth/passkey": true, "/auth/passkey/options": true,
		"/ingest/ses": true, "/ingest/{provider}/{secret}": true, "/ingest/elasticemail/{secret}": true}
	for path, item := range doc["paths"].(map[string]any) {
		for method, v := range item.(map[string]any) {
			op := v.(map[string]any)
			if security, said := op["security"].([]any); !said || (len(security) > 0) == public[path] {
				t.Errorf("%s %s: security %v", method, path, op["security"])
			}
			checkOperation(t, method+" "+path, op, public[path])
		}
	}
	checkRefs(t, doc, doc)
	if strings.Contains(string(document()), "$schema") {
		t.Error("answers link to schemas")
	}
}

// bodiless are POSTs that there is nothing to say in.
var bodiless = map[string]bool{"post /auth/sign-out": true, "post /users/me/totp": true, "post /users/me/recovery-codes": true, "post /health/checks": true, "post /backups": true,
	"post /users/me/passkeys/options": true, "post /auth/passkey/options": true}

func checkOperation(t *testing.T, name string, op map[string]any, public bool) {
	t.Helper()
	responses := op["responses"].(map[string]any)
	want := []string{"500"}
	switch {
	case responses["302"] != nil:
		want = append(want, "302")
	case responses["202"] != nil:
		want = append(want, "202")
	case responses["201"] == nil:
		want = append(want, "200")
	}
	if !public {
		want = append(want, "401", "403", "429")
	}
	if strings.Contains(name, "{") {
		want = append(want, "404")
	}
	if strings.HasPrefix(name, "post") && !strings.Contains(name, "{") && !bodiless[name] { // a POST below a resource has no body
		want = append(want, "400", "408", "413", "422", "503")
		body := op["requestBody"].(map[string]any)
		media := "application/json"
		if strings.HasSuffix(name, " /contacts/imports") {
			media = "multipart/form-data"
		}
		kinds := 1
		if strings.HasSuffix(name, " /images") {
			kinds = 2 // a form and JSON
		}
		if content := body["content"].(map[string]any); body["required"] != true || len(content) != kinds || content[media] == nil {
			t.Errorf("%s: request body %v", name, body)
		}
	}
	for _, status := range want {
		response, ok := responses[status].(map[string]any)
		if !ok {
			t.Errorf("%s: no response %s", name, status)
			continue
		}
		content, _ := response["content"].(map[string]any)
		if status[0] < '4' || content["text/html"] != nil || content["image/gif"] != nil || content["image/png"] != nil || strings.HasPrefix(name, "head") {
			continue
		}
		media := content["application/json"].(map[string]any)
		if ref := media["schema"].(map[string]any)["$ref"]; ref != "#/components/schemas/Error" {
			t.Errorf("%s: response %s is %v", name, status, ref)
		}
	}
}

// checkRefs finds every $ref in the document.
func checkRefs(t *testing.T, doc, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkRefs(t, doc, item)
		}
	case map[string]any:
		checkTypes(t, v)
		if ref, ok := v["$ref"].(string); ok {
			at := doc
			for _, token := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
				m, _ := at.(map[string]any)
				at = m[token]
			}
			if at == nil {
				t.Errorf("%s leads nowhere", ref)
			}
		}
		for name, item := range v {
			if name != "examples" && name != "securitySchemes" {
				checkRefs(t, doc, item)
			}
		}
	}
}

// checkTypes looks at the types that a schema names.
func checkTypes(t *testing.T, schema map[string]any) {
	t.Helper()
	names, _ := schema["type"].([]any)
	if name, ok := schema["type"].(string); ok {
		names = []any{name}
	}
	for _, name := range names {
		if !slices.Contains([]any{"string", "number", "integer", "boolean", "object", "array", "null", "http", "apiKey"}, name) {
			t.Errorf("there is no type %q: %v", name, schema)
		}
	}
}
