package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/mail"
	"mailer/web/emails"
	"mailer/web/rest"
)

// keeping is a service that keeps all that is sent.
type keeping struct {
	*fakeService
	kept []*app.EmailInput
}

func (k *keeping) SendEmail(_ context.Context, _ *app.Key, in *app.EmailInput, _ mail.SendOptions) (string, error) {
	k.kept = append(k.kept, in)
	return emailID, nil
}

func (k *keeping) SendBatch(_ context.Context, _ *app.Key, items []mail.BatchItem, _ bool, _ mail.SendOptions) (*mail.BatchResult, error) {
	for _, item := range items {
		k.kept = append(k.kept, item.Input)
	}
	return &mail.BatchResult{}, nil
}

// fullSend is a send with all that a body can hold, of one letter and always as long.
func fullSend(letter string) string {
	s := strings.Repeat(letter, 12)
	return fmt.Sprintf(`{"from":"%[1]s@a.test","to":["%[1]s@b.test"],"cc":"%[1]s@c.test","bcc":["%[1]s@d.test"],"reply_to":"%[1]s@e.test","subject":"%[1]s",`+
		`"html":"<p>%[1]s</p>","text":"\"%[1]s\"","headers":{"X-%[1]s":"%[1]s"},"tags":[{"name":"%[1]s","value":"%[1]s"}],"scheduled_at":"%[1]s","topic_id":"%[1]s",`+
		`"attachments":[{"filename":"%[1]s","content":"%[1]s","content_type":"%[1]s"},{"filename":"%[1]s","content":{"type":"Buffer","data":[%[2]d,%[2]d]}}],`+
		`"template":{"id":"%[1]s","variables":{"%[1]s":"%[1]s"}}}`, s, letter[0])
}

func TestNothingOfABodyIsKeptWhoseRoomServesAgain(t *testing.T) {
	k := &keeping{fakeService: &fakeService{}}
	b := newBench(t, func(c *Config, _ *rest.Limits) { c.RateLimit = 1 << 30 })
	b.behind(servicesOf(k))
	h := b.handler
	post := func(path, body string) {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+fullToken)
		h.ServeHTTP(&discard{http.Header{}}, r)
	}
	for i := range 26 {
		send := fullSend(string(rune('a' + i)))
		for _, request := range [][2]string{{"/emails", send}, {"/emails/batch", "[" + send + "]"}} {
			post(request[0], request[1])
			post(request[0], strings.Repeat("z", len(request[1]))) // over it, where the room serves again
		}
	}
	if len(k.kept) != 52 {
		t.Fatalf("%d sends", len(k.kept))
	}
	for i, kept := range k.kept {
		var request emails.SendEmailRequest
		if err := rest.DecodeBody([]byte(fullSend(string(rune('a'+i/2)))), &request); err != nil {
			t.Fatal(err)
		}
		if want := request.Input(); !reflect.DeepEqual(kept, want) {
			t.Fatalf("kept %+v, want %+v", kept, want)
		}
	}
}
