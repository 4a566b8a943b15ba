package mail_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// by is a send by a template that fills X.
func by(name, x string) *app.EmailInput {
	return &app.EmailInput{To: []string{"bob@example.org"}, Template: &app.TemplateUse{ID: name,
		Variables: map[string]app.PropertyValue{"X": {Type: app.StringProperty, Text: x}}}}
}

func contentOf(html string) app.TemplateContent {
	return app.TemplateContent{From: "Ann <ann@" + testserver.TestDomain + ">", Subject: "Hi", HTML: html, Variables: []app.TemplateVariable{{Key: "X", Type: app.StringProperty}}}
}

func TestTheSenderOfATemplateMustBeVerifiedToo(t *testing.T) {
	w := testserver.Idle(t)
	c := contentOf("{{{X}}}")
	c.From = "a@elsewhere.example"
	w.Template(w.Key, "t", c)
	_, err := w.Server.Mail.SendEmail(t.Context(), w.Key, by("t", "x"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeValidation)
	own := by("t", "x")
	own.From = "a@" + testserver.TestDomain
	id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, own, mail.SendOptions{})
	testserver.Must(t, err)
	if e := w.Email(id); e.HTML != "x" || e.Subject != "Hi" || e.MessageID != id+"@"+testserver.TestDomain {
		t.Errorf("%+v", e)
	}
}

func TestATemplateMailLeadsToItsOwnPage(t *testing.T) {
	w := testserver.Idle(t)
	w.Template(w.Key, "t", contentOf(`<a href="{{{UNSUBSCRIBE_URL}}}">out</a> {{{X}}}`))
	id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, by("t", "{{{UNSUBSCRIBE_URL}}}"), mail.SendOptions{})
	testserver.Must(t, err)
	e := w.Email(id)
	sent := e.Sent()
	if e.Unsubscribe == "" || strings.Count(sent.HTML, e.Unsubscribe) != 1 || !strings.Contains(sent.HTML, `href="`+e.Unsubscribe) {
		t.Errorf("link %q in %s", e.Unsubscribe, sent.HTML)
	}
	if strings.Count(sent.Text, e.Unsubscribe) > 1 {
		t.Errorf("a value became a link in %s", sent.Text)
	}
}

func TestLargeTemplatesWaitForAPermitAndSmallOnesDoNot(t *testing.T) {
	w := testserver.Idle(t)
	w.Template(w.Key, "small", contentOf("{{{X}}}"))
	w.Template(w.Key, "large", contentOf("{{{X}}}"+strings.Repeat("x", mail.SmallRender)))
	w.Template(w.Key, "grows", contentOf(strings.Repeat("{{{X}}}", mail.SmallRender/1000)))
	for range mail.LargeRenders {
		w.Server.Mail.Renders() <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]string{"large": "", "grows": strings.Repeat("x", 2000)} {
		r := w.Server.Mail.NewRenderer(w.Key)
		_, err := r.Content(t.Context(), "small")
		testserver.Must(t, err)
		if name == "grows" {
			content, cerr := r.Content(t.Context(), name)
			testserver.Must(t, cerr)
			_, err = r.Fill(ctx, by(name, x), content)
		} else {
			_, err = r.Content(ctx, name)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
	_, err := w.Server.Mail.SendEmail(t.Context(), w.Key, by("small", "x"), mail.SendOptions{})
	testserver.Must(t, err)
	<-w.Server.Mail.Renders() // one is free again
	for range 2 {
		items := []mail.BatchItem{{Input: by("large", "x")}, {Input: by("grows", strings.Repeat("x", 2000))}, {Input: by("large", "y")}}
		result, err := w.Server.Mail.SendBatch(t.Context(), w.Key, items, false, mail.SendOptions{})
		testserver.Must(t, err)
		if e := w.Email(result.IDs[1]); len(e.HTML) != mail.SmallRender/1000*2000 {
			t.Errorf("html of %d bytes", len(e.HTML))
		}
	}
	if len(w.Server.Mail.Renders()) != mail.LargeRenders-1 {
		t.Errorf("%d permits are taken", len(w.Server.Mail.Renders()))
	}
}

func TestARequestMakesNoMoreOfTemplatesThanItCouldCarry(t *testing.T) {
	w := testserver.Idle(t)
	w.Template(w.Key, "half", contentOf("{{{X}}}"+strings.Repeat("x", app.MaxRendered/2)))
	item := mail.BatchItem{Input: by("half", "x")}
	item.Input.Tags = nil
	result, err := w.Server.Mail.SendBatch(t.Context(), w.Key, slices.Repeat([]mail.BatchItem{item}, 5), true, mail.SendOptions{})
	testserver.Must(t, err)
	if len(result.IDs) == 5 || len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Message, "bytes together") {
		t.Errorf("%+v", result)
	}
}

func TestATemplateWithTagsOfAnotherServiceIsNotPublished(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.Idle(t)
	made, err := w.Server.Templates.CreateTemplate(t.Context(), w.Key, app.TemplateInput{Name: "t", TemplateContent: app.TemplateContent{HTML: "<p>x\n{{ if .x }}</p>"}})
	testserver.Must(t, err) // a draft may wait for its author
	_, err = w.Server.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.WantCode(t, err, app.CodeValidation)
	if !strings.Contains(err.Error(), "{{ if .x }} (html, line 2)") {
		t.Errorf("it says %s", err)
	}
	_, err = w.Server.Templates.UpdateTemplate(t.Context(), w.Key, made.ID, app.TemplatePatch{HTML: "<p>&#123;{ if .x }}</p>"})
	testserver.Must(t, err)
	_, err = w.Server.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.Must(t, err)
}

func TestATemplateThatOthersEditIsNotLost(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.Idle(t)
	made := w.Template(w.Key, "t", contentOf("{{{X}}}"))
	done := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			patch := app.TemplatePatch{HTML: strings.Repeat("x", i+1)}
			_, err := w.Server.Templates.UpdateTemplate(t.Context(), w.Key, "t", patch)
			done <- err
		}()
	}
	for range n {
		testserver.Must(t, <-done)
	}
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "2\n" {
		t.Errorf("versions: %s", got)
	}
	_, err := w.Server.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.Must(t, err)
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "1\n" {
		t.Errorf("versions after publishing: %s", got)
	}
	if _, err := w.Server.Templates.DeleteTemplate(t.Context(), w.Key, "t"); err != nil {
		t.Error(err)
	}
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "0\n" {
		t.Errorf("versions after deletion: %s", got)
	}
}
