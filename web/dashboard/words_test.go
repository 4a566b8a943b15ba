package dashboard

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mailer/app/operate/health"
	"mailer/app/rules/verdict"
	"mailer/web/manual"
	"mailer/web/rest"
)

var update = flag.Bool("update", false, "write the bundles, and the texts of en.json that are the server's")

const englishFile = "i18n/en.json"

// TestVerdictTextsMatchServer: the English texts of verdicts are the server's, so that translators
// see all of them.
func TestVerdictTextsMatchServer(t *testing.T) {
	want := map[string]any{}
	for _, v := range verdict.Templates() {
		found := map[string]any{"text": v.Text}
		if v.Many != "" {
			found["many"] = v.Many
		}
		if v.Fix != "" {
			found["fix"] = v.Fix
		}
		want[string(v.Code)] = found
	}
	raw, err := os.ReadFile(englishFile)
	if err != nil {
		t.Fatal(err)
	}
	var english map[string]any
	if err := json.Unmarshal(raw, &english); err != nil {
		t.Fatal(err)
	}
	if same(t, english["verdicts"], want) {
		return
	}
	if !*update {
		t.Fatal("the verdicts of en.json are not those of app/rules/verdict: go test ./web/dashboard -update")
	}
	group, err := json.MarshalIndent(want, "\t", "\t")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(raw), "\n\t\"verdicts\": {")
	_, tail, found := strings.Cut(rest, "\n\t}")
	if !found {
		t.Fatal("en.json has no room of verdicts")
	}
	out := head + "\n\t\"verdicts\": " + unescaped(group) + tail
	if err := os.WriteFile(englishFile, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unescaped is JSON without the escapes that Go makes for HTML.
func unescaped(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func same(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}

// sourceFiles are the pages, modules, style sheets, icons and fonts of this folder.
func sourceFiles(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.html", "*.js", "*.css", "*.svg", "ui/*.js", "fonts/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%d files are %s: %v", len(found), pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func keep(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestScreensLinkManual: which is there, with the heading that it leads to.
func TestScreensLinkManual(t *testing.T) {
	pages := regexp.MustCompile(`\['/[a-z/]*', '([a-z-]+)(?:#([a-z-]+))?'\]`).FindAllStringSubmatch(string(read(t, "help.js")), -1)
	if len(pages) < 25 {
		t.Fatalf("%d screens have a page", len(pages))
	}
	h := rest.New(rest.Config{Log: slog.New(slog.DiscardHandler), Limits: rest.DefaultLimits(), Now: time.Now})
	manual.Register(h, func() string { return "" })
	for _, page := range pages {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/manual/"+page[1], nil))
		if w.Code != 200 || page[2] != "" && !strings.Contains(w.Body.String(), `id="`+page[2]+`"`) {
			t.Errorf("the manual has no page %s with a heading %q", page[1], page[2])
		}
	}
}

// TestFindingTextsMatchServer: what the page of health says in English is what the
// commands say, and all languages have every sentence with its parameters.
func TestFindingTextsMatchServer(t *testing.T) {
	type sentences struct{ What, Fix string }
	groups := map[string]map[string]json.RawMessage{}
	languages, err := filepath.Glob("i18n/*.json")
	if err != nil || len(languages) != 10 {
		t.Fatalf("%q, %v", languages, err)
	}
	for _, name := range languages {
		var all struct{ Findings map[string]json.RawMessage }
		if err := json.Unmarshal(read(t, name), &all); err != nil {
			t.Fatal(err)
		}
		groups[name] = all.Findings
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	for _, s := range health.Sentences {
		for name, group := range groups {
			var found sentences
			if s.Terminal {
				continue
			}
			if err := json.Unmarshal(group[s.ID], &found); err != nil {
				t.Errorf("%s says nothing of %s: %v", name, s.ID, err)
				continue
			}
			if name == englishFile && (found.What != s.What || found.Fix != s.Fix) {
				t.Errorf("%s: en.json has %q, the server %+v", s.ID, found, s)
			}
			for _, p := range parameter.FindAllString(s.What+s.Fix, -1) {
				if !strings.Contains(found.What+found.Fix, p) {
					t.Errorf("%s: %s lacks %s", name, s.ID, p)
				}
			}
		}
	}
	var note string
	if err := json.Unmarshal(groups[englishFile][health.FlagRelay], &note); err != nil || note != health.FlagRelayText {
		t.Errorf("the note about relays of flags is %q: %v", note, err)
	}
}

// TestReportSentencesHaveTexts: the dashboard has a text for each sentence that the server says of reports.
func TestReportSentencesHaveTexts(t *testing.T) {
	have := texts(t, englishFile)
	codes := regexp.MustCompile(`(?m)^\tCode\w+ +SentenceCode = "(\w+)"`).FindAllStringSubmatch(string(read(t, "../../app/rules/mailreport/sentences.go")), -1)
	if len(codes) < 20 {
		t.Fatalf("%d codes", len(codes))
	}
	for _, m := range codes {
		if have["domain.reports.says."+m[1]] == "" {
			t.Errorf("no text for the sentence %s", m[1])
		}
	}
}
