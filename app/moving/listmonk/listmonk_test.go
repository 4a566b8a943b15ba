package listmonk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/testing/apptest"
)

// instance returns a listmonk with objects of all kinds.
func instance(version, subscribers int) *apptest.Listmonk {
	l := &apptest.Listmonk{Version: version, User: "importer", Token: "gQ3VKCNWjlbXRiBgZT8wIoKBRgN48gB6",
		Lists: []apptest.LMList{
			{ID: 1, Name: "Weekly news", Type: "public", Optin: "double", Description: "What\nis new"},
			{ID: 2, Name: "Offers", Type: "public", Optin: "single"},
			{ID: 3, Name: "Customers", Type: "private", Optin: "single"},
			{ID: 4, Name: "offers", Type: "public", Optin: "single"},
			{ID: 7, Name: strings.Repeat("Long ", 20), Type: "private", Optin: "double"},
		},
		Bounces: []apptest.LMBounce{{ID: 1, Type: "hard", Email: "gone@example.org"}, {ID: 2, Type: "soft", Email: "full@example.org"},
			{ID: 3, Type: "complaint", Email: "angry@example.org"}, {ID: 4, Type: "soft", Email: "full@example.org"}},
		Templates: []apptest.LMTemplate{
			{ID: 1, Name: "Frame", Type: "campaign", Body: "<html><h1>{{ .Campaign.Name }}</h1>\n{{ template \"content\" . }}\n<a href=\"{{ UnsubscribeURL }}\">no more</a>{{ TrackView }}</html>", Default: true},
			{ID: 2, Name: "Receipt", Type: "tx", Subject: "Order {{ .Tx.Data.order }}", Body: "<p>{{ .Tx.Data.total }} for {{ .Subscriber.FirstName }}</p>"},
			{ID: 3, Name: "Blocks", Type: "campaign_visual", Body: "<p>b</p>", Source: `{"root":{}}`},
		},
	}
	statuses := []string{"enabled", "enabled", "disabled", "blocklisted"}
	marks := []string{"confirmed", "unconfirmed", "unsubscribed"}
	for i := 1; i <= subscribers; i++ {
		s := apptest.LMSubscriber{ID: i * 3, Email: fmt.Sprintf("p%d@example.org", i), Name: fmt.Sprintf("Person %d of Many", i), Status: statuses[i%4],
			Attribs: fmt.Sprintf(`{"city":"Bengaluru","n":%d,"good":true,"stack":{"languages":["go"]}}`, i)}
		for k, list := range l.Lists {
			if (i+k)%2 == 0 {
				s.Lists = append(s.Lists, apptest.LMMember{List: list.ID, Status: marks[(i+k)%3]})
			}
		}
		l.Subscribers = append(l.Subscribers, s)
	}
	for i := range 25 {
		l.Campaigns = append(l.Campaigns, apptest.LMCampaign{ID: i + 1, Name: fmt.Sprintf("Issue %d", i/2), Subject: "Hi {{ .Subscriber.FirstName }}", From: "News <news@example.com>",
			Body: "<p>{{ .Subscriber.Attribs.city }}</p>", ContentType: "richtext", Status: "finished", Type: "regular", Messenger: "email", Lists: []int{1 + i%3}, Tags: []string{"t"}})
	}
	return l
}

// memory returns a directory in memory if possible, since each stored position waits for the disk.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "listmonk")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func options(l *apptest.Listmonk) Options {
	return Options{URL: "https://list.example.com/", User: l.User, Token: l.Token + "\n", Transport: l}
}

// readAll reads to the end with some interruptions and finishes the archive.
func readAll(t *testing.T, l *apptest.Listmonk, dir string) error {
	t.Helper()
	w, cursor, err := archive.Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, err := Read(t.Context(), options(l), w, cursor)
	if err != nil {
		return err
	}
	if err := w.Finish(&archive.Team{Source: archive.SourceListmonk, Left: got.Left}); err != nil {
		t.Fatal(err)
	}
	return nil
}

// contents is an archive in memory.
type contents struct {
	team         archive.Team
	properties   []archive.Property
	segments     []archive.Segment
	topics       []archive.Topic
	suppressions []archive.Suppression
	choices      []archive.Choice
	contacts     []archive.Contact
	templates    []archive.Template
	broadcasts   []archive.Broadcast
	refused      []archive.Refusal
	lacks        []archive.Unmovable
}

func each[T any](t *testing.T, r *archive.Reader, kind archive.Kind) (all []T) {
	t.Helper()
	var item T
	if err := r.Each(kind, &item, func(int) error { all = append(all, item); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, dir string) *contents {
	t.Helper()
	r, err := archive.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &contents{r.Team, each[archive.Property](t, r, archive.Properties), each[archive.Segment](t, r, archive.Segments), each[archive.Topic](t, r, archive.Topics),
		each[archive.Suppression](t, r, archive.Suppressions), each[archive.Choice](t, r, archive.Choices), each[archive.Contact](t, r, archive.Contacts),
		each[archive.Template](t, r, archive.Templates), each[archive.Broadcast](t, r, archive.Broadcasts), each[archive.Refusal](t, r, archive.Refusals), each[archive.Unmovable](t, r, archive.Unmovables)}
}

// read reads an instance in fake time.
func read(t *testing.T, l *apptest.Listmonk) (h *contents) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(memory(t), "a")
		if err := readAll(t, l, dir); err != nil {
			t.Fatal(err)
		}
		h = open(t, dir)
	})
	return h
}

func (h *contents) unmovable(words ...string) bool {
	return slices.ContainsFunc(h.lacks, func(l archive.Unmovable) bool {
		for _, w := range words {
			if !strings.Contains(l.Item+": "+l.Reason, w) {
				return false
			}
		}
		return true
	})
}

// receives reports whether a broadcast to a list's topic or segment would go to an address.
func (h *contents) receives(email string, list string, topic bool) bool {
	in, barred, member := false, false, false
	for _, s := range h.suppressions {
		barred = barred || s.Email == email && (topic || s.Origin != app.OriginUnsubscribe)
	}
	known := false
	for _, c := range h.contacts {
		if c.Email == email {
			known, barred, member = true, barred || c.Unsubscribed, member || slices.Contains(c.Segments, list)
		}
	}
	for _, p := range h.topics {
		in = in || p.ID == list && p.Default == app.OptIn
	}
	for _, c := range h.choices {
		if c.Email == email && c.TopicID == list {
			in = true
		}
	}
	for _, c := range h.choices {
		if c.Email == email && c.TopicID == list && c.Subscription == app.OptOut {
			in = false
		}
	}
	if topic {
		return known && !barred && in
	}
	return known && !barred && member
}

func TestRead(t *testing.T) {
	for _, version := range []int{2, 3, 4, 5} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			l := instance(version, 120)
			h := read(t, l)
			if len(h.contacts) != 120 || len(h.topics) != 3 || len(h.segments) != 2 || len(h.templates) != 3 || len(h.broadcasts) != 25 || len(h.refused) != 0 {
				t.Errorf("%d contacts, %d topics, %d segments, %d templates, %d broadcasts, refused %v", len(h.contacts), len(h.topics), len(h.segments), len(h.templates), len(h.broadcasts), h.refused)
			}
			if h.team.Left != 2 {
				t.Errorf("%d soft bounces left", h.team.Left)
			}
			if got := fmt.Sprint(h.properties); got != "[{ city string <nil> 0001-01-01 00:00:00 +0000 UTC} { good string <nil> 0001-01-01 00:00:00 +0000 UTC} { n number <nil> 0001-01-01 00:00:00 +0000 UTC}]" {
				t.Error(got)
			}
			if !h.unmovable(`attribute "stack" (120)`) || !h.unmovable("tags of campaigns (25)") {
				t.Error(h.lacks)
			}
			names := map[string]bool{}
			for _, p := range h.topics {
				names[p.Name] = true
				if p.Default != app.OptOut {
					t.Errorf("who chose nothing about %s gets it", p.Name)
				}
			}
			if !names["Weekly news"] || len(names) != 3 || !h.unmovable("the name of list", "is") {
				t.Error(names)
			}
			at := slices.IndexFunc(h.contacts, func(c archive.Contact) bool { return c.Email == "p4@example.org" })
			c := h.contacts[at]
			if c.FirstName != "Person" || c.LastName != "4 of Many" || c.Properties["n"] != 4.0 || c.Properties["good"] != "true" || c.From.Line != 12 || c.Unsubscribed {
				t.Errorf("%+v", c)
			}
			origins := map[app.SuppressionOrigin]int{}
			for _, s := range h.suppressions {
				origins[s.Origin]++
			}
			if origins[app.OriginBounce] != 1 || origins[app.OriginComplaint] != 1 || origins[app.OriginUnsubscribe] != 30 {
				t.Error(origins)
			}
			sent := 0
			for _, b := range h.broadcasts {
				if b.Status != app.DraftBroadcast || !b.ScheduledAt.IsZero() {
					sent++
				}
			}
			if sent > 0 {
				t.Errorf("%d broadcasts are no drafts", sent)
			}
		})
	}
}

// TestRecipientsAreTheSame follows listmonk's documentation: a campaign goes to "confirmed" on a
// list with double opt-in, to all but "unsubscribed" with single opt-in, and to nobody who is
// blocklisted. Disabled subscribers get nothing here, although some versions send to them.
func TestRecipientsAreTheSame(t *testing.T) {
	l := instance(5, 0)
	l.Lists = nil
	type row struct {
		email string
		list  int
		topic bool
		gets  bool
	}
	var table []row
	for i, kind := range []string{"public", "private"} {
		for k, optin := range []string{"single", "double"} {
			id := 1 + 2*i + k
			l.Lists = append(l.Lists, apptest.LMList{ID: id, Name: kind + " " + optin, Type: kind, Optin: optin})
			for _, status := range []string{"enabled", "disabled", "blocklisted", "something new"} {
				for _, mark := range []string{"confirmed", "unconfirmed", "unsubscribed", "something new", ""} {
					n := len(l.Subscribers) + 1
					s := apptest.LMSubscriber{ID: n, Email: fmt.Sprintf("s%d@example.org", n), Status: status}
					if mark != "" { // otherwise on no list
						s.Lists = []apptest.LMMember{{List: id, Status: mark}}
					}
					l.Subscribers = append(l.Subscribers, s)
					gets := status == "enabled" && (mark == "confirmed" || mark == "unconfirmed" && optin == "single")
					table = append(table, row{s.Email, id, kind == "public", gets})
				}
			}
		}
	}
	h := read(t, l)
	yes := 0
	for i, r := range table {
		if got := h.receives(r.email, fmt.Sprint(r.list), r.topic); got != r.gets {
			t.Errorf("%+v on list %+v: gets mail: %v", l.Subscribers[i], l.Lists[r.list-1], got)
		}
		if r.gets {
			yes++
		}
	}
	if yes != 6 || len(table) != 80 {
		t.Errorf("%d of %d get mail", yes, len(table))
	}
	for _, s := range l.Subscribers {
		barred := slices.ContainsFunc(h.suppressions, func(x archive.Suppression) bool { return x.Email == s.Email && x.Origin == app.OriginUnsubscribe })
		if barred != (s.Status == "blocklisted") {
			t.Errorf("%s: suppressed: %v", s.Status, barred)
		}
	}
}

// same compares two directories file by file.
func same(t *testing.T, a, b string) {
	t.Helper()
	files, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	others, err := os.ReadDir(b)
	if err != nil || len(files) != len(others) || len(files) < 8 {
		t.Fatalf("%v and %v: %v", files, others, err)
	}
	for _, f := range files {
		one, _ := os.ReadFile(filepath.Join(a, f.Name()))
		other, err := os.ReadFile(filepath.Join(b, f.Name()))
		if err != nil || string(one) != string(other) {
			t.Errorf("%s differs: %v", f.Name(), err)
		}
	}
}

func TestResumedReadIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := memory(t)
		whole := filepath.Join(top, "whole")
		l := instance(3, 60)
		if err := readAll(t, l, whole); err != nil {
			t.Fatal(err)
		}
		requests := l.Requests()
		for cutAt := 1; cutAt <= requests; cutAt++ {
			dir := filepath.Join(top, fmt.Sprint(cutAt))
			l := instance(3, 60)
			ctx, cancel := context.WithCancel(t.Context())
			l.Fault = func(n int, _ *http.Request) string {
				if n == cutAt {
					cancel()
				}
				return ""
			}
			w, err := archive.Create(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Read(ctx, options(l), w, ""); !errors.Is(err, context.Canceled) {
				t.Fatalf("cut at %d: %v", cutAt, err)
			}
			w.Close()
			time.Sleep(time.Hour) // in fake time
			if err := readAll(t, l, dir); err != nil {
				t.Fatalf("after %d: %v", cutAt, err)
			}
			same(t, whole, dir)
			if t.Failed() {
				t.Fatalf("cut at request %d of %d", cutAt, requests)
			}
		}
		if requests < 25 {
			t.Errorf("only %d requests", requests)
		}
	})
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := filepath.Join(memory(t), "whole")
		if err := readAll(t, instance(4, 80), whole); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(memory(t), "a")
		l := instance(4, 80)
		faults := []string{"drop", "half", "502", "429", "503"}
		l.Fault = func(n int, _ *http.Request) string {
			if n%2 == 0 {
				return faults[n/2%len(faults)]
			}
			return ""
		}
		if err := readAll(t, l, dir); err != nil {
			t.Fatal(err)
		}
		same(t, whole, dir)
	})
}

func TestBothSignIns(t *testing.T) {
	for _, version := range []int{2, 3, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			l := instance(version, 3)
			if err := readAll(t, l, filepath.Join(memory(t), "a")); err != nil {
				t.Errorf("version %d: %v", version, err)
			}
			o := options(l)
			for _, base := range []string{"https://list.example.com/admin/", "https://list.example.com/api"} {
				o.URL = base
				w, _ := archive.Create(filepath.Join(memory(t), "u"))
				if _, err := Read(t.Context(), o, w, ""); err != nil {
					t.Errorf("%s: %v", base, err)
				}
				w.Close()
			}
			o.Token = "some-other-secret"
			w, _ := archive.Create(filepath.Join(memory(t), "b"))
			defer w.Close()
			_, err := Read(t.Context(), o, w, "")
			if !errors.Is(err, ErrSignIn) || strings.Contains(err.Error(), o.Token) {
				t.Errorf("version %d with another token: %v", version, err)
			}
			for _, bad := range []Options{{URL: o.URL, User: "a"}, {URL: o.URL, User: "a:b", Token: "c"}, {URL: o.URL, User: "a", Token: "b\nc"}} {
				if _, err := Read(t.Context(), bad, w, ""); err == nil || !strings.Contains(err.Error(), "sign in") {
					t.Errorf("%+v: %v", bad, err)
				}
			}
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := instance(3, 160)
		o := options(l)
		var progress []string
		o.Progress = func(what archive.Kind, left int) { progress = append(progress, fmt.Sprint(what, left)) }
		w, err := archive.Create(filepath.Join(memory(t), "a"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := Read(t.Context(), o, w, ""); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(progress, " "); !strings.HasPrefix(got, "contacts3 contacts2 contacts1") || !strings.HasSuffix(got, "broadcasts1") {
			t.Error(got)
		}
	})
}

func TestMissingPermissionIsAnError(t *testing.T) {
	for _, path := range []string{"/api/lists", "/api/subscribers", "/api/bounces", "/api/templates", "/api/campaigns"} {
		synctest.Test(t, func(t *testing.T) {
			l := instance(5, 3)
			l.Denied = path
			err := readAll(t, l, filepath.Join(memory(t), "a"))
			if err == nil || errors.Is(err, ErrSignIn) || !strings.Contains(err.Error(), "must let it read") || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", path, err)
			}
			if l.Denied = ""; err != nil {
				if err := readAll(t, l, filepath.Join(memory(t), "a")); err != nil {
					t.Error(err)
				}
			}
			if !errors.Is(err, archive.ErrRefused) {
				t.Errorf("%s: the same command would go on: %v", path, err)
			}
		})
	}
}

func TestRestrictedRoleIsReported(t *testing.T) {
	all := []string{"lists:get_all", "subscribers:get_all", "bounces:get"}
	for _, c := range []struct {
		role           []string
		lists, members bool // are reported
	}{{all, false, false}, {all[:1], false, true}, {all[1:], true, false}, {[]string{"lists:get"}, true, true}, {nil, false, false}} {
		l := instance(5, 3)
		l.Role = c.role
		h := read(t, l)
		if h.unmovable("Importers", "lists:get_all") != c.lists || h.unmovable("Importers", "subscribers:get_all") != c.members {
			t.Errorf("%v: %+v", c.role, h.lacks)
		}
	}
}

func TestArchivedListBecomesPrivateTopic(t *testing.T) {
	l := instance(5, 3)
	l.Lists[1].Archived, l.Lists[2].Archived = true, true
	h := read(t, l)
	for _, topic := range h.topics {
		if want := map[bool]app.Visibility{true: app.PrivateTopic, false: app.PublicTopic}[topic.ID == "2"]; topic.Visibility != want {
			t.Errorf("%q is %s", topic.Name, topic.Visibility)
		}
	}
	if !h.unmovable(`list "Offers"`, "archived") || h.unmovable("Customers", "archived") {
		t.Errorf("%+v", h.lacks)
	}
}

func TestRenamedAttributesAreReported(t *testing.T) {
	l := instance(5, 3)
	l.Subscribers[0].Attribs = `{"phone-number":"1","Ümlaut":"x","plan":"p"}`
	l.Subscribers[1].Attribs = `{"phone-number":"2"}`
	h := read(t, l)
	if !h.unmovable(`attribute "phone-number" (2)`, `"phone_number"`) || !h.unmovable(`attribute "Ümlaut" (1)`, `"_mlaut"`) || h.unmovable(`attribute "plan"`) {
		t.Errorf("%+v", h.lacks)
	}
}
