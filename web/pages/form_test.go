package pages

import (
	"maps"
	"strings"
	"testing"

	"mailer/app"
)

func TestFormChoices(t *testing.T) {
	weekly, offers := app.NewID(), app.NewID()
	upper := strings.ToUpper(weekly)
	for _, tt := range []struct {
		name, body string
		want       map[string]app.Subscription
	}{
		{"empty", "", map[string]app.Subscription{}},
		{"shown without a tick", "topic=" + weekly, map[string]app.Subscription{weekly: app.OptOut}},
		{"shown with a tick", "topic=" + weekly + "&" + weekly + "=opt_in", map[string]app.Subscription{weekly: app.OptIn}},
		{"tick before the list", weekly + "=opt_in&topic=" + weekly, map[string]app.Subscription{weekly: app.OptIn}},
		{"not on the form", weekly + "=opt_in", map[string]app.Subscription{weekly: app.OptIn}},
		{"said outright", weekly + "=opt_out&" + offers + "=opt_in", map[string]app.Subscription{weekly: app.OptOut, offers: app.OptIn}},
		{"hidden opt_out before the tick", weekly + "=opt_out&" + weekly + "=opt_in", map[string]app.Subscription{weekly: app.OptIn}},
		{"upper case", "topic=" + upper + "&" + upper + "=opt_in", map[string]app.Subscription{weekly: app.OptIn}},
		{"another value", weekly + "=yes&topic=" + offers + "&" + offers + "=", map[string]app.Subscription{offers: app.OptOut}},
		{"no ids", "topic=x&topic=&y=opt_in&List-Unsubscribe=One-Click", map[string]app.Subscription{}},
	} {
		got, err := formChoices([]byte(tt.body))
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestTeamMark(t *testing.T) {
	for team, want := range map[string]string{"acme": "A", "«élan»": "É", "木村": "木", "7up": "7", "": "", "★": ""} {
		if got := mark(team); got != want {
			t.Errorf("%q: %q, want %q", team, got, want)
		}
	}
}
