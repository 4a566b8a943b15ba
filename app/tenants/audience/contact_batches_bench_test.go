package audience_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// thousand returns a batch as clients send it: names, properties, no segment.
func thousand(prefix string) []audience.ContactItem {
	items := make([]audience.ContactItem, app.MaxContactBatch)
	for i := range items {
		items[i].Input = &app.ContactInput{
			Email: fmt.Sprintf("%s%d@example.org", prefix, i), FirstName: "Ann", LastName: fmt.Sprint("Person ", i),
			Properties: app.PropertyChanges{
				"plan":  {Type: app.StringProperty, Text: prefix},
				"score": {Type: app.NumberProperty, Number: float64(i)},
			},
		}
	}
	return items
}

// BenchmarkThousandContacts measures one batch of 1,000 contacts in one commit: all new, and all
// merged into existing contacts.
func BenchmarkThousandContacts(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		w := testserver.New(b)
		for n := 0; b.Loop(); n++ {
			_, err := w.Services.Audience.PutContacts(b.Context(), w.Key, thousand(fmt.Sprint("n", n, "x")), app.ConflictUpsert, false)
			testserver.Must(b, err)
		}
	})
	b.Run("merged", func(b *testing.B) {
		w := testserver.New(b)
		items := thousand("m")
		for n := 0; b.Loop(); n++ {
			for i := range items {
				items[i].Input.LastName = fmt.Sprint("Person ", n)
			}
			_, err := w.Services.Audience.PutContacts(b.Context(), w.Key, items, app.ConflictUpsert, false)
			testserver.Must(b, err)
		}
	})
	b.Run("removed", func(b *testing.B) {
		w := testserver.New(b)
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			items := thousand("r")
			_, err := w.Services.Audience.PutContacts(b.Context(), w.Key, items, app.ConflictUpsert, false)
			testserver.Must(b, err)
			var emails []string
			for _, item := range items {
				emails = append(emails, item.Input.Email)
			}
			b.StartTimer()
			_, err = w.Services.Audience.RemoveContacts(b.Context(), w.Key, app.ContactRemoval{Emails: emails})
			testserver.Must(b, err)
		}
	})
}
