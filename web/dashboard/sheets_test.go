package dashboard

import (
	"regexp"
	"strings"
	"testing"
)

// TestClassesAreStyledOnce: outside of media and container queries no rule says another value of
// a property than a rule before it, on another page's behalf; it would win everywhere. What
// several selectors share may be refined in the same sheet.
func TestClassesAreStyledOnce(t *testing.T) {
	rules := regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	type saying struct {
		value, sheet string
		alone        bool
	}
	found := map[string]saying{}
	for _, sheet := range []string{"app.css", "more.css", "brand.css"} {
		text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(read(t, sheet)), "")
		text = regexp.MustCompile(`@[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}`).ReplaceAllString(text, "")
		for _, rule := range rules.FindAllStringSubmatch(text, -1) {
			alone := !strings.Contains(rule[1], ",")
			for selector := range strings.SplitSeq(rule[1], ",") {
				for declaration := range strings.SplitSeq(rule[2], ";") {
					property, value, ok := strings.Cut(declaration, ":")
					key := strings.TrimSpace(selector) + " " + strings.TrimSpace(property)
					if !ok || strings.ContainsAny(selector, "()") {
						continue
					}
					now := saying{strings.TrimSpace(value), sheet, alone}
					if before, twice := found[key]; twice && before.value != now.value && (before.sheet != sheet || before.alone && alone) {
						t.Errorf("%s: %s is %s here and %s in %s", sheet, key, now.value, before.value, before.sheet)
					}
					found[key] = now
				}
			}
		}
	}
}
