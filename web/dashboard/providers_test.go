package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"mailer/app/rules/feedback"
)

const providersFile = "providers.js"

// TestProvidersMatchServer: providers.js is made of the server's table of providers.
func TestProvidersMatchServer(t *testing.T) {
	b := bytes.NewBufferString(`// Written by go test ./web/dashboard -update, from app/rules/feedback.

/**
 * Providers: their name, their SMTP servers with the area of each, and the user name if it is the
 * same for everybody.
 * @type {Record<string, {name: string, hosts: string[][], user?: string}>}
 */
export const providers = {
`)
	text := func(s string) string {
		quoted, _ := json.Marshal(s) // a string can't fail
		return "'" + string(quoted[1:len(quoted)-1]) + "'"
	}
	for _, p := range feedback.Providers() {
		if p.Name == "" {
			continue
		}
		fmt.Fprintf(b, "\t%s: { name: %s, hosts: [", p.Source, text(p.Name))
		for i, h := range p.Hosts {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "[%s, %s]", text(h.Host), text(h.Area))
		}
		b.WriteString("]")
		if p.User != "" {
			b.WriteString(", user: " + text(p.User))
		}
		b.WriteString(" },\n")
	}
	b.WriteString("};\n")
	if *update {
		if err := os.WriteFile(providersFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(providersFile); err != nil || !bytes.Equal(now, b.Bytes()) {
		t.Errorf("%s is not the table of app/rules/feedback: go test ./web/dashboard -update (%v)", providersFile, err)
	}
}
