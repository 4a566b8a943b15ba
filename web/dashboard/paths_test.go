package dashboard

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// escapingPaths are path parameters, as in the address bar, that would make a page request another
// route than its own.
var escapingPaths = []string{
	"..%2Fauth%2Fsign-out%23", "..%2Fauth%2Fsign-out", "..%252Fauth%252Fsign-out%2523", "%2e%2e%2Fauth%2Fsign-out%3F", "..%5Cauth%5Csign-out",
	"x%2F..%2F..%2Fauth%2Fsign-out%3f", "..", ".", "%2e%2e", "%2E.", "x%23", "x%3Fy", "x%2Fcancel", "%2F", "x%00", "x%0Ay", "%25", "%E0%A4%A", "%", "x%20y", "%C2%85",
}

// TestIDsCannotEscapePaths: no route accepts such a parameter, no request is made with one, and
// valid ids are accepted.
func TestIDsCannotEscapePaths(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("node is missing")
		}
		t.Skip("NOT TESTED: node is missing")
	}
	s := &site{}
	s.once.Do(s.prepare)
	dir := t.TempDir()
	for _, name := range []string{"paths.js", "router.js", "lib/core.js"} {
		if err := os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), read(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var patterns []string
	for _, r := range s.routes {
		if strings.Contains(r.pattern, ":") {
			patterns = append(patterns, r.pattern)
		}
	}
	if len(patterns) < 10 {
		t.Fatalf("%d routes have parameters", len(patterns))
	}
	in, err := json.Marshal(map[string]any{"patterns": patterns, "away": escapingPaths,
		"ids": []string{"01920000-0000-7000-8000-0000000000a1", "order-paid_2.v1", "a%2Bb%40x.test", "a+b@x.test", "b%C3%BCcher@x.test", "eu-west-1", "...", "x..y"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"package.json": `{"type": "module"}`, "in.json": string(in), "test.js": escapedRequest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, "test.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "fine" {
		t.Errorf("%v\n%s", err, out)
	}
}

// escapedRequest tries the modules as a browser would.
const escapedRequest = `import { readFileSync } from 'node:fs';
globalThis.location = new URL('https://mail.test/dashboard/');
const { match } = await import('./router.js');
const { domainIn, encoded, isPath, ownDomain } = await import('./paths.js');
const { patterns, away, ids } = JSON.parse(readFileSync('in.json'));
const wrong = [];
for (const pattern of patterns) {
	for (const part of away) {
		const params = match(pattern, pattern.replaceAll(':id', part));
		if (params) wrong.push(pattern + ' takes ' + part + ' as ' + JSON.stringify(params));
	}
	for (const part of ids) if (match(pattern, pattern.replaceAll(':id', part))?.id !== decodeURIComponent(part)) wrong.push(pattern + ' refuses ' + part);
}
const asked = (path) => new URL(path, 'https://mail.test').pathname;
for (const part of away) {
	for (let id = part, i = 0; i < 3; i++) {
		const raw = '/emails/' + id + '/raw';
		if (isPath(raw) && asked(raw) !== raw) wrong.push(raw + ' is asked for as ' + asked(raw));
		let path = null;
		try {
			path = encoded` + "`/emails/${id}/raw`" + `;
		} catch { /* refused */ }
		if (path && (!isPath(path) || asked(path) !== path || path.split('/').length !== 4)) wrong.push(id + ' makes ' + path + ', asked for as ' + asked(path));
		try {
			id = decodeURIComponent(id);
		} catch {
			break;
		}
	}
}
for (const path of ['//evil.test/x', '/a//b', '/a/', '/a?b', '/a#b', '/a/../b', '/a/./b', '/a/%2e%2E/b', '/a\\b', '/a/..%2fb', '/a/b%5c..', 'a', '', '/', 'https://evil.test/a']) if (isPath(path)) wrong.push(path + ' counts as a path');
for (const path of ['/emails', '/emails/x/raw', '/suppressions/a%2Bb%40x.test', '/users/me/totp']) if (!isPath(path)) wrong.push(path + ' is refused');
for (const [pasted, domain] of [['https://mail.x.test/', 'mail.x.test'], [' X.test ', 'x.test'], ['http://u:p@x.test:8080/a?b#c', 'x.test'], ['ann@x.test', 'x.test'], ['mailto:ann@x.test', 'x.test'], ['x.test:25', 'x.test'], ['x.test.', 'x.test'], ['', '']]) if (domainIn(pasted) !== domain) wrong.push(pasted + ' is read as ' + domainIn(pasted));
for (const [address, domain] of [['ann@gmail.com', ''], ['ann@yahoo.co.uk', ''], ['ann@acme.example', 'acme.example'], ['ann@gmail.acme.example.', 'gmail.acme.example'], [undefined, '']]) if (ownDomain(address) !== domain) wrong.push(address + ' sends from ' + ownDomain(address));
console.log(wrong.length ? wrong.join('\n') : 'fine');
`

// TestShellServesKnownPathsOnly: the server does not even answer with the shell.
func TestShellServesKnownPathsOnly(t *testing.T) {
	for _, part := range escapingPaths {
		u := &url.URL{Path: "/dashboard/emails/" + part}
		if decoded, err := url.PathUnescape(part); err == nil {
			u.Path, u.RawPath = "/dashboard/emails/"+decoded, "/dashboard/emails/"+part
		} else {
			continue // net/http refuses it before
		}
		harmless := strings.Trim(u.Path[len("/dashboard/emails/"):], "x \x00\n\u0085y") == ""
		if isPage(u) != harmless {
			t.Errorf("%s is a page: %t", part, isPage(u))
		}
	}
	for _, at := range []string{"/dashboard", "/dashboard/", "/dashboard/contacts/a+b@x.test", "/dashboard/emails/", "/dashboard/broadcasts/x/review"} {
		if !isPage(&url.URL{Path: at}) {
			t.Errorf("%s is no page", at)
		}
	}
}

var (
	// literalPath finds a template literal that begins with a path and has a value in it.
	literalPath = regexp.MustCompile("(\\w*)`((?:\\$\\{(?:base|path|draft\\.path)\\})?/(?:[^`$]|\\$\\{[^`{}]*\\})*[/=]\\$\\{(?:[^`$]|\\$\\{[^`{}]*\\})*)`")
	// constantPart are values that are constants of the dashboard.
	constantPart = regexp.MustCompile(`^(?:\$\{base\})?(?:/(?:operator/|queue/)?\$\{\w+\}|/manual/.*|/[a-z-]+\?[a-z]+=\$\{encodeURIComponent\(.*)$`)
)

// TestPathsEncodeTheirIDs: paths with values are built in one place.
func TestPathsEncodeTheirIDs(t *testing.T) {
	n := 0
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range literalPath.FindAllStringSubmatch(comments.ReplaceAllString(string(read(t, name)), ""), -1) {
			if constantPart.MatchString(m[2]) {
				continue
			}
			if n++; m[1] != "encoded" {
				t.Errorf("%s: `%s` is not encoded", name, m[2])
			}
		}
	}
	if n < 150 {
		t.Errorf("%d paths are found", n)
	}
}
