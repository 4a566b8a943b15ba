package sdktest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ask makes a request and wants a status and parts of the answer.
func (c client) ask(t *testing.T, method, path string, body any, status int, parts ...string) []byte {
	t.Helper()
	got, answer := c.do(t, method, path, body)
	if got != status {
		t.Errorf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	for _, part := range parts {
		if !strings.Contains(string(answer), part) {
			t.Errorf("%s %s: no %q in %s", method, path, part, answer)
		}
	}
	return answer
}

// TestOwnRoutes calls the routes that Resend's API does not have, so that their answers are
// compared with the document too.
func TestOwnRoutes(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	t.Run("emails", func(t *testing.T) { checkOwnEmails(t, in, api) })
	t.Run("contacts", func(t *testing.T) { checkOwnContacts(t, api) })
	t.Run("broadcasts", func(t *testing.T) { checkOwnBroadcasts(t, api) })
	t.Run("pages", func(t *testing.T) { checkOwnPages(t, api) })
	api.ask(t, "GET", "/healthz", nil, 200, `"ok"`)
	api.ask(t, "GET", "/readyz", nil, 200, `"ready"`)
	api.ask(t, "GET", "/deliverability", nil, 200, `"window_days":30`, `"guardrail_status":"ok"`)
	api.ask(t, "POST", "/ingest/ses", map[string]any{"Type": "Notification"}, 403, `"statusCode":403`)
}

func checkOwnEmails(t *testing.T, in *instance, api client) {
	mail := map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "captured", "html": "<p>hello</p>"}
	id := api.send(t, mail)
	api.waitLast(t, id, time.Minute, "sent")
	api.ask(t, "GET", "/emails/"+id+"/raw", nil, 200, "X-Mailer-Email-ID: "+id, "DKIM-Signature")
	eventually(t, time.Minute, "the email is scored", func() (bool, string) {
		status, b := api.do(t, "GET", "/emails/"+id+"/insights", nil)
		return status == 200 && strings.Contains(string(b), `"score_version":1`), string(b)
	})
	secret := regexp.MustCompile(`generic +\S+(/ingest/generic/[0-9a-f]{32})`).FindStringSubmatch(in.run(t, "ingest"))
	if secret == nil {
		t.Fatal("no address for the generic form")
	}
	api.ask(t, "POST", secret[1], map[string]any{"type": "delivered", "email_id": id, "recipient": "b@example.com"}, 200)
	api.waitLast(t, id, time.Minute, "delivered")
	checkOwnDownloads(t, api)
	later := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "s", "text": "t", "scheduled_at": "in 1 hour"})
	api.ask(t, "DELETE", "/emails/"+later, nil, 200, `"deleted":true`)
	api.ask(t, "GET", "/emails/"+later, nil, 404, "not_found")
}

func checkOwnDownloads(t *testing.T, api client) {
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "with a file", "text": "t",
		"attachments": []map[string]any{{"filename": "a.txt", "content": "aGVsbG8="}}})
	answer := api.ask(t, "GET", "/emails/"+id+"/attachments", nil, 200, `"size":5`)
	token := regexp.MustCompile(`/attachments/[\w-]{40,}`).Find(answer)
	if token == nil {
		t.Fatalf("no address to download from in %s", answer)
	}
	api.ask(t, "HEAD", string(token), nil, 200)
}

func checkOwnContacts(t *testing.T, api client) {
	item := func(email string) map[string]any { return map[string]any{"email": email} }
	api.ask(t, "POST", "/contacts/batch", []any{item("one@example.com"), item("two@example.com")}, 201, `"created":2`)
	var got struct {
		Data    []thing
		Missing []struct{ Index int }
	}
	answer := api.ask(t, "POST", "/contacts/batch/get", map[string]any{"contacts": []any{item("TWO@example.com"), item("three@example.com")}}, 200)
	nodeOutput(answer).into(t, &got)
	if len(got.Data) != 1 || got.Data[0].Email != "two@example.com" || len(got.Missing) != 1 || got.Missing[0].Index != 1 {
		t.Errorf("read %s", answer)
	}
	api.ask(t, "POST", "/contacts/batch/remove", map[string]any{"emails": []string{"one@example.com", "three@example.com"}}, 200, `"deleted":true`)
	api.ask(t, "GET", "/contacts/one@example.com", nil, 404, "not_found")

	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nemail\nfour@example.com\nno address\n\r\n--x--\r\n"
	r, err := http.NewRequest("POST", api.url+"/contacts/imports", strings.NewReader(form))
	must(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + api.key}, "Content-Type": {"multipart/form-data; boundary=x"}}
	res, err := plainHTTP.Do(r)
	must(t, err)
	defer res.Body.Close()
	var made thing
	must(t, json.NewDecoder(res.Body).Decode(&made))
	eventually(t, time.Minute, "the import's errors are listed", func() (bool, string) {
		status, b := api.do(t, "GET", "/contacts/imports/"+made.ID+"/errors", nil)
		return status == 200 && strings.Contains(string(b), `"line":3`), string(b)
	})
	api.ask(t, "DELETE", "/contacts/imports/"+made.ID, nil, 200, `"deleted":true`)
	api.ask(t, "GET", "/contacts/imports/"+made.ID, nil, 404, "not_found")
}

func checkOwnBroadcasts(t *testing.T, api client) {
	var made thing
	nodeOutput(api.ask(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "subject": "Hello {{{FIRST_NAME|there}}}", "html": "<p>x</p>"}, 201)).into(t, &made)
	api.ask(t, "POST", "/broadcasts/"+made.ID+"/test", map[string]any{"to": []string{"me@example.com"}}, 200)
	var list emailList
	eventually(t, time.Minute, "the trial is among the emails", func() (bool, string) {
		api.get(t, "/emails?limit=100", &list)
		for _, e := range list.Data {
			if len(e.To) == 1 && e.To[0] == "me@example.com" && strings.Contains(e.Subject, "Hello there") {
				return true, ""
			}
		}
		return false, "no trial"
	})
}

// checkOwnPages walks through the hosted pages as a reader of mail does.
func checkOwnPages(t *testing.T, api client) {
	var topic, contact thing
	nodeOutput(api.ask(t, "POST", "/topics", map[string]any{"name": "News", "default_subscription": "opt_in", "visibility": "public"}, 201)).into(t, &topic)
	nodeOutput(api.ask(t, "POST", "/contacts", map[string]any{"email": "reader@example.com"}, 201)).into(t, &contact)
	var link struct{ URL string }
	nodeOutput(api.ask(t, "POST", "/contacts/"+contact.ID+"/preferences-link", nil, 200, `"preferences_link"`)).into(t, &link)
	choice := func() string {
		var list things
		api.get(t, "/contacts/"+contact.ID+"/topics", &list)
		return list.Data[0].Subscription
	}
	visit := func(method, address string, form url.Values) string {
		t.Helper()
		r, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := plainHTTP.Do(r)
		must(t, err)
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		must(t, err)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s %s: %s %s", method, address, res.Status, page)
		}
		return string(page)
	}
	visit("HEAD", link.URL, nil)
	if page := visit("GET", link.URL, nil); !strings.Contains(page, topic.ID) || choice() != "opt_in" {
		t.Errorf("the page has no control for the topic, or changed it: %s", page)
	}
	visit("POST", link.URL, url.Values{topic.ID: {"opt_out"}})
	if got := choice(); got != "opt_out" {
		t.Errorf("after saving without the topic: %s", got)
	}
	visit("POST", link.URL, url.Values{topic.ID: {"opt_in"}})
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "reader@example.com", "subject": "s", "text": "t", "topic_id": topic.ID})
	api.waitLast(t, id, time.Minute, "sent")
	var raw struct{ Message string }
	nodeOutput(api.ask(t, "GET", "/emails/"+id+"/raw", nil, 200)).into(t, &raw)
	found := unsubscribeLink.FindStringSubmatch(raw.Message)
	if found == nil {
		t.Fatalf("no way out of %s", raw.Message)
	}
	out := strings.Join(strings.Fields(found[1]), "") // it may be folded
	visit("HEAD", out, nil)
	visit("GET", out, nil)
	if got := choice(); got != "opt_in" {
		t.Errorf("looking at the page made it %s", got)
	}
	visit("POST", out, url.Values{"List-Unsubscribe": {"One-Click"}})
	if got := choice(); got != "opt_out" {
		t.Errorf("after one click: %s", got)
	}
}

var unsubscribeLink = regexp.MustCompile(`(?m)^List-Unsubscribe: *\r?\n?\s*<(https?://[^>]+)>`)
