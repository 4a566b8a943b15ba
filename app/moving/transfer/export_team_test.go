package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// full returns a server whose team has objects of all kinds, and whose other team has the same
// with names that no export may contain.
func full(t *testing.T) *testserver.Server {
	t.Helper()
	w := testserver.NewWithConfig(t, server.Config{PagesHost: "pages.example"}, testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{"gone@example.net": 550}))))
	w.Start()
	mine := w.Key
	w.Key = w.AddTeam("stranger", "stranger.example")
	fillTeam(w, "stranger")
	w.Key = mine
	fillTeam(w, "mine")
	w.SQL(`DELETE FROM domains WHERE name = ?`, testserver.TestDomain) // its key can't be exported
	return w
}

// fillTeam adds objects of all kinds to the team of w.Key. word is part of all of them.
func fillTeam(w *testserver.Server, word string) {
	t, ctx, key := w.T, w.T.Context(), w.Key
	t.Helper()
	s := w.Services
	pass := func(_ any, err error) { t.Helper(); testserver.Must(t, err) }
	pass(s.Properties.CreateProperty(ctx, key, app.PropertyInput{Key: "city", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: word}}))
	pass(s.Properties.CreateProperty(ctx, key, app.PropertyInput{Key: "email", Type: app.NumberProperty}))
	byHand, err := s.Audience.CreateSegment(ctx, key, app.SegmentInput{Name: word + " by hand"})
	testserver.Must(t, err)
	pass(s.Audience.CreateSegment(ctx, key, app.SegmentInput{Name: word + " in town", Filter: testserver.FilterOn("property:city", "equals", word)}))
	news, err := s.Topics.CreateTopic(ctx, key, app.TopicInput{Name: word + " news", Default: app.OptIn, Visibility: app.PublicTopic, Description: "What is new"})
	testserver.Must(t, err)
	for _, name := range []string{"ann", "bob", "carl", "dora", "erik"} {
		_, _, err := s.Audience.PutContact(ctx, key, app.ContactInput{Email: name + "@" + word + ".example", FirstName: "=" + name, LastName: word, Unsubscribed: name == "bob",
			Properties: app.PropertyChanges{"city": {Type: app.StringProperty, Text: word}, "email": {Type: app.NumberProperty, Number: -2.5}},
			Segments:   []app.SegmentRef{{ID: byHand.ID}}, Topics: []app.TopicChoice{{ID: news.ID, Subscription: app.OptOut}}}, app.ConflictUpsert)
		testserver.Must(t, err)
		time.Sleep(time.Millisecond)
	}
	pass(s.Audience.UpdateContact(ctx, key, "carl@"+word+".example", app.ContactPatch{Email: "charles@" + word + ".example"}))
	pass(s.Audience.DeleteContact(ctx, key, "dora@"+word+".example", false)) // its opt-out is kept
	pass(s.Audience.DeleteContact(ctx, key, "erik@"+word+".example", false))
	for _, name := range []string{"zoe", "dora"} {
		pass(s.Suppressions.AddSuppression(ctx, key, app.SuppressionInput{Email: name + "@" + word + ".example", Origin: app.OriginComplaint}))
	}
	pass(s.Suppressions.AddSuppression(ctx, key, app.SuppressionInput{Email: "erased@" + word + ".example"}))
	w.SQL(`UPDATE suppressions SET email = NULL WHERE email = ?`, "erased@"+word+".example")
	signUps(w, word, &news, &byHand)
	archives(w, word, &news)
	messages(w, word, &news)
	others(w, word, &byHand)
	testserver.Sleep(time.Minute)
}

// signUps adds a form, opt-ins and consents of a team.
func signUps(w *testserver.Server, word string, news *app.Topic, segment *app.Segment) {
	t, ctx, key := w.T, w.T.Context(), w.Key
	t.Helper()
	s := w.Services
	confirmation := w.PublishTemplate(key, word+"-confirmation", app.TemplateContent{Subject: word, HTML: `<a href="{{{CONFIRM_URL}}}">yes</a> <a href="{{{REFUSE_URL}}}">no</a>`,
		Variables: []app.TemplateVariable{{Key: "CONFIRM_URL", Type: app.StringProperty}, {Key: "REFUSE_URL", Type: app.StringProperty}}})
	domain := map[string]string{"mine": testserver.TestDomain, "stranger": "stranger.example"}[word]
	f, err := s.SignUp.CreateForm(ctx, key, app.FormInput{Name: word, FormDefinition: app.FormDefinition{Confirm: app.DoubleOptIn, From: "Ann <ann@" + domain + ">", Topics: []app.FormTopic{{ID: news.ID, Preselected: true}},
		Segments: []string{segment.ID}, Fields: []app.FormField{{Property: "city", Label: word, Required: true}}, ConfirmationTemplate: confirmation.ID, Language: "de",
		AllowedOrigins: []string{"https://" + word + ".example"}, RedirectURL: "https://" + word + ".example/thanks", MaxPerDay: 7}})
	testserver.Must(t, err)
	name := word + " again"
	_, err = s.SignUp.UpdateForm(ctx, key, f.ID, app.FormPatch{Name: &name})
	testserver.Must(t, err)
	for _, address := range []string{"pending", "refused", "expired"} {
		_, err := s.SignUp.StartOptIn(ctx, key, app.SignUpInput{Email: address + "@" + word + ".example", FirstName: word, Topics: []string{news.ID}, Segments: []string{segment.ID}, FormID: f.ID,
			Properties: app.PropertyChanges{"city": {Type: app.StringProperty, Text: word}}})
		testserver.Must(t, err)
		w.SQL(`UPDATE opt_ins SET status = ?, mail = 'none', decided_at = CASE WHEN ? = 'pending' THEN NULL ELSE requested_at + 1000 END WHERE email = ?`, address, address, address+"@"+word+".example")
	}
	contact, err := s.Audience.GetContact(ctx, key, "charles@"+word+".example")
	testserver.Must(t, err)
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
		by := app.Visitor{IP: "192.0.2.1", UserAgent: word}
		return tx.InsertConsent(&app.Consent{ID: app.NewID(), TeamID: key.TeamID, ContactID: contact.ID, OptInID: app.NewID(), FormID: f.ID, CreatedAt: tx.Now,
			Record: app.ConsentRecord{Email: "carl@" + word + ".example", Form: word, FormVersion: 1, Topics: []app.ConsentItem{{ID: news.ID, Name: word}}, Text: word, ConfirmText: word, Language: "de",
				RequestedAt: tx.Now, RequestedBy: by, ConfirmedAt: tx.Now, ConfirmedBy: by, Resubscribed: true}})
	}))
}

// archives adds an archive with an issue, a paused feed, and a host for pages.
func archives(w *testserver.Server, word string, news *app.Topic) {
	t, ctx, key := w.T, w.T.Context(), w.Key
	t.Helper()
	s := w.Services
	_, err := s.Topics.UpdateTopic(ctx, key, news.ID, app.TopicPatch{Archive: app.Change[app.TopicArchive]{Set: true, Value: app.UnlistedArchive}})
	testserver.Must(t, err)
	template := w.PublishTemplate(key, word+"-feed", app.TemplateContent{Subject: word, HTML: "<p>x</p>"})
	f, err := s.Feeds.Create(ctx, key, app.FeedPatch{URL: "https://" + word + ".example/feed", TopicID: news.ID, TemplateID: template.ID, Schedule: "weekly friday 09:00", Zone: "Europe/Berlin", Mode: "send",
		From: app.Change[string]{Set: true, Value: "ann@" + testserver.TestDomain}})
	testserver.Must(t, err)
	f, err = s.Feeds.Update(ctx, key, f.ID, app.FeedPatch{State: app.PausedFeed})
	testserver.Must(t, err)
	f.Position.Seen = []string{word + "1", word + "2"}
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.UpdateFeed(&f); err != nil {
			return err
		}
		_, err := tx.InsertIssue(&app.Issue{ID: app.NewID(), TeamID: key.TeamID, TopicID: news.ID, BroadcastID: app.NewID(), Subject: word, Preview: word, Language: "de", HTML: "<p>" + word + "</p>", SentAt: tx.Now})
		return err
	}))
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
		d := app.ForwardAddress{ID: app.NewID(), TeamID: key.TeamID, Address: "fwd@" + word + ".example", AskedAt: tx.Now, AgreedAt: tx.Now, CreatedAt: tx.Now}
		if err := tx.PutForwardAddress(&d); err != nil {
			return err
		}
		return tx.InsertMailRoute(&app.MailRoute{ID: app.NewID(), TeamID: key.TeamID, Position: 1, Match: "*@" + word + ".example", CreatedAt: tx.Now,
			Actions: []app.RouteAction{{Type: app.RouteForward, To: d.Address}, {Type: app.RouteReply, TemplateID: template.ID}}})
	}))
	w.SQL(`INSERT INTO pages_hosts (name, team_id, created_at) VALUES (?, ?, 1)`, "pages."+word+".example", key.TeamID)
}

// messages sends the mail of a team.
func messages(w *testserver.Server, word string, news *app.Topic) {
	t, ctx, key := w.T, w.T.Context(), w.Key
	t.Helper()
	domain := map[string]string{"mine": testserver.TestDomain, "stranger": "stranger.example"}[word]
	send := func(to string, change func(in *app.EmailInput)) string {
		t.Helper()
		in := testserver.Message(to)
		in.From, in.Subject, in.Tags = "Ann <ann@"+domain+">", word+" says hi", []app.Tag{{Name: "kind", Value: word}}
		if change != nil {
			change(in)
		}
		id, err := w.Services.Mail.SendEmail(ctx, key, in, mail.SendOptions{})
		testserver.Must(t, err)
		return id
	}
	send("erik@"+word+".example", nil) // opted out, and not a contact any more
	send("bob@example.net", func(in *app.EmailInput) {
		in.HTML, in.TopicID, in.Headers, in.ReplyTo = "<p>"+word+"</p>", news.ID, map[string]string{"X-Word": word}, []string{`"Ann, B." <b@` + domain + ">"}
		in.Attachments = []app.Attachment{{Filename: "a.bin", ContentType: "application/octet-stream", Content: bytes.Repeat([]byte(word), 100_000)}, {Filename: "empty.txt", ContentType: "text/plain", Content: []byte{}}}
	})
	send("gone@example.net", nil)
	send("later@example.net", func(in *app.EmailInput) { in.ScheduledAt = "in 2 days" })
}

// others adds objects other than audience and mail.
func others(w *testserver.Server, word string, segment *app.Segment) {
	t, ctx, key := w.T, w.T.Context(), w.Key
	t.Helper()
	s := w.Services
	text := ""
	_, _, err := s.Images.Adopt(ctx, app.Image{TeamID: key.TeamID, Alt: word}, picture(t, 1, 30))
	testserver.Must(t, err)
	template := w.PublishTemplate(key, word, app.TemplateContent{From: "ann@" + testserver.TestDomain, Subject: word, HTML: "<p>{{{name}}}</p>", Text: &text, ReplyTo: []string{"b@example.net"},
		Variables: []app.TemplateVariable{{Key: "name", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: word}}}})
	_, err = s.Templates.UpdateTemplate(ctx, key, template.ID, app.TemplatePatch{HTML: "<p>New {{{name}}}</p>"})
	testserver.Must(t, err)
	_, err = s.Templates.CreateTemplate(ctx, key, app.TemplateInput{Name: word + " draft", TemplateContent: app.TemplateContent{HTML: "<p>x</p>"}})
	testserver.Must(t, err)
	_, err = s.Blocks.CreateBlock(ctx, key, app.BlockInput{Name: word, HTML: "<i>" + word + "</i>"})
	testserver.Must(t, err)
	order := app.PropertyValue{Type: app.ObjectVariable, Text: `{"z":["` + word + `"],"a":1}`}
	w.PublishTemplate(key, word+"-languages", app.TemplateContent{HTML: `<p>Hi{% block "` + word + `" %}</p>`, Syntax: app.LiquidSyntax, Variables: []app.TemplateVariable{{Key: "order", Type: app.ObjectVariable, Fallback: &order}},
		Variants: app.Variants{"de": {Subject: word, HTML: "<p>Hallo</p>", Text: &text, Design: `{"b":1,"a":2}`}, "fr": {}}})
	from := map[string]string{"mine": testserver.TestDomain, "stranger": "stranger.example"}[word]
	for _, name := range []string{"draft", "canceled"} {
		inArchive := name == "draft"
		b, err := s.Broadcasts.CreateBroadcast(ctx, key, app.BroadcastInput{Archive: &inArchive, Name: word + " " + name, SegmentID: segment.ID, From: "Ann <ann@" + from + ">", Subject: word, HTML: `<p>Hi{% block "` + word + `" %}</p>`, Syntax: "liquid",
			Variants:    app.VariantChanges{"pt-BR": {Set: true, Value: app.VariantPatch{Preview: app.Change[string]{Set: true, Value: word}}}},
			Attachments: []app.Attachment{{Filename: word + " " + name + ".txt", Content: []byte(word + name)}, {Filename: "empty.txt", Content: []byte{}}}}, mail.SendOptions{})
		testserver.Must(t, err)
		if name == "canceled" {
			_, err := s.Broadcasts.SendBroadcast(ctx, key, b.ID, "in 1 day", mail.SendOptions{})
			testserver.Must(t, err)
			_, _, err = s.Broadcasts.CancelBroadcast(ctx, key, b.ID)
			testserver.Must(t, err)
			testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
				return tx.EndBroadcastLanguages(b.ID, []app.LanguageCounts{{Recipients: 3}, {Language: "pt-BR", Recipients: 2, BroadcastCounts: app.BroadcastCounts{Sent: 2, Opened: 1}}})
			}))
		}
	}
	d, err := s.Domains.AddDomain(ctx, key.TeamID, app.DomainInput{Name: word + ".test", ReturnPath: "bounce", ClickTracking: true, TrackingSubdomain: "links"})
	testserver.Must(t, err)
	hook, err := s.Webhooks.CreateWebhook(ctx, key, webhook.Input{Endpoint: "https://" + word + ".example/hook", Events: []webhook.EventName{webhook.EmailSent}})
	testserver.Must(t, err)
	_, err = s.Webhooks.RotateSigningSecret(ctx, key, hook.ID, webhook.Rotation{})
	testserver.Must(t, err)
	_, _, err = s.Teams.CreateKey(ctx, key.TeamID, app.KeyInput{Name: word, Permission: app.SendingAccess, Role: app.RoleMember, DomainID: d.ID, AllowedIPs: []string{"192.0.2.0/24"}, ExpiresAt: time.Now().Add(time.Hour).Truncate(time.Millisecond)})
	testserver.Must(t, err)
}

// exported exports the team and returns the directory.
func exported(t *testing.T, s *server.Server, key *app.Key, opts transfer.ExportOptions) (string, transfer.Exported) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "export")
	team, err := s.Teams.FindTeam(t.Context(), key.TeamID)
	testserver.Must(t, err)
	made, err := s.Exports.Export(context.Background(), team, dir, opts)
	testserver.Must(t, err)
	return dir, made
}

// filesOf returns the files of a directory by name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	testserver.Must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(b)
		return err
	}))
	return out
}

func TestExportIsOfOneTeam(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, made := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true, Version: "1"})
		files := filesOf(t, dir)
		for name, text := range files {
			if strings.Contains(text, "stranger") {
				t.Errorf("%s has something of the other team", name)
			}
		}
		want := map[string]int{"properties": 2, "segments": 2, "topics": 1, "contacts": 3, "suppressions": 3, "choices": 6, "images": 1, "blocks": 1, "templates": 5, "forms": 1, "opt_ins": 2, "consents": 1, "broadcasts": 2, "issues": 1, "feeds": 1, "domains": 1,
			"webhooks": 2, "routes": 1, "route_destinations": 1, "keys": 1, "secrets": 5, "emails": 3, "events": 3}
		if !maps.Equal(made.Counts, want) {
			t.Errorf("counts %v\nwant   %v", made.Counts, want)
		}
		var lacks []string
		for _, lack := range made.Cannot {
			lacks = append(lacks, lack.Item)
		}
		if got := strings.Join(lacks, "; "); got != "the pages host pages.mine.example; 1 emails were still on their way; links in mail that was sent; 1 suppressions of addresses that were erased" {
			t.Error(got)
		}
		for kind, n := range made.Counts {
			lines := strings.Count(files[kind+".json"], "\n") - 2
			rows, has := files[kind+".csv"]
			if lines != n || !has && kind != "secrets" && kind != "keys" || has && kind != "domains" && strings.Count(rows, "\r\n") != n+1 {
				t.Errorf("%d %s: %d lines of JSON; %q", n, kind, lines, rows)
			}
		}
		if got := files["contacts.csv"]; !strings.HasPrefix(got, "id,email,first_name,last_name,unsubscribed,segments,former_addresses,created_at,updated_at,city,properties.email,other_properties\r\n") ||
			!strings.Contains(got, ",charles@mine.example,'=carl,mine,false,mine by hand,carl@mine.example,") || !strings.Contains(got, ",mine,-2.5,\r\n") {
			t.Error(got)
		}
	})
}

func TestExportWithoutSecrets(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, made := exported(t, w.Services, w.Key, transfer.ExportOptions{NoSecrets: true})
		files := filesOf(t, dir)
		if files["secrets.json"] != "" || made.Counts["secrets"] != 0 || !slices.ContainsFunc(made.Cannot, func(l archive.Unmovable) bool { return strings.Contains(l.Reason, "--no-secrets") }) {
			t.Errorf("secrets: %q, %v", files["secrets.json"], made.Cannot)
		}
		if files["emails.json"] != "" || files["events.json"] != "" {
			t.Error("there are emails")
		}
	})
}

func TestInterruptedExportIsUnfinished(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		team, err := w.Services.Teams.FindTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		dir := filepath.Join(t.TempDir(), "export")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err = w.Services.Exports.Export(ctx, team, dir, transfer.ExportOptions{Progress: func(int64, int64) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cut off: %v", err)
		}
		if _, err := archive.Open(dir); !errors.Is(err, archive.ErrUnfinished) {
			t.Errorf("it is read: %v", err)
		}
		if _, err := w.Services.Exports.Export(t.Context(), team, dir, transfer.ExportOptions{}); !errors.Is(err, archive.ErrNotEmpty) {
			t.Errorf("on top of it: %v", err)
		}
	})
}

// TestOptOutDuringExport: a contact that unsubscribes after its page was read is exported as
// unsubscribed.
func TestOptOutDuringExport(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		team, err := w.Services.Teams.FindTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		topic := w.SQL(`SELECT id FROM topics WHERE team_id = ?`, team.ID)[0]
		w.SQL(`DELETE FROM choices`)
		dir := filepath.Join(t.TempDir(), "export")
		n, yes := 0, true
		_, err = w.Services.Exports.Export(t.Context(), team, dir, transfer.ExportOptions{Progress: func(int64, int64) {
			if n++; n == 2 {
				_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, "ann@mine.example", app.ContactPatch{Unsubscribed: &yes})
				testserver.Must(t, err)
				_, _, err = w.Services.Audience.SetContactTopics(t.Context(), w.Key, "charles@mine.example", []app.TopicChoice{{ID: topic, Subscription: app.OptOut}})
				testserver.Must(t, err)
				_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "late@mine.example"})
				testserver.Must(t, err)
			}
		}})
		testserver.Must(t, err)
		r, err := archive.Open(dir)
		testserver.Must(t, err)
		var addresses []string
		var contact archive.Contact
		testserver.Must(t, r.Each(archive.Contacts, &contact, func(int) error {
			if contact.Unsubscribed {
				addresses = append(addresses, contact.Email)
			}
			return nil
		}))
		var choice archive.Choice
		testserver.Must(t, r.Each(archive.Choices, &choice, func(int) error { addresses = append(addresses, choice.Email); return nil }))
		var s archive.Suppression
		testserver.Must(t, r.Each(archive.Suppressions, &s, func(int) error { addresses = append(addresses, s.Email); return nil }))
		for _, want := range []string{"bob@mine.example", "ann@mine.example", "charles@mine.example", "late@mine.example"} {
			if n := len(addresses); n != len(slices.DeleteFunc(slices.Clone(addresses), func(s string) bool { return s == want }))+1 {
				t.Errorf("%s does not occur exactly once in %q", want, addresses)
			}
		}
	})
}

// shown returns all that the API returns of a team's emails.
func shown(t *testing.T, s *server.Server, key *app.Key) string {
	t.Helper()
	emails, _, err := s.Mail.ListEmails(t.Context(), key, app.Page{Limit: 100})
	testserver.Must(t, err)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", " ")
	for i := range emails {
		e, err := s.Mail.GetEmail(t.Context(), key, emails[i].ID)
		testserver.Must(t, err)
		if e.LastEvent == app.Scheduled {
			continue
		}
		e.TeamID, e.Unsubscribe, e.Tracking = "", "", nil
		events, _, err := s.Mail.ListEvents(t.Context(), key, e.ID, app.Page{Limit: 100})
		testserver.Must(t, err)
		for i := range events {
			events[i].TeamID = ""
		}
		verdict, err := s.Queue.Verdict(t.Context(), key, e.ID)
		testserver.Must(t, err)
		testserver.Must(t, enc.Encode([]any{e, events, verdict}))
	}
	return out.String()
}

// moved imports a directory into the only team of a new server.
func moved(t *testing.T, dir string) (*testserver.Server, *transfer.Report) {
	t.Helper()
	to := testserver.New(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
	for _, table := range []string{"webhooks", "domains"} {
		to.SQL(`DELETE FROM ` + table)
	}
	return to, imported(t, to, dir, true)
}

func imported(t *testing.T, to *testserver.Server, dir string, apply bool) *transfer.Report {
	t.Helper()
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	team, err := to.Services.Teams.FindTeam(t.Context(), to.Key.TeamID)
	testserver.Must(t, err)
	report, err := to.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: apply, Emails: true, Trust: true})
	testserver.Must(t, err)
	return report
}

func TestExportRoundTrip(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{Emails: true})
		to, report := moved(t, dir)
		if len(report.Refused) > 0 {
			t.Errorf("refused: %v", report.Refused)
		}
		back, _ := exported(t, to.Services, to.Key, transfer.ExportOptions{Emails: true})
		want, got := filesOf(t, dir), filesOf(t, back)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] && name != "team.json" && name != "cannot.json" {
				t.Errorf("%s %s", name, difference(want[name], got[name]))
			}
		}
		for name := range got {
			if _, has := want[name]; !has {
				t.Errorf("%s is more", name)
			}
		}
		if want, got := shown(t, w.Services, w.Key), shown(t, to.Services, to.Key); got != want {
			t.Errorf("the API's emails: %s", difference(want, got))
		}
	})
}

// difference returns the first line that differs.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "was " + a[i][:min(len(a[i]), 1000)] + "\nand is " + b[i][:min(len(b[i]), 1000)]
		}
	}
	return fmt.Sprintf("had %d lines and has %d", len(a), len(b))
}
