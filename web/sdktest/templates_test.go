package sdktest

import (
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// templateThing is a template as the Node client gives it.
type templateThing struct {
	Object      string  `json:"object"`
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Alias       string  `json:"alias"`
	Status      string  `json:"status"`
	PublishedAt *string `json:"published_at"`
	Unpublished bool    `json:"has_unpublished_versions"`
	HTML        string  `json:"html"`
	Text        *string `json:"text"`
	Subject     string  `json:"subject"`
	Deleted     bool    `json:"deleted"`
	Variables   []struct {
		Key      string `json:"key"`
		Type     string `json:"type"`
		Fallback any    `json:"fallback_value"`
	} `json:"variables"`
}

type templateThings struct {
	HasMore bool            `json:"has_more"`
	Data    []templateThing `json:"data"`
}

func (l templateThings) names() string {
	var out []string
	for _, v := range l.Data {
		out = append(out, v.Name)
	}
	return strings.Join(out, ", ")
}

func TestNodeClientTemplates(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientTemplates)
}

func nodeClientTemplates(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got struct {
		Created, Draft, Published, Updated, Edited, Copy, Chained, Copied, Removed templateThing
		First, Rest                                                                templateThings
		Sent                                                                       struct{ ID string }
		Batch                                                                      struct{ Data []struct{ ID string } }
		Mail                                                                       struct{ HTML, Text, Subject string }
		Errors                                                                     map[string]apiError
	}
	runNode(t, w.in.url, w.key, "templates.mjs", map[string]string{"FROM": "a@example.test"}).into(t, &got)
	if got.Draft.ID != got.Created.ID || got.Draft.Status != "draft" || got.Draft.Alias != "welcome" || got.Draft.Text != nil || len(got.Draft.Variables) != 2 || got.Draft.Variables[0].Fallback != "you" {
		t.Errorf("draft %+v", got.Draft)
	}
	if got.Published.ID != got.Created.ID || got.Updated.ID != got.Created.ID || got.Edited.Status != "published" || !got.Edited.Unpublished || got.Edited.Text == nil || *got.Edited.Text != "" {
		t.Errorf("edited %+v", got.Edited)
	}
	if got.Copy.ID == got.Created.ID || got.Copied.ID == "" || got.First.names() != "Welcome (copy), Chained, Welcome (copy)" || !got.First.HasMore || got.Rest.names() != "Welcome" {
		t.Errorf("lists %+v %+v", got.First, got.Rest)
	}
	if got.First.Data[0].Status != "published" || got.First.Data[1].ID != got.Chained.ID || got.First.Data[2].Status != "draft" {
		t.Errorf("chained: %+v", got.First)
	}
	if got.Mail.Subject != "Hello Ann & Bo" || got.Mail.HTML != "<p>Hi Ann &amp; Bo, you have 2</p>" || got.Mail.Text != "Hi Ann & Bo, you have 2" {
		t.Errorf("mail %+v", got.Mail)
	}
	if !got.Removed.Deleted || got.Removed.ID != got.Created.ID {
		t.Errorf("removed %+v", got.Removed)
	}
	for name, want := range map[string]apiError{
		"unpublished": {StatusCode: 422, Name: "validation_error"}, "same": {StatusCode: 409, Name: "conflict"},
		"undeclared": {StatusCode: 422, Name: "validation_error"}, "missing": {StatusCode: 422, Name: "validation_error"},
		"unknown": {StatusCode: 404, Name: "not_found"}, "both": {StatusCode: 422, Name: "validation_error"}, "gone": {StatusCode: 404, Name: "not_found"},
	} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
	client{w.in.url, w.key}.waitLast(t, got.Batch.Data[0].ID, time.Minute, "sent")
	w.checkArrived(t, arrival{
		id: got.Batch.Data[0].ID, subject: "Own", from: "a@example.test", envelope: []string{"bob@example.com"},
		html: "<p>Hi you, you have 3</p>", text: "Hi you, you have 3",
	})
}

func TestGoV3ClientTemplates(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientTemplates)
}

func goV3ClientTemplates(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	made, err := c.Templates.Create(&resendv3.CreateTemplateRequest{
		Name: "Order", Alias: "order", From: "a@example.test", Subject: "Order {{{NUMBER}}}", ReplyTo: "help@example.test",
		Html: "<p>{{{PRODUCT}}}: {{{NUMBER}}}</p>",
		Variables: []*resendv3.TemplateVariable{
			{Key: "PRODUCT", Type: resendv3.VariableTypeString, FallbackValue: "item"}, {Key: "NUMBER", Type: resendv3.VariableTypeNumber},
		},
	})
	must(t, err)
	if _, err := c.Templates.Publish("order"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Templates.Update("order", &resendv3.UpdateTemplateRequest{Name: "Orders", Html: "<p>New {{{PRODUCT}}}</p>"}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Templates.Get(made.Id)
	must(t, err)
	if got.Name != "Orders" || got.Html != "<p>New {{{PRODUCT}}}</p>" || got.Status != "published" || len(got.Variables) != 2 || got.Variables[0].FallbackValue != "item" || got.Alias != "order" {
		t.Errorf("template %+v", got)
	}
	copied, err := c.Templates.Duplicate("order")
	must(t, err)
	rows, err := c.Templates.List(nil)
	must(t, err)
	if len(rows.Data) != 2 || rows.Data[0].Id != copied.Id || rows.Data[0].Status != "draft" || rows.Data[0].PublishedAt != nil {
		t.Errorf("list %+v", rows)
	}
	sent, err := c.Emails.Send(&resendv3.SendEmailRequest{ // from and subject go out as empty strings
		To: []string{"ann@example.com"}, Template: &resendv3.EmailTemplate{Id: "order", Variables: map[string]any{"NUMBER": 7}},
	})
	must(t, err)
	client{w.in.url, w.key}.waitLast(t, sent.Id, time.Minute, "sent")
	w.checkArrived(t, arrival{
		id: sent.Id, subject: "Order 7", from: "a@example.test", envelope: []string{"ann@example.com"},
		html: "<p>item: 7</p>", text: "item: 7", header: map[string]string{"Reply-To": "help@example.test"},
	})
	if _, err := c.Emails.Send(&resendv3.SendEmailRequest{To: []string{"ann@example.com"}, Template: &resendv3.EmailTemplate{Id: "order"}}); err == nil || seen.last.StatusCode != 422 {
		t.Errorf("without its variable: %v", err)
	}
	removed, err := c.Templates.Remove("order")
	must(t, err)
	if !removed.Deleted || removed.Id != made.Id {
		t.Errorf("removed %+v", removed)
	}
}

func TestResendCommandLineTemplates(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineTemplates)
}

func resendCommandLineTemplates(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	call := func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w, w.key, args...)
		must(t, err)
		out.into(t, into)
	}
	var made, got, copied, removed templateThing
	call(&made, "templates", "create", "--name", "Order", "--alias", "order", "--from", "a@example.test", "--subject", "Order",
		"--html", "<p>{{{PRODUCT}}}: {{{PRICE}}}</p>", "--var", "PRODUCT:string:item", "--var", "PRICE:number:25")
	call(&got, "templates", "publish", "order")
	call(&got, "templates", "update", "order", "--name", "Orders", "--reply-to", "help@example.test")
	call(&got, "templates", "get", made.ID)
	if got.ID != made.ID || got.Name != "Orders" || got.Status != "published" || len(got.Variables) != 2 || got.Variables[1].Fallback != 25.0 {
		t.Errorf("template %+v", got)
	}
	call(&copied, "templates", "duplicate", "order")
	var rows templateThings
	call(&rows, "templates", "list")
	if rows.names() != "Orders (copy), Orders" || rows.Data[0].ID != copied.ID {
		t.Errorf("list %+v", rows)
	}
	var sent struct{ ID string }
	call(&sent, "emails", "send", "--to", "ann@example.com", "--template", "order", "--var", "PRODUCT=Tea")
	client{w.in.url, w.key}.waitLast(t, sent.ID, time.Minute, "sent")
	w.checkArrived(t, arrival{
		id: sent.ID, subject: "Order", from: "a@example.test", envelope: []string{"ann@example.com"}, html: "<p>Tea: 25</p>", text: "Tea: 25",
	})
	call(&removed, "templates", "delete", "order", "--yes")
	if !removed.Deleted {
		t.Errorf("removed %+v", removed)
	}
}
