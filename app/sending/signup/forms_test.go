package signup_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/app/testing/testserver"
)

func TestFormsAreChecked(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
	content := func(html string, keys ...string) app.TemplateContent {
		c := app.TemplateContent{Subject: "Please confirm", HTML: html}
		for _, key := range keys {
			c.Variables = append(c.Variables, app.TemplateVariable{Key: key, Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: "x"}})
		}
		return c
	}
	good := w.PublishTemplate(w.Key, "good", content(`<a href="{{{CONFIRM_URL}}}">a</a> <a href="{{{REFUSE_URL}}}">b</a>`, "CONFIRM_URL", "REFUSE_URL"))
	half := w.PublishTemplate(w.Key, "half", content(`<a href="{{{CONFIRM_URL}}}">a</a>`, "CONFIRM_URL", "REFUSE_URL"))
	named := w.PublishTemplate(w.Key, "named", content(`{{{name}}} <a href="{{{CONFIRM_URL}}}">a</a> <a href="{{{REFUSE_URL}}}">b</a>`, "CONFIRM_URL", "REFUSE_URL", "name"))
	leaves := w.PublishTemplate(w.Key, "leaves", content(`<a href="{{{CONFIRM_URL}}}">a</a> <a href="{{{REFUSE_URL}}}">b</a> <a href="{{{UNSUBSCRIBE_URL}}}">c</a>`, "CONFIRM_URL", "REFUSE_URL"))
	member := *w.Key
	member.Role = app.RoleMember
	for name, c := range map[string]struct {
		key    *app.Key
		change func(in *app.FormInput)
		want   string // code and a part of the message; empty: none
	}{
		"plain":            {w.Key, func(*app.FormInput) {}, ""},
		"of a member":      {&member, func(*app.FormInput) {}, ""},
		"single":           {w.Key, func(in *app.FormInput) { in.Confirm = app.SingleOptIn }, ""},
		"single, member":   {&member, func(in *app.FormInput) { in.Confirm = app.SingleOptIn }, "forbidden: "},
		"limit":            {w.Key, func(in *app.FormInput) { in.MaxPerDay = 5 }, ""},
		"limit, member":    {&member, func(in *app.FormInput) { in.MaxPerDay = 5 }, "forbidden: "},
		"template":         {w.Key, func(in *app.FormInput) { in.ConfirmationTemplate = good.ID }, ""},
		"half":             {w.Key, func(in *app.FormInput) { in.ConfirmationTemplate = half.ID }, "validation_error: `confirmation_template`"},
		"named":            {w.Key, func(in *app.FormInput) { in.ConfirmationTemplate = named.ID }, "validation_error: `confirmation_template`"},
		"unsubscribe":      {w.Key, func(in *app.FormInput) { in.ConfirmationTemplate = leaves.ID }, "validation_error: `confirmation_template`"},
		"other's template": {other, func(in *app.FormInput) { in.From, in.ConfirmationTemplate = "a@other.example", good.ID }, "validation_error: `confirmation_template`"},
		"other's topic":    {other, func(in *app.FormInput) { in.From, in.Topics = "a@other.example", []app.FormTopic{{ID: topic.ID}} }, "validation_error: `topics[0].id`"},
		"other's domain":   {other, func(*app.FormInput) {}, "validation_error: `from`"},
		"unknown segment":  {w.Key, func(in *app.FormInput) { in.Segments = []string{app.NewID()} }, "validation_error: `segments[0]`"},
		"unknown field":    {w.Key, func(in *app.FormInput) { in.Fields = []app.FormField{{Property: "size"}} }, "validation_error: `fields[0].property`"},
		"link to the team": {w.Key, func(in *app.FormInput) { in.RedirectURL = "https://www.example.com/thanks" }, ""},
		"link to an origin": {w.Key, func(in *app.FormInput) {
			in.AllowedOrigins, in.RedirectURL = []string{"https://shop.test"}, "https://shop.test/x"
		}, ""},
		"link elsewhere": {w.Key, func(in *app.FormInput) { in.RedirectURL = "https://evil.test/" }, "validation_error: `redirect_url`"},
	} {
		in := app.FormInput{Name: "Form", FormDefinition: app.FormDefinition{From: "a@" + testserver.TestDomain}}
		c.change(&in)
		f, err := w.Services.SignUp.CreateForm(t.Context(), c.key, in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil {
			continue
		}
		if _, err := w.Services.SignUp.GetForm(t.Context(), other, f.ID); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("%s: another team reads it: %v", name, err)
		}
		renamed := "Renamed"
		u, err := w.Services.SignUp.UpdateForm(t.Context(), c.key, f.ID, app.FormPatch{Name: &renamed})
		if err != nil || u.Version != 2 || u.Name != renamed || u.Confirm != f.Confirm {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if err := w.Services.SignUp.DeleteForm(t.Context(), other, f.ID); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("%s: another team deletes it: %v", name, err)
		}
		testserver.Must(t, w.Services.SignUp.DeleteForm(t.Context(), c.key, f.ID))
	}
}

func TestValuesHoldNoLinks(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, func(in *app.FormInput) {
			in.Fields = []app.FormField{{Property: "first_name", Label: "Name"}, {Property: "last_name", Label: "Family name", Required: true}}
		})
		for value, ok := range map[string]bool{
			"Ann": true, "J.R. Ewing": true, "St.Pierre": true, "O'Neil-Smith": true, "Ann M.": true, "日本": true, "1.5": true,
			"http://x": false, "evil.com": false, "see WWW.evil": false, "a evil.co.uk/x b": false, "evil。com": false, "x.github.io": false, "10.0.0.1": false, "a\nb": false,
			strings.Repeat("a", 101): false, "a\u202eb": false, "bob@evil.com": false, "münchen.de": false,
		} {
			_, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &signup.Submission{FormID: f.ID, Email: "bob@example.net", Values: map[string]string{"first_name": value, "last_name": "x"}})
			if ok && err != nil || !ok && (app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`first_name`")) {
				t.Errorf("%q: %v", value, err)
			}
		}
		for name, in := range map[string]signup.Submission{
			"email":     {Email: "nobody"},
			"last_name": {Email: "bob@example.net"},
		} {
			in.FormID = f.ID
			if _, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &in); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`"+name+"`") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestFormsAreOnTheirHosts: the host of the base URL serves them only while there is one team.
func TestFormsAreOnTheirHosts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, nil)
		found := func(host string) bool {
			t.Helper()
			_, err := w.Services.SignUp.FormPage(t.Context(), host, f.ID)
			if err != nil && app.CodeOf(err) != app.CodeNotFound {
				t.Error(err)
			}
			return err == nil
		}
		if !found("MAIL.example.com:443") || found("other.example.com") {
			t.Error("with one team")
		}
		url, err := w.Services.SignUp.FormURL(t.Context(), &f)
		if err != nil || url != "https://mail.example.com/f/"+f.ID {
			t.Errorf("%s, %v", url, err)
		}
		signUp(w, f, "bob@example.net", 1)
		w.AddTeam("Other", "other.example")
		if found(pagesHost) {
			t.Error("with two teams")
		}
		if _, err := w.Services.SignUp.OptInPage(t.Context(), pagesHost, linkIn(w, mailsTo(w, "bob@example.net")[0])); err != nil {
			t.Errorf("a link that was sent before: %v", err)
		}
	})
}

func TestSingleFormChangesNoContact(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		segment := w.AddSegment(nil)
		f := addForm(w, w.Key, func(in *app.FormInput) {
			in.Confirm, in.Segments = app.SingleOptIn, []string{segment.ID}
			in.Fields = []app.FormField{{Property: "first_name", Label: "Name"}}
		})
		_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "known@example.net"}, app.ConflictError)
		testserver.Must(t, err)
		_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "gone@example.net", Origin: app.OriginUnsubscribe})
		testserver.Must(t, err)
		for i, email := range []string{"new@example.net", "known@example.net", "gone@example.net"} {
			out := press(w, signup.Submission{FormID: f.ID, Email: email, Values: map[string]string{"first_name": "Zed"}, Client: client(i)})
			if out.Button != "" || !out.Single {
				t.Errorf("%s: %+v", email, out)
			}
		}
		if n := w.CountContacts(); n != 2 || w.Count("opt_ins") != "0" || w.Count("emails") != "0" || w.Count("consents") != "1" {
			t.Errorf("%d contacts, %s opt-ins, %s emails, %s consents", n, w.Count("opt_ins"), w.Count("emails"), w.Count("consents"))
		}
		known, err := w.Services.Audience.GetContact(t.Context(), w.Key, "known@example.net")
		if err != nil || known.FirstName == "Zed" {
			t.Errorf("%+v, %v", known, err)
		}
	})
}

// TestConfirmingFillsOnlyEmptyFields of a contact that exists, and only Again subscribes it again.
func TestConfirmingFillsOnlyEmptyFields(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "bob@example.net", FirstName: "Bob"}, app.ConflictError)
		testserver.Must(t, err)
		_, err = w.Services.Audience.UpdateContact(t.Context(), w.Key, "bob@example.net", app.ContactPatch{Unsubscribed: new(true)})
		testserver.Must(t, err)
		welcome := w.PublishTemplate(w.Key, "welcome", app.TemplateContent{Subject: "Welcome", HTML: "<p>Hello {{{first_name}}}</p>", Variables: []app.TemplateVariable{{Key: "first_name", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: "you"}}}})
		f := addForm(w, w.Key, func(in *app.FormInput) {
			in.Fields = []app.FormField{{Property: "first_name", Label: "Name"}, {Property: "last_name", Label: "Family name"}}
			in.WelcomeTemplate = welcome.ID
		})
		signUp(w, f, "bob@example.net", 1)
		token := linkIn(w, mailsTo(w, "bob@example.net")[0])
		page, err := w.Services.SignUp.OptInPage(t.Context(), pagesHost, token)
		if err != nil || !page.Unsubscribed || page.Suppressed {
			t.Errorf("%+v, %v", page, err)
		}
		values := map[string]string{"first_name": "Mallory", "last_name": "Jones"}
		page, err = w.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{Values: values})
		if err != nil || page.Status != app.OptInConfirmed || !page.Unsubscribed || page.Again {
			t.Errorf("%+v, %v", page, err)
		}
		c, err := w.Services.Audience.GetContact(t.Context(), w.Key, "bob@example.net")
		if err != nil || c.FirstName != "Bob" || c.LastName != "Jones" || !c.Unsubscribed {
			t.Errorf("%+v, %v", c, err)
		}
		page, err = w.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{Again: true})
		if err != nil || page.Unsubscribed || !page.Again {
			t.Errorf("%+v, %v", page, err)
		}
		if c, err = w.Services.Audience.GetContact(t.Context(), w.Key, "bob@example.net"); err != nil || c.Unsubscribed || w.Count("consents") != "2" {
			t.Errorf("%+v, %v, %s consents", c, err, w.Count("consents"))
		}
		time.Sleep(time.Second)
		emails, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 10})
		if err != nil || len(emails) != 1 || emails[0].Subject != "Welcome" || emails[0].LastEvent != app.Sent {
			t.Errorf("welcome: %+v, %v", emails, err)
		}
	})
}

func TestOptInByAPI(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
		start := func(in app.SignUpInput) (app.SignUp, error) {
			return w.Services.SignUp.StartOptIn(t.Context(), w.Key, in)
		}
		o, err := start(app.SignUpInput{Email: "bob@example.net", Topics: []string{topic.ID}, FirstName: "Bob", Properties: app.PropertyChanges{"size": {Type: app.NumberProperty, Number: 42}}})
		if err != nil || o.Status != app.OptInPending {
			t.Fatalf("%+v, %v", o, err)
		}
		time.Sleep(time.Second)
		mails := mailsTo(w, "bob@example.net")
		if len(mails) != 1 || mails[0].From.Domain != testserver.TestDomain {
			t.Fatalf("%+v", mails)
		}
		page, err := w.Services.SignUp.OptInPage(t.Context(), pagesHost, linkIn(w, mails[0]))
		if err != nil || len(page.Fields) != 2 || page.Fields[0].Value != "Bob" || page.Fields[1].Value != "42" || !page.Fields[1].Number {
			t.Errorf("%+v, %v", page, err)
		}
		w.AddContact("gone@example.net", true)
		for name, c := range map[string]struct {
			in   app.SignUpInput
			want app.Code
		}{
			"unsubscribed":  {app.SignUpInput{Email: "gone@example.net"}, app.CodeConflict},
			"no address":    {app.SignUpInput{Email: "x"}, app.CodeValidation},
			"unknown topic": {app.SignUpInput{Email: "a@example.net", Topics: []string{app.NewID()}}, app.CodeNotFound},
			"unknown form":  {app.SignUpInput{Email: "a@example.net", FormID: app.NewID()}, app.CodeNotFound},
		} {
			if _, err := start(c.in); app.CodeOf(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.AddTeam("Other", "other.example")
		if _, err := start(app.SignUpInput{Email: "a@example.net"}); app.CodeOf(err) != app.CodeConflict || !strings.Contains(err.Error(), "--pages-host") {
			t.Errorf("without a host: %v", err)
		}
	})
}

// TestBuiltInMailInAllLanguages holds both links and the brand, and nothing that a visitor typed.
func TestBuiltInMailInAllLanguages(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, func(in *app.FormInput) { in.Fields = []app.FormField{{Property: "first_name", Label: "Name"}} })
		seen := map[string]bool{}
		for i, language := range app.Languages {
			email := language + "@example.net"
			press(w, signup.Submission{FormID: f.ID, Email: email, Language: language, Client: client(i), Values: map[string]string{"first_name": "Typed"}})
			time.Sleep(time.Second)
			mails := mailsTo(w, email)
			if len(mails) != 1 {
				t.Fatalf("%s: %d mails", language, len(mails))
			}
			m := mails[0]
			if seen[m.Subject] || strings.Contains(m.Text+m.HTML, "Typed") || strings.Contains(m.Text+m.HTML+m.Subject, "{team}") ||
				!strings.Contains(m.Text, "/refuse\n") || !strings.Contains(m.HTML, `/refuse"`) || !strings.Contains(m.HTML, `lang="`+language+`"`) || linkIn(w, m) == "" {
				t.Errorf("%s: %s\n%s\n%s", language, m.Subject, m.Text, m.HTML)
			}
			seen[m.Subject] = true
		}
	})
}
