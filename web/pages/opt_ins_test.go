package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

// TestLookingAtOptInChangesNothing: scanners follow links, and some send forms without a button.
func TestLookingAtOptInChangesNothing(t *testing.T) {
	s := newSignUpServer(t)
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/opt-in/tok", "/opt-in/tok/refuse", "/opt-in/tok?opt-in-decision=confirm"} {
			w := s.ask(method, path, "opt-in-decision=confirm")
			s.want(w, 200)
			if w.Header().Get("X-Robots-Tag") != "noindex, nofollow" || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" || strings.Contains(w.Header().Get("Content-Security-Policy"), "script") {
				t.Errorf("%s %s: %v", method, path, w.Header())
			}
		}
	}
	for _, body := range []string{"", "first_name=Ann", "opt-in-decision=", "opt-in-decision=yes", "List-Unsubscribe=One-Click"} {
		s.want(s.ask("POST", "/opt-in/tok", body), 200, "Confirm your sign-up")
	}
	for _, path := range []string{"/opt-in/other", "/opt-in/other/refuse"} {
		for _, method := range []string{"GET", "POST"} {
			if path == "/opt-in/other" || method == "GET" {
				s.want(s.ask(method, path, "opt-in-decision=confirm"), 404, "Page not found")
			}
		}
	}
	if len(s.decided)+len(s.refused) != 0 {
		t.Errorf("%d decisions, %d refusals", len(s.decided), len(s.refused))
	}
}

func TestConfirm(t *testing.T) {
	s := newSignUpServer(t)
	w := s.ask("GET", "/opt-in/tok?language=en", "")
	s.want(w, 200, "<bdi>ann@example.org</bdi>", "Only what is on this page", `value="confirm"`, `action="tok?language=en"`, `href="tok/refuse?language=en"`)
	in := inputs(t, w.Body.Bytes())
	if in["first_name"]["value"] != "Ann" || in["age"]["value"] != "41" || strings.Contains(w.Body.String(), "Receive mail from") {
		t.Errorf("%s", w.Body)
	}
	s.want(s.ask("POST", "/opt-in/tok", "first_name=&age=42&other=x&topics[]="+offerID+"&opt-in-decision=confirm", "User-Agent: Test"), 200, "You are signed up")
	d := s.decided[0]
	if !maps.Equal(d.Values, map[string]string{"first_name": "", "age": "42"}) || !slices.Equal(d.Topics, []string{offerID}) || d.Again || d.UserAgent != "Test" || !d.Client.IsValid() ||
		!strings.Contains(d.Text, "ACME at ann@example.org") || !strings.HasSuffix(d.Text, "- News\n- Offers\n[Confirm sign-up]") {
		t.Errorf("%+v", d)
	}
	s.optIn.Unsubscribed = true
	s.want(s.ask("GET", "/opt-in/tok", ""), 200, "You are unsubscribed from all mailings", `value="again"`, "Receive mail from <bdi>ACME</bdi> again")
	s.want(s.ask("POST", "/opt-in/tok", "opt-in-decision=again"), 200)
	if d := s.decided[1]; !d.Again || !strings.HasSuffix(d.Text, "[Receive mail from ACME again]") || !strings.Contains(d.Text, "Confirming alone does not change this") {
		t.Errorf("%+v", d)
	}
	s.err = app.Invalid("first_name", "is s3cret")
	w = s.ask("POST", "/opt-in/tok", "first_name=www.example.com&age=&opt-in-decision=confirm")
	s.want(w, 422, "without web addresses", "fill in", `value="www.example.com"`)
	s.err = &app.Error{Code: app.CodePlanLimitReached, Message: "s3cret"}
	if w := s.ask("POST", "/opt-in/tok", "opt-in-decision=confirm"); w.Code != 503 || !strings.Contains(w.Body.String(), "Please try again later") || strings.Contains(w.Body.String(), "s3cret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.want(s.ask("POST", "/opt-in/tok", strings.Repeat("x", maxSignUp+1)), 413)
}

// TestOptInStates shows the pages of each state in the language of the mail.
func TestOptInStates(t *testing.T) {
	const redirect = "https://shop.example/welcome?a=1&b=2"
	for _, tt := range []struct {
		name   string
		path   string
		change func(*signUpServer)
		want   []string
		never  []string
	}{
		{"confirmed", "", func(s *signUpServer) { s.optIn.Status, s.optIn.RedirectURL = app.OptInConfirmed, redirect }, []string{"Sie sind angemeldet", `href="https://shop.example/welcome?a=1&amp;b=2" rel="noopener noreferrer nofollow">Weiter zu shop.example</a>`}, []string{"<form", "http-equiv"}},
		{"still unsubscribed", "", func(s *signUpServer) { s.optIn.Status, s.optIn.Unsubscribed = app.OptInConfirmed, true }, []string{"weiterhin alle Mailings", `value="again"`, `action="tok"`}, []string{`value="confirm"`}},
		{"again", "", func(s *signUpServer) { s.optIn.Status, s.optIn.Again = app.OptInConfirmed, true }, []string{"Sie erhalten wieder E-Mails von"}, []string{"<form"}},
		{"blocked", "", func(s *signUpServer) { s.optIn.Status, s.optIn.Suppressed = app.OptInConfirmed, true }, []string{"zurzeit gesperrt"}, []string{"<form"}},
		{"expired", "", func(s *signUpServer) { s.optIn.Status = app.OptInExpired }, []string{"Dieser Link ist abgelaufen"}, []string{"<form", "<a "}},
		{"refused", "", func(s *signUpServer) { s.optIn.Status = app.OptInRefused }, []string{"Sie sind nicht angemeldet"}, []string{"<form", "<a "}},
		{"refuse", "/refuse", func(*signUpServer) {}, []string{"Waren Sie das nicht?", `<button type="submit">Das war ich nicht`, `href="../tok">Zurück`, "<form method=\"post\">"}, nil},
		{"refuse when expired", "/refuse", func(s *signUpServer) { s.optIn.Status = app.OptInExpired }, []string{"Waren Sie das nicht?"}, []string{"<a "}},
		{"refuse when confirmed", "/refuse", func(s *signUpServer) { s.optIn.Status, s.optIn.Unsubscribed = app.OptInConfirmed, true }, []string{"Sie sind angemeldet", `action="../tok"`}, []string{"Das war ich nicht"}},
		{"refuse when refused", "/refuse", func(s *signUpServer) { s.optIn.Status = app.OptInRefused }, []string{"Sie sind nicht angemeldet"}, []string{"<form"}},
	} {
		s := newSignUpServer(t)
		s.optIn.Language = "de"
		tt.change(s)
		w := s.ask("GET", "/opt-in/tok"+tt.path, "", "Accept-Language: fr")
		if s.want(w, 200, append(tt.want, `lang="de"`)...); w.Body.Len() > maxPage {
			t.Errorf("%s: %d bytes", tt.name, w.Body.Len())
		}
		for _, part := range tt.never {
			if strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: %q in %s", tt.name, part, w.Body)
			}
		}
	}
}

func TestRefuse(t *testing.T) {
	s := newSignUpServer(t)
	s.want(s.ask("POST", "/opt-in/tok/refuse", "", "User-Agent: Test"), 200, "You are not signed up", "ann@example.org")
	if len(s.refused) != 1 || s.refused[0] != (app.Visitor{IP: "192.0.2.1", UserAgent: "Test"}) {
		t.Errorf("%+v", s.refused)
	}
}
