//go:build long

package web

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db"
)

// TestLongManualInABrowser reads each page without scripts; of most pages two of the four
// looks are enough, since one sheet of styles is of all.
func TestLongManualInABrowser(t *testing.T) {
	bench := newFixture(t)
	b, dir := newBrowser(t, bench.handler), shots()
	for i, p := range append([]manualPage{{Title: "Manual"}}, manualIndex(t, bench)...) {
		b.readsManual(p, i <= 3)
		if os.Getenv(shotsEnv) != "" {
			b.shoot(dir, "manual-"+cmp.Or(p.Page, "front"))
		}
	}
}

func TestLongBrowserLanguages(t *testing.T) {
	p := newPages(t)
	b, dir := newBrowser(t, p.handler), shots()
	for _, lang := range []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"} {
		b.speak(lang)
		for _, path := range []string{p.topic.unsubscribe, p.all.unsubscribe, p.all.preferences} {
			b.open(path)
			if got := eval[string](b, `document.documentElement.lang`); got != lang {
				t.Errorf("%s is in %s, not %s", path, got, lang)
			}
		}
		if lang == "ja" || lang == "de" {
			b.shoot(dir, "preferences-"+lang)
		}
	}
	b.speak("en")
	p.write(func(tx *db.Tx) error {
		err := tx.RenameTeam(p.garden.ID, strings.Repeat("W", 200))
		for id, words := range map[string][2]string{
			weekly: {strings.Repeat("M", 50), strings.Repeat("@", 200)},
			offers: {`"><script>document.title="owned"</script>`, "Seasonal offers"},
			nearby: {"\u202eevil\u2066 نشرة أسبوعية", ""},
		} {
			topic := app.Topic{ID: id, TeamID: p.garden.ID, Name: words[0], Description: words[1], Default: app.OptIn, Visibility: app.PublicTopic, UpdatedAt: tx.Now}
			err = errors.Join(err, tx.UpdateTopic(&topic))
		}
		return err
	})
	for _, path := range []string{p.topic.unsubscribe, p.all.unsubscribe, p.all.preferences} {
		b.open(path)
	}
	b.shoot(dir, "hostile")
}
