package sheets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mailer/app/rules/archive"
	"mailer/app/testing/apptest"
)

// file writes a file and returns its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads files and describes the archive, one object on each line.
func read(t testing.TB, preset string, files ...string) (string, error) {
	t.Helper()
	return described(t, func(w *archive.Writer) (int, error) { return Read(w, files, preset, "") })
}

func described(t testing.TB, read func(w *archive.Writer) (int, error)) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	w, err := archive.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	left, err := read(w)
	if err != nil {
		return "", err
	}
	if err := w.Finish(&archive.Team{Source: archive.SourceCSV, Left: left}); err != nil {
		t.Fatal(err)
	}
	r, err := archive.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	line := func(format string, args ...any) { out = append(out, strings.TrimSpace(fmt.Sprintf(format, args...))) }
	each(t, r, archive.Properties, func(p *archive.Property) { line("property %s %s", p.Key, p.Type) })
	each(t, r, archive.Segments, func(s *archive.Segment) { line("segment %s", s.ID) })
	each(t, r, archive.Suppressions, func(s *archive.Suppression) {
		line("suppression %s %s %s:%d", s.Email, s.Origin, s.From.File, s.From.Line)
	})
	each(t, r, archive.Contacts, func(c *archive.Contact) {
		text := c.Email
		for _, s := range []string{c.FirstName, c.LastName} {
			text += " " + s
		}
		if c.Unsubscribed {
			text += " OUT"
		}
		var keys []string
		for key, v := range c.Properties {
			keys = append(keys, fmt.Sprintf("%s=%v", key, v))
		}
		slices.Sort(keys)
		if !c.CreatedAt.IsZero() {
			keys = append(keys, c.CreatedAt.Format("2006-01-02T15:04:05"))
		}
		line("contact %s %s [%s] %s:%d", text, strings.Join(keys, " "), strings.Join(c.Segments, "|"), c.From.File, c.From.Line)
	})
	each(t, r, archive.Refusals, func(f *archive.Refusal) { line("refused %s:%d %s", f.File, f.Line, f.Reason) })
	each(t, r, archive.Unmovables, func(l *archive.Unmovable) { line("lack %s: %s", l.Item, l.Reason) })
	if r.Team.Left > 0 {
		line("left %d", r.Team.Left)
	}
	return strings.Join(out, "\n"), nil
}

func each[T any](t testing.TB, r *archive.Reader, kind archive.Kind, take func(*T)) {
	t.Helper()
	var item T
	if err := r.Each(kind, &item, func(int) error { take(&item); return nil }); err != nil {
		t.Fatal(err)
	}
}

// same compares a result with the wanted one, whose lines may be indented.
func same(t *testing.T, got string, err error, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if want = strings.Join(lines, "\n"); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

const mailchimpSystem = "MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,"

func mailchimpZip(t testing.TB) string {
	head := `"Email Address","First Name","Last Name","Phone Number",CITY,` + mailchimpSystem
	return apptest.Zip(t,
		"subscribed_email_audience_export_15d17415eb.csv", head+"LAST_CHANGED,LEID,EUID,NOTES,TAGS\n"+
			`ann@example.org,Ann,Lee,"+1 555 0100",Riga,4,"2020-02-03 04:05:06",192.0.2.1,"2020-02-03 04:06:00",192.0.2.1,56.9,24.1,2,3,Europe/Riga,LV,25,"2021-01-01 00:00:00",123,abc,,"""VIP"",""Blog, old"""`+"\n",
		"unsubscribed_email_audience_export_15d17415eb.csv", head+"UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER,LAST_CHANGED,LEID,EUID,NOTES,TAGS\n"+
			`bob@example.org,Bob,,,,2,,,"2019-05-06 07:08:09",,,,,,,,,"2022-01-01 00:00:00","News",9,NORMAL,,"2022-01-01 00:00:00",124,abd,,`+"\n",
		"cleaned_email_audience_export_15d17415eb.csv", head+"CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,LEID,EUID,NOTES,TAGS\n"+
			`cleo@example.org,Cleo,,,,1,,,,,,,,,,,,"2022-01-01 00:00:00",News,9,125,abe,,`+"\n",
		"nonsubscribed_email_audience_export_15d17415eb.csv", head+"LAST_CHANGED,LEID,EUID,NOTES,TAGS\n"+
			`dan@example.org,Dan,,,,1,,,,,,,,,,,,"2022-01-01 00:00:00",126,abf,,`+"\n",
		"subscribed_sms_audience_export_15d17415eb.csv", "Phone\n+1\n",
		"__MACOSX/._x.csv", "x", "folder/", "", "picture.png", "x")
}

func TestMailchimpAudience(t *testing.T) {
	path := file(t, "audience_export_15d17415eb.zip", mailchimpZip(t))
	const z = "audience_export_15d17415eb.zip/"
	const own = `"MEMBER_RATING", "OPTIN_IP", "CONFIRM_IP", "LATITUDE", "LONGITUDE", "GMTOFF", "DSTOFF", "TIMEZONE", "CC", "REGION", `
	for _, preset := range []string{"", "mailchimp"} {
		got, err := read(t, preset, path)
		same(t, got, err, `
			property phone_number string
			property city string
			property notes string
			segment VIP
			segment Blog, old
			suppression cleo@example.org bounce `+z+`cleaned_email_audience_export_15d17415eb.csv:2
			contact cleo@example.org Cleo   [] `+z+`cleaned_email_audience_export_15d17415eb.csv:2
			contact dan@example.org Dan  OUT  [] `+z+`nonsubscribed_email_audience_export_15d17415eb.csv:2
			contact ann@example.org Ann Lee city=Riga phone_number=+1 555 0100 2020-02-03T04:05:06 [VIP|Blog, old] `+z+`subscribed_email_audience_export_15d17415eb.csv:2
			contact bob@example.org Bob  OUT 2019-05-06T07:08:09 [] `+z+`unsubscribed_email_audience_export_15d17415eb.csv:2
			lack file `+z+`subscribed_sms_audience_export_15d17415eb.csv: it is no table of contacts: a .csv, .tsv or .txt file
			lack file `+z+`picture.png: it is no table of contacts: a .csv, .tsv or .txt file
			lack columns `+own+`"CLEAN_CAMPAIGN_TITLE", "CLEAN_CAMPAIGN_ID", "LEID", "EUID" of `+z+`cleaned_email_audience_export_15d17415eb.csv: `+ignoredReason+`
			lack columns `+own+`"LAST_CHANGED", "LEID", "EUID" of `+z+`nonsubscribed_email_audience_export_15d17415eb.csv: `+ignoredReason+`
			lack columns `+own+`"LAST_CHANGED", "LEID", "EUID" of `+z+`subscribed_email_audience_export_15d17415eb.csv: `+ignoredReason+`
			lack columns `+own+`"UNSUB_CAMPAIGN_TITLE", "UNSUB_CAMPAIGN_ID", "UNSUB_REASON", "UNSUB_REASON_OTHER", "LAST_CHANGED", "LEID", "EUID" of `+z+`unsubscribed_email_audience_export_15d17415eb.csv: `+ignoredReason)
	}
}

// TestFilesOfEachPreset reads a file of each service and detects its preset.
func TestFilesOfEachPreset(t *testing.T) {
	for _, tt := range []struct{ preset, name, text, want string }{
		{"mailchimp", "cleaned_members_export_0e633f6c70.csv", "Email Address,First Name,MEMBER_RATING,LEID\na@example.org,Ann,1,7\n", `
			suppression a@example.org bounce cleaned_members_export_0e633f6c70.csv:2
			contact a@example.org Ann   [] cleaned_members_export_0e633f6c70.csv:2`},
		{"mailchimp", "renamed.csv", "Email Address,UNSUB_TIME,LEID,EUID\na@example.org,2022-01-01 00:00:00,7,x\nb@example.org,,8,y\n", `
			contact a@example.org   OUT  [] renamed.csv:2
			contact b@example.org    [] renamed.csv:3`},
		{"brevo", "contacts.csv", "\ufeffCONTACT ID;EMAIL;FIRSTNAME;LASTNAME;SMS;CITY;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME;LISTS\r\n" +
			"1;a@example.org;Ann;Lee;491701234567;Köln;No;No;12-04-2022 09:30;13-04-2022 10:00;\"News, Shop\"\r\n2;b@example.org;;;;;Yes;;;;\r\n", `
			property sms string
			property city string
			segment News
			segment Shop
			contact a@example.org Ann Lee city=Köln sms=491701234567 2022-04-12T09:30:00 [News|Shop] contacts.csv:2
			contact b@example.org   OUT  [] contacts.csv:3`},
		{"brevo", "contacts.csv", "CONTACT ID,EMAIL,PRENOM,NOM,SMS,Email blacklisted,_listIds\n1,a@example.org,Zoé,Noël,,false,\"[2,5]\"\n", `
			property sms string
			segment List 2
			segment List 5
			contact a@example.org Zoé Noël  [List 2|List 5] contacts.csv:2`},
		{"sendgrid", "export.csv", "EMAIL,FIRST_NAME,LAST_NAME,ADDRESS_LINE_1,ADDRESS_LINE_2,CITY,STATE_PROVINCE_REGION,POSTAL_CODE,COUNTRY,ALTERNATE_EMAILS,PHONE_NUMBER,WHATSAPP,LINE,FACEBOOK,UNIQUE_NAME,CREATED_AT,UPDATED_AT,CONTACT_ID,plan\n" +
			"a@example.org,Ann,Lee,,,Riga,,,,,,,,,,2023-01-15T14:30:00Z,2023-01-15T14:30:00Z,5,pro\n", "+" +
			"contact a@example.org Ann Lee city=Riga plan=pro 2023-01-15T14:30:00 [] export.csv:2"},
		{"sendgrid", "suppression_bounces.csv", "status,reason,email,created\n5.1.1,\"550 5.1.1 no, sorry\",A@example.org,1443651125\n4.2.2,full,b@example.org,1443651125\n", `
			suppression a@example.org bounce suppression_bounces.csv:2
			left 1`},
		{"sendgrid!", "suppression_unsubscribes.csv", "email,created\na@example.org,1443651125\n", "suppression a@example.org unsubscribe suppression_unsubscribes.csv:2"},
		{"sendgrid!", "suppression_spam_reports.csv", "email,created\na@example.org,1443651125\n", "suppression a@example.org complaint suppression_spam_reports.csv:2"},
		{"postmark", "suppressions.csv", "EmailAddress,SuppressionReason,Origin,CreatedAt\na@example.org,HardBounce,Recipient,2019-12-17T08:58:33-05:00\nb@example.org,SpamComplaint,Recipient,\nc@example.org,ManualSuppression,Customer,\nd@example.org,ManualSuppression,Recipient,\ne@example.org,Odd,,\n", `
			suppression a@example.org bounce suppressions.csv:2
			suppression b@example.org complaint suppressions.csv:3
			suppression c@example.org manual suppressions.csv:4
			suppression d@example.org unsubscribe suppressions.csv:5
			refused suppressions.csv:6 The reason is none that is known`},
		{"hubspot", "hubspot.csv", `"Record ID","First Name","Last Name","Email","Phone Number","Lead Status","Create Date","Unsubscribed from all email","Email hard bounce reason","Email hard bounce reason","List memberships"` + "\n" +
			`"101","Ann","Lee","a@example.org","1","NEW","2024-01-15 10:00","false","","","A;B"` + "\n" + `"102","","","b@example.org","","","","true","","",""` + "\n" + `"103","","","c@example.org","","","","","","UNKNOWN_USER",""` + "\n", `
			property phone_number string
			property lead_status string
			segment A
			segment B
			suppression c@example.org bounce hubspot.csv:4
			contact a@example.org Ann Lee lead_status=NEW phone_number=1 2024-01-15T10:00:00 [A|B] hubspot.csv:2
			contact b@example.org   OUT  [] hubspot.csv:3
			contact c@example.org    [] hubspot.csv:4
			lack columns "Record ID" of hubspot.csv: ` + ignoredReason},
		{"hubspot", "bounces.csv", "Email,Portal Bounce,Portal Unsubscribe,Portal Spam Report,Global Bounce,Opted out of email: Tips\na@example.org,,TRUE,,,\nb@example.org,UNKNOWN_USER,,,,\nc@example.org,,,TRUE,,\nd@example.org,,,,,TRUE\n", `
			suppression b@example.org bounce bounces.csv:3
			suppression c@example.org complaint bounces.csv:4
			contact a@example.org   OUT  [] bounces.csv:2
			contact b@example.org    [] bounces.csv:3
			contact c@example.org   OUT  [] bounces.csv:4
			contact d@example.org   OUT  [] bounces.csv:5`},
		{"mailerlite", "subscribers.csv", "Subscriber,Sent,Opens,Clicks,Subscribed,Status,Name,Last name,Groups,City\na@example.org,1,2,3,2021-03-04 10:20:30,active,Ann,Lee,\"News,Shop\",Vilnius\n" +
			"b@example.org,,,,,unsubscribed,,,,\nc@example.org,,,,,unconfirmed,,,,\nd@example.org,,,,,bounced,,,,\ne@example.org,,,,,junk,,,,\nf@example.org,,,,,sleepy,,,,\ng@example.org,,,,,,,,,\n", `
			property city string
			segment News
			segment Shop
			suppression d@example.org bounce subscribers.csv:5
			suppression e@example.org complaint subscribers.csv:6
			contact a@example.org Ann Lee city=Vilnius 2021-03-04T10:20:30 [News|Shop] subscribers.csv:2
			contact b@example.org   OUT  [] subscribers.csv:3
			contact c@example.org   OUT  [] subscribers.csv:4
			contact d@example.org    [] subscribers.csv:5
			contact e@example.org   OUT  [] subscribers.csv:6
			refused subscribers.csv:7 Column "Status" has no known value for active or opted out
			refused subscribers.csv:8 Column "Status" is empty
			lack columns "Sent", "Opens", "Clicks" of subscribers.csv: ` + ignoredReason},
		{"resend", "contacts.csv", "id,email,first_name,last_name,unsubscribed,created_at,segments\n1,a@example.org,Ann,Lee,false,2025-11-30 20:39:59.540771+00,News\n2,b@example.org,,,true,,\n", `
			segment News
			contact a@example.org Ann Lee 2025-11-30T20:39:59 [News] contacts.csv:2
			contact b@example.org   OUT  [] contacts.csv:3
			lack columns "id" of contacts.csv: ` + ignoredReason},
		{"listmonk", "subscribers.csv", `uuid,email,name,attributes,status,created_at,updated_at` + "\n" + `1,a@example.org,Ann van Lee,"{""city"":""Riga"",""n"":3,""vip"":true,""x"":[1],""no"":null}",enabled,2024-01-02T03:04:05Z,` + "\n" +
			"2,b@example.org,Bob,{},blocklisted,,\n3,c@example.org,,{},disabled,,\n4,d@example.org,,{nope,enabled,,\n", `
			suppression b@example.org unsubscribe subscribers.csv:3
			contact a@example.org Ann van Lee city=Riga n=3 vip=true x=[1] 2024-01-02T03:04:05 [] subscribers.csv:2
			contact b@example.org Bob  OUT  [] subscribers.csv:3
			contact c@example.org   OUT  [] subscribers.csv:4
			refused subscribers.csv:5 Column "attributes" is not an object of JSON
			lack columns "uuid", "updated_at" of subscribers.csv: ` + ignoredReason},
		{"", "people.csv", "E-Mail,first name,Plan,unsubscribed,status\na@example.org,Ann,pro,no,paid\nb@example.org,,,yes,\nc@example.org,,,,Unsubscribed\n", `
			property Plan string
			property status string
			contact a@example.org Ann  Plan=pro status=paid [] people.csv:2
			contact b@example.org   OUT  [] people.csv:3
			contact c@example.org   OUT status=Unsubscribed [] people.csv:4`},
	} {
		only, given := strings.CutSuffix(tt.preset, "!") // can't be detected by headings
		for _, preset := range []string{"", only} {
			if given && preset == "" {
				continue
			}
			got, err := read(t, preset, file(t, tt.name, tt.text))
			want, part := strings.CutPrefix(tt.want, "+")
			if part {
				_, got, _ = strings.Cut("\n"+got, "\ncontact")
				got, _, _ = strings.Cut("contact"+got, "\n")
			}
			if !strings.Contains(want, "lack ") {
				got, _, _ = strings.Cut(got, "\nlack ")
			}
			t.Run(tt.name+" "+preset, func(t *testing.T) { same(t, got, err, want) })
		}
	}
}
