package emails

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/shapes"
)

func TestErasedAddress(t *testing.T) {
	gone := app.Address{Local: app.Erased}
	item := newEmailItem(&app.Email{Mail: app.Mail{From: gone, To: []app.Address{{Local: "eve", Domain: "example.org"}, gone}, Cc: []app.Address{gone}}})
	if item.From != "[erased]" || len(item.To) != 2 || item.To[0] != "eve@example.org" || item.To[1] != "[erased]" || item.Cc[0] != "[erased]" {
		t.Errorf("%+v", item)
	}
}

func TestAbsentListsAreEmpty(t *testing.T) {
	var out strings.Builder
	if err := rest.Marshal(&out, newEmailRecord(&app.Email{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"to", "cc", "bcc", "reply_to", "tags", "attachments"} {
		if !strings.Contains(out.String(), `"`+want+`":[]`) {
			t.Errorf("%s: %s", want, out.String())
		}
	}
	if !strings.Contains(out.String(), `"headers":{}`) || !strings.Contains(out.String(), `"message_id":"<`) {
		t.Error(out.String())
	}
}

func TestRawMessageIsExact(t *testing.T) {
	for message, want := range map[string]string{
		"Subject: hi\r\n\r\nbad \xff byte\r\n": `{"object":"email_raw","id":"x","message":"Subject: hi\r\n\r\nbad \ufffd byte\r\n","raw_base64":"U3ViamVjdDogaGkNCg0KYmFkIP8gYnl0ZQ0K"}`,
		"Subject: grüße\r\n":                   `{"object":"email_raw","id":"x","message":"Subject: grüße\r\n","raw":"Subject: grüße\r\n"}`,
	} {
		var out strings.Builder
		if err := rest.Marshal(&out, rawOf("x", []byte(message))); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestEventDetail(t *testing.T) {
	at := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	for want, event := range map[string]app.Event{
		`{"id":"x","type":"sent","created_at":"2026-08-17T12:00:00.000Z","recipient":"a@example.org","detail":{"message":"taken","reply_code":250,"stage":"dot"}}`: {
			ID: "x", Type: "sent", Recipient: "a@example.org", CreatedAt: at, Detail: app.EventDetail{Message: "taken", ReplyCode: 250, Stage: app.StageDot}},
		`{"id":"y","type":"queued","created_at":"2026-08-17T12:00:00.000Z","detail":{"message":"accepted"}}`: {
			ID: "y", Type: "queued", CreatedAt: at, Detail: app.EventDetail{Message: "accepted"}},
	} {
		var out strings.Builder
		if err := rest.Marshal(&out, shapes.NewEventItem(&event)); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("%s, %v, want %s", out.String(), err, want)
		}
	}
}
