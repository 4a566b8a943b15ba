package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Helpers for the tests of this package.

// wantErased waits until no erasure is open. A loaded machine may need longer than a caller waits.
func wantErased(w *testserver.Server) {
	w.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); w.OpenErasures() > 0; {
		if time.Now().After(deadline) {
			w.T.Fatalf("an erasure does not end:\n%s", w.Log.String())
		}
		base.Sleep(w.T.Context(), 10*time.Millisecond, nil)
	}
}

// freeText are the columns with texts that people write, which an erasure does not search.
var freeText = strings.Fields(`images.alt automation_versions.flow attachment_pieces.content attachments.filename blocks.html blocks.name broadcast_contents.design broadcast_contents.frozen
	broadcast_contents.content_variants broadcast_contents.html broadcast_contents.plain broadcast_contents.preview broadcast_links.url broadcast_recipients.fields broadcasts.name
	broadcasts.subject contacts.first_name contacts.last_name contacts.properties contents.html contents.plain emails.subject forms.definition keys.name properties.fallback
	segments.name template_versions.design template_versions.html template_versions.plain template_versions.subject template_versions.template_variants template_versions.variables
	templates.name topics.description topics.name versions.content`)

// wantOnlyFreeText checks that only free text contains ErasedAddress.
func wantOnlyFreeText(w *testserver.Server) {
	w.T.Helper()
	if n := w.OpenErasures(); n != 0 {
		w.T.Errorf("%d erasures are open", n)
	}
	for _, column := range w.Traces(testserver.ErasedAddress) {
		if !slices.Contains(freeText, column) {
			w.T.Errorf("it is in %s", column)
		}
	}
}

// wantSettled waits until no mail is waiting.
func wantSettled(w *testserver.Server) {
	w.T.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if w.Count("units") == "0" {
			return
		}
		if time.Now().After(deadline) {
			w.T.Fatal("mail still waits")
		}
		base.Sleep(w.T.Context(), 20*time.Millisecond, nil)
	}
}

// plantAddress stores an address in every kind of object of a team.
func plantAddress(w *testserver.Server, key *app.Key, from string, n int) app.Contact {
	w.T.Helper()
	spellings := []string{testserver.ErasedAddress, strings.ToUpper(testserver.ErasedAddress), strings.ToLower(testserver.ErasedAddress), "vIC.tIM@Erase.Example"}
	w.AddEmails(key, n, func(i int, in *app.EmailInput) {
		in.From = from
		in.To = []string{fmt.Sprintf("u%d@example.net", i), fmt.Sprintf("w%d@example.net", i)}
		in.HTML = strings.Repeat("<p>Hi there</p>", i%700)
		who := spellings[i%len(spellings)]
		switch i % 15 {
		case 0:
			in.To = append(in.To, "Vic Tim <"+who+">")
		case 1:
			in.Cc, in.ReplyTo = []string{who}, []string{who}
		case 2:
			in.Bcc = []string{who}
		case 3:
			in.Subject = "Offer for " + who
		case 4:
			text := "Ask " + who
			in.Text = &text
			in.HTML += "<a href='https://x.example/?e=" + strings.Replace(who, "@", "%40", 1) + "'>" + who + "</a>" + strings.Repeat("long ", 2000)
		case 5:
			in.Headers, in.Tags = map[string]string{"X-For": "<" + who + ">"}, []app.Tag{{Name: "who", Value: "x"}}
		case 6:
			in.Attachments = []app.Attachment{{Filename: who + ".csv", ContentType: "text/csv", Content: []byte("email," + who + ",x")},
				{Filename: "b.bin", ContentType: "application/octet-stream", Content: []byte("\x00\x01" + who + "\x00" + strings.Repeat("z", 9000))}}
			for k := range in.Attachments {
				in.Attachments[k].ID, in.Attachments[k].Size = app.NewID(), int64(len(in.Attachments[k].Content))
			}
		case 7:
			in.To, in.Subject = []string{who}, "Alone, "+who
			if i == 7 { // its content is deleted in several writes
				in.Attachments = []app.Attachment{{ID: app.NewID(), Filename: "large", Content: make([]byte, 10*db.AttachmentPiece), Size: 10 * db.AttachmentPiece}}
			}
		}
	})
	for i := range n / 3 {
		if i%3 == 0 {
			w.CreateContact(key.TeamID, fmt.Sprintf("c%d@example.net", i))
		}
	}
	c := w.CreateContact(key.TeamID, testserver.ErasedAddress)
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		friend, err := tx.ContactByAddress(key.TeamID, w.Config.Sealer.AddressHash(key.TeamID, app.KeyOf("c0@example.net")))
		if err != nil {
			return err
		}
		friend.Properties = app.Properties{"friend": {Type: app.StringProperty, Text: testserver.ErasedAddress}}
		return errors.Join(tx.UpdateContact(&friend),
			tx.InsertSegment(&app.Segment{ID: app.NewID(), TeamID: key.TeamID, Name: "like " + testserver.ErasedAddress, CreatedAt: tx.Now,
				Filter: &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: "equals", Value: testserver.ErasedAddress}}}}),
			tx.InsertTopic(&app.Topic{ID: app.NewID(), TeamID: key.TeamID, Name: "by " + testserver.ErasedAddress, Description: testserver.ErasedAddress + "'s", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: tx.Now, UpdatedAt: tx.Now}),
			tx.OpenTrouble(app.RelayTrouble{ID: app.NewID(), Relay: app.DefaultRegion, StartedAt: tx.Now, EndedAt: tx.Now, Detail: app.EventDetail{Message: "no mail for " + testserver.ErasedAddress}}),
			tx.KeepAnswer(db.IdempotencyKey{TeamID: key.TeamID, Route: "POST /emails", Key: "welcome/" + testserver.ErasedAddress}, []byte("x"), "to "+testserver.ErasedAddress, time.Time{}))
	}))
	_, _, err := w.Services.Teams.CreateKey(w.T.Context(), key.TeamID, app.KeyInput{Name: "key of " + testserver.ErasedAddress, Permission: app.FullAccess, Role: app.RoleAdmin})
	testserver.Must(w.T, err)
	_, err = w.Services.Suppressions.AddSuppression(w.T.Context(), key, app.SuppressionInput{Email: testserver.ErasedAddress})
	testserver.Must(w.T, err)
	text := "Ask " + testserver.ErasedAddress
	t, err := w.Services.Templates.CreateTemplate(w.T.Context(), key, app.TemplateInput{Name: "Mail of " + testserver.ErasedAddress, TemplateContent: app.TemplateContent{
		From: testserver.ErasedAddress, ReplyTo: []string{testserver.ErasedAddress}, Subject: "From " + testserver.ErasedAddress, HTML: "<p>" + strings.Repeat("long ", 3000) + testserver.ErasedAddress + " {{{WHO}}}</p>", Text: &text,
		Variables: []app.TemplateVariable{{Key: "WHO", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: testserver.ErasedAddress}}},
	}})
	testserver.Must(w.T, err)
	_, err = w.Services.Templates.PublishTemplate(w.T.Context(), key, t.ID)
	testserver.Must(w.T, err)
	w.PlantInBroadcasts(key, from)
	return c
}

// mailOf returns what a team sees of its mail as one text.
func mailOf(w *testserver.Server, key *app.Key) string {
	w.T.Helper()
	var b strings.Builder
	w.Read(func(r *db.Reader) error {
		for page := (app.Page{Limit: 100}); ; {
			emails, more, err := r.ListEmails(key.TeamID, page)
			if err != nil {
				return err
			}
			for _, row := range emails {
				email, open, err := r.Outgoing(key.TeamID, row.ID)
				if err != nil {
					return err
				}
				events, err := r.Events(row.ID)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "%+v %+v %+v\n", *email, open, events)
			}
			if !more {
				return nil
			}
			page.After = emails[len(emails)-1].ID
		}
	})
	return b.String()
}
