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

// templateSend returns a send by template with a value of X.
func templateSend(name, x string) *app.EmailInput {
	return &app.EmailInput{To: []string{"bob@example.org"}, Template: &app.TemplateUse{ID: name,
		Variables: map[string]app.PropertyValue{"X": {Type: app.StringProperty, Text: x}}}}
}

func templateContent(html string) app.TemplateContent {
	return app.TemplateContent{From: "Ann <ann@" + testserver.TestDomain + ">", Subject: "Hi", HTML: html, Variables: []app.TemplateVariable{{Key: "X", Type: app.StringProperty}}}
}

func TestTemplateSenderMustBeVerified(t *testing.T) {
	w := testserver.New(t)
	c := templateContent("{{{X}}}")
	c.From = "a@elsewhere.example"
	w.PublishTemplate(w.Key, "t", c)
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, templateSend("t", "x"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeValidation)
	own := templateSend("t", "x")
	own.From = "a@" + testserver.TestDomain
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, own, mail.SendOptions{})
	testserver.Must(t, err)
	if e := w.Email(id); e.HTML != "x" || e.Subject != "Hi" || e.MessageID != id+"@"+testserver.TestDomain {
		t.Errorf("%+v", e)
	}
}

func TestTemplateMailHasItsOwnLink(t *testing.T) {
	w := testserver.New(t)
	w.PublishTemplate(w.Key, "t", templateContent(`<a href="{{{UNSUBSCRIBE_URL}}}">out</a> {{{X}}}`))
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, templateSend("t", "{{{UNSUBSCRIBE_URL}}}"), mail.SendOptions{})
	testserver.Must(t, err)
	e := w.Email(id)
	sent := e.FinalMail()
	if e.Unsubscribe == "" || strings.Count(sent.HTML, e.Unsubscribe) != 1 || !strings.Contains(sent.HTML, `href="`+e.Unsubscribe) {
		t.Errorf("link %q in %s", e.Unsubscribe, sent.HTML)
	}
	if strings.Count(sent.Text, e.Unsubscribe) > 1 {
		t.Errorf("a value became a link in %s", sent.Text)
	}
}

func TestOnlyLargeTemplatesNeedPermit(t *testing.T) {
	w := testserver.New(t)
	w.PublishTemplate(w.Key, "small", templateContent("{{{X}}}"))
	w.PublishTemplate(w.Key, "large", templateContent("{{{X}}}"+strings.Repeat("x", mail.SmallRender)))
	w.PublishTemplate(w.Key, "grows", templateContent(strings.Repeat("{{{X}}}", mail.SmallRender/1000)))
	for range mail.LargeRenders {
		w.Services.Mail.Renders() <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]string{"large": "", "grows": strings.Repeat("x", 2000)} {
		r := w.Services.Mail.NewRenderer(w.Key)
		_, err := r.Content(t.Context(), "small")
		testserver.Must(t, err)
		if name == "grows" {
			content, cerr := r.Content(t.Context(), name)
			testserver.Must(t, cerr)
			_, err = r.Fill(ctx, templateSend(name, x), content)
		} else {
			_, err = r.Content(ctx, name)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, templateSend("small", "x"), mail.SendOptions{})
	testserver.Must(t, err)
	<-w.Services.Mail.Renders() // releases one permit
	for range 2 {
		items := []mail.BatchItem{{Input: templateSend("large", "x")}, {Input: templateSend("grows", strings.Repeat("x", 2000))}, {Input: templateSend("large", "y")}}
		result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, items, false, mail.SendOptions{})
		testserver.Must(t, err)
		if e := w.Email(result.IDs[1]); len(e.HTML) != mail.SmallRender/1000*2000 {
			t.Errorf("html of %d bytes", len(e.HTML))
		}
	}
	if len(w.Services.Mail.Renders()) != mail.LargeRenders-1 {
		t.Errorf("%d permits are taken", len(w.Services.Mail.Renders()))
	}
}

func TestTemplateRenderLimit(t *testing.T) {
	w := testserver.New(t)
	w.PublishTemplate(w.Key, "half", templateContent("{{{X}}}"+strings.Repeat("x", app.MaxRendered/2)))
	item := mail.BatchItem{Input: templateSend("half", "x")}
	item.Input.Tags = nil
	result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, slices.Repeat([]mail.BatchItem{item}, 5), true, mail.SendOptions{})
	testserver.Must(t, err)
	if len(result.IDs) == 5 || len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Message, "bytes together") {
		t.Errorf("%+v", result)
	}
}

func TestTemplateWithForeignTagsIsNotPublished(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	made, err := w.Services.Templates.CreateTemplate(t.Context(), w.Key, app.TemplateInput{Name: "t", TemplateContent: app.TemplateContent{HTML: "<p>x\n{{ if .x }}</p>"}})
	testserver.Must(t, err) // a draft may be incomplete
	_, err = w.Services.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.WantCode(t, err, app.CodeValidation)
	if !strings.Contains(err.Error(), "{{ if .x }} (html, line 2)") {
		t.Errorf("it says %s", err)
	}
	_, err = w.Services.Templates.UpdateTemplate(t.Context(), w.Key, made.ID, app.TemplatePatch{HTML: "<p>&#123;{ if .x }}</p>"})
	testserver.Must(t, err)
	_, err = w.Services.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.Must(t, err)
}

func TestConcurrentTemplateEdits(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	made := w.PublishTemplate(w.Key, "t", templateContent("{{{X}}}"))
	done := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			patch := app.TemplatePatch{HTML: strings.Repeat("x", i+1)}
			_, err := w.Services.Templates.UpdateTemplate(t.Context(), w.Key, "t", patch)
			done <- err
		}()
	}
	for range n {
		testserver.Must(t, <-done)
	}
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "2\n" {
		t.Errorf("versions: %s", got)
	}
	_, err := w.Services.Templates.PublishTemplate(t.Context(), w.Key, made.ID)
	testserver.Must(t, err)
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "1\n" {
		t.Errorf("versions after publishing: %s", got)
	}
	if _, err := w.Services.Templates.DeleteTemplate(t.Context(), w.Key, "t"); err != nil {
		t.Error(err)
	}
	if got := w.Rows(`SELECT count(*) FROM template_versions`); got != "0\n" {
		t.Errorf("versions after deletion: %s", got)
	}
}
