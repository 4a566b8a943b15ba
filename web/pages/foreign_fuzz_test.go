package pages

import (
	"testing"

	"mailer/app"
)

// FuzzFormChoices reads any bytes as the form of a preferences page: the result contains choices
// for ids only.
func FuzzFormChoices(f *testing.F) {
	const id = "019e0000-0000-7000-8000-000000000000"
	for _, seed := range []string{"", id + "=opt_in", id + "=opt_out&" + id + "=opt_in", shownTopic + "=" + id, "%zz", "a;b", id + "=\x00", shownTopic + "=x&=" + id} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		choices, err := formChoices(body)
		if err != nil && choices != nil {
			t.Errorf("%q: choices and %v", body, err)
		}
		for name, choice := range choices {
			if canonical, ok := app.ParseID(name); !ok || canonical != name || choice != app.OptIn && choice != app.OptOut {
				t.Errorf("%q: %q %q", body, name, choice)
			}
		}
	})
}
