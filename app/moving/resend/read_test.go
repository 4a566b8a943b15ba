package resend_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/moving/resend"
	"mailer/app/moving/resend/resendtest"
	"mailer/app/net/remote"
	"mailer/app/rules/archive"
)

// synctestRun runs a test with a fake clock after the sample's times.
func synctestRun(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// options returns options for the fake with pages of 3.
func options(s *resendtest.Server) resend.Options {
	return resend.Options{APIKey: resendtest.FullKey, KeyFile: "key.txt", Transport: s}.WithPages(3, 50)
}

// read reads an account into a new directory.
func read(t *testing.T, o resend.Options) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "archive")
	w, err := archive.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := resend.Read(t.Context(), o, w, "", nil); err != nil {
		t.Fatal(err)
	}
	finish(t, w)
	return dir
}

func finish(t *testing.T, w *archive.Writer) {
	t.Helper()
	if err := w.Finish(&archive.Team{Source: archive.SourceResend}); err != nil {
		t.Fatal(err)
	}
}

// failure returns the error of a read.
func failure(t *testing.T, o resend.Options) error {
	t.Helper()
	w, err := archive.Create(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err = resend.Read(t.Context(), o, w, "", nil); err == nil {
		t.Fatal("no error")
	}
	return err
}

// all returns the items of a kind.
func all[T any](t *testing.T, dir string, kind archive.Kind) []T {
	t.Helper()
	r, err := archive.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	var item T
	if err := r.Each(kind, &item, func(int) error { out = append(out, item); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// text returns a whole archive as text.
func text(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s", f.Name(), content)
	}
	return b.String()
}

// TestRead compares with a manually checked archive.
func TestRead(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(8), Rate: 10}
		got := text(t, read(t, options(s)))
		if again := text(t, read(t, options(s))); again != got {
			t.Error("a second reading differs")
		}
		golden := filepath.Join("testdata", "sample.txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("differs from %s (UPDATE=1 writes it):\n%s", golden, got)
		}
	})
}

// TestOptOutsAreRead checks each contact with several page sizes.
func TestOptOutsAreRead(t *testing.T) {
	for _, size := range []int{1, 2, 7, 60, 100} {
		synctestRun(t, func(t *testing.T) {
			s := &resendtest.Server{Account: resendtest.Sample(60)}
			dir := read(t, resend.Options{APIKey: resendtest.FullKey, Transport: s}.WithPages(size, 100))
			checkContacts(t, s.Account, dir)
		})
	}
}

// checkContacts compares contacts, choices and suppressions with an account.
func checkContacts(t *testing.T, a resendtest.Account, dir string) {
	t.Helper()
	merged := map[string]*archive.Contact{}
	for _, c := range all[archive.Contact](t, dir, archive.Contacts) {
		if merged[c.Email] == nil {
			merged[c.Email] = &c
			continue
		}
		first := merged[c.Email]
		first.Unsubscribed = first.Unsubscribed || c.Unsubscribed
		first.Segments = append(first.Segments, c.Segments...)
	}
	choices := map[string]app.Subscription{}
	for _, c := range all[archive.Choice](t, dir, archive.Choices) {
		choices[c.Email+" "+c.TopicID] = c.Subscription
	}
	if len(merged) != len(a.Contacts) {
		t.Errorf("%d contacts of %d", len(merged), len(a.Contacts))
	}
	for _, c := range a.Contacts {
		got := merged[c.Email]
		if got == nil || got.Unsubscribed != c.Unsubscribed || got.FirstName != *c.FirstName || got.Properties["plan"] != c.Properties["plan"].Value || got.Properties["seats"] != c.Properties["seats"].Value {
			t.Fatalf("%+v of %+v", got, c)
		}
		if !slices.Equal(got.Segments, c.Segments) {
			t.Errorf("%s is in %q, not %q", c.Email, got.Segments, c.Segments)
		}
		for _, topic := range a.Topics {
			choice, got := c.Choices[topic.ID], choices[c.Email+" "+topic.ID]
			if choice == "" {
				choice = topic.Default
			}
			if choice == "opt_out" && got != app.OptOut || choice == "opt_in" && topic.Default == "opt_out" && got != app.OptIn || choice == "opt_in" && topic.Default == "opt_in" && got != "" {
				t.Errorf("%s says %q of %s: %q", c.Email, choice, topic.Name, got)
			}
		}
	}
	if got := all[archive.Suppression](t, dir, archive.Suppressions); len(got) != len(a.Suppressions) {
		t.Errorf("%d suppressions of %d", len(got), len(a.Suppressions))
	}
}

// TestContactsBySegment: a service that follows the API document.
func TestContactsBySegment(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(20), ByQueryAlone: true}
		checkContacts(t, s.Account, read(t, options(s)))
	})
}

// TestInterruptedReadResumes interrupts a read at every request. The continued read makes the same
// archive.
func TestInterruptedReadResumes(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(8)}
		whole := text(t, read(t, options(s)))
		n := len(s.Requests())
		if n < 50 {
			t.Fatalf("%d requests", n)
		}
		cuts := make(chan int)
		var all sync.WaitGroup
		for range 8 { // the disk takes most of the time
			all.Go(func() {
				for cut := range cuts {
					if got := interruptAt(t, cut); got != whole {
						t.Errorf("cut at request %d: %s\nnot\n%s", cut, got, whole)
					}
				}
			})
		}
		for cut := 1; cut <= n; cut++ {
			cuts <- cut
		}
		close(cuts)
		all.Wait()
	})
}

// interruptAt interrupts a read at a request, continues it and returns the archive.
func interruptAt(t *testing.T, cut int) string {
	s := &resendtest.Server{Account: resendtest.Sample(8)}
	s.Before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n >= cut {
			resendtest.Refuse(w, 418, "teapot", "no more")
		}
		return n >= cut
	}
	dir := filepath.Join(t.TempDir(), "archive")
	w, err := archive.Create(dir)
	if err != nil {
		return err.Error()
	}
	if err := resend.Read(t.Context(), options(s), w, "", nil); remote.StatusOf(err) != 418 {
		return fmt.Sprint("it was not cut off: ", err)
	}
	w.Close()
	s.Before = nil
	w, cursor, err := archive.Resume(dir)
	if err != nil {
		return err.Error()
	}
	defer w.Close()
	if err := resend.Read(t.Context(), options(s), w, cursor, nil); err != nil {
		return err.Error()
	}
	finish(t, w)
	return text(t, dir)
}

// TestTemporaryFailuresAreRetried: each third request gets a 429, a 500 or no answer.
func TestTemporaryFailuresAreRetried(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(8)}
		whole := text(t, read(t, options(s)))
		s.Reset()
		s.Before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			switch {
			case n%3 != 0:
				return false
			case n%9 == 0:
				w.Header().Set("Retry-After", "1")
				resendtest.Refuse(w, 429, "rate_limit_exceeded", "Too many requests.")
			case n%9 == 3:
				resendtest.Refuse(w, 500, "application_error", "An unexpected error.")
			default:
				panic(http.ErrAbortHandler)
			}
			return true
		}
		if text(t, read(t, options(s))) != whole {
			t.Error("the archive differs")
		}
	})
}

// TestRateLimit: at most 10 requests in any second, and after a 429 none before the time it names.
func TestRateLimit(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(30), Rate: 10}
		s.Before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 20 {
				w.Header().Set("Retry-After", "17")
				resendtest.Refuse(w, 429, "rate_limit_exceeded", "Too many requests.")
			}
			return n == 20
		}
		read(t, options(s))
		requests := s.Requests()
		for i, r := range requests {
			if i >= 10 && r.At.Sub(requests[i-10].At) < time.Second {
				t.Errorf("requests %d to %d within %s", i-10, i, r.At.Sub(requests[i-10].At))
			}
			if r.Status == 429 && i != 19 {
				t.Errorf("request %d came too soon", i+1)
			}
		}
		if d := requests[20].At.Sub(requests[19].At); d != 17*time.Second {
			t.Errorf("%s after a 429", d)
		}
	})
}

// TestAnAccountWithoutTopicsAndProperties needs no request for each contact.
func TestAnAccountWithoutTopicsAndProperties(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(1000)}
		s.Account.Topics, s.Account.Properties = nil, nil
		dir := read(t, resend.Options{APIKey: resendtest.FullKey, Transport: s})
		if n := len(s.Requests()); n > 80 {
			t.Errorf("%d requests", n)
		}
		if n := len(all[archive.Choice](t, dir, archive.Choices)); n > 0 {
			t.Errorf("%d choices", n)
		}
	})
}

// TestOptOutDuringRead: after a page was read, a contact unsubscribes, another is suppressed, a
// new one opts out of news, and the contact before the next page is deleted.
func TestOptOutDuringRead(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(30)}
		a := &s.Account
		done := false
		s.Before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			if after := r.URL.Query().Get("after"); r.URL.Path == "/contacts" && after != "" && !done && !strings.Contains(r.URL.RawQuery, "segment") {
				done = true
				a.Contacts[0].Unsubscribed = true
				a.Suppressions = append([]resendtest.Suppression{{ID: "x", Email: a.Contacts[1].Email, Origin: "complaint", CreatedAt: resendtest.Stamp(time.Now())}}, a.Suppressions...)
				a.Contacts = slices.DeleteFunc(a.Contacts, func(c resendtest.Contact) bool { return c.ID == after })
				fresh := a.Contacts[0]
				fresh.ID, fresh.Email, fresh.CreatedAt, fresh.Segments = "new", "new@example.net", resendtest.Stamp(time.Now().Add(time.Second)), nil
				fresh.Choices = map[string]string{a.Topics[0].ID: "opt_out"}
				a.Contacts = append([]resendtest.Contact{fresh}, a.Contacts...)
			}
			return false
		}
		dir := read(t, options(s))
		if !done {
			t.Fatal("nothing changed")
		}
		before := s.Account
		before.Contacts = resendtest.Sample(30).Contacts // the deleted one was read before
		before.Contacts[0].Unsubscribed = true
		before.Contacts[2].Segments = nil // members are read later
		before.Contacts = append(before.Contacts, a.Contacts[0])
		checkContacts(t, before, dir)
	})
}

// TestItemsDeletedDuringRead: a deleted contact is left out unless it had unsubscribed; other
// deleted objects are left out.
func TestItemsDeletedDuringRead(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(8)}
		deleted := map[string]bool{}
		for _, path := range []string{"/templates/" + s.Account.Templates[0].ID, "/segments/" + s.Account.Segments[0].ID, "/segments/" + s.Account.Segments[0].ID + "/contacts",
			"/domains/" + s.Account.Domains[0].ID, "/webhooks/" + s.Account.Webhooks[0].ID, "/broadcasts/" + s.Account.Broadcasts[0].ID} {
			deleted[path] = true
		}
		for _, c := range s.Account.Contacts[3:5] { // the second one is unsubscribed
			deleted["/contacts/"+c.ID], deleted["/contacts/"+c.ID+"/topics"] = true, true
			s.Account.Contacts[4].Segments, s.Account.Contacts[3].Segments = nil, nil
		}
		s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if deleted[r.URL.Path] {
				resendtest.Refuse(w, 404, "not_found", "not found")
			}
			return deleted[r.URL.Path]
		}
		dir := read(t, options(s))
		contacts := all[archive.Contact](t, dir, archive.Contacts)
		has := func(n int) bool {
			return slices.ContainsFunc(contacts, func(c archive.Contact) bool { return c.ID == s.Account.Contacts[n].ID })
		}
		if has(3) || !has(4) || !has(5) {
			t.Errorf("%+v", contacts)
		}
		if n := len(all[archive.Template](t, dir, archive.Templates)); n != 4 {
			t.Errorf("%d templates", n)
		}
	})
}

// TestKeysWithoutReadAccess: each has its own message, and no error contains the key.
func TestKeysWithoutReadAccess(t *testing.T) {
	synctestRun(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(1)}
		for key, want := range map[string]string{
			resendtest.SendingKey: "key.txt: the API key may only send: make one with full access",
			"re_wrong_12345":      "key.txt: the API key was refused by Resend (403 Forbidden (validation_error): API key is invalid)",
			"":                    "key.txt: the API key was refused by Resend (401 Unauthorized (missing_api_key)",
		} {
			o := options(s)
			o.APIKey = key
			err := failure(t, o)
			if !strings.HasPrefix(err.Error(), want) || key != "" && strings.Contains(err.Error(), key) {
				t.Errorf("%q: %v", key, err)
			}
		}
		s.Before = func(int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		if err := failure(t, options(s)); err.Error() != "GET https://api.resend.com/contact-properties: no answer: connection reset by peer" {
			t.Error(err)
		}
	})
}

// TestHostileServices: each hostile answer ends in an error.
func TestHostileServices(t *testing.T) {
	page := func(first int, more bool) string {
		var data []any
		for i := range 3 {
			data = append(data, map[string]any{"id": fmt.Sprint(first + i), "key": "k", "email": "a@example.net"})
		}
		out, err := json.Marshal(map[string]any{"has_more": more, "data": data}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	n := 0
	for name, test := range map[string]struct {
		answer func() string
		want   string
	}{
		"pages without end":       {func() string { n += 3; return page(n, true) }, "does not end"},
		"the same page for ever":  {func() string { return page(1, true) }, "does not end"},
		"a ring of pages":         {func() string { n++; return page(100*(n%30), true) }, "does not end"},
		"no JSON":                 {func() string { return "<html>" }, "is this the URL of the API?"},
		"half an answer":          {func() string { return page(1, true)[:40] }, "is this the URL of the API?"},
		"another shape":           {func() string { return `{"data":{"id":"x"}}` }, "/data in the answer"},
		"items that are none":     {func() string { return `{"data":[1]}` }, "without an id"},
		"items without an id":     {func() string { return `{"data":[{"key":"x"}]}` }, "without an id"},
		"members of another kind": {func() string { return `{"data":[{"id":"x","key":{"a":1}}]}` }, `item "x" of /contact-properties: "/key"`},
		"an answer of any size":   {func() string { return strings.Repeat(" ", remote.MaxAnswer+1) }, "larger than 32 MiB"},
		"deeply nested":           {func() string { return `{"data":` + strings.Repeat("[", 1<<20) }, "is this the URL of the API?"},
		"an id that is a path":    {func() string { return `{"data":[{"id":"../../x","key":"k"}]}` }, "%2F..%2Fx"},
	} {
		t.Run(name, func(t *testing.T) {
			synctestRun(t, func(t *testing.T) {
				n = 0
				s := &resendtest.Server{Account: resendtest.Sample(1)}
				s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
					if strings.Count(r.URL.EscapedPath(), "/") > 1 {
						resendtest.Refuse(w, 418, r.URL.EscapedPath(), "")
						return true
					}
					_, _ = w.Write([]byte(test.answer()))
					return true
				}
				err := failure(t, options(s))
				if !strings.Contains(err.Error(), test.want) || len(err.Error()) > 600 {
					t.Error(err)
				}
			})
		})
	}
}

// TestKeyIsNotSentToOtherHosts: a redirect to another host is an error.
func TestKeyIsNotSentToOtherHosts(t *testing.T) {
	s := &resendtest.Server{Account: resendtest.Sample(1)}
	s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "https://evil.example.com/", http.StatusFound)
		return true
	}
	if err := failure(t, options(s)); !strings.Contains(err.Error(), "credentials are not sent") || len(s.Requests()) != 1 {
		t.Error(err, len(s.Requests()))
	}
}

// TestForeignCursorIsRefused: the cursor of another program.
func TestForeignCursorIsRefused(t *testing.T) {
	for _, cursor := range []string{"x", `{"stage":-1}`, `{"stage":99}`, `{"stage":1,"group":7}`} {
		w, err := archive.Create(filepath.Join(t.TempDir(), "archive"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		s := &resendtest.Server{Account: resendtest.Sample(1)}
		if err := resend.Read(t.Context(), options(s), w, cursor, nil); err == nil || !strings.Contains(err.Error(), "begin again") {
			t.Errorf("%s: %v", cursor, err)
		}
	}
}
