package transfer_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestFirstRowOfAContactWins: the first row counts for an address that occurs twice, also with so
// many contacts that they are imported in another order.
func TestFirstRowOfAContactWins(t *testing.T) {
	testserver.Synctest(t, manyContacts)
}

func manyContacts(t *testing.T) {
	w := testserver.New(t)
	a, err := archive.Create(filepath.Join(t.TempDir(), "a"))
	testserver.Must(t, err)
	const contacts = 6000
	for _, name := range []string{"First", "Second"} {
		for i := range contacts {
			testserver.Must(t, a.Put(archive.Contacts, &archive.Contact{Email: fmt.Sprintf("p%d@example.org", i), FirstName: name, Unsubscribed: name == "Second" && i%100 == 7}))
		}
	}
	testserver.Must(t, a.Put(archive.Contacts, &archive.Contact{Email: "no address"}))
	testserver.Must(t, a.Finish(&archive.Team{Source: archive.SourceCSV}))
	r, err := archive.Open(a.Dir())
	testserver.Must(t, err)
	team := &app.Team{ID: w.Key.TeamID, Name: "Team"}
	plan, err := w.Services.Transfer.Import(t.Context(), team, r, transfer.Options{})
	testserver.Must(t, err)
	report, err := w.Services.Transfer.Import(t.Context(), team, r, transfer.Options{Apply: true})
	testserver.Must(t, err)
	want := transfer.ContactCounts{New: contacts, Existing: contacts, Refused: 1}
	if plan.Contacts != want || report.Contacts != want || plan.OptedOut != contacts/100 || report.OptedOut != contacts/100 || len(report.Refused) != 1 {
		t.Errorf("planned %+v, %d opted out; done %+v, %d opted out", plan.Contacts, plan.OptedOut, report.Contacts, report.OptedOut)
	}
	w.Read(func(r *db.Reader) error {
		for i := range contacts {
			address := fmt.Sprintf("p%d@example.org", i)
			c, err := r.ContactByAddress(team.ID, w.AddressHash(address))
			if err != nil {
				return err
			}
			name := "First"
			if i%100 == 7 {
				name = "Second" // opted-out contacts come before all others
			}
			if c.FirstName != name || c.Unsubscribed != (i%100 == 7) {
				t.Errorf("%+v", c)
			}
		}
		return nil
	})
}
