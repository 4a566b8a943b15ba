package automations_test

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestOpensAndClicksSignal: the first open of an email and the first click of each link store an event, of mail of a
// broadcast or from a template, with the chain of the run that sent it; prefetches and other mail store none.
func TestOpensAndClicksSignal(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		ctx := t.Context()
		w.AddContact("ann@example.net", false)
		html := testserver.Links(3) + `<a href="{{{UNSUBSCRIBE_URL}}}">out</a>`
		tpl, err := w.Services.Templates.CreateTemplate(ctx, w.Key, app.TemplateInput{Name: "T", TemplateContent: app.TemplateContent{Subject: "Hi", From: "ann@" + testserver.TestDomain, HTML: html}})
		testserver.Must(t, err)
		_, err = w.Services.Templates.PublishTemplate(ctx, w.Key, tpl.ID)
		testserver.Must(t, err)
		for _, name := range []string{app.TriggerEmailOpened, app.TriggerEmailClicked} {
			addTrigger(w, w.Key, map[string]any{"event_name": name})
		}
		send := func(to string, in *app.EmailInput) string {
			t.Helper()
			in.To = []string{to}
			id, err := w.Services.Mail.SendEmail(ctx, w.Key, in, mail.SendOptions{})
			testserver.Must(t, err)
			return id
		}
		ofTemplate := send("ann@example.net", &app.EmailInput{Template: &app.TemplateUse{ID: tpl.ID}})
		unknown := send("bob@example.net", &app.EmailInput{Template: &app.TemplateUse{ID: tpl.ID}})
		ofRun := send("ann@example.net", &app.EmailInput{Template: &app.TemplateUse{ID: tpl.ID}})
		plain := send("ann@example.net", &app.EmailInput{From: "ann@" + testserver.TestDomain, Subject: "Hi", HTML: html})
		b := w.SendNewsletter(html, nil)
		testserver.SleepAndSettle(time.Hour)
		ofBroadcast := w.EmailIDTo(b, "ann@example.net")
		run := app.Run{ID: app.NewID(), TeamID: w.Key.TeamID, AutomationID: "this", Status: app.RunCompleted, Context: app.RunContext{Chain: []string{"first"}}, CreatedAt: time.Now(), StartedAt: time.Now()}
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
			if err := tx.InsertRun(&run); err != nil {
				return err
			}
			return tx.Write(`UPDATE emails SET automation_run = ? WHERE id = ?`, run.ID, ofRun)
		}))
		for _, c := range []struct{ id, payload string }{
			{ofTemplate, `{"email_id":"%s","template_id":"` + tpl.ID + `"%s}`},
			{ofRun, `{"email_id":"%s","template_id":"` + tpl.ID + `"%s} ["first","this"]`},
			{ofBroadcast, `{"email_id":"%s","broadcast_id":"` + b.ID + `"%s}`},
			{unknown, ""}, {plain, ""},
		} {
			for _, agent := range []string{"curl/8.5.0", testserver.Chrome, testserver.Chrome} {
				w.LoadPixel(c.id, agent)
				testserver.SleepAndSettle(2 * time.Minute)
			}
			for _, link := range []int{0, 0, 1} {
				w.Click(c.id, link, 3, testserver.Chrome)
				testserver.SleepAndSettle(2 * time.Minute)
			}
			want := ""
			if c.payload != "" {
				want = "email.opened " + fmt.Sprintf(c.payload, c.id, "") + "\nemail.clicked " + fmt.Sprintf(c.payload, c.id, `,"url":"https://a.test/0"`) + "\nemail.clicked " + fmt.Sprintf(c.payload, c.id, `,"url":"https://a.test/1"`)
			}
			if got := signals(w); got != want {
				t.Errorf("stored\n%s\nwant\n%s", got, want)
			}
		}
	})
}
