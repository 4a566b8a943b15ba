package sdktest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// languageTitles returns a language's titles of the sidebar's pages, in order.
func languageTitles(t *testing.T, file string) (titles []string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	var words map[string]struct{ Title any }
	must(t, json.Unmarshal(raw, &words))
	for _, page := range strings.Fields("overview emails broadcasts templates queue reputation contacts domains keys webhooks requests relays teams health team") {
		titles = append(titles, words[page].Title.(string))
	}
	return titles
}

// TestEveryLanguage: a chosen language is used on every page, and fits a phone.
func TestEveryLanguage(t *testing.T) {
	part(t, "languages")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	files, err := filepath.Glob(filepath.Join("..", "dashboard", "i18n", "*.json"))
	must(t, err)
	var bounced string
	for _, path := range w.pages {
		if strings.HasPrefix(path, "/emails/") {
			bounced = path
		}
	}
	const verdict = `document.querySelector('.verdict').innerText`
	s.load(bounced)
	english := evaluate[string](s, verdict)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": name})
		s.load("/emails")
		tag := name
		if name == "zh" {
			tag = "zh-Hans"
		}
		if lang := evaluate[string](s, `document.documentElement.lang`); lang != tag {
			t.Errorf("%s: the page says that it is in %q", name, lang)
		}
		titles := evaluate[[]string](s, `[...document.querySelectorAll('.side .nav-item:not(.nav-more) > .cut')].map((word) => word.innerText)`)
		if want := languageTitles(t, file); !slices.Equal(titles, want) {
			t.Errorf("%s: the doors are %q, want %q", name, titles, want)
		}
		s.fine("/emails in " + name)
		s.visit(bounced)
		if said := evaluate[string](s, verdict); name != "en" && said == english {
			t.Errorf("%s: the verdict is in English: %s", name, said)
		}
		s.fine("an email in " + name)
		if name == "de" || name == "ja" {
			s.narrow(name, bounced)
		}
	}
}

// narrow visits pages at the width of a phone.
func (s *screen) narrow(language, email string) {
	s.t.Helper()
	s.look(390, "light")
	for _, path := range []string{"/", email, "/queue", "/contacts", "/domains", "/account"} {
		s.visit(path)
		if n := s.sideways(); n > 0 {
			s.t.Errorf("%s in %s scrolls sideways by %d px", path, language, n)
		}
		s.fine(path + " in " + language)
	}
	s.look(1280, "light")
}
