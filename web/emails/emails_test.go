package emails

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/web/rest"
)

func TestAnErasedAddressShowsAsErased(t *testing.T) {
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
