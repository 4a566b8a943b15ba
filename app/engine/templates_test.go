package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

// template makes one of a team and publishes it.
func (w *world) template(key *app.Key, alias string, c app.TemplateContent) app.Template {
	w.t.Helper()
	t, err := w.e.CreateTemplate(w.t.Context(), key, app.TemplateInput{Name: "x", Alias: alias, TemplateContent: c})
	must(w.t, err)
	t, err = w.e.PublishTemplate(w.t.Context(), key, t.ID)
	must(w.t, err)
	return t
}

// by is a send by a template that fills X.
func by(name, x string) *app.EmailInput {
	return &app.EmailInput{To: []string{"bob@example.org"}, Template: &app.TemplateUse{ID: name,
		Variables: map[string]app.PropertyValue{"X": {Type: app.StringProperty, Text: x}}}}
}

func contentOf(html string) app.TemplateContent {
	return app.TemplateContent{From: "Ann <ann@" + testDomain + ">", Subject: "Hi", HTML: html, Variables: []app.TemplateVariable{{Key: "X", Type: app.StringProperty}}}
}

func TestTheSenderOfATemplateMustBeVerifiedToo(t *testing.T) {
	w := idle(t)
	c := contentOf("{{{X}}}")
	c.From = "a@elsewhere.example"
	w.template(w.key, "t", c)
	_, err := w.e.SendEmail(t.Context(), w.key, by("t", "x"), SendOptions{})
	wantCode(t, err, app.CodeValidation)
	own := by("t", "x")
	own.From = "a@" + testDomain
	id, err := w.e.SendEmail(t.Context(), w.key, own, SendOptions{})
	must(t, err)
	if e := w.email(id); e.HTML != "x" || e.Subject != "Hi" || e.MessageID != id+"@"+testDomain {
		t.Errorf("%+v", e)
	}
}

func TestATemplateMailLeadsToItsOwnPage(t *testing.T) {
	w := idle(t)
	w.template(w.key, "t", contentOf(`<a href="{{{UNSUBSCRIBE_URL}}}">out</a> {{{X}}}`))
	id, err := w.e.SendEmail(t.Context(), w.key, by("t", "{{{UNSUBSCRIBE_URL}}}"), SendOptions{})
	must(t, err)
	e := w.email(id)
	sent := e.Sent()
	if e.Unsubscribe == "" || strings.Count(sent.HTML, e.Unsubscribe) != 1 || !strings.Contains(sent.HTML, `href="`+e.Unsubscribe) {
		t.Errorf("link %q in %s", e.Unsubscribe, sent.HTML)
	}
	if strings.Count(sent.Text, e.Unsubscribe) > 1 {
		t.Errorf("a value became a link in %s", sent.Text)
	}
}

func TestLargeTemplatesWaitForAPermitAndSmallOnesDoNot(t *testing.T) {
	w := idle(t)
	w.template(w.key, "small", contentOf("{{{X}}}"))
	w.template(w.key, "large", contentOf("{{{X}}}"+strings.Repeat("x", smallRender)))
	w.template(w.key, "grows", contentOf(strings.Repeat("{{{X}}}", smallRender/1000)))
	for range largeRenders {
		w.e.renders <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]string{"large": "", "grows": strings.Repeat("x", 2000)} {
		r := w.e.newRenderer(w.key)
		_, err := r.content(t.Context(), "small")
		must(t, err)
		if name == "grows" {
			content, cerr := r.content(t.Context(), name)
			must(t, cerr)
			_, err = r.fill(ctx, by(name, x), content)
		} else {
			_, err = r.content(ctx, name)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		r.close()
	}
	_, err := w.e.SendEmail(t.Context(), w.key, by("small", "x"), SendOptions{})
	must(t, err)
	<-w.e.renders // one is free again
	for range 2 {
		items := []BatchItem{{Input: by("large", "x")}, {Input: by("grows", strings.Repeat("x", 2000))}, {Input: by("large", "y")}}
		result, err := w.e.SendBatch(t.Context(), w.key, items, false, SendOptions{})
		must(t, err)
		if e := w.email(result.IDs[1]); len(e.HTML) != smallRender/1000*2000 {
			t.Errorf("html of %d bytes", len(e.HTML))
		}
	}
	if len(w.e.renders) != largeRenders-1 {
		t.Errorf("%d permits are taken", len(w.e.renders))
	}
}

func TestARequestMakesNoMoreOfTemplatesThanItCouldCarry(t *testing.T) {
	w := idle(t)
	w.template(w.key, "half", contentOf("{{{X}}}"+strings.Repeat("x", app.MaxRendered/2)))
	item := BatchItem{Input: by("half", "x")}
	item.Input.Tags = nil
	result, err := w.e.SendBatch(t.Context(), w.key, slices.Repeat([]BatchItem{item}, 5), true, SendOptions{})
	must(t, err)
	if len(result.IDs) == 5 || len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Message, "bytes together") {
		t.Errorf("%+v", result)
	}
}

func TestATemplateThatOthersEditIsNotLost(t *testing.T) {
	w := idle(t)
	made := w.template(w.key, "t", contentOf("{{{X}}}"))
	done := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			patch := app.TemplatePatch{HTML: strings.Repeat("x", i+1)}
			_, err := w.e.UpdateTemplate(t.Context(), w.key, "t", patch)
			done <- err
		}()
	}
	for range n {
		must(t, <-done)
	}
	if got := w.rows(`SELECT count(*) FROM template_versions`); got != "2\n" {
		t.Errorf("versions: %s", got)
	}
	_, err := w.e.PublishTemplate(t.Context(), w.key, made.ID)
	must(t, err)
	if got := w.rows(`SELECT count(*) FROM template_versions`); got != "1\n" {
		t.Errorf("versions after publishing: %s", got)
	}
	if _, err := w.e.DeleteTemplate(t.Context(), w.key, "t"); err != nil {
		t.Error(err)
	}
	if got := w.rows(`SELECT count(*) FROM template_versions`); got != "0\n" {
		t.Errorf("versions after deletion: %s", got)
	}
}
