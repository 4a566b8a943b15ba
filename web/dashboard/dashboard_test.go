package dashboard

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// texts reads a language's file: texts by key, with the plural forms of one under their name.
func texts(t *testing.T, name string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case string:
			out[prefix] = v
		case map[string]any:
			for key, below := range v {
				walk(strings.TrimPrefix(prefix+"."+key, "."), below)
			}
		default:
			t.Errorf("%s: %s is neither a text nor an object", name, prefix)
		}
	}
	walk("", tree)
	return out
}

var (
	literalKey = regexp.MustCompile(`\b(?:t|say|find)\('([a-zA-Z]\w*(?:\.\w+)+)'`)
	comments   = regexp.MustCompile(`(?m)^\s*(?:/?\*|//).*$`)
	placesOf   = regexp.MustCompile(`\{\w+\}`)
)

// TestTextsExist: each literal key in a module has a text.
func TestTextsExist(t *testing.T) {
	have := texts(t, "i18n/en.json")
	known := func(key string) bool {
		if have[key] != "" {
			return true
		}
		for k := range have { // plural forms, and groups that are used as a whole
			if strings.HasPrefix(k, key+".") {
				return true
			}
		}
		return false
	}
	n := 0
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range literalKey.FindAllStringSubmatch(comments.ReplaceAllString(string(read(t, name)), ""), -1) {
			n++
			if !known(m[1]) {
				t.Errorf("%s: no words for %s", name, m[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("%d keys", n)
	}
}

// TestLanguagesMatch: each file has the keys of the English one, with the same placeholders.
func TestLanguagesMatch(t *testing.T) {
	english := texts(t, "i18n/en.json")
	all, err := filepath.Glob("i18n/*.json")
	if err != nil || !slices.Contains(all, "i18n/en.json") {
		t.Fatalf("%v %v", all, err)
	}
	for _, name := range all {
		other := texts(t, name)
		for key, text := range english {
			got, ok := other[key]
			if !ok {
				t.Errorf("%s lacks %s", name, key)
				continue
			}
			want, have := placesOf.FindAllString(text, -1), placesOf.FindAllString(got, -1)
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(slices.Compact(want), slices.Compact(have)) {
				t.Errorf("%s: %s has %v, English has %v", name, key, have, want)
			}
		}
	}
}

var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function|\sstyle="|\sstyle=\$\{`)

// TestModulesFollowCSP: none makes markup of a text, and none has a style in an attribute.
func TestModulesFollowCSP(t *testing.T) {
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		if m := forbidden.Find(read(t, name)); m != nil {
			t.Errorf("%s has %s", name, m)
		}
	}
}

// TestCompressedFilesAreServed: a file that is embedded as gzip is served under its own name, with and
// without gzip.
func TestCompressedFilesAreServed(t *testing.T) {
	s := &site{}
	s.once.Do(s.prepare)
	for _, name := range vendored {
		f, ok := s.files[name]
		if !ok || !strings.Contains(string(f.plain()), "export") || string(unzip(f.gzipped())) != string(f.plain()) {
			t.Errorf("%s is served as %d bytes, and %d as gzip", name, len(f.plain()), len(f.gzipped()))
		}
	}
}
