package pages

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/web/rest"
)

const (
	formID  = "019e0000-0000-7000-8000-0000000000f1"
	newsID  = "019e0000-0000-7000-8000-0000000000a1"
	offerID = "019e0000-0000-7000-8000-0000000000a2"
	hostile = "\"><script>alert(1)</script>\u202e{team}'"
)

// fakeSignUps has one form and one opt-in.
type fakeSignUps struct {
	form      signup.FormView
	optIn     signup.OptInView
	answer    signup.Submitted
	err       error // of Submit and Confirm
	submitted []*signup.Submission
	decided   []*signup.Decision
	refused   []app.Visitor
}

func (f *fakeSignUps) FormPage(_ context.Context, host, id string) (*signup.FormView, error) {
	if id != f.form.Form.ID || host != "pages.test" {
		return nil, app.NotFound("form")
	}
	return &f.form, nil
}

func (f *fakeSignUps) NewChallenge(context.Context, string, string) (signup.Challenge, error) {
	return signup.Challenge{Token: "tok", Bits: 18, Expires: testNow.Add(10 * time.Minute)}, f.err
}

func (f *fakeSignUps) Submit(_ context.Context, _ string, in *signup.Submission) (*signup.Submitted, error) {
	f.submitted = append(f.submitted, in)
	return &f.answer, f.err
}

func (f *fakeSignUps) OptInPage(_ context.Context, _, token string) (*signup.OptInView, error) {
	if token != "tok" {
		return nil, app.NotFound("page")
	}
	return &f.optIn, nil
}

func (f *fakeSignUps) Confirm(_ context.Context, _, _ string, d *signup.Decision) (*signup.OptInView, error) {
	f.decided = append(f.decided, d)
	done := f.optIn
	done.Status = app.OptInConfirmed
	return &done, f.err
}

func (f *fakeSignUps) Refuse(_ context.Context, _, _ string, by app.Visitor) (*signup.OptInView, error) {
	f.refused = append(f.refused, by)
	done := f.optIn
	done.Status = app.OptInRefused
	return &done, f.err
}

var testNow = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// signUpServer is a server with the pages of sign-up only.
type signUpServer struct {
	*fakeSignUps
	t       *testing.T
	handler http.Handler
}

func newSignUpServer(t *testing.T) *signUpServer {
	topics := []signup.FormTopic{{ID: newsID, Name: "News", Description: "Each Monday", Preselected: true}, {ID: offerID, Name: "Offers"}}
	fields := []signup.FormField{{Name: "first_name", Label: "First name"}, {Name: "age", Label: "Age", Number: true, Required: true}}
	f := &fakeSignUps{
		form: signup.FormView{Team: "ACME", Opened: "open", Topics: topics, Fields: fields, Form: app.Form{ID: formID,
			FormDefinition: app.FormDefinition{Confirm: app.DoubleOptIn, AllowedOrigins: []string{"https://shop.example", "http://localhost:8080"}}}},
		optIn: signup.OptInView{Team: "ACME", Email: "ann@example.org", Status: app.OptInPending, Topics: topics,
			Fields: []signup.FilledField{{FormField: fields[0], Value: "Ann"}, {FormField: fields[1], Value: "41"}}},
	}
	return &signUpServer{f, t, handlerOf(f)}
}

// handlerOf serves the pages of sign-up only.
func handlerOf(service SignUps) http.Handler {
	h := rest.New(rest.Config{Log: slog.New(slog.DiscardHandler), Limits: rest.DefaultLimits(), Now: func() time.Time { return testNow }})
	registerForms(h, service, newPages(h, nil))
	return h
}

// ask sends a request; headers are lines.
func (s *signUpServer) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://pages.test"+path, strings.NewReader(body))
	for _, line := range append([]string{"Content-Type: application/x-www-form-urlencoded"}, headers...) {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func (s *signUpServer) want(w *httptest.ResponseRecorder, status int, parts ...string) {
	s.t.Helper()
	if w.Code != status {
		s.t.Errorf("%d, want %d: %s", w.Code, status, w.Body)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			s.t.Errorf("no %q in %s", part, w.Body)
		}
	}
}

// nodes returns the elements of a page by their name.
func nodes(t *testing.T, page []byte) map[string][]*html.Node {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]*html.Node{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			out[n.Data] = append(out[n.Data], n)
		}
	}
	return out
}

func attrs(n *html.Node) map[string]string {
	out := map[string]string{}
	for _, a := range n.Attr {
		out[a.Key] = a.Val
	}
	return out
}

// inputs returns the attributes of the inputs of a page by name and value, and checks that each can be
// seen has a label, and that descriptions are there.
func inputs(t *testing.T, page []byte) map[string]map[string]string {
	t.Helper()
	all := nodes(t, page)
	ids, labels := map[string]bool{}, map[string]bool{}
	for _, list := range all {
		for _, n := range list {
			id := attrs(n)["id"]
			if id != "" && ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
	}
	for _, n := range all["label"] {
		labels[attrs(n)["for"]] = textOf(n) != ""
	}
	out := map[string]map[string]string{}
	for _, n := range all["input"] {
		a := attrs(n)
		if a["type"] != "hidden" && !labels[a["id"]] {
			t.Errorf("no label: %v", a)
		}
		if by := a["aria-describedby"]; by != "" && !ids[by] {
			t.Errorf("no description %s", by)
		}
		name := a["name"]
		if name == topicsInput {
			name += a["value"]
		}
		out[name] = a
	}
	return out
}

func TestFormPage(t *testing.T) {
	s := newSignUpServer(t)
	w := s.ask("GET", "/f/"+formID, "")
	s.want(w, 200, "Sign up for mail from <bdi>ACME</bdi>", "What would you like to receive?", "(optional)", `autocomplete="given-name"`)
	in := inputs(t, w.Body.Bytes())
	if e := in["email"]; e["type"] != "email" || e["autocomplete"] != "email" {
		t.Errorf("email: %v", e)
	}
	if _, required := in["age"]["required"]; !required || in["age"]["inputmode"] != "decimal" {
		t.Errorf("age: %v", in["age"])
	}
	_, news := in["topics[]"+newsID]["checked"]
	_, offers := in["topics[]"+offerID]["checked"]
	if trap := in[trapInput]; in["form-opened"]["value"] != "open" || !news || offers || in["topics[]"] == nil || trap["tabindex"] != "-1" || trap["autocomplete"] != "off" {
		t.Errorf("topics and trap: %v", in)
	}
	script := nodes(t, w.Body.Bytes())["script"]
	if len(script) != 1 || attrs(script[0])["src"] != formID+".js" || len(nodes(t, w.Body.Bytes())["fieldset"]) != 1 {
		t.Errorf("scripts: %v", script)
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "worker-src 'self'", "form-action 'self'", "frame-ancestors 'self'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %s", policy)
		}
	}
	if strings.Contains(policy, "unsafe") || w.Header().Get("X-Robots-Tag") != "" || strings.Contains(w.Body.String(), "noindex") ||
		w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("headers: %v", w.Header())
	}
	if w := s.ask("HEAD", "/f/"+formID, ""); w.Code != 200 || len(s.submitted) > 0 {
		t.Errorf("HEAD: %d, %d submissions", w.Code, len(s.submitted))
	}
	for _, path := range []string{"/f/x", "/f/x.js", "/f/" + newsID, "/f/" + newsID + ".js", "/f/" + newsID + "/challenge"} {
		s.want(s.ask("GET", path, ""), 404)
	}
}

// TestFormPageIsSmall fills a form with the longest values, in all languages.
func TestFormPageIsSmall(t *testing.T) {
	s := newSignUpServer(t)
	s.form.Topics, s.form.Fields, s.form.Team = nil, nil, strings.Repeat("株", 60)
	for range app.MaxFormTopics {
		s.form.Topics = append(s.form.Topics, signup.FormTopic{ID: newsID, Name: strings.Repeat("日", 50), Description: strings.Repeat("本", 200)})
	}
	for i := range app.MaxFormFields {
		s.form.Fields = append(s.form.Fields, signup.FormField{Name: strings.Repeat("x", 49) + string(rune('0'+i)), Label: strings.Repeat("語", 50)})
	}
	for _, lang := range app.Languages {
		w := s.ask("GET", "/f/"+formID+"?language="+lang, "")
		if s.want(w, 200, `<html lang="`+lang+`"`); w.Body.Len() > maxPage {
			t.Errorf("%s: %d bytes", lang, w.Body.Len())
		}
	}
}

func TestFormLanguage(t *testing.T) {
	s := newSignUpServer(t)
	for _, tt := range []struct{ form, query, header, want string }{
		{"", "", "de-AT,en;q=0.5", "de"}, {"", "?language=fr", "de", "fr"}, {"ja", "?language=fr", "de", "ja"}, {"", "?language=", "xx", "en"},
	} {
		s.form.Form.Language = tt.form
		s.want(s.ask("GET", "/f/"+formID+tt.query, "", "Accept-Language: "+tt.header), 200, `lang="`+tt.want+`"`)
		s.want(s.ask("POST", "/f/"+formID+tt.query, "email=a@example.org", "Accept-Language: "+tt.header), 200, `lang="`+tt.want+`"`)
		if in := s.submitted[len(s.submitted)-1]; in.Language != tt.want {
			t.Errorf("%+v: submitted in %s", tt, in.Language)
		}
	}
}

func TestSubmission(t *testing.T) {
	const asJSON = "Content-Type: application/json; charset=utf-8"
	none := map[string]string{"first_name": "", "age": ""}
	for name, tt := range map[string]struct {
		body, header string
		want         signup.Submission
	}{
		"plain":              {"email=+a%40example.org+&first_name=Ann&age=4&topics[]=&topics[]=" + offerID + "&other=x", "", signup.Submission{Email: "a@example.org", Values: map[string]string{"first_name": "Ann", "age": "4"}, Topics: []string{offerID}, AnyTopics: true}},
		"no topics shown":    {"email=a@example.org", "", signup.Submission{Email: "a@example.org", Values: none}},
		"none chosen":        {"email=a@example.org&topics[]=", "", signup.Submission{Email: "a@example.org", Values: none, AnyTopics: true}},
		"foreign topic":      {"email=a@example.org&topics[]=" + formID, "", signup.Submission{Email: "a@example.org", Values: none, AnyTopics: true}},
		"tokens":             {"email=a&proof=p.1&form-button=b&website-url=spam&form-opened=o", "", signup.Submission{Email: "a", Values: none, Proof: "p.1", Button: "b", Trap: "spam", Opened: "o"}},
		"empty":              {"", "", signup.Submission{Values: none}},
		"not UTF-8, and NUL": {"email=%ff&first_name=a%00b", "", signup.Submission{Email: "\ufffd", Values: map[string]string{"first_name": "ab", "age": ""}}},
		"JSON":               {`{"email":"a@example.org","age":4.5,"first_name":null,"topics":["` + newsID + `"],"proof":"p.1"}`, asJSON, signup.Submission{Email: "a@example.org", Values: map[string]string{"first_name": "", "age": "4.5"}, Topics: []string{newsID}, AnyTopics: true, Proof: "p.1"}},
		"JSON, none chosen":  {`{"email":"a","topics":[]}`, asJSON, signup.Submission{Email: "a", Values: none, AnyTopics: true}},
	} {
		s := newSignUpServer(t)
		s.want(s.ask("POST", "/f/"+formID, tt.body, tt.header, "User-Agent: Test\xff"+strings.Repeat("x", 600)), 200)
		if len(s.submitted) != 1 {
			t.Fatalf("%s: %d submissions", name, len(s.submitted))
		}
		got := *s.submitted[0]
		if got.FormID != formID || got.Language != "en" || got.Client.String() != "192.0.2.1" || !strings.HasPrefix(got.UserAgent, "Testxxx") || len(got.UserAgent) > maxUserAgent ||
			!strings.Contains(got.Text, "Sign up for mail from ACME") || !strings.Contains(got.Text, "\n- News\n- Offers\n") || !strings.HasSuffix(got.Text, "[Sign up]") {
			t.Errorf("%s: %+v", name, got)
		}
		tt.want.FormID, tt.want.Language, tt.want.Text, tt.want.Client, tt.want.UserAgent = got.FormID, got.Language, got.Text, got.Client, got.UserAgent
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, tt.want)
		}
	}
	s := newSignUpServer(t)
	for _, tt := range []struct {
		path, body, header string
		status             int
	}{
		{"/f/" + formID, "email=%zz", "", 400}, {"/f/" + formID, `[]`, asJSON, 400}, {"/f/" + formID, `{"email":{}}`, asJSON, 400}, {"/f/" + formID, `{"topics":[[]]}`, asJSON, 400},
		{"/f/" + formID, strings.Repeat("x", maxSignUp+1), "", 413}, {"/f/nothing", "email=a", "", 404}, {"/f/" + newsID, "email=a", "", 404},
	} {
		if w := s.ask("POST", tt.path, tt.body, tt.header); w.Code != tt.status || (w.Header().Get("Content-Type") == "application/json") != (tt.header != "") {
			t.Errorf("%s %.20s: %d %v", tt.path, tt.body, w.Code, w.Header())
		}
	}
	if len(s.submitted) != 0 {
		t.Error("an unreadable body was submitted")
	}
}

func TestSubmitAnswers(t *testing.T) {
	s := newSignUpServer(t)
	const body, asJSON = "email=a@example.org&first_name=%22%3E%3Cb%3E&age=4&topics[]=&topics[]=" + offerID, "Content-Type: application/json"
	w := s.ask("POST", "/f/"+formID, body)
	s.want(w, 200, "Check your inbox", "If you asked before, look for that mail")
	if len(nodes(t, w.Body.Bytes())["form"]) != 0 || strings.Contains(w.Body.String(), "example.org") {
		t.Errorf("the page after a submission: %s", w.Body)
	}
	s.want(s.ask("POST", "/f/"+formID, "{}", asJSON), 200, `"status":"received","title":"Check your inbox"`)
	s.answer.Single = true
	s.want(s.ask("POST", "/f/"+formID, body), 200, "Your sign-up has been received")
	s.answer = signup.Submitted{Button: "b\"t"}
	w = s.ask("POST", "/f/"+formID, body)
	s.want(w, 200, "One more step", "appears after five seconds", `class="wait"`, `value="`+offerID)
	in := inputs(t, w.Body.Bytes())
	if in["form-button"]["value"] != "b\"t" || in["first_name"]["value"] != `"><b>` || in["email"]["value"] != "a@example.org" || in["topics[]"] == nil || len(nodes(t, w.Body.Bytes())["script"]) != 0 {
		t.Errorf("the page with a button: %v", in)
	}
	s.want(s.ask("POST", "/f/"+formID, "{}", asJSON), 200, `"status":"button"`, `"button":{"token":"b\"t","label":"Finish sign-up","after_seconds":5}`)
	s.err = &app.Error{Code: app.CodeServiceUnavailable, Message: "s3cret"}
	for _, header := range []string{"", asJSON} {
		if w := s.ask("POST", "/f/"+formID, "{}", header); w.Code != 503 || w.Header().Get("Retry-After") != "60" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	}
}

func TestSubmitErrors(t *testing.T) {
	const asJSON = "Content-Type: application/json"
	for name, tt := range map[string]struct {
		refused, body string
		want          map[string]string
	}{
		"address":       {"email", "email=nobody&age=4", map[string]string{"email": "like name@example.com"}},
		"missing":       {"age", "email=a@example.org", map[string]string{"age": "fill in"}},
		"both":          {"email", "email=&first_name=Ann", map[string]string{"email": "like name@example.com", "age": "fill in"}},
		"no number":     {"properties.age", "email=a@example.org&age=old", map[string]string{"age": "enter a number"}},
		"bad value":     {"first_name", "email=a@example.org&age=4&first_name=www.example.com", map[string]string{"first_name": "without web addresses"}},
		"of no control": {"form", "email=a@example.org&age=4", map[string]string{}},
	} {
		s := newSignUpServer(t)
		s.err = app.Invalid(tt.refused, "is s3cret")
		w := s.ask("POST", "/f/"+formID, tt.body+"&form-opened=before&topics[]=&topics[]="+offerID)
		s.want(w, 422, `role="alert"`, "Please check what you entered")
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s: the page shows the text of the error", name)
		}
		faults, focused := map[string]string{}, 0
		in, all := inputs(t, w.Body.Bytes()), nodes(t, w.Body.Bytes())
		for field, a := range in {
			if a["aria-invalid"] == "true" {
				for _, p := range all["p"] {
					if attrs(p)["id"] == a["aria-describedby"] {
						faults[field] = textOf(p)
					}
				}
			}
			if _, ok := a["autofocus"]; ok {
				focused++
			}
		}
		if len(faults) != len(tt.want) || focused != min(1, len(tt.want)) {
			t.Errorf("%s: %v, %d with focus", name, faults, focused)
		}
		for field, part := range tt.want {
			if !strings.Contains(faults[field], part) {
				t.Errorf("%s: %s says %q", name, field, faults[field])
			}
		}
		_, news := in["topics[]"+newsID]["checked"]
		_, offers := in["topics[]"+offerID]["checked"]
		if in["form-opened"]["value"] != "before" || news || !offers || strings.Contains(tt.body, "Ann") && in["first_name"]["value"] != "Ann" {
			t.Errorf("%s: what was entered is lost: %v", name, in)
		}
		s.want(s.ask("POST", "/f/"+formID, "{}", asJSON), 422, `"errors":[{"field":"`)
	}
	s := newSignUpServer(t)
	s.err = app.Invalid("email", "is no address")
	s.want(s.ask("POST", "/f/"+formID, "email=x"), 422, `value="`+newsID+`" checked`) // a pasted form without topics
}

func TestFormNamesAreEscaped(t *testing.T) {
	s := newSignUpServer(t)
	s.form.Team, s.form.Topics[0].Name, s.form.Topics[0].Description = hostile, hostile, hostile
	s.form.Fields[0].Label, s.optIn.Team, s.optIn.Email, s.optIn.Fields[0].Value, s.optIn.Fields[0].Label = hostile, hostile, hostile, hostile, hostile
	s.optIn.RedirectURL, s.optIn.Unsubscribed = "https://shop.example/\"><script>", true
	typed := "email=" + strings.ReplaceAll(hostile, "\"", "%22") + "&first_name=%22><script>"
	for name, w := range map[string]*httptest.ResponseRecorder{
		"form": s.ask("GET", "/f/"+formID, ""), "submitted": s.ask("POST", "/f/"+formID, typed),
		"confirm": s.ask("GET", "/opt-in/tok?language=de%22><script>", ""), "confirmed": s.ask("POST", "/opt-in/tok", "opt-in-decision=again"),
		"refuse": s.ask("GET", "/opt-in/tok/refuse", ""), "refused": s.ask("POST", "/opt-in/tok/refuse", ""),
		"snippet": {Code: 200, Body: bytes.NewBufferString((&FormSnippet{URL: hostile, Topics: s.form.Topics, Fields: s.form.Fields}).HTML())},
	} {
		all := nodes(t, w.Body.Bytes())
		for _, n := range all["script"] {
			if attrs(n)["src"] != formID+".js" || textOf(n) != "" {
				t.Errorf("%s: a script came through: %s", name, w.Body)
			}
		}
		if w.Code != 200 || name != "submitted" && !strings.Contains(w.Body.String(), "{team}") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		for _, n := range all["bdi"] {
			if strings.Contains(textOf(n), "\u202e") {
				t.Errorf("%s: a name turns the text around it", name)
			}
		}
	}
	s.answer.Button, s.err = "b", nil
	if w := s.ask("POST", "/f/"+formID, typed); len(nodes(t, w.Body.Bytes())["script"]) != 0 {
		t.Errorf("%s", w.Body)
	}
	s.err = app.Invalid("email", "is bad")
	w := s.ask("POST", "/f/"+formID, typed)
	if len(nodes(t, w.Body.Bytes())["script"]) != 1 || inputs(t, w.Body.Bytes())["first_name"]["value"] != "\"><script>" {
		t.Errorf("%s", w.Body)
	}
}

func TestFormCORS(t *testing.T) {
	s := newSignUpServer(t)
	for origin, allowed := range map[string]bool{
		"https://shop.example": true, "http://localhost:8080": true, "": false, "null": false, "https://shop.example.evil.example": false, "http://shop.example": false,
		"https://www.shop.example": false, "https://shop.example:8443": false, "https://SHOP.example": false, "*": false, "https://shop.example, https://evil.example": false,
	} {
		for _, ask := range [][3]string{{"POST", "", `{"email":"a@example.org"}`}, {"OPTIONS", "", ""}, {"GET", "/challenge", ""}, {"OPTIONS", "/challenge", ""}} {
			w := s.ask(ask[0], "/f/"+formID+ask[1], ask[2], "Content-Type: application/json", "Origin: "+origin, "Access-Control-Request-Method: POST")
			head, want := w.Header(), ""
			if allowed {
				want = origin
			}
			if w.Code != 200 || head.Get("Access-Control-Allow-Origin") != want || head.Get("Access-Control-Allow-Credentials") != "" || !slices.Contains(head["Vary"], "Origin") || head.Get("Cache-Control") != "no-store" {
				t.Errorf("%s%s from %q: %d %v", ask[0], ask[1], origin, w.Code, head)
			}
			if methods := head.Get("Access-Control-Allow-Methods"); (methods == "GET, POST") != (allowed && ask[0] == "OPTIONS") {
				t.Errorf("%s from %q: methods %q", ask[0], origin, methods)
			}
		}
		s.want(s.ask("POST", "/f/"+formID, "email=a@example.org", "Origin: "+origin, "Sec-Fetch-Site: cross-site"), 200, "Check your inbox")
	}
	s.err = app.Invalid("email", "is bad")
	if w := s.ask("POST", "/f/"+formID, "{}", "Content-Type: application/json", "Origin: https://shop.example"); w.Code != 422 || w.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a script can't read why: %d %v", w.Code, w.Header())
	}
}

func TestChallengeAndScript(t *testing.T) {
	s := newSignUpServer(t)
	w := s.ask("GET", "/f/"+formID+"/challenge?language=de", "")
	s.want(w, 200, `{"object":"challenge","token":"tok","bits":18,"expires_in":600,"working":"Einen Moment`)
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v", w.Header())
	}
	w = s.ask("GET", "/f/"+formID+".js", "")
	s.want(w, 200, "compress")
	const most = 6 << 10
	if w.Body.Len() > most || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.HasPrefix(w.Header().Get("Cache-Control"), "public") {
		t.Errorf("%d bytes, %v", w.Body.Len(), w.Header())
	}
	for _, word := range []string{"eval(", "Function(", "innerHTML", ".style=", "`", "\n ", "//"} {
		if strings.Contains(w.Body.String(), word) {
			t.Errorf("the script has %q", word)
		}
	}
	tag := w.Header().Get("ETag")
	for header, status := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		if w := s.ask("GET", "/f/"+formID+".js", "", "If-None-Match: "+header); w.Code != status || w.Header().Get("ETag") != tag || status == 304 && w.Body.Len() > 0 {
			t.Errorf("%s: %d %v", header, w.Code, w.Header())
		}
	}
}

func TestSnippet(t *testing.T) {
	s := newSignUpServer(t)
	f := FormSnippet{URL: "https://pages.test/f/" + formID, Language: "de", Topics: s.form.Topics, Fields: s.form.Fields}
	all := nodes(t, []byte(f.HTML()))
	names := map[string]bool{}
	for _, n := range all["input"] {
		names[attrs(n)["name"]] = true
	}
	want := map[string]bool{"email": true, "first_name": true, "age": true, topicsInput: true, trapInput: true}
	if !maps.Equal(names, want) || attrs(all["form"][0])["action"] != f.URL || attrs(all["form"][0])["method"] != "post" || len(all["script"]) != 0 || textOf(all["button"][0]) != "Anmelden" {
		t.Errorf("%s", f.HTML())
	}
	f.Script = true
	if scripts := nodes(t, []byte(f.HTML()))["script"]; len(scripts) != 1 || attrs(scripts[0])["src"] != f.URL+".js" {
		t.Errorf("%s", f.HTML())
	}
	if strings.Contains(f.HTML(), "style") {
		t.Error("the snippet needs a policy that allows inline styles")
	}
}
