//go:build perf

package render

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func TestPerfCompilingTakesLinearTime(t *testing.T) {
	for _, source := range hostileSources {
		apptest.Linear(t, source(4), 1000, func(n int) func() {
			text := source(n)
			return func() {
				if m, err := compileHostile(text); err == nil {
					m.Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "a@b.test"}).Flatten()
				}
			}
		})
	}
}

func TestPerfReadingPlaceholdersTakesLinearTime(t *testing.T) {
	for _, source := range []func(n int) string{
		func(n int) string { return strings.Repeat("{", n) },
		func(n int) string { return strings.Repeat("{{{", n/3) + "}}}" },
		func(n int) string { return strings.Repeat("{{{X}}}", n/7) },
		func(n int) string { return strings.Repeat("{{ ", n/3) + "{{{X}}}" },
		func(n int) string { return strings.Repeat("}", n) },
		func(n int) string { return "{{{X|" + strings.Repeat("{", n) },
	} {
		apptest.Linear(t, source(21), 1<<14, func(n int) func() {
			text := source(n)
			return func() {
				c := oneVariable(text, nil)
				if c.Check() == nil {
					if _, err := Template(c, map[string]app.PropertyValue{"X": apptest.String("")}, nil, false, time.Time{}, app.MaxRendered); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
