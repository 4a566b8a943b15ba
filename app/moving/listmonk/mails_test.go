package listmonk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/testing/apptest"
)

func TestTemplatesBecomeDrafts(t *testing.T) {
	h := read(t, instance(5, 0))
	byName := map[string]archive.Template{}
	for _, x := range h.templates {
		byName[x.Name] = x
		if x.Published != nil {
			t.Errorf("%s is published", x.Name)
		}
	}
	receipt := byName["Receipt"]
	if receipt.Subject != "Order {{{order}}}" || receipt.HTML != "<p>{{{total}}} for {{{first_name}}}</p>" {
		t.Errorf("%+v", receipt)
	}
	var keys []string
	for _, v := range receipt.Variables {
		keys = append(keys, v.Key)
		if string(v.Fallback) != `""` || v.Type != app.StringProperty {
			t.Errorf("%+v", v)
		}
	}
	if slices.Sort(keys); fmt.Sprint(keys) != "[first_name order total]" {
		t.Error(keys)
	}
	if b := byName["Blocks"]; b.HTML != "<p>b</p>" || !h.unmovable(`template "Blocks"`, "visual editor") {
		t.Errorf("%+v", b)
	}
	if !h.unmovable(`template "Frame", line 2: {{ template "content" . }}`) || !strings.Contains(byName["Frame"].HTML, "{{{UNSUBSCRIBE_URL}}}") {
		t.Error(byName["Frame"], h.lacks)
	}
}

func TestCampaignsBecomeDrafts(t *testing.T) {
	text, source := "Hello {{ .Subscriber.Name }}", "{}blocks"
	l := instance(5, 0)
	l.Templates = append(l.Templates, apptest.LMTemplate{ID: 9, Name: "Other", Type: "campaign", Body: `<b>{{-template "content" .-}}</b>`},
		apptest.LMTemplate{ID: 10, Name: "No HTML", Type: "campaign", Body: "{{ template \"content\" . }}\n-- \nAcme"})
	add := func(name string, c apptest.LMCampaign) {
		c.ID, c.Name, c.Messenger, c.Subject = len(l.Campaigns)+1, name, "email", "Hi {{ .Subscriber.FirstName }}"
		if c.From == "" {
			c.From = "News <news@example.com>"
		}
		if c.Type == "" {
			c.Type = "regular"
		}
		if c.Lists == nil {
			c.Lists = []int{1}
		}
		l.Campaigns = append(l.Campaigns, c)
	}
	l.Campaigns = nil
	add("framed", apptest.LMCampaign{Body: "<p>{{ .Subscriber.Attribs.city }}</p>", ContentType: "richtext", Status: "finished"})
	add("other", apptest.LMCampaign{Body: "<i>x</i>", ContentType: "html", Template: 9, AltBody: &text, Status: "scheduled", Lists: []int{3}})
	add("gone", apptest.LMCampaign{Body: "<i>x</i>", ContentType: "html", Template: 77, Lists: []int{99}})
	add("visual", apptest.LMCampaign{Body: "<i>x</i>", ContentType: "visual", Source: &source, Template: 9})
	add("plain", apptest.LMCampaign{Body: "only text", ContentType: "plain", Template: 10})
	add("source", apptest.LMCampaign{Body: "only text", ContentType: "plain", Template: 9})
	add("markdown", apptest.LMCampaign{Body: "# {{ .Subscriber.FirstName }}", ContentType: "markdown", Template: 9})
	add("several", apptest.LMCampaign{Body: "x{{ if .Subscriber.Name }}y{{ end }}", ContentType: "html", Template: 9, Lists: []int{1, 3}, Media: 2, Headers: 1, From: "{{ .Subscriber.Attribs.s }} <a@example.com>"})
	add("asks", apptest.LMCampaign{Body: "{{ OptinURL }}", ContentType: "html", Type: "optin"})
	h := read(t, l)
	byName := map[string]archive.Broadcast{}
	for _, b := range h.broadcasts {
		byName[b.Name] = b
	}
	if b := byName["framed"]; !strings.Contains(b.HTML, "<p>{{{city}}}</p>\n<a href=\"{{{UNSUBSCRIBE_URL}}}\">") || b.TopicID != "1" || b.SegmentID != "" || b.Text != nil || b.Subject != "Hi {{{contact.first_name}}}" || b.From == "" {
		t.Errorf("%+v", b)
	}
	if b := byName["other"]; b.HTML != "<b><i>x</i></b>" || b.SegmentID != "3" || b.TopicID != "" || b.Text == nil || *b.Text != "Hello {{{contact.first_name}}} {{{contact.last_name}}}" || b.Status != app.DraftBroadcast {
		t.Errorf("%+v", b)
	}
	if b := byName["gone"]; !strings.Contains(b.HTML, "<h1>") || b.TopicID+b.SegmentID != "" || !h.unmovable(`campaign "gone"`, "choose whom") {
		t.Errorf("%+v", b)
	}
	if b := byName["visual"]; b.HTML != "<i>x</i>" || !h.unmovable(`campaign "visual"`, "visual editor") {
		t.Errorf("%+v", b)
	}
	if b := byName["plain"]; b.HTML != "" || *b.Text != "only text\n-- \nAcme" {
		t.Errorf("%+v", b)
	}
	if b := byName["source"]; b.HTML != "" || *b.Text != "only text" {
		t.Errorf("%+v", b)
	}
	if b := byName["markdown"]; b.HTML != "" || *b.Text != "# {{{contact.first_name}}}" || !h.unmovable(`campaign "markdown"`, "Markdown") {
		t.Errorf("%+v", b)
	}
	if b := byName["several"]; b.From != "" || b.TopicID+b.SegmentID != "" || !h.unmovable(`campaign "several", line 1: {{ if .Subscriber.Name }}`) || !h.unmovable(`"several"`, `"Weekly news" or "Customers"`) ||
		!h.unmovable(`"several"`, "attachments") || !h.unmovable(`"several"`, "headers") || !h.unmovable(`"several", from`) {
		t.Errorf("%+v: %v", b, h.lacks)
	}
	if _, there := byName["asks"]; there || !h.unmovable(`"asks"`, "confirm") || len(byName) != 8 || !h.unmovable(`"other"`, "scheduled") {
		t.Errorf("%d drafts: %v", len(byName), h.lacks)
	}
}

func TestNamesAreMadeValid(t *testing.T) {
	l := instance(5, 0)
	l.Lists = []apptest.LMList{
		{ID: 1, Name: "News", Type: "public", Optin: "single"}, {ID: 2, Name: "NEWS", Type: "public", Optin: "single"}, {ID: 3, Name: "News", Type: "private", Optin: "single"},
		{ID: 4, Name: strings.Repeat("é", 80), Type: "public", Optin: "single"}, {ID: 5, Name: strings.Repeat("é", 90), Type: "public", Optin: "single"},
		{ID: 6, Name: " \n ", Type: "public", Optin: "single"}, {ID: 7, Name: "a\x00b\nc", Type: "private", Optin: "single", Description: strings.Repeat("d", 500)},
	}
	h := read(t, l)
	seen := map[string]bool{}
	for _, p := range h.topics {
		in := app.TopicInput{Name: p.Name, Description: p.Description, Default: p.Default, Visibility: p.Visibility}
		if _, err := in.Validate(); err != nil || seen[strings.ToLower(p.Name)] {
			t.Errorf("%q: %v", p.Name, err)
		}
		seen[strings.ToLower(p.Name)] = true
	}
	for _, s := range h.segments {
		in := app.SegmentInput{Name: s.Name}
		if err := in.Validate(); err != nil {
			t.Errorf("%q: %v", s.Name, err)
		}
	}
	if len(h.topics) != 5 || len(h.segments) != 2 || !seen["news"] || !h.unmovable("list 2", `"NEWS (2)"`) && !h.unmovable("list 1", `"News (1)"`) {
		t.Errorf("%v %v", seen, h.lacks)
	}
}
