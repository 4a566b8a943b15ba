package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app/moving/resend/resendtest"
	"mailer/app/testing/apptest"
)

// served serves a stand-in on loopback and counts its requests.
func served(t *testing.T, stand http.Handler) (url string, asked func() int) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stand.ServeHTTP(w, r)
		n.Add(1)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int { return int(n.Load()) }
}

// secret writes a file with one word.
func secret(t *testing.T, dir, word string) string {
	t.Helper()
	path := filepath.Join(dir, "secret")
	must(t, os.WriteFile(path, []byte(word+"\n"), 0o600))
	return path
}

// listmonkSource has everybody enabled first, and the same addresses once more at the end:
// blocklisted, disabled, bounced, complained, and off a public list.
func listmonkSource(t *testing.T, dir string) importSource {
	t.Helper()
	l := &apptest.Listmonk{Version: 5, User: "importer", Token: "gQ3VKCNWjlbXRiBgZT8wIoKBRgN48gB6",
		Lists: []apptest.LMList{{ID: 1, Name: "News", Type: "public", Optin: "single"}, {ID: 2, Name: "Customers", Type: "private", Optin: "single"}}}
	add := func(n int, status, news string) {
		l.Subscribers = append(l.Subscribers, apptest.LMSubscriber{ID: len(l.Subscribers) + 1, Email: personAddress(n), Name: "N L", Status: status, Attribs: `{"city":"Riga"}`,
			Lists: []apptest.LMMember{{List: 1, Status: news}, {List: 2, Status: "confirmed"}}})
	}
	for n := range peopleCount() {
		add(n, "enabled", "confirmed")
	}
	for n := range 20 {
		add(n, []string{"blocklisted", "disabled"}[n%2], "confirmed")
		l.Bounces = append(l.Bounces, apptest.LMBounce{ID: n + 1, Type: []string{"hard", "complaint"}[n%2], Email: personAddress(20 + n)})
		add(60+n, "enabled", "unsubscribed")
	}
	url, asked := served(t, l)
	return importSource{args: []string{"listmonk", "--url", url, "--user", l.User, "--token-file", secret(t, dir, l.Token)}, asked: asked,
		barred: personAddresses(0, 40), gets: personAddresses(40, 60), left: map[string][]string{"News": personAddresses(60, 80)}}
}

// resendSource: topic choices need a request per contact, so the short form has few.
func resendSource(t *testing.T, dir string) importSource {
	t.Helper()
	a := resendtest.Account{Key: resendtest.FullKey, Sending: resendtest.SendingKey}
	stamp := resendtest.Stamp(time.Date(2025, 11, 30, 20, 39, 59, 0, time.UTC))
	id := func(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", 5, n) }
	a.Topics = []resendtest.Topic{{ID: id(1 << 20), Name: "News", Default: "opt_in", Visibility: "public", CreatedAt: stamp}}
	few := 2
	if *importKills > 0 {
		few = 20
	}
	add := func(n int, unsubscribed bool, news string) {
		c := resendtest.Contact{ID: id(len(a.Contacts) + 1), Email: personAddress(n), CreatedAt: stamp, Unsubscribed: unsubscribed}
		if news != "" {
			c.Choices = map[string]string{a.Topics[0].ID: news}
		}
		a.Contacts = append(a.Contacts, c)
	}
	for n := range 4 * few {
		add(n, false, "opt_in")
	}
	for n := range few {
		add(n, true, "opt_in")
		a.Suppressions = append(a.Suppressions, resendtest.Suppression{ID: id(1<<21 + n), Email: personAddress(few + n), Origin: []string{"bounce", "complaint", "manual"}[n%3], CreatedAt: stamp})
		add(2*few+n, false, "opt_out")
	}
	url, asked := served(t, &resendtest.Server{Account: a})
	return importSource{args: []string{"resend", "--base-url", url, "--api-key-file", secret(t, dir, a.Key)}, asked: asked,
		barred: personAddresses(0, 2*few), gets: personAddresses(3*few, 4*few), left: map[string][]string{"News": personAddresses(2*few, 3*few)}}
}

// mailerSources returns another Mailer's export and its database. In the directory, the first rows
// of people without consent say the opposite.
func mailerSources(t *testing.T) (dir, database importSource) {
	t.Helper()
	from := startBare(t, "--rate-limit", "0")
	api := client{from.url, from.newKey(t)}
	put := func(path string, body any) string {
		t.Helper()
		status, b := api.do(t, http.MethodPost, path, body)
		if status/100 != 2 {
			t.Fatalf("POST %s: %d %s", path, status, b)
		}
		var made struct{ ID string }
		must(t, json.Unmarshal(b, &made))
		return made.ID
	}
	topic := put("/topics", map[string]any{"name": "News", "default_subscription": "opt_in"})
	for at := 0; at < peopleCount(); at += 400 {
		var batch []map[string]any
		for n := at; n < min(peopleCount(), at+400); n++ {
			c := map[string]any{"email": personAddress(n), "first_name": "N"}
			if c["unsubscribed"] = n < 10; n >= 60 && n < 80 {
				c["topics"] = []map[string]any{{"id": topic, "subscription": "opt_out"}}
			}
			batch = append(batch, c)
		}
		put("/contacts/batch", batch)
	}
	for i, origin := range []string{"bounce", "complaint", "manual"} {
		put("/suppressions/batch/add", map[string]any{"emails": personAddresses(10+10*i, 20+10*i), "origin": origin})
	}
	path := filepath.Join(from.dir, "export")
	from.run(t, "export", path)
	from.stop(t)
	file := filepath.Join(path, "contacts.json")
	text, err := os.ReadFile(file)
	must(t, err)
	var first bytes.Buffer
	first.WriteString("[\n")
	for _, email := range personAddresses(0, 40) {
		fmt.Fprintf(&first, "{\"email\":%q},\n", email)
	}
	first.Write(bytes.TrimPrefix(text, []byte("[\n")))
	must(t, os.WriteFile(file, first.Bytes(), 0o600))
	e := importSource{barred: personAddresses(0, 40), gets: personAddresses(40, 60), left: map[string][]string{"News": personAddresses(60, 80)}}
	dir, database = e, e
	dir.args, database.args = []string{"mailer", path}, []string{"mailer", from.db}
	return dir, database
}
