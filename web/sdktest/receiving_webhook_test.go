package sdktest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestWebhookOfReceivedEmailIsVerified: email.received is verified by the libraries svix and standardwebhooks, and by
// Resend's client. They refuse it with another body, secret or time.
func TestWebhookOfReceivedEmailIsVerified(t *testing.T) {
	part(t, "clients", shortForm)
	needNode(t)
	_, err := os.Stat("node_modules/svix/package.json")
	need(t, err == nil, "svix in node_modules: run `npm ci --ignore-scripts` in this folder")
	t.Parallel()
	w := newReceivingFixture(t, strict, "--webhook-allow", "127.0.0.0/8")
	c, _ := v3Client(t, w.in.url, w.key)
	hooks := newReceiver(t)
	status, b := client{w.in.url, w.key}.do(t, "POST", "/webhooks", map[string]any{"endpoint": hooks.URL, "events": []string{"email.received"}})
	var hook hookThing
	if must(t, json.Unmarshal(b, &hook)); status != 201 {
		t.Fatalf("%d %s", status, b)
	}
	message := "From: Ann Lee <ann@peer.test>\r\nTo: Support <support@in.example.test>, bob@other.test\r\nCc: carl@other.test\r\nSubject: =?utf-8?q?Lunch_=E2=82=AC?=\r\nMessage-ID: <lunch@peer.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
		"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nNoon — or one?\r\n\r\nOn Mon, 2 Mar 2026 at 10:00, Shop <a@example.test> wrote:\r\n> When?\r\n--b\r\nContent-Type: image/png; name=menu.png\r\nContent-ID: <menu@peer.test>\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n"
	must(t, w.deliver(message))
	r := hooks.wait(t, "email.received", 1)
	wantVerified(t, c, r, hook.SigningSecret, true)
	wantVerified(t, c, received{r.header, strings.Replace(r.body, "Lunch", "Dinner", 1)}, hook.SigningSecret, false)
	headers := map[string]string{}
	for name := range r.header {
		headers[strings.ToLower(name)] = r.header.Get(name)
	}
	request, err := json.Marshal(map[string]any{"body": r.body, "headers": headers, "secret": hook.SigningSecret})
	must(t, err)
	var got map[string]map[string]verdict
	runNode(t, w.in.url, w.key, "verify.mjs", map[string]string{"REQUEST": string(request)}).into(t, &got)
	for _, library := range []string{"svix", "standardwebhooks"} {
		said := got[library]
		if said["good"].Type != "email.received" || said["changed"].Refused == "" || said["foreign"].Refused == "" || said["late"].Refused == "" {
			t.Errorf("%s: %+v", library, said)
		}
	}
	var event struct {
		Type      string
		CreatedAt string `json:"created_at"`
		Data      struct {
			EmailID             string `json:"email_id"`
			From, Subject, Text string
			To, Cc              []string
			ReceivedFor         []string `json:"received_for"`
			MessageID           string   `json:"message_id"`
			ReplyText           string   `json:"reply_text"`
			Auth                map[string]any
			Size                int
			Attachments         []receivedFile
		}
	}
	must(t, json.Unmarshal([]byte(r.body), &event))
	d := event.Data
	if event.Type != "email.received" || event.CreatedAt == "" || d.From != "ann@peer.test" || d.Subject != "Lunch €" || d.MessageID != "<lunch@peer.test>" || len(d.To) != 2 || len(d.Cc) != 1 ||
		len(d.ReceivedFor) != 1 || d.ReceivedFor[0] != "support@in.example.test" || !strings.HasPrefix(d.Text, "Noon — or one?") || strings.TrimSpace(d.ReplyText) != "Noon — or one?" || d.Size != len(message) ||
		len(d.Attachments) != 1 || d.Attachments[0].Filename != "menu.png" || d.Auth["dmarc"] == nil {
		t.Errorf("the event %s", r.body)
	}
	var shown receivedThing
	client{w.in.url, w.key}.get(t, "/emails/receiving/"+d.EmailID, &shown)
	if shown.Subject != "Lunch €" {
		t.Errorf("the email of the event: %+v", shown)
	}
}
