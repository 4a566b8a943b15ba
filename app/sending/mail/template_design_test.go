package mail_test

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// The design is removed by HTML without a design, and restored with its version, as that of a
// broadcast.
func TestTemplateDesign(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		ctx, all := t.Context(), w.Services.Templates
		const design = `{"type":"doc","content":[{"type":"text","text":"ann@example.net"}]}`
		made, err := all.CreateTemplate(ctx, w.Key, app.TemplateInput{Name: "n", TemplateContent: app.TemplateContent{HTML: "<p>a</p>", Design: design}})
		testserver.Must(t, err)
		read := func() string {
			t.Helper()
			now, err := all.GetTemplate(ctx, w.Key, made.ID)
			testserver.Must(t, err)
			return now.Design
		}
		_, err = all.UpdateTemplate(ctx, w.Key, made.ID, app.TemplatePatch{HTML: "<p>a</p>", Name: "m"})
		testserver.Must(t, err)
		if got := read(); got != design {
			t.Errorf("the same HTML left the design %q", got)
		}
		_, err = all.UpdateTemplate(ctx, w.Key, made.ID, app.TemplatePatch{HTML: "<p>by hand</p>"})
		testserver.Must(t, err)
		if got := read(); got != "" {
			t.Errorf("other HTML has the design %q", got)
		}
		_, err = all.RestoreTemplateVersion(ctx, w.Key, made.ID, "1")
		testserver.Must(t, err)
		if got := read(); got != design {
			t.Errorf("the version brought back the design %q", got)
		}
		_, err = all.UpdateTemplate(ctx, w.Key, made.ID, app.TemplatePatch{Design: app.Change[string]{Set: true, Value: "[]"}})
		if err == nil {
			t.Error("a list was taken for a design")
		}
	})
}
