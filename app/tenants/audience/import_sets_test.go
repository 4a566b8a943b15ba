package audience_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/testing/testserver"
)

// Rows of one Write take effect one after another, though they are written together.
func TestImportSuppressesFormerAddresses(t *testing.T) {
	for rows, want := range map[string]string{
		"old@example.org,true\nnew@example.org,true": "old@example.org 1, new@example.org 1; ",
		"new@example.org,true\nold@example.org,true": "new@example.org 1, old@example.org 1; old@example.org unsubscribe",
	} {
		t.Run(rows[:3]+" first", func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.Start(t, testserver.NewRelay(nil))
				addContact(w, "old@example.org")
				_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, "old@example.org", app.ContactPatch{Email: "new@example.org"})
				testserver.Must(t, err)
				id := upload(w, contactfile.Input{}, "email,unsubscribed\n"+rows+"\n")
				synctest.Wait()
				wantImport(w, id, contactfile.Completed, "", contactfile.Counts{Created: 1, Updated: 1})
				var got []string
				for line := range strings.Lines(rows) {
					email, _, _ := strings.Cut(line, ",")
					got = append(got, email+" "+strings.Join(w.SQL(`SELECT unsubscribed FROM contacts WHERE email = ?`, email), ""))
				}
				if got := strings.Join(got, ", ") + "; " + strings.Join(w.SQL(`SELECT email || ' ' || origin FROM suppressions`), ", "); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

// Several rows of one address in one Write make one suppression, with the strongest origin.
func TestImportKeepsStrongestOrigin(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "b@example.org", Origin: app.OriginUnsubscribe})
		testserver.Must(t, err)
		file := "email,name,status,lists\n"
		for _, status := range []string{"blocklisted", "bounced", "complained", "bounced"} {
			file += fmt.Sprintf("a@example.org,,%s,\nb@example.org,,%s,\n", status, status)
		}
		upload(w, contactfile.Input{}, file)
		synctest.Wait()
		if got := strings.Join(w.SQL(`SELECT email || ' ' || origin FROM suppressions ORDER BY email`), ", "); got != "a@example.org complaint, b@example.org complaint" {
			t.Error(got)
		}
		if got := strings.Join(w.SQL(`SELECT created || ' ' || updated || ' ' || skipped || ' ' || failed FROM imports`), ","); got != "2 0 6 0" {
			t.Error(got)
		}
	})
}
