package dashboard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/rules/brand"
)

// valueWords are groups of texts whose keys end in a value of the API, each with the schema and
// property that list the values.
var valueWords = map[string][2]string{
	"audit.types.":           {"ActorItem", "type"},
	"automations.modes.":     {"ReEntry", "mode"},
	"automations.run.":       {"AutomationRunStep", "status"},
	"automations.runLine.":   {"AutomationRunDetail", "status"},
	"automations.types.":     {"AutomationStep", "type"},
	"bands.":                 {"PlanScore", "band"},
	"broadcasts.status.":     {"BroadcastRow", "status"},
	"brand.fonts.":           {"BrandAnswer", "font"},
	"conditions.ops.":        {"SegmentCondition", "op"},
	"contact.why_":           {"ContactSuppression", "origin"},
	"email.outcomes.":        {"AttemptItem", "outcome"},
	"imports.":               {"ImportItem", "status"},
	"optIns.is_":             {"OptInItem", "status"},
	"optIns.line_":           {"OptInItem", "status"},
	"forms.confirm_":         {"FormItem", "confirm"},
	"properties.":            {"PropertyRecord", "type"},
	"queue.reasons.":         {"QueueItem", "state"},
	"relays.froms.":          {"RelayItem", "from"},
	"relays.steps.":          {"RelayStep", "step"},
	"report.":                {"OutcomeSegmentRequest", "outcome"},
	"received.auto.":         {"ReceivedItem", "auto_submitted"},
	"received.effect.":       {"RouteEffect", "type"},
	"received.effectStatus.": {"RouteEffect", "status"},
	"roles.":                 {"KeyItem", "role"},
	"routes.status.":         {"Destination", "status"},
	"routes.types.":          {"RouteAction", "type"},
	"settings.sources.":      {"SettingItem", "from"},
	"smtp.tls.":              {"SmtpPort", "tls"},
	"suppressions.origins.":  {"SuppressionItem", "origin"},
	"teams.plans.":           {"TeamStanding", "plan"},
	"webhook.is_":            {"WebhookEventItem", "status"},
}

// statusValues are the values that a Status without its own texts shows, each with the schema and
// property that list them; [0] is empty for explicit values.
var statusValues = map[string][]string{
	"mail.state":               {"ContactMailItem", "state"},
	"r.last_event":             {"ListedEmail", "last_event"},
	"row.state":                {"ListedEmail", "state"},
	"p.state":                  {"EmailRecord", "state"}, // see recipientsOf
	"r.state":                  {"RelayItem", "state"},
	"row.status":               {"TemplateItem", "status", "WebhookItem", "status", "DomainItem", "status"},
	"s.ok ? 'good' : 'failed'": {"", "good", "failed"},
}

// languageTexts returns the texts of each language, by file.
func languageTexts(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("i18n/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d languages: %v", len(files), err)
	}
	out := map[string]map[string]any{}
	for _, name := range files {
		var dict map[string]any
		if err := json.Unmarshal(read(t, name), &dict); err != nil {
			t.Fatal(err)
		}
		out[name] = dict
	}
	return out
}

// hasText reports whether a key like "email.events.sent" has a text.
func hasText(dict map[string]any, key string) bool {
	var at any = dict
	for part := range strings.SplitSeq(key, ".") {
		group, ok := at.(map[string]any)
		if !ok {
			return false
		}
		at = group[part]
	}
	switch at.(type) {
	case string, map[string]any: // the latter by number
		return true
	}
	return false
}

// schemas are those of openapi.json, which is large.
var schemas = sync.OnceValues(func() (map[string]apiSchema, error) {
	var document struct {
		Components struct{ Schemas map[string]apiSchema }
	}
	raw, err := os.ReadFile("../testdata/openapi.json")
	if err == nil {
		err = json.Unmarshal(raw, &document)
	}
	return document.Components.Schemas, err
})

type apiSchema struct {
	Properties map[string]struct{ Enum []any }
}

// listed are the values of a property in openapi.json.
func listed(t *testing.T, schema, property string) (values []string) {
	t.Helper()
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all[schema].Properties[property].Enum {
		if s, ok := v.(string); ok {
			values = append(values, s)
		}
	}
	if len(values) < 2 {
		t.Errorf("openapi.json lists %d values of %s.%s", len(values), schema, property)
	}
	return values
}

// TestEventTextsExist: in each language, on each page that shows a timeline.
func TestEventTextsExist(t *testing.T) {
	var events []string
	for _, m := range regexp.MustCompile(`EventType = "([a-z_]+)"`).FindAllStringSubmatch(string(read(t, "../../app/events.go")), -1) {
		events = append(events, m[1])
	}
	if len(events) < 10 || !slices.Contains(events, "prefetched") {
		t.Fatalf("events %q", events)
	}
	for _, e := range app.LastEvents() {
		events = append(events, string(e))
	}
	for name, dict := range languageTexts(t) {
		for _, event := range events {
			if !hasText(dict, "email.events."+event) {
				t.Errorf("%s has no words for the event %s", name, event)
			}
		}
	}
}

// TestValueTextsExist: what a page makes a key of has a text in each language.
func TestValueTextsExist(t *testing.T) {
	keys := map[string]bool{}
	for group, from := range valueWords {
		for _, value := range listed(t, from[0], from[1]) {
			if group == "audit.types." && value == "person" {
				continue // people and keys are shown by name
			}
			keys[group+value] = true
		}
	}
	drawn := regexp.MustCompile(`<\$\{Status\} of=\$\{([^}]+)\} />`)
	for _, name := range sourceFiles(t) {
		for _, m := range drawn.FindAllStringSubmatch(string(read(t, name)), -1) {
			from, known := statusValues[m[1]]
			switch {
			case !known:
				t.Errorf("%s draws a Status of %s without words: statusValues says what it can be", name, m[1])
			case from[0] == "":
				for _, value := range from[1:] {
					keys["status."+value] = true
				}
			default:
				for ; len(from) > 0; from = from[2:] {
					for _, value := range listed(t, from[0], from[1]) {
						keys["status."+value] = true
					}
				}
			}
		}
	}
	for name, dict := range languageTexts(t) {
		for key := range keys {
			if !hasText(dict, key) {
				t.Errorf("%s has no words for %s", name, key)
			}
		}
	}
}

// TestFontStacksMatchServer: the previews of a brand show the fonts that emails and hosted
// pages get.
func TestFontStacksMatchServer(t *testing.T) {
	source := string(read(t, "brand-colors.js"))
	for _, font := range brand.Fonts {
		if quoted := regexp.MustCompile(`\b` + string(font) + `: (['"])` + regexp.QuoteMeta(font.Stack()) + `(['"]),`); !quoted.MatchString(source) {
			t.Errorf("brand-colors.js has another stack for %s than %s", font, font.Stack())
		}
	}
	for _, color := range []string{brand.Ink, "4.5"} {
		if !strings.Contains(source, color) {
			t.Errorf("brand-colors.js does not know %s", color)
		}
	}
}

// TestStatesHaveDistinctNames: a filter and a list with two states of one name can't be told apart.
func TestStatesHaveDistinctNames(t *testing.T) {
	for name, dict := range languageTexts(t) {
		words, _ := dict["status"].(map[string]any)
		states := map[any]string{}
		for _, state := range listed(t, "ListedEmail", "state") {
			text := words[state]
			if other, taken := states[text]; taken {
				t.Errorf("%s: %s and %s are both %q", name, other, state, text)
			}
			states[text] = state
		}
	}
}
