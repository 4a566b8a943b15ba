package mergetags

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/rules/render"
)

const unsubscribe = "{{{UNSUBSCRIBE_URL}}}"

// TestConvert has tags with an equivalent placeholder.
func TestConvert(t *testing.T) {
	for _, c := range []struct {
		dialect       Dialect
		use           Use
		text, want    string
		wantVariables string
	}{
		{Resend, Broadcast, "Hi {{{FIRST_NAME|there}}} {{{ contact.last_name }}} {{{city}}} {{{RESEND_UNSUBSCRIBE_URL}}}", "Hi {{{FIRST_NAME|there}}} {{{ contact.last_name }}} {{{city}}} {{{RESEND_UNSUBSCRIBE_URL}}}", "city"},
		{Resend, Template, "{{{NAME|x}}} {{{NAME}}} {{{contact.first_name}}}", "{{{NAME|x}}} {{{NAME}}} {{{contact.first_name}}}", "NAME"},

		{Listmonk, Broadcast, "Hi {{ .Subscriber.FirstName }} {{.Subscriber.LastName}}", "Hi {{{contact.first_name}}} {{{contact.last_name}}}", ""},
		{Listmonk, Broadcast, "{{ .Subscriber.Name }} <{{ .Subscriber.Email }}>", "{{{contact.first_name}}} {{{contact.last_name}}} <{{{contact.email}}}>", ""},
		{Listmonk, Template, "{{ .Subscriber.Name }} {{ .Tx.Data.order_id }}", "{{{first_name}}} {{{last_name}}} {{{order_id}}}", "first_name last_name order_id"},
		{Listmonk, Broadcast, "{{ .Subscriber.Attribs.City }} {{ $.Subscriber.Attribs.zip-code }}", "{{{City}}} {{{zip_code}}}", "City zip_code"},
		{Listmonk, Broadcast, `{{ .Subscriber.FirstName | default "friend" }} {{ default "town" .Subscriber.Attribs.city }}`, "{{{contact.first_name|friend}}} {{{city|town}}}", "city"},
		{Listmonk, Broadcast, `<a href="{{ UnsubscribeURL }}">a</a><a href='{{ UnsubscribeURL . }}?manage=true'>b</a>{{ TrackView }}`, `<a href="` + unsubscribe + `">a</a><a href='` + unsubscribe + `'>b</a>`, ""},
		{Listmonk, Broadcast, `<a href="{{ TrackLink "https://x.example/?a=%20b" }}"><a href="https://y.example@TrackLink">{{ TrackLink &quot;https://z.example&quot; . }}`, `<a href="https://x.example/?a=%20b"><a href="https://y.example">https://z.example`, ""},
		{Listmonk, Broadcast, `https://x.example/{{ .Subscriber.Attribs.id }}@TrackLink me@TrackLink`, `https://x.example/{{{id}}} me@TrackLink`, "id"},
		{Listmonk, Broadcast, "a \n {{- .Subscriber.Email -}} \n b{{/* nobody sees this */}}c", "a{{{contact.email}}}bc", ""},
		{Listmonk, Broadcast, `{{ index .Subscriber.Attribs "zip code" }}`, "{{{zip_code}}}", "zip_code"},
		{Listmonk, Broadcast, `{{ Safe "<!-- x -->" }}`, "<!-- x -->", ""},

		{Mailchimp, Broadcast, `*|FNAME|* *|LNAME|* *|EMAIL|* *|MERGE0|* <a href="*|UNSUB|*">`, `{{{contact.first_name}}} {{{contact.last_name}}} {{{contact.email}}} {{{contact.email}}} <a href="` + unsubscribe + `">`, ""},
		{Mailchimp, Broadcast, "*|PHONE|* *|MMERGE3|* *|Company_Name|*", "{{{phone}}} {{{mmerge3}}} {{{company_name}}}", "phone mmerge3 company_name"},
		{Mailchimp, Broadcast, `<a href="*%7CUNSUB%7C*">x</a><a href="%2A%7cUNSUB%7c%2A">`, `<a href="` + unsubscribe + `">x</a><a href="` + unsubscribe + `">`, ""},
		{Mailchimp, Broadcast, `<a href="http://*|UNSUB|*">x</a>`, `<a href="` + unsubscribe + `">x</a>`, ""},
		{Mailchimp, Template, "*|FNAME|*", "{{{first_name}}}", "first_name"},

		{Brevo, Broadcast, `{{ contact.FIRSTNAME | default : "friend" }} {{contact.FIRSTNAME|default:'you'}} {{ contact.JOB_TITLE }} {{ contact.EMAIL }}`, "{{{contact.first_name|friend}}} {{{contact.first_name|you}}} {{{job_title}}} {{{contact.email}}}", "job_title"},
		{Brevo, Broadcast, `<a href="%7B%7B%20unsubscribe%20%7D%7D">a</a><a href="{{%20unsubscribe%20}}">b</a><a href="{{ unsubscribe }}">`, `<a href="` + unsubscribe + `">a</a><a href="` + unsubscribe + `">b</a><a href="` + unsubscribe + `">`, ""},
		{Brevo, Template, "{{ params.Order_Id }} {{ params.name | default: &quot;Tom &amp; Co&quot; }}{# a remark #}", "{{{Order_Id}}} {{{name|Tom &amp; Co}}}", "Order_Id name"},
		{Brevo, Broadcast, "{{&nbsp;contact.CITY&nbsp;}}{{\u00a0contact.CITY\u00a0}}", "{{{city}}}{{{city}}}", "city"},

		{SendGrid, Template, `{{first_name}} {{ insert Name "default=Customer" }} {{insert city}} {{{first_name}}}`, "{{{first_name}}} {{{Name|Customer}}} {{{city}}} {{{first_name}}}", "first_name Name city"},
		{SendGrid, Broadcast, `{{first_name}} {{insert firstName "default=x"}} {{plan}} -first_name-, (-email-) [%lastName | Doe%] [%plan%]`, "{{{contact.first_name}}} {{{contact.first_name|x}}} {{{plan}}} {{{contact.first_name}}}, ({{{contact.email}}}) {{{contact.last_name|Doe}}} {{{plan}}}", "plan"},
		{SendGrid, Broadcast, `{{{unsubscribe}}} {{unsubscribe}} <a href="<%asm_group_unsubscribe_raw_url%>"> &lt;%asm_global_unsubscribe_raw_url%&gt; <a href="%3C%25asm_group_unsubscribe_raw_url%25%3E"> [Unsubscribe]`, unsubscribe + " " + unsubscribe + ` <a href="` + unsubscribe + `"> ` + unsubscribe + ` <a href="` + unsubscribe + `"> ` + unsubscribe, ""},
		{SendGrid, Broadcast, "e-mail state-of-the-art x-email-y --email-- [1] -webkit- {{! a remark }}", "e-mail state-of-the-art x-email-y --email-- [1] -webkit- ", ""},

		{Postmark, Template, `{{ name }} {{product-name}} <a href="{{{ pm:unsubscribe }}}"> {{{pm:unsubscribe_url}}}`, `{{{name}}} {{{product_name}}} <a href="` + unsubscribe + `"> ` + unsubscribe, "name product_name"},
		{Postmark, Template, "{{FIRST_NAME}}", "{{{first_name}}}", "first_name"},

		{HubSpot, Broadcast, `{{ contact.firstname }} {{ contact.jobtitle|default("friend", true) }} {{ personalization_token('contact.firstname', 'Hey') }} {{ contact.lastname or "x" }}`, "{{{contact.first_name}}} {{{jobtitle|friend}}} {{{contact.first_name|Hey}}} {{{contact.last_name|x}}}", "jobtitle"},
		{HubSpot, Broadcast, `<a href="{{unsubscribe_link}}"><a href="{{ unsubscribe_link_all }}">`, `<a href="` + unsubscribe + `"><a href="` + unsubscribe + `">`, ""},

		{MailerLite, Broadcast, `{$name} {$last_name} {$email} {$company} {$name|default:'you'} <a href="{$unsubscribe}"><a href="%7B$unsubscribe%7D">`, `{{{contact.first_name}}} {{{contact.last_name}}} {{{contact.email}}} {{{company}}} {{{contact.first_name|you}}} <a href="` + unsubscribe + `"><a href="` + unsubscribe + `">`, "company"},
	} {
		r := Convert(c.dialect, c.use, c.text)
		if r.Text != c.want || len(r.Unconverted) > 0 || strings.Join(r.Variables, " ") != c.wantVariables {
			t.Errorf("%s, %d: %s became\n%s\nwant\n%s\nvariables %v, can't: %v", c.dialect, c.use, c.text, r.Text, c.want, r.Variables, r.Unconverted)
		}
		checkResult(t, c.use, r)
		if again := Convert(c.dialect, c.use, r.Text); again.Text != r.Text || !slices.Equal(again.Variables, r.Variables) {
			t.Errorf("%s: %s became %s when it was turned again", c.dialect, r.Text, again.Text)
		}
	}
}

// TestUnconvertedTagsAreNamed has tags without an equivalent, which are kept.
func TestUnconvertedTagsAreNamed(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		use     Use
		text    string
		why     string
	}{
		{Resend, Broadcast, "{{FIRST_NAME}}", whyBraces},
		{Listmonk, Broadcast, "{{ if .Subscriber.Attribs.x }}", whyBlock},
		{Listmonk, Broadcast, "{{- else if eq .x 1 -}}", whyBlock},
		{Listmonk, Broadcast, "{{ end }}", whyBlock},
		{Listmonk, Broadcast, `{{ template "content" . }}`, whyPartial},
		{Listmonk, Broadcast, `{{ Date "2006" }}`, whyUnknown},
		{Listmonk, Broadcast, "{{ MessageURL }}", whyUnknown},
		{Listmonk, Broadcast, "{{ OptinURL }}", whyUnknown},
		{Listmonk, Broadcast, "{{ .Campaign.Subject }}", whyUnknown},
		{Listmonk, Broadcast, "{{ .Subscriber.UUID }}", whyUnknown},
		{Listmonk, Broadcast, "{{ .Subscriber.Attribs.address.city }}", whyPath},
		{Listmonk, Broadcast, "{{ .Subscriber.Attribs.email }}", whyShadowed},
		{Listmonk, Broadcast, "{{ .Subscriber.FirstName | upper }}", whyUnknown},
		{Listmonk, Broadcast, `{{ .Subscriber.Name | default "x" }}`, whyUnknown},
		{Listmonk, Broadcast, "{{ .Tx.Data.order }}", whySend},
		{Listmonk, Broadcast, "{{}}", whyUnknown},
		{Mailchimp, Broadcast, "*|IF:FNAME|*", whyBlock},
		{Mailchimp, Broadcast, "*|END:IF|*", whyBlock},
		{Mailchimp, Broadcast, "*|ELSE:|*", whyBlock},
		{Mailchimp, Broadcast, "*|ARCHIVE|*", whyUnknown},
		{Mailchimp, Broadcast, "*|UPDATE_PROFILE|*", whyUnknown},
		{Mailchimp, Broadcast, "*|LIST:COMPANY|*", whyUnknown},
		{Mailchimp, Broadcast, "*|DATE:d/m/y|*", whyUnknown},
		{Mailchimp, Broadcast, "*|MERGE3|*", whyNumber},
		{Brevo, Broadcast, "{% if contact.X %}", whyBlock},
		{Brevo, Broadcast, "{{ params.x }}", whySend},
		{Brevo, Template, "{{ params.order.id }}", whyPath},
		{Brevo, Broadcast, "{{ mirror }}", whyUnknown},
		{Brevo, Broadcast, "{{ contact.NAME | upper }}", whyUnknown},
		{Brevo, Broadcast, "{{ contact.NAME | default : 'a{b' }}", "its fallback can't be used in a placeholder"},
		{Brevo, Broadcast, "{{ contact.NAME | default : ' b' }}", "its fallback can't be used in a placeholder"},
		{Brevo, BroadcastSubject, "{{ unsubscribe }}", "a subject or a preview text can't hold the link to unsubscribe"},
		{SendGrid, Template, "{{#if x}}", whyBlock},
		{SendGrid, Template, "{{else}}", whyBlock},
		{SendGrid, Template, "{{/if}}", whyBlock},
		{SendGrid, Template, "{{user.name}}", whyPath},
		{SendGrid, Template, "{{Sender_Name}}", whyUnknown},
		{SendGrid, Template, "<%asm_preferences_raw_url%>", whyUnknown},
		{SendGrid, Template, "[Weblink]", whyUnknown},
		{SendGrid, Template, "{{formatDate x y}}", whyUnknown},
		{Postmark, Template, "{{> footer}}", whyPartial},
		{Postmark, Template, "{{ @content }}", whyPartial},
		{Postmark, Template, "{{ . }}", whyUnknown},
		{Postmark, Template, "{{ " + strings.Repeat("k", 51) + " }}", "its name makes no key"},
		{Postmark, Template, "{{ ünï }}", ""},
		{HubSpot, Broadcast, "{% module x %}", whyBlock},
		{HubSpot, Broadcast, "{{ site_settings.company_name }}", whyUnknown},
		{MailerLite, Broadcast, "{$url}", whyUnknown},
		{MailerLite, Broadcast, "{$account.name}", whyPath},
	} {
		r := Convert(c.dialect, c.use, "a\n\n"+c.text+"b")
		if c.why == "" { // no valid key
			continue
		}
		if want := []Tag{{3, c.text[:min(len(c.text), 80)], c.why}}; r.Text != "a\n\n"+c.text+"b" || !slices.Equal(r.Unconverted, want) {
			t.Errorf("%s: %s became %s, named %v, want %v", c.dialect, c.text, r.Text, r.Unconverted, want)
		}
		checkResult(t, c.use, r)
	}
}

// TestUnconvertedTagsAreNotPlaceholders has three braces at positions that would make a draft
// invalid.
func TestUnconvertedTagsAreNotPlaceholders(t *testing.T) {
	const w = "\u2060"
	for _, c := range []struct {
		dialect    Dialect
		text, want string
		named      int
	}{
		{SendGrid, "{{{#if x}}}", "{{" + w + "{#if x}}}", 1},
		{SendGrid, "{{{user.name}}} {{{", "{{" + w + "{user.name}}} {{" + w + "{", 2},
		{Listmonk, "{{{ .Subscriber.Email }}}", "{{{{contact.email}}}}", 0},
		{Listmonk, "{{{{{{ if }}", "{{" + w + "{{" + w + "{{ if }}", 2},
		{Brevo, "{{ contact.A }}{{{ contact.B c }}}", "{{{a}}}{{" + w + "{ contact.B c }}}", 1},
		{MailerLite, "{{{{{$name}", "{{" + w + "{{{{{contact.first_name}}}", 1},
		{Mailchimp, "x{{{\n{{{y", "x{{" + w + "{\n{{" + w + "{y", 2},
		{Resend, "{{{#each}}} {{{", "{{" + w + "{#each}}} {{" + w + "{", 2},
	} {
		r := Convert(c.dialect, Broadcast, c.text)
		if r.Text != c.want || len(r.Unconverted) != c.named {
			t.Errorf("%s: %s became %q, want %q; named: %v", c.dialect, c.text, r.Text, c.want, r.Unconverted)
		}
		checkResult(t, Broadcast, r)
	}
}

func TestNamesInsideLoops(t *testing.T) {
	for _, c := range []struct {
		dialect    Dialect
		text, want string
	}{
		{Postmark, "{{#each items}}{{name}}{{#if x}}{{name}}{{/if}}{{/each}}{{name}}", "{{#each items}}{{name}}{{#if x}}{{name}}{{/if}}{{/each}}{{{name}}}"},
		{SendGrid, "{{#greaterThan a 1}}{{name}}{{else}}{{name}}{{/greaterThan}}", "{{#greaterThan a 1}}{{{name}}}{{else}}{{{name}}}{{/greaterThan}}"},
		{Postmark, "{{^person}}{{name}}{{/person}}{{#person}}{{name}}{{/person}}", "{{^person}}{{{name}}}{{/person}}{{#person}}{{name}}{{/person}}"},
		{Listmonk, "{{range .X}}{{.Subscriber.Email}}{{$.Subscriber.Email}}{{UnsubscribeURL}}{{end}}{{.Subscriber.Email}}", "{{range .X}}{{.Subscriber.Email}}{{{email}}}" + unsubscribe + "{{end}}{{{email}}}"},
		{Listmonk, "{{with .X}}{{if .y}}{{end}}{{.Subscriber.Email}}{{end}}{{end}}{{.Subscriber.Email}}", "{{with .X}}{{if .y}}{{end}}{{.Subscriber.Email}}{{end}}{{end}}{{{email}}}"},
	} {
		if r := Convert(c.dialect, Template, c.text); r.Text != c.want {
			t.Errorf("%s became %s, want %s", c.text, r.Text, c.want)
		}
	}
}

func TestUnescapedValueIsNamed(t *testing.T) {
	r := Convert(Postmark, Template, "\n{{{body}}}{{&body}}")
	if r.Text != "\n{{{body}}}{{{body}}}" || len(r.Unconverted) != 2 || r.Unconverted[0] != (Tag{2, "{{{body}}}", whyRaw}) {
		t.Errorf("got %+v", r)
	}
}

func TestLinkLimit(t *testing.T) {
	r := Convert(Brevo, Broadcast, strings.Repeat("{{ unsubscribe }}\n", 101))
	if len(r.Unconverted) != 1 || r.Unconverted[0].Line != 101 {
		t.Errorf("links: %v", r.Unconverted)
	}
	checkResult(t, Broadcast, r)
	var b strings.Builder
	for i := range 51 {
		fmt.Fprintf(&b, "{{ k%d }}\n", i)
	}
	r = Convert(Postmark, Template, b.String())
	if len(r.Unconverted) != 1 || r.Unconverted[0].Line != 51 || len(r.Variables) != 50 {
		t.Errorf("variables: %v, %d", r.Unconverted, len(r.Variables))
	}
	checkResult(t, Template, r)
	r = Convert(Listmonk, Broadcast, strings.Repeat("{{ x }}", 2*maxNamed))
	if len(r.Unconverted) != maxNamed {
		t.Errorf("%d tags are named", len(r.Unconverted))
	}
	r = Convert(Listmonk, Broadcast, "{{ "+strings.Repeat("ü", 200)+" }}")
	if got := []rune(r.Unconverted[0].Text); len(got) != maxExcerpt || got[79] != 'ü' {
		t.Errorf("named as %q", r.Unconverted[0].Text)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Dialect{
		"{{ .Subscriber.Name }}": Listmonk, "*|FNAME|*": Mailchimp, "{{ contact.FIRSTNAME }}": Brevo, "<%asm_group_unsubscribe_raw_url%>": SendGrid,
		"{{{ pm:unsubscribe }}}": Postmark, "{{ contact.firstname }}": HubSpot, "{$unsubscribe}": MailerLite, "{{{FIRST_NAME|x}}}": Resend,
		"{{{ contact.first_name }}}": Resend, "{{params.x}}": Brevo, `{{insert x "default=y"}}`: SendGrid, "{{ UnsubscribeURL }}": Listmonk, "{{ personalization_token('a') }}": HubSpot,
		"{{ name }}": "", "": "", "plain * | text": "",
	} {
		if got, found := Detect(text); got != want || found != (want != "") {
			t.Errorf("%s is of %q, want %q", text, got, want)
		}
	}
}

// TestConvertedTagsRender renders a draft of each kind.
func TestConvertedTagsRender(t *testing.T) {
	const brevo = `<a href="{{ contact.SITE }}">{{ contact.FIRSTNAME | default : "friend" }} &amp; {{ contact.CITY | default : "Tom &amp; Co" }}</a>{% if x %}`
	r := Convert(Brevo, Broadcast, brevo)
	b, err := render.Compile(&app.Broadcast{
		TeamID: app.NewID(), From: app.Address{Local: "a", Domain: "example.com"}, Subject: Convert(Brevo, BroadcastSubject, "{{contact.EMAIL}}").Text,
		BroadcastContent: app.BroadcastContent{HTML: r.Text},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := func(v string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: v} }
	contact := &app.Contact{Email: "c@example.com", FirstName: "Ada", Properties: map[string]app.PropertyValue{"site": text("https://x.example")}}
	mail := b.Partial(nil, &app.BroadcastRecipient{Email: contact.Email, Fields: b.Fields(contact)})
	if got, want := mail.Bodies.HTML.String(), `<a href="https://x.example">Ada &amp; Tom &amp; Co</a>{% if x %}`; got != want || mail.Subject != "c@example.com" {
		t.Errorf("the broadcast says %s: %s", mail.Subject, got)
	}
	r = Convert(Listmonk, Template, "{{ .Subscriber.Name }}: {{ .Tx.Data.order }}{{{")
	c := &app.TemplateContent{HTML: r.Text}
	values := map[string]app.PropertyValue{}
	for _, key := range r.Variables {
		c.Variables = append(c.Variables, app.TemplateVariable{Key: key, Type: app.StringProperty})
		values[key] = text("<" + key + ">")
	}
	out, err := render.Template(c, values, nil, false, time.Time{}, 1000)
	if err != nil || out.HTML != "&lt;first_name&gt; &lt;last_name&gt;: &lt;order&gt;{{\u2060{" {
		t.Errorf("the template says %+v, %v", out, err)
	}
}

// checkResult checks that a draft can contain the text.
func checkResult(t *testing.T, use Use, r Result) {
	t.Helper()
	field := "html"
	if use == TemplateSubject || use == BroadcastSubject {
		field = "subject"
	}
	if !use.template() {
		if err := app.CheckBroadcastPlaceholders(field, r.Text); err != nil {
			t.Errorf("%q: %v", r.Text, err)
		}
		return
	}
	c := app.TemplateContent{HTML: "-" + r.Text}
	if use == TemplateSubject {
		c = app.TemplateContent{HTML: "-", Subject: "-" + r.Text}
		if app.OneLine(r.Text) != r.Text || len(r.Text) >= app.MaxSubject {
			return // no subject
		}
	}
	for _, key := range r.Variables {
		c.Variables = append(c.Variables, app.TemplateVariable{Key: key, Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty}})
	}
	if err := c.Check(); err != nil {
		t.Errorf("%q with %v: %v", r.Text, r.Variables, err)
	}
}

// pieces are parts of tags and similar texts.
var pieces = []string{
	"{", "{{", "{{{", "}", "}}", "}}}", " ", "\n", "-", "*|", "|*", "|", "%7B%7B", "%7D%7D", "{%", "%}", "{#", "#}", "<%", "%>", "[%", "%]", "{$", "&quot;", "\"", "'", ":", "(", ")", ",",
	"default", "insert", "name", "email", "FNAME", "UNSUB", "IF:X", "unsubscribe", "pm:unsubscribe", "contact.", "contact.CITY", "params.x", "FIRST_NAME|x", "UNSUBSCRIBE_URL", "#each x", "/each", "if x", "range x", "end",
	".Subscriber.Name", ".Subscriber.Email", "UnsubscribeURL", "?manage=true", "https://x.example", "@TrackLink", "/*", "*/", "!", "&nbsp;", "\u00a0", "\u2060", "ü", "asm_group_unsubscribe_raw_url", "[unsubscribe]", "-email-",
}

func TestMixedTagsCanBeStored(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(30) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		checkConvert(t, dialects[random.IntN(len(dialects))], Use(random.IntN(4)), b.String())
		if t.Failed() {
			return
		}
	}
}

var dialects = []Dialect{Listmonk, Mailchimp, Brevo, SendGrid, Postmark, HubSpot, MailerLite, Resend, "other"}

// checkConvert checks the invariants of any conversion.
func checkConvert(t *testing.T, d Dialect, use Use, text string) {
	t.Helper()
	r := Convert(d, use, text)
	if len(r.Text) > 4*len(text) {
		t.Errorf("%d bytes became %d", len(text), len(r.Text))
	}
	if len(text) < 1<<16 && !strings.Contains(text, "\x00") && utf8.ValidString(text) {
		checkResult(t, use, r)
	}
	lines := strings.Split(text, "\n")
	for _, tag := range r.Unconverted {
		first, _, _ := strings.Cut(tag.Text, "\n")
		if tag.Line < 1 || tag.Line > len(lines) || tag.Reason == "" || !strings.Contains(strings.ToValidUTF8(lines[tag.Line-1], "\uFFFD"), strings.TrimSuffix(first, "\uFFFD")) {
			t.Errorf("%s: %q is not on line %d of %q", d, tag.Text, tag.Line, text)
		}
	}
	if again := Convert(Resend, use, r.Text); again.Text != r.Text {
		t.Errorf("%s: %q became %q, and %q when it was turned again", d, text, r.Text, again.Text)
	}
}

func FuzzConvert(f *testing.F) {
	for i, text := range []string{
		"Hi {{ .Subscriber.Name }}\n{{ if x }}{{{{ y }}{{ end }}{{- UnsubscribeURL -}}?manage=true https://x@TrackLink", "*|FNAME|* *|IF:X|*\n*%7CUNSUB%7C*{{{",
		`{{ contact.A | default : &quot;x&quot; }}{% if %}{# x #}%7B%7B%20unsubscribe%20%7D%7D`, `{{insert a "default=b"}}{{{unsubscribe}}}-email-[%a | b%]<%body%>[unsubscribe]`,
		"{{#each x}}{{{ pm:unsubscribe }}}{{.}}{{/each}}{{{a|b}}}", "{$name}{{{$name}}}{{{{$x}", "{{{FIRST_NAME|x}}}{{{UNSUBSCRIBE_URL}}}{{{contact.x}}}",
	} {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, pick uint8, text string) {
		checkConvert(t, dialects[int(pick)%len(dialects)], Use(pick/16%4), text)
	})
}

func TestDetectDialect(t *testing.T) {
	for text, want := range map[string]string{
		"Hi *|FNAME|*": "Hi {{{contact.first_name}}}", "Hi {{ .Subscriber.FirstName }}": "Hi {{{contact.first_name}}}", "Hi {{{contact.first_name}}}": "Hi {{{contact.first_name}}}",
	} {
		if got := Convert(Of(text, Resend), Broadcast, text); got.Text != want || len(got.Unconverted) > 0 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
