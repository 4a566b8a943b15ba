package audience_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Helpers of this package's tests.

// upload imports a file and returns the import's id.
func upload(w *testserver.Server, in contactfile.Input, csv string) string {
	w.T.Helper()
	return uploadAs(w, w.Key, in, csv)
}

// uploadAs is upload for any team.
func uploadAs(w *testserver.Server, key *app.Key, in contactfile.Input, csv string) string {
	w.T.Helper()
	id, err := w.Services.Imports.CreateImport(w.T.Context(), key, func(file io.Writer) (contactfile.Input, error) {
		_, err := io.WriteString(file, csv)
		return in, err
	})
	testserver.Must(w.T, err)
	return id
}

// wantImport checks status, error and counts (created, updated, skipped, failed), and that the
// contacts match the team's counter.
func wantImport(w *testserver.Server, id string, status contactfile.Status, text string, want contactfile.Counts) {
	w.T.Helper()
	i, _ := w.GetImport(id)
	if i.Status != status || !strings.Contains(i.Error, text) || (text == "") != (i.Error == "") || i.Counts != want {
		w.T.Errorf("import %s %q %+v, want %s %q %+v", i.Status, i.Error, i.Counts, status, text, want)
	}
	if over := status == contactfile.Completed || status == contactfile.Failed; over == i.CompletedAt.IsZero() {
		w.T.Errorf("%s, completed at %v", i.Status, i.CompletedAt)
	}
}

// wantNoFiles checks that no piece of the imports is stored.
func wantNoFiles(w *testserver.Server, ids ...string) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		for _, status := range []contactfile.Status{contactfile.Uploading, contactfile.Queued, contactfile.InProgress, contactfile.Completed, contactfile.Failed, contactfile.Deleted} {
			if left, err := r.StoredImports(status, time.Now()); err != nil || len(left) > 0 {
				w.T.Errorf("files of %s imports %q, %v", status, left, err)
			}
		}
		for _, id := range ids {
			if _, err := r.Piece(id, 0); !errors.Is(err, db.ErrNotFound) {
				w.T.Errorf("the first piece of %s: %v", id, err)
			}
		}
		return nil
	})
}

// queueImport queues an import with a plan that no upload would make.
func queueImport(w *testserver.Server, plan *contactfile.Plan, csv string) string {
	w.T.Helper()
	return queueImportAs(w, w.Key.TeamID, plan, csv)
}

// queueImportAs is queueImport for any team.
func queueImportAs(w *testserver.Server, teamID string, plan *contactfile.Plan, csv string) string {
	w.T.Helper()
	id := app.NewID()
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		err := tx.InsertImport(&contactfile.Import{ID: id, TeamID: teamID, CreatedAt: tx.Now})
		return errors.Join(err, tx.AddPiece(id, 0, []byte(csv)), tx.QueueImport(teamID, id, plan))
	}))
	return id
}

func choose(w *testserver.Server, t *app.Topic, address string, s app.Subscription) {
	w.T.Helper()
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		_, err := tx.SetChoice(t.ID, w.AddressHash(address), s)
		return err
	}))
}

func sendAbout(w *testserver.Server, t *app.Topic, to ...string) string {
	w.T.Helper()
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, testserver.TopicMessage(t, to...), mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

// linkOf returns the token of the page that an email links to.
func linkOf(w *testserver.Server, id string) string {
	w.T.Helper()
	token, ok := strings.CutPrefix(w.Email(id).Unsubscribe, w.Config.BaseURL+"/unsubscribe/")
	if !ok {
		w.T.Fatalf("email %s leads to %q", id, w.Email(id).Unsubscribe)
	}
	return token
}

// pageMethods are the four methods of Pages, by name.
func pageMethods(w *testserver.Server) map[string]func(token string) (*audience.PageView, error) {
	ctx := w.T.Context()
	return map[string]func(string) (*audience.PageView, error){
		"UnsubscribePage": func(token string) (*audience.PageView, error) { return w.Services.Pages.UnsubscribePage(ctx, token) },
		"Unsubscribe":     func(token string) (*audience.PageView, error) { return w.Services.Pages.Unsubscribe(ctx, token) },
		"PreferencesPage": func(token string) (*audience.PageView, error) { return w.Services.Pages.PreferencesPage(ctx, token) },
		"SavePreferences": func(token string) (*audience.PageView, error) {
			return w.Services.Pages.SavePreferences(ctx, token, map[string]app.Subscription{}, "")
		},
	}
}

// sendBare sends mail without a topic that links to the page.
func sendBare(w *testserver.Server, to ...string) string {
	w.T.Helper()
	in := testserver.Message(to...)
	in.HTML = "{{{UNSUBSCRIBE_URL}}}"
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

func wantContacts(w *testserver.Server, segmentID string, want int, after string) {
	w.T.Helper()
	_, n, err := w.Services.Audience.GetSegment(w.T.Context(), w.Key, segmentID)
	testserver.Must(w.T, err)
	if n != want {
		w.T.Errorf("%d contacts after %s, want %d", n, after, want)
	}
}

// addContact adds a contact to the team.
func addContact(w *testserver.Server, email string) string {
	w.T.Helper()
	var id string
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		c := app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, CreatedAt: tx.Now, UpdatedAt: tx.Now,
			Hash: w.Config.Sealer.AddressHash(w.Key.TeamID, app.KeyOf(email))}
		id = c.ID
		return tx.InsertContact(&c)
	}))
	return id
}

// wantEvents compares the names and some members of the events that webhooks received.
func wantEvents(w *testserver.Server, want ...string) {
	w.T.Helper()
	var got []string
	for _, event := range w.TeamWebhookEvents(w.Key.TeamID) {
		line := string(event.Type)
		for _, member := range []string{"name", "deleted", "email", "origin", "topics"} {
			if v, ok := event.Data[member]; ok {
				b, err := json.Marshal(v)
				testserver.Must(w.T, err)
				line += " " + string(b)
			}
		}
		got = append(got, line)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		w.T.Errorf("webhooks heard\n%q, want\n%q", got, want)
	}
}

// optInTopic makes a topic that is opt_in by default.
func optInTopic(w *testserver.Server, name string) app.Topic {
	w.T.Helper()
	topic, err := w.Services.Topics.CreateTopic(w.T.Context(), w.Key, app.TopicInput{Name: name, Default: app.OptIn})
	testserver.Must(w.T, err)
	return topic
}
