package mail_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

var viewLink = regexp.MustCompile(`https?://[^"\s]+/view/([A-Za-z0-9_-]+)`)

// viewTokenIn returns the token of the only link to a view page in a text.
func viewTokenIn(t *testing.T, text string) string {
	t.Helper()
	found := viewLink.FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%d links to a view page in %s", len(found), text)
	}
	return found[0][1]
}

func TestBroadcastInBrowser(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t, testserver.NewRelay(nil))
		w.AddSubscribers(3)
		const html = `<p>Hi {{{FIRST_NAME|you}}}</p><img src="cid:logo"><link rel="preconnect" href="https://x.example"><a href="https://shop.example/a">shop</a>
			<a href="{{{ VIEW_URL }}}">view</a> <a href="{{{UNSUBSCRIBE_URL}}}">leave</a> {{{UNSUBSCRIBE_URL}}}`
		b := w.SendNewsletter(html, func(b *app.Broadcast) {
			b.Attachments = []app.Attachment{{ID: app.NewID(), Filename: "logo.png", ContentType: "image/png", ContentID: "logo", Content: []byte("png"), Size: 3}}
		})
		testserver.SleepAndSettle(time.Minute)
		id := w.EmailIDTo(b, testserver.SubscriberAddress(0))
		token := viewTokenIn(t, w.Email(id).HTML)
		views := w.Services.Views
		shown, err := views.ViewMail(t.Context(), token)
		testserver.Must(t, err)
		want := []string{"Hi you", `src="data:image/png;base64,cG5n"`, `<a href="https://shop.example/a">`, "/view/" + token, `<a href="#">leave</a> #`}
		for _, part := range want {
			if !strings.Contains(shown.HTML, part) {
				t.Errorf("%q is missing in %s", part, shown.HTML)
			}
		}
		for _, part := range []string{"/unsubscribe/", "/t/o/", "/t/c/", "<link", "{{{"} {
			if strings.Contains(shown.HTML+shown.Text, part) {
				t.Errorf("%q is in %s\n%s", part, shown.HTML, shown.Text)
			}
		}
		gone := func(what, token string) {
			t.Helper()
			if _, err := views.ViewMail(t.Context(), token); app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
		gone("another token", token[:len(token)-1]+"_")
		second := viewTokenIn(t, w.Email(w.EmailIDTo(b, testserver.SubscriberAddress(1))).HTML)
		_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: testserver.SubscriberAddress(1)})
		testserver.Must(t, err)
		gone("suppressed", second)
		third := viewTokenIn(t, w.Email(w.EmailIDTo(b, testserver.SubscriberAddress(2))).HTML)
		_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(2), true)
		testserver.Must(t, err)
		testserver.SleepAndSettle(10 * time.Minute)
		gone("erased", third)
		_, err = views.ViewMail(t.Context(), token)
		testserver.Must(t, err)
		kept := time.Second
		w.WriteDB(func(tx *db.Tx) error {
			return tx.SetRetention(app.TeamRetention{TeamID: w.Key.TeamID, Broadcasts: &kept})
		})
		testserver.SleepAndSettle(time.Hour)
		gone("deleted by retention", token)
	})
}

func TestTemplateMailInBrowser(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	text := "Read {{{VIEW_URL}}}, leave {{{UNSUBSCRIBE_URL}}}"
	c := templateContent(`<p>{{{X}}}</p><a href="{{{VIEW_URL}}}">view</a><a href="{{{UNSUBSCRIBE_URL}}}">leave</a><a href="https://own.example/out">own</a>`)
	c.Text = &text
	w.PublishTemplate(w.Key, "plain", templateContent("{{{X}}}"))
	c.Variables = append(c.Variables, app.TemplateVariable{Key: app.ViewKey, Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: "https://old.example"}})
	w.PublishTemplate(w.Key, "t", c)
	in := templateSend("t", "{{{VIEW_URL}}}")
	in.Headers = map[string]string{"List-Unsubscribe": "<https://own.example/out>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	e := w.Email(id)
	token := viewTokenIn(t, e.HTML)
	if viewTokenIn(t, e.Text) != token || e.MessageID != app.EmailMessageID(id, testserver.TestDomain) {
		t.Errorf("%s, %s", e.Text, e.MessageID)
	}
	shown, err := w.Services.Views.ViewMail(t.Context(), token)
	testserver.Must(t, err)
	for _, part := range []string{"<p>{{{VIEW_URL}}}</p>", `<a href="#">leave</a><a href="#">own</a>`, token} {
		if !strings.Contains(shown.HTML, part) {
			t.Errorf("%q is missing in %s", part, shown.HTML)
		}
	}
	if !strings.HasSuffix(shown.Text, ", leave ") {
		t.Errorf("the text is %q", shown.Text)
	}
	own := templateSend("t", "x")
	own.Template.Variables[app.ViewKey] = app.PropertyValue{Type: app.StringProperty, Text: "https://mine.example/"}
	id, err = w.Services.Mail.SendEmail(t.Context(), w.Key, own, mail.SendOptions{})
	testserver.Must(t, err)
	if e := w.Email(id); !strings.Contains(e.HTML, `href="https://mine.example/"`) {
		t.Errorf("the value of the send was replaced: %s", e.HTML)
	}
	rendered, err := w.Services.Templates.RenderTemplate(t.Context(), w.Key, app.TemplateUse{ID: "t", Variables: map[string]app.PropertyValue{"X": {Type: app.StringProperty, Text: "x"}}}, true)
	testserver.Must(t, err)
	if !strings.Contains(rendered.HTML, mail.PreviewView) {
		t.Errorf("the preview is %s", rendered.HTML)
	}
	w.WriteDB(func(tx *db.Tx) error { return tx.MarkContentDeleted(e.ID) })
	if _, err := w.Services.Views.ViewMail(t.Context(), token); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("deleted content is shown: %v", err)
	}
}
