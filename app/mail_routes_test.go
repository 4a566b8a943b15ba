package app_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestRoutesMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		match, recipient string
		want             bool
	}{
		{"support@example.com", "support@example.com", true},
		{"Support@EXAMPLE.com", "sUPPORT@example.COM", true},
		{"support@example.com", "support+x@example.com", false},
		{"support@example.com", "support@sub.example.com", false},
		{"support@example.com", "xsupport@example.com", false},
		{"info@bücher.example", "INFO@xn--bcher-kva.example", true},
		{"*@bücher.example", "ann@xn--bcher-kva.example", true},
		{"*@example.com", "ann+news@example.com", true},
		{"*@example.com", "ann@sub.example.com", false},
		{"*@example.com", "ann@notexample.com", false},
		{"+news", "ann+news@example.com", true},
		{"+News", "ann+NEWS@other.example", true},
		{"+news", "ann+news+x@example.com", false},
		{"+news+x", "ann+news+x@example.com", true},
		{"+news", "ann+newsx@example.com", false},
		{"+news", "news@example.com", false},
		{"+news@example.com", "+news@example.com", true},
		{"+news@example.com", "ann+news@example.com", false},
	} {
		in := app.MailRouteInput{Match: tt.match, Actions: []app.RouteAction{{Type: app.RouteDrop}}}
		r, err := in.Validate()
		if err != nil {
			t.Fatalf("%s: %v", tt.match, err)
		}
		if got := r.Matches(app.KeyOf(tt.recipient)); got != tt.want {
			t.Errorf("%s for %s: %v", tt.match, tt.recipient, got)
		}
	}
}

func TestFirstMatchingRouteDecides(t *testing.T) {
	t.Parallel()
	routes := []app.MailRoute{{ID: "a", Match: "ann@example.com"}, {ID: "b", Match: "+x"}, {ID: "c", Match: "*@example.com"}}
	for recipient, want := range map[string]string{"ann@example.com": "a", "ann+x@example.com": "b", "bob@example.com": "c", "bob@example.net": ""} {
		got := ""
		if r := app.RouteFor(routes, app.KeyOf(recipient)); r != nil {
			got = r.ID
		}
		if got != want {
			t.Errorf("%s: %q", recipient, got)
		}
	}
}

func TestRoutesAreChecked(t *testing.T) {
	t.Parallel()
	webhook, drop := app.RouteAction{Type: app.RouteWebhook}, app.RouteAction{Type: app.RouteDrop}
	to := func(address string) app.RouteAction { return app.RouteAction{Type: app.RouteForward, To: address} }
	reply := func(id string) app.RouteAction { return app.RouteAction{Type: app.RouteReply, TemplateID: id} }
	id := app.NewID()
	many := make([]app.RouteAction, app.MaxRouteActions+1)
	for i := range many {
		many[i] = webhook
	}
	for want, in := range map[string]app.MailRouteInput{
		"`match` is required":                   {Actions: []app.RouteAction{drop}},
		"`match` must name a tag":               {Match: "+", Actions: []app.RouteAction{drop}},
		"`match` names a tag with":              {Match: "+a b", Actions: []app.RouteAction{drop}},
		"`match` has a domain":                  {Match: "*@exa_mple", Actions: []app.RouteAction{drop}},
		"`match` must be an address":            {Match: "ann", Actions: []app.RouteAction{drop}},
		"`actions` is required":                 {Match: "+a"},
		"`actions` must hold":                   {Match: "+a", Actions: []app.RouteAction{}},
		"`actions` must hold 1 to 10":           {Match: "+a", Actions: many},
		"`actions[1].type` drop must be":        {Match: "+a", Actions: []app.RouteAction{webhook, drop}},
		"`actions[0].type` must be":             {Match: "+a", Actions: []app.RouteAction{{Type: "store"}}},
		"`actions[0].to` is not a valid":        {Match: "+a", Actions: []app.RouteAction{to("ann")}},
		"`actions[0].to` belongs":               {Match: "+a", Actions: []app.RouteAction{{Type: app.RouteWebhook, To: "a@b.example"}}},
		"`actions[0].template_id` belongs":      {Match: "+a", Actions: []app.RouteAction{{Type: app.RouteDrop, TemplateID: id}}},
		"`actions[0].template_id` must be":      {Match: "+a", Actions: []app.RouteAction{reply("x")}},
		"`actions[1]` is there twice":           {Match: "+a", Actions: []app.RouteAction{to("a@b.example"), to("A@B.example")}},
		"`actions[1]` is there twice, of reply": {Match: "+a", Actions: []app.RouteAction{reply(id), reply(app.NewID())}},
		"`actions[0].to` is the address whose":  {Match: "A@b.example", Actions: []app.RouteAction{to("a@B.example")}},
	} {
		_, err := in.Validate()
		text := "no error"
		if err != nil {
			text = strings.TrimPrefix(err.Error(), "validation_error: ")
		}
		want, _, _ := strings.Cut(want, ", of ")
		if app.CodeOf(err) != app.CodeValidation || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", want, text)
		}
	}
}

// TestRefusalsInARowPause: a relay accepts mail before the server of the address refuses it.
func TestRefusalsInARowPause(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		results []app.LastEvent // one a minute, unless hours is set
		hours   bool
		want    app.ForwardStatus
	}{
		"five refusals":                      {[]app.LastEvent{"bounced", "failed", "complained", "bounced", "bounced"}, false, app.ForwardPaused},
		"four refusals":                      {[]app.LastEvent{"bounced", "bounced", "bounced", "bounced"}, false, app.ForwardAgreed},
		"accepted, and refused by report":    {[]app.LastEvent{"sent", "bounced", "sent", "bounced", "sent", "bounced", "sent", "bounced", "sent", "bounced"}, false, app.ForwardPaused},
		"delivered between":                  {[]app.LastEvent{"bounced", "bounced", "bounced", "bounced", "delivered", "bounced"}, false, app.ForwardAgreed},
		"accepted for hours between":         {[]app.LastEvent{"bounced", "bounced", "bounced", "bounced", "sent", "sent", "bounced"}, true, app.ForwardAgreed},
		"two accepted, of which one refused": {[]app.LastEvent{"bounced", "bounced", "bounced", "bounced", "sent", "sent", "bounced"}, false, app.ForwardPaused},
	} {
		a := app.ForwardAddress{AgreedAt: begin}
		for i, result := range tt.results {
			step := time.Minute
			if tt.hours {
				step = time.Hour
			}
			a = a.Note(result, begin.Add(time.Duration(i)*step))
		}
		if got := a.Status(); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
