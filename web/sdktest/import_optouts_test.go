package sdktest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// importSource is a source of imports.
type importSource struct {
	args []string // of `mailer import`, without a team
	// want no mail at all; left want no mail about a topic, by its name
	barred []string
	left   map[string][]string
	gets   []string // some of those who get mail, so that the test can't pass with an empty audience
	lists  bool     // suppressions alone, no contacts
	// counts requests to a service; nil: the source is no service
	asked func() int
}

// peopleCount is how many the first rows have.
func peopleCount() int {
	if *importPeople > 0 {
		return *importPeople
	}
	return 800
}

// personAddress is the address of the n-th.
func personAddress(n int) string { return fmt.Sprintf("p%d@people.example", n) }

// personAddresses are some addresses.
func personAddresses(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, personAddress(n))
	}
	return all
}

// sheet writes a file whose first rows subscribe everybody, and whose last rows say what else is
// known of some.
func sheet(t *testing.T, path, headings string, first func(n int) string, last ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(headings + "\n")
	for n := range peopleCount() {
		if first != nil {
			b.WriteString(first(n) + "\n")
		}
	}
	for _, row := range last {
		b.WriteString(row + "\n")
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// rowsOf are rows about persons.
func rowsOf(from, to int, format string) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprintf(format, personAddress(n)))
	}
	return all
}

// sheetSources returns files of each service in its format. Of the first 40 people 20 unsubscribed,
// and 20 bounced or complained if the format has that.
func sheetSources(t *testing.T, dir string) map[string]importSource {
	t.Helper()
	row := func(format string) func(n int) string {
		return func(n int) string {
			return strings.ReplaceAll(strings.ReplaceAll(format, "@", personAddress(n)), "#", fmt.Sprint(n))
		}
	}
	at := func(service, name string) string { return filepath.Join(dir, service, name) }
	both, gets := personAddresses(0, 40), personAddresses(40, 60)
	out := map[string]importSource{}
	csv := func(name string, barred []string, files ...string) {
		out["csv "+name] = importSource{args: append([]string{"csv"}, files...), barred: barred, gets: gets}
	}
	csv("mailchimp", both,
		sheet(t, at("mailchimp", "subscribed_email_audience_export_1.csv"), "Email Address,First Name,Last Name,City,MEMBER_RATING,OPTIN_TIME,LEID,EUID,TAGS", row(`@,N#,L,Riga,2,2021-01-02 03:04:05,#,e#,"""News"",""Shop"""`)),
		sheet(t, at("mailchimp", "unsubscribed_email_audience_export_1.csv"), "Email Address,First Name,UNSUB_TIME,LEID,EUID", nil, rowsOf(0, 20, "%s,N,2022-01-01 00:00:00,1,e")...),
		sheet(t, at("mailchimp", "cleaned_email_audience_export_1.csv"), "Email Address,First Name,CLEAN_TIME,LEID,EUID", nil, rowsOf(20, 40, "%s,N,2022-01-01 00:00:00,1,e")...))
	csv("brevo", both, sheet(t, at("brevo", "contacts.csv"), "CONTACT ID;EMAIL;FIRSTNAME;LASTNAME;CITY;EMAIL_BLACKLISTED;ADDED_TIME;MODIFIED_TIME;LISTS", row(`#;@;N#;L;Riga;No;12-04-2022 09:30;12-04-2022 09:30;"News, Shop"`), rowsOf(0, 40, "1;%s;N;L;;Yes;;;")...))
	csv("sendgrid", both, sheet(t, at("sendgrid", "export.csv"), "EMAIL,FIRST_NAME,LAST_NAME,CITY,ALTERNATE_EMAILS,CREATED_AT,UPDATED_AT,CONTACT_ID", row("@,N#,L,Riga,,2023-01-15T14:30:00Z,,#")),
		sheet(t, at("sendgrid", "suppression_bounces.csv"), "status,reason,email,created", nil, rowsOf(0, 20, "5.1.1,no such,%s,1443651125")...),
		sheet(t, at("sendgrid", "suppression_bounces_2.csv"), "status,reason,email,created", nil, rowsOf(20, 40, "5.1.2,no such,%s,1443651125")...))
	csv("postmark", both, sheet(t, at("postmark", "people.csv"), "email,first_name,City", row("@,N#,Riga")),
		sheet(t, at("postmark", "suppressions.csv"), "EmailAddress,SuppressionReason,Origin,CreatedAt", nil, slices.Concat(rowsOf(0, 10, "%s,HardBounce,Recipient,"), rowsOf(10, 20, "%s,SpamComplaint,Recipient,"), rowsOf(20, 30, "%s,ManualSuppression,Recipient,"), rowsOf(30, 40, "%s,ManualSuppression,Customer,"))...))
	csv("hubspot", both, sheet(t, at("hubspot", "hubspot.csv"), `Record ID,First Name,Last Name,Email,Lead Status,Create Date,Unsubscribed from all email,Email hard bounce reason,List memberships`, row("#,N#,L,@,NEW,2024-01-15 10:00,false,,A;B"), slices.Concat(rowsOf(0, 20, "1,,,%s,,,true,,"), rowsOf(20, 40, "1,,,%s,,,,UNKNOWN_USER,"))...))
	csv("mailerlite", both, sheet(t, at("mailerlite", "subscribers.csv"), "Subscriber,Sent,Opens,Clicks,Subscribed,Status,Name,Last name,Groups,City", row(`@,1,2,3,2021-03-04 10:20:30,active,N#,L,"News,Shop",Vilnius`),
		slices.Concat(rowsOf(0, 20, "%s,,,,,unsubscribed,,,,"), rowsOf(20, 30, "%s,,,,,bounced,,,,"), rowsOf(30, 40, "%s,,,,,junk,,,,"))...))
	csv("resend", both, sheet(t, at("resend", "contacts.csv"), "id,email,first_name,last_name,unsubscribed,created_at,segments", row("#,@,N#,L,false,2025-11-30 20:39:59.540771+00,News"), rowsOf(0, 40, "1,%s,,,true,,")...))
	csv("listmonk", both, sheet(t, at("listmonk", "subscribers.csv"), "uuid,email,name,attributes,status,created_at,updated_at", row(`#,@,N L,"{""city"":""Riga""}",enabled,2024-01-02T03:04:05Z,`), slices.Concat(rowsOf(0, 20, "1,%s,,{},blocklisted,,"), rowsOf(20, 40, "1,%s,,{},disabled,,"))...))
	csv("of anybody", both, sheet(t, at("plain", "people.csv"), "E-Mail,first name,Plan,unsubscribed", row("@,N#,pro,no"), rowsOf(0, 40, "%s,,,yes")...))
	for name, source := range dumpSources(t, dir) {
		out[name] = source
	}
	return out
}

// dumpSources returns suppression lists whose first rows suppress nobody.
func dumpSources(t *testing.T, dir string) map[string]importSource {
	t.Helper()
	row := func(format string) func(n int) string {
		return func(n int) string { return fmt.Sprintf(format, personAddress(n)) }
	}
	out := map[string]importSource{}
	dump := func(from, file string) {
		out["suppressions "+from] = importSource{args: []string{"suppressions", file, "--from", from}, barred: personAddresses(0, 40), gets: personAddresses(40, 60), lists: true}
	}
	dump("sendgrid", sheet(t, filepath.Join(dir, "sendgrid dump", "bounces.csv"), "status,reason,email,created", row("4.2.2,full,%s,1443651125"), rowsOf(0, 40, "5.1.1,no such,%s,1443651125")...))
	dump("postmark", sheet(t, filepath.Join(dir, "postmark dump", "bounces.json"), `{"Bounces":[`, row(`{"Type":"SoftBounce","Email":"%s"},`),
		append(slices.Concat(rowsOf(0, 20, `{"Type":"HardBounce","Email":"%s"},`), rowsOf(20, 40, `{"Type":"SpamNotification","Email":"%s"},`)), `{"Type":"SoftBounce","Email":"last@people.example"}]}`)...))
	dump("mailgun", sheet(t, filepath.Join(dir, "mailgun dump", "bounces.csv"), "address,code,error,created_at", row(`%s,452,full,"Fri, 21 Oct 2011 11:02:55 UTC"`), rowsOf(0, 40, `%s,550,no such,"Fri, 21 Oct 2011 11:02:55 UTC"`)...))
	dump("ses", sheet(t, filepath.Join(dir, "ses dump", "list.csv"), "Email address,Suppression reason,Last updated", row("other-%s,Bounce,2020"), slices.Concat(rowsOf(0, 20, "%s,Bounce,2020"), rowsOf(20, 40, "%s,Complaint,2020"))...))
	return out
}

// reached checks that nobody who wants no mail would get any. With done, others must get mail.
func (e *importSource) reached(t *testing.T, api client, when string, done bool) {
	t.Helper()
	all := api.reached(t, "")
	for _, email := range e.barred {
		if all[email] {
			t.Errorf("%s: %s would get mail, having opted out", when, email)
			break
		}
	}
	for topic, left := range e.left {
		id := api.topicID(t, topic)
		if id == "" {
			if done {
				t.Errorf("%s: there is no topic %q", when, topic)
			}
			continue
		}
		about := api.reached(t, "&topic_id="+id)
		for _, email := range left {
			if about[email] {
				t.Errorf("%s: %s would get mail about %q, having opted out of that", when, email, topic)
				break
			}
		}
	}
	for _, email := range e.gets {
		if done && !all[email] {
			t.Errorf("%s: %s, who wants mail, gets none of %d", when, email, len(all))
			break
		}
	}
}

// reached returns the recipients of a broadcast: neither unsubscribed nor suppressed.
func (c client) reached(t *testing.T, about string) map[string]bool {
	t.Helper()
	all := c.addresses(t, "/contacts?state=subscribed"+about)
	for email := range c.addresses(t, "/suppressions") {
		delete(all, email)
	}
	return all
}

// kills is how often each import is killed.
func kills() int {
	if *importKills > 0 {
		return *importKills
	}
	return 3
}

// optOutsHold kills an import repeatedly, later each time, checks who would get mail, and runs it
// to its end. The result must equal that of an uninterrupted import.
func optOutsHold(t *testing.T, in *instance, e *importSource) {
	t.Helper()
	imports := func(team string) []string { return append(slices.Clone(e.args), "--team", team, "--apply") }
	whole := in.newTeam(t, "Whole")
	began := time.Now()
	in.importAll(t, imports("Whole")...)
	took, requests := time.Since(began), 0
	if e.asked != nil {
		requests = e.asked()
	}
	e.end(t, in, whole, "Whole")
	want := differences(t, whole.lists(t))
	cut := 0
	for n := 0; n < kills() || cut == 0 && n < 2*kills(); n++ {
		team := fmt.Sprint("Cut ", n)
		api := in.newTeam(t, team)
		if n >= kills() { // each was over before: this machine was slower at first
			took /= 2
		}
		if !in.importKilled(t, e.moment(n, took, requests), imports(team)...) {
			cut++
			e.reached(t, api, "killed, "+team, false)
		}
		in.importAll(t, imports(team)...)
		e.end(t, in, api, team)
		sameLists(t, "killed and run again, "+team, differences(t, api.lists(t)), want)
	}
	if cut == 0 {
		t.Errorf("no import was killed before it was over; one takes %s", took)
	}
}

// moment decides when the n-th import is killed. With a service most of the time is reading, so
// every second one is killed after the last answer, while writing.
func (e *importSource) moment(n int, took time.Duration, requests int) func(time.Duration) bool {
	part := time.Duration(2*(n%kills()) + 1)
	if e.asked == nil {
		return func(since time.Duration) bool { return since >= took*part/time.Duration(2*kills()) }
	}
	before := e.asked()
	if n%2 == 1 {
		return func(time.Duration) bool { return e.asked()-before >= requests*int(part)/(2*kills()) }
	}
	var last time.Time
	return func(time.Duration) bool {
		if last.IsZero() && e.asked()-before >= requests {
			last = time.Now()
		}
		return !last.IsZero() && time.Since(last) >= part*10*time.Millisecond
	}
}

// end checks a team after a complete import.
func (e *importSource) end(t *testing.T, in *instance, api client, team string) {
	t.Helper()
	if e.lists { // people whose suppression was imported first
		path := sheet(t, filepath.Join(in.dir, "later.csv"), "email,first_name", func(n int) string { return personAddress(n) + ",N" })
		in.importAll(t, "csv", path, "--team", team, "--apply")
	}
	e.reached(t, api, "taken in whole", true)
}

func TestKilledFileImportKeepsOptOuts(t *testing.T) {
	part(t, "imports")
	t.Parallel()
	for name, e := range sheetSources(t, t.TempDir()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optOutsHold(t, startBare(t, "--rate-limit", "0"), &e)
		})
	}
}

func TestKilledServiceImportKeepsOptOuts(t *testing.T) {
	part(t, "imports")
	t.Parallel()
	for name, source := range map[string]func(t *testing.T, dir string) importSource{"listmonk": listmonkSource, "resend": resendSource} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := source(t, t.TempDir())
			optOutsHold(t, startBare(t, "--rate-limit", "0"), &e)
		})
	}
}

func TestKilledMailerImportKeepsOptOuts(t *testing.T) {
	part(t, "imports")
	t.Parallel()
	dir, database := mailerSources(t)
	for name, e := range map[string]importSource{"directory": dir, "database": database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optOutsHold(t, startBare(t, "--rate-limit", "0"), &e)
		})
	}
}
