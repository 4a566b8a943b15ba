package sdktest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// TestEmailActions searches mail, reads why some of it was not sent, retries it, sends it again and
// shares it, next to a team that has the same mail.
func TestEmailActions(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	relay := newSink(t, sinkOptions{password: "hush-hush"})
	relay.set(behaviour{rcpt: func(to string) error {
		if strings.HasPrefix(to, "later") {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 2, 1}, Message: "mailbox busy, come again"}
		}
		return nil
	}})
	in := start(t, "--relay", fmt.Sprintf("smtp://me:hush-hush@%s?tls=off&timeout=5s", relay.addr), "--rate-limit", "0")
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "example.test", "--trust", "--team", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	mail := func(c client, to string) string {
		return c.send(t, map[string]any{"from": "Shop <a@example.test>", "to": to, "subject": "Order 7", "html": "<p>hello <script>alert(1)</script></p>",
			"tags":        []map[string]string{{"name": "kind", "value": "order"}},
			"attachments": []map[string]any{{"filename": "a.txt", "content": "aGVsbG8="}}})
	}
	taken, put, theirs := mail(api, "Ann@example.com"), mail(api, "later@example.com"), mail(other, "Ann@example.com")
	api.waitLast(t, taken, time.Minute, "sent")
	api.waitEvent(t, put, time.Minute, "deferred")
	t.Run("search", func(t *testing.T) { checkSearch(t, api, taken, put) })
	t.Run("attempts", func(t *testing.T) { checkAttempts(t, api, taken, put) })
	t.Run("resend", func(t *testing.T) { checkResend(t, relay, api, taken, put) })
	t.Run("share", func(t *testing.T) { checkShare(t, api, taken) })
	for _, path := range []string{"/attempts", "/retry", "/resend", "/share", "/preview"} {
		method := "POST"
		if path == "/attempts" {
			method = "GET"
		}
		api.ask(t, method, "/emails/"+theirs+path, nil, 404, "not_found")
	}
}

func checkSearch(t *testing.T, api client, taken, put string) {
	for query, want := range map[string][]string{
		"to=ANN@example.com": {taken}, "to=ann@": {taken}, "to=later*": {put}, "to=@example.com": {put, taken}, "to=@ample.com": {},
		"from=a@example.test&subject=order": {put, taken}, "from=b": {}, "domain=example.test&tag=kind:order": {put, taken}, "tag=kind:other": {}, "status=sent": {taken},
		"source=api": {put, taken}, "source=cli": {}, "created_after=2020-01-01T00:00:00Z": {put, taken}, "created_before=2020-01-01T00:00:00Z": {},
		"to=ann@example.com&after=" + taken: {},
	} {
		var got struct {
			Data       []struct{ ID string }
			HasMore    bool    `json:"has_more"`
			SearchedTo *string `json:"searched_to"`
		}
		api.get(t, "/emails?"+query, &got)
		ids := []string{}
		for _, e := range got.Data {
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, want) || got.HasMore || got.SearchedTo != nil {
			t.Errorf("%s: %+v, want %v", query, got, want)
		}
	}
	api.ask(t, "GET", "/emails?limit=1&subject=order", nil, 200, `"has_more":true`, `"searched_to":"`+put+`"`)
	for _, query := range []string{"to=a*b", "to=@", "status=gone", "source=post", "key_id=x", "created_after=yesterday", "tag=:x", "domain=-", "broadcast_id=1"} {
		name, _, _ := strings.Cut(query, "=")
		api.ask(t, "GET", "/emails?"+query, nil, 422, "validation_error", "`"+name+"`")
	}
	api.ask(t, "GET", "/emails?broadcast_id="+someID, nil, 404, "not_found")
}

func checkAttempts(t *testing.T, api client, taken, put string) {
	type attempt struct {
		Outcome, Reply, Relay string
		DurationMs            int64 `json:"duration_ms"`
		Conversation          *string
	}
	var sent, deferred struct{ Data []attempt }
	api.get(t, "/emails/"+taken+"/attempts", &sent)
	if len(sent.Data) != 1 || sent.Data[0].Outcome != "sent" || sent.Data[0].Conversation != nil || sent.Data[0].DurationMs < 1 || !strings.HasPrefix(sent.Data[0].Reply, "250 ") {
		t.Errorf("of what the relay took: %+v", sent.Data)
	}
	api.get(t, "/emails/"+put+"/attempts", &deferred)
	if len(deferred.Data) == 0 || deferred.Data[0].Outcome != "deferred" || deferred.Data[0].Conversation == nil {
		t.Fatalf("of what it put off: %+v", deferred.Data)
	}
	talk := *deferred.Data[0].Conversation
	for _, words := range []string{"> MAIL FROM:<", "< 250 ", "> RCPT TO:<later@example.com>", "< 451 4.2.1 mailbox busy, come again", "sign-in left out"} {
		if !strings.Contains(talk, words) {
			t.Errorf("%q is not in the conversation:\n%s", words, talk)
		}
	}
	for _, words := range []string{"hush-hush", "AUTH", "hello"} {
		if strings.Contains(talk, words) {
			t.Errorf("%q is in the conversation:\n%s", words, talk)
		}
	}
}

func checkResend(t *testing.T, relay *sink, api client, taken, put string) {
	api.ask(t, "POST", "/emails/"+taken+"/retry", nil, 409, "conflict", "not queued")
	api.ask(t, "POST", "/emails/"+put+"/retry", nil, 200, put)
	var ids []string
	for range 2 { // one request, repeated
		status, body, err := api.try("POST", "/emails/"+taken+"/resend", map[string]any{"to": []string{"bob@example.com"}}, "Idempotency-Key", "once-more")
		must(t, err)
		var answer struct{ ID string }
		nodeOutput(body).into(t, &answer)
		if ids = append(ids, answer.ID); status != 200 || answer.ID == taken || answer.ID != ids[0] {
			t.Fatalf("resend: %d %s", status, body)
		}
	}
	api.waitLast(t, ids[0], time.Minute, "sent")
	var again struct{ Data []struct{ ID string } }
	api.get(t, "/emails?source=resend", &again)
	if len(again.Data) != 1 || again.Data[0].ID != ids[0] {
		t.Errorf("sent again: %+v", again)
	}
	api.ask(t, "GET", "/emails/"+ids[0]+"/events", nil, 200, `"type":"resent"`, `"original_id":"`+taken+`"`)
	seen := map[string]int{}
	for _, m := range relay.messages() {
		for _, id := range []string{taken, ids[0]} {
			if strings.Contains(string(m.Raw), "Message-ID: <"+id+"@") {
				seen[id]++
				if !strings.Contains(string(m.Raw), "aGVsbG8=") || (id == ids[0]) != slices.Contains(m.To, "bob@example.com") {
					t.Errorf("%s went to %v:\n%s", id, m.To, m.Raw)
				}
			}
		}
	}
	if seen[taken] != 1 || seen[ids[0]] != 1 {
		t.Errorf("on the wire: %v", seen)
	}
}

func checkShare(t *testing.T, api client, taken string) {
	api.ask(t, "POST", "/emails/"+taken+"/share", map[string]any{"expires_in": "3 days"}, 422, "`expires_in`")
	var shared struct{ ID, URL string }
	nodeOutput(api.ask(t, "POST", "/emails/"+taken+"/share", map[string]any{"expires_in": "2 hours"}, 200)).into(t, &shared)
	link, err := url.Parse(shared.URL)
	must(t, err)
	show := func(path string) (int, http.Header, string) {
		res, err := plainHTTP.Get(api.url + path)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, res.Header, string(body)
	}
	status, head, page := show(link.Path)
	if status != 200 || !strings.Contains(page, "Order 7") || !strings.Contains(page, `<iframe sandbox=""`) || strings.Contains(page, "<script") || head.Get("Referrer-Policy") != "no-referrer" ||
		head.Get("Cache-Control") != "no-store" || !strings.Contains(head.Get("X-Robots-Tag"), "noindex") || !strings.Contains(head.Get("Content-Security-Policy"), "frame-src 'self'") {
		t.Errorf("page: %d %v %s", status, head, page)
	}
	status, head, body := show(link.Path + "/body")
	if status != 200 || !strings.Contains(body, "<p>hello") || !strings.HasPrefix(head.Get("Content-Security-Policy"), "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'") {
		t.Errorf("body: %d %v %s", status, head, body)
	}
	checked, err := http.Head(api.url + link.Path)
	must(t, err)
	checked.Body.Close()
	if checked.StatusCode != 200 {
		t.Errorf("HEAD of a link: %s", checked.Status)
	}
	wrong := otherMessage(link.Path)
	_, _, missing := show(wrong)
	for _, path := range []string{wrong, wrong + "/body", "/shared/x"} {
		if status, _, page := show(path); status != 404 || page != missing || strings.Contains(page, "hello") {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	var preview struct{ URL string }
	nodeOutput(api.ask(t, "POST", "/emails/"+taken+"/preview", map[string]any{"images": true}, 200, `"remote_images":0`)).into(t, &preview)
	frame, err := url.Parse(preview.URL)
	must(t, err)
	if status, head, body := show(frame.Path); status != 200 || !strings.Contains(body, "<p>hello") || !strings.HasPrefix(head.Get("Content-Security-Policy"), "sandbox; default-src 'none'; img-src data: https: http:;") {
		t.Errorf("preview: %d %v %s", status, head, body)
	}
	api.ask(t, "DELETE", "/emails/"+taken, nil, 200)
	if status, _, page := show(frame.Path); status != 404 || strings.Contains(page, "hello") {
		t.Errorf("preview of a deleted email: %d %s", status, page)
	}
	if status, _, page := show(link.Path); status != 404 || page != missing {
		t.Errorf("of a deleted email: %d %s", status, page)
	}
}
