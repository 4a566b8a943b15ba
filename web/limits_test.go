package web

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/app/rules/contactfile"
	"mailer/app/rules/feedback"
	"mailer/app/rules/plan"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/app/sending/archive"
	"mailer/app/sending/automations"
	"mailer/app/sending/queue"
	accounts "mailer/app/tenants/accounts"
	"mailer/app/tenants/images"
	"mailer/app/tenants/teams"
)

// documentedLimits are the numbers in the document and the constants that the rules use: struct
// tags can't be computed. A key is the first segment of a path or the name of a schema, the member,
// and the keyword; * matches everything.
var documentedLimits = map[string]int{
	"* design maxLength":                         base.MaxDesign,
	"domains own_sources maxItems":               app.MaxNamedSources,
	"domains other_sources maxItems":             app.MaxNamedSources,
	"queue ids maxItems":                         queue.MaxIDs,
	"* allowed_ips maxItems":                     teams.MaxAllowedIPs,
	"* limit maximum":                            app.MaxLimit,
	"* variants maxProperties":                   2 * app.MaxVariants,
	"* first_name maxLength":                     app.MaxContactName,
	"* last_name maxLength":                      app.MaxContactName,
	"* properties maxProperties":                 app.MaxProperties,
	"* segments maxItems":                        app.MaxContactLinks,
	"* topics maxItems":                          app.MaxContactLinks,
	"* to maxItems":                              app.MaxRecipients,
	"* cc maxItems":                              app.MaxRecipients,
	"* bcc maxItems":                             app.MaxRecipients,
	"* reply_to maxItems":                        app.MaxRecipients,
	"* subject maxLength":                        app.MaxSubject,
	"* conditions maxItems":                      app.MaxConditions,
	"* content maximum":                          math.MaxUint8,
	"* data maximum":                             math.MaxUint8,
	"auth name maxLength":                        accounts.MaxUserName,
	"auth password maxLength":                    accounts.MaxPassword,
	"auth team maxLength":                        teams.MaxName,
	"users new maxLength":                        accounts.MaxPassword,
	"team logo_url maxLength":                    teams.MaxLogoURL,
	"* after_unsubscribe_url maxLength":          brand.MaxPageURL,
	"* texts maxItems":                           len(brand.PageLanguages),
	"team name maxLength":                        teams.MaxName,
	"users name maxLength":                       accounts.MaxUserName,
	"api-keys name maxLength":                    app.MaxKeyName,
	"audiences name maxLength":                   app.MaxSegmentName,
	"images alt maxLength":                       app.MaxImageAlt,
	"broadcasts name maxLength":                  app.MaxBroadcastName,
	"broadcasts preview_text maxLength":          app.MaxPreview,
	"contact-properties key maxLength":           app.MaxPropertyKey,
	"contacts  maxItems":                         app.MaxContactBatch,
	"contacts contacts maxItems":                 app.MaxContactBatch,
	"contacts emails maxItems":                   app.MaxContactBatch,
	"contacts ids maxItems":                      app.MaxContactBatch,
	"emails  maxItems":                           app.MaxBatch,
	"segments name maxLength":                    app.MaxSegmentName,
	"suppressions emails maxItems":               app.MaxSuppressionBatch,
	"suppressions ids maxItems":                  app.MaxSuppressionBatch,
	"blocks name maxLength":                      app.MaxBlockName,
	"routes actions maxItems":                    app.MaxRouteActions,
	"blocks html maxLength":                      app.MaxBlock,
	"feeds url maxLength":                        app.MaxFeedURL,
	"team pages_host maxLength":                  app.MaxDomain + 1, // with a final dot
	"forms name maxLength":                       app.MaxFormName,
	"forms topics maxItems":                      app.MaxFormTopics,
	"forms segments maxItems":                    app.MaxFormTopics,
	"forms fields maxItems":                      app.MaxFormFields,
	"forms allowed_origins maxItems":             app.MaxFormOrigins,
	"forms redirect_url maxLength":               app.MaxFormURL,
	"automations name maxLength":                 app.MaxAutomationName,
	"automations steps maxItems":                 app.MaxAutomationSteps,
	"AutomationStep key maxLength":               app.MaxStepKey,
	"AutomationStepRequest key maxLength":        app.MaxStepKey,
	"ReEntry days maximum":                       app.MaxDelayDays,
	"ReEntryRequest days maximum":                app.MaxDelayDays,
	"automations events maxItems":                automations.MaxSimulatedEvents,
	"SimulatedEvent event maxLength":             app.MaxEventName,
	"events name maxLength":                      app.MaxEventName,
	"events event maxLength":                     app.MaxEventName,
	"events schema maxProperties":                app.MaxEventFields,
	"CustomEventItem schema maxProperties":       app.MaxEventFields,
	"CustomEventRecord schema maxProperties":     app.MaxEventFields,
	"FormFieldRequest label maxLength":           app.MaxFormLabel,
	"FormField label maxLength":                  app.MaxFormLabel,
	"templates alias maxLength":                  app.MaxTemplateAlias,
	"templates name maxLength":                   app.MaxTemplateName,
	"templates variables maxItems":               app.MaxTemplateVariables,
	"topics description maxLength":               app.MaxTopicDescription,
	"topics name maxLength":                      app.MaxTopicName,
	"webhooks endpoint maxLength":                webhook.MaxEndpoint,
	"webhooks message_ids maxItems":              webhook.MaxReplayIDs,
	"templates variables maxProperties":          app.MaxTemplateVariables,
	"webhooks events maxItems":                   webhook.MaxEvents,
	"webhooks overlap_hours maximum":             webhook.MaxOverlapHours,
	"AttachmentRequest content_id maxLength":     app.MaxContentID,
	"DraftAttachment content_id maxLength":       app.MaxContentID,
	"TemplateUseRequest variables maxProperties": app.MaxTemplateVariables,
	"VariableRequest key maxLength":              app.MaxVariableKey,
}

const day = 24 * time.Hour

// documentedTexts are texts of the document that contain a limit.
var documentedTexts = []string{
	fmt.Sprintf("of at most %d KB and %d pixels a side", brand.MaxLogoBytes>>10, brand.MaxLogoSide),
	fmt.Sprintf("of at most %d MiB, %d,000 pixels a side and %d megapixels", app.MaxImageFile>>20, app.MaxImageSide/1000, app.MaxImagePixels/1_000_000),
	fmt.Sprintf("at most %d pixels wide, and also %d pixels wide if it is wider", app.ImageWidths[0], app.ImageWidths[1]),
	fmt.Sprintf("refers to is deleted after %d days", images.UnusedFor/day),
	fmt.Sprintf("at most %d pixels, and %d. A GIF", app.ImageWidths[0], app.ImageWidths[1]),
	fmt.Sprintf("of one line and at most %d characters", app.MaxImageAlt),
	fmt.Sprintf("at most %d characters and %d lines", brand.MaxFooter, brand.MaxFooterLines),
	fmt.Sprintf("at most %d characters and %d lines, as the next two", brand.MaxPageText, brand.MaxPageLines),
	fmt.Sprintf("The text of the link, of at most %d characters", brand.MaxLinkText),
	fmt.Sprintf("with card_color must be at least %.1f:1", brand.MinContrast),
	fmt.Sprintf("an object of at most %d bytes; another html", base.MaxDesign),
	fmt.Sprintf("at most %d in to, cc and bcc", app.MaxRecipients),
	fmt.Sprintf("at most %d days ahead", plan.MaxScheduledDays),
	fmt.Sprintf("%dm to %dd; then it fails", app.MinExpiresIn/time.Minute, app.MaxExpiresIn/day),
	fmt.Sprintf("1 to %d characters. A repeated request", app.MaxIdempotencyKey),
	fmt.Sprintf("1 to %d addresses", app.MaxBroadcastTests),
	fmt.Sprintf("to up to %d addresses", app.MaxBroadcastTests),
	fmt.Sprintf("Send 1 to %d emails", app.MaxBatch),
	fmt.Sprintf("Create or update 1 to %d contacts", app.MaxContactBatch),
	fmt.Sprintf("The first %d,000 are kept", contactfile.MaxErrors/1000),
	fmt.Sprintf("an array of up to %d,000.", feedback.MaxGenericEvents/1000),
	fmt.Sprintf("null under %d sends", reputation.MinTeamSends),
	fmt.Sprintf("complaint figures of the last %d days", reputation.DeliverabilityWindow/day),
	fmt.Sprintf("events of the last %d days for a webhook", webhook.EventRetention/day),
	fmt.Sprintf("the Base64 of %d to %d bytes", webhook.MinSecretSize, webhook.MaxSecretSize),
	fmt.Sprintf("beside the new one; %d where it is absent", webhook.DefaultOverlapHours),
	fmt.Sprintf("A team can have %d that are not over", contactfile.MaxUnfinished),
	fmt.Sprintf("are kept for %d days", contactfile.Retention/day),
	fmt.Sprintf("%d where it is absent; for owners", app.DefaultConfirmationsPerDay),
	fmt.Sprintf("the link, which works for %d days", app.OptInLinkFor/day),
	fmt.Sprintf("The last %d broadcasts to the topic", archive.MaxListed),
	fmt.Sprintf("The last %d, newest first", archive.MaxListed),
	"at most 100 are listed", // maxNotMoved of app/sending/automations
	fmt.Sprintf("of at most %d bytes. Those that the schema", app.MaxEventPayload),
	fmt.Sprintf("The first %d rejected rows", contactfile.MaxErrorsShown),
}

// noLimits are numbers in texts that are no limits.
var noLimits = regexp.MustCompile(`from [01]$|A part of 1;|0 to 10(?:, the best| \(best\))|^0: no answer|UTF-8|SHA-256|like 5\.1\.1|RFC \d+|RSS 2\.0|JSON Feed 1\.1|OpenAPI 3\.0|answer 200`)

// limitWalk walks the document.
type limitWalk struct {
	t       *testing.T
	limits  map[string]bool // of documentedLimits that were met
	words   map[string]bool // of documentedTexts
	numbers int
}

func (w *limitWalk) walk(v any, path []string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			w.walk(item, path)
		}
	case map[string]any:
		for name, member := range v {
			switch member := member.(type) {
			case float64:
				w.number(path, name, int(member))
			case string:
				w.text(path, name, member)
			}
			w.walk(member, append(slices.Clone(path), name))
		}
	}
}

func (w *limitWalk) number(path []string, keyword string, n int) {
	if !slices.Contains([]string{"maxLength", "maxItems", "maxProperties", "maximum"}, keyword) || slices.Contains(path, "example") {
		return
	}
	w.numbers++
	place, member := strings.Split(path[1], "/")[1:], ""
	if path[0] == "components" {
		place = path[2:3]
	}
	if slices.Contains(path, "parameters") {
		member = "limit"
	}
	for i, name := range path[:len(path)-1] {
		if name == "properties" && path[i-1] != "properties" {
			member = path[i+1]
		}
	}
	for _, at := range []string{place[0], "*"} {
		key := at + " " + member + " " + keyword
		if want, known := documentedLimits[key]; known {
			w.limits[key] = true
			if n != want {
				w.t.Errorf("%s: the document says %d, the rule %d", strings.Join(path, " "), n, want)
			}
			return
		}
	}
	w.t.Errorf("%s %s is %d: name its constant in documentedLimits", strings.Join(path, " "), keyword, n)
}

func (w *limitWalk) text(path []string, name, text string) {
	if name != "description" && name != "summary" || !strings.ContainsAny(text, "0123456789") {
		return
	}
	known := noLimits.MatchString(text)
	for _, words := range documentedTexts {
		if strings.Contains(text, words) {
			w.words[words], known = true, true
		}
	}
	if !known {
		w.t.Errorf("%s: %q holds a number: make it in documentedWords from its constant", strings.Join(path, " "), text)
	}
}

// inPlace puts the bodies of requests, which have names, under their paths.
func inPlace(doc map[string]any) {
	schemas, named := doc["components"].(map[string]any)["schemas"].(map[string]any), []string{}
	for _, item := range doc["paths"].(map[string]any) {
		for _, op := range item.(map[string]any) {
			body, _ := op.(map[string]any)["requestBody"].(map[string]any)
			content, _ := body["content"].(map[string]any)
			for _, media := range content {
				name := strings.TrimPrefix(media.(map[string]any)["schema"].(map[string]any)["$ref"].(string), "#/components/schemas/")
				media.(map[string]any)["schema"], named = schemas[name], append(named, name)
			}
		}
	}
	for _, name := range named {
		delete(schemas, name)
	}
}

// TestDocumentedLimits reads every number of the document.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(document(), &doc); err != nil {
		t.Fatal(err)
	}
	inPlace(doc)
	w := &limitWalk{t: t, limits: map[string]bool{}, words: map[string]bool{}}
	for _, part := range []string{"paths", "components"} {
		w.walk(doc[part], []string{part})
	}
	for key := range documentedLimits {
		if !w.limits[key] {
			t.Errorf("the document has no %q", key)
		}
	}
	for _, words := range documentedTexts {
		if !w.words[words] {
			t.Errorf("the document does not say %q", words)
		}
	}
	if w.numbers < 60 {
		t.Errorf("only %d numbers were read", w.numbers)
	}
}
