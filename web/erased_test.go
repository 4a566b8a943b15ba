package web

import (
	"testing"

	"mailer/app"
)

func TestAnErasedAddressShowsAsErased(t *testing.T) {
	gone := app.Address{Local: app.Erased}
	item := newEmailItem(&app.Email{Mail: app.Mail{From: gone, To: []app.Address{{Local: "eve", Domain: "example.org"}, gone}, Cc: []app.Address{gone}}})
	if item.From != "[erased]" || len(item.To) != 2 || item.To[0] != "eve@example.org" || item.To[1] != "[erased]" || item.Cc[0] != "[erased]" {
		t.Errorf("%+v", item)
	}
}
