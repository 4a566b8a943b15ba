package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// recording is what a client sends that can't be installed here, recorded from runs of the client,
// and what it expects of the answers. The calls follow one another on one server.
type recording struct {
	Client  string
	Headers map[string]string
	Calls   []recordedCall
}

// recordedCall is a request and its expected result, in both modes or in each. {{name}} in path and
// body is the id that an earlier call saved.
type recordedCall struct {
	Call                 string
	Request              string // method and path
	Headers              map[string]string
	Body                 json.RawMessage // nil: none
	Save                 string          // name for the id of the answer
	Both, Strict, Resend *outcome
}

type outcome struct {
	Status  int
	Name    string         // of an error
	Message string         // part of an error's message
	Answer  any            // what the answer holds at least; "*" is any value but null; nil: anything
	Mail    *recordedEmail // the email that went to the relay
}

type recordedEmail struct {
	Envelope   []string
	Header     map[string]string // "": not there; "!x": another value than x
	Text, HTML string
	Files      map[string]string // content by file name
	Inline     map[string]string // content by Content-ID
}

func (c *recordedCall) in(mode compat) *outcome {
	switch {
	case c.Both != nil:
		return c.Both
	case mode == strict:
		return c.Strict
	}
	return c.Resend
}

func readRecordings(t *testing.T) map[string]recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "recorded", "*.json"))
	must(t, err)
	out := map[string]recording{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		var r recording
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range r.Calls {
			if c.in(strict) == nil || c.in(likeResend) == nil {
				t.Fatalf("%s: %s: nothing is said of what comes of it", file, c.Call)
			}
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return out
}

// TestRecordedRequests plays each recording against a server in
// each mode.
func TestRecordedRequests(t *testing.T) {
	part(t, "clients")
	recordings := readRecordings(t)
	if len(recordings) < 10 {
		t.Fatalf("only %d recordings", len(recordings))
	}
	inBothModes(t, func(t *testing.T, mode compat) {
		for name, r := range recordings {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				// Undocumented input is intended.
				p := player{fixture: newFixture(t, &fixtureOptions{direct: true, bare: true, compat: mode}), recording: r, ids: map[string]string{}}
				for _, call := range r.Calls {
					t.Run(call.Call, func(t *testing.T) { p.play(t, &call, call.in(mode)) })
				}
			})
		}
	})
}

// player plays a recording.
type player struct {
	*fixture
	recording
	ids map[string]string
}

func (p *player) play(t *testing.T, call *recordedCall, want *outcome) {
	status, header, answer := p.send(t, call)
	said := fmt.Sprintf("%s\n%s\nanswered %d %s", p.fill(call.Request), p.fill(string(call.Body)), status, answer)
	members := checkAnswerOfAnyClient(t, status, header, answer, said)
	if status != want.Status {
		t.Fatalf("%s, want %d", said, want.Status)
	}
	if name := fmt.Sprint(members["name"]); want.Name != "" && name != want.Name {
		t.Errorf("%s, want the name %s", said, want.Name)
	}
	if message := fmt.Sprint(members["message"]); !strings.Contains(message, want.Message) {
		t.Errorf("%s, want %q in the message", said, want.Message)
	}
	if want.Answer != nil {
		if problem := holds(p.filled(t, want.Answer), members); problem != "" {
			t.Errorf("%s: %s", said, problem)
		}
	}
	if call.Save != "" {
		p.ids[call.Save] = fmt.Sprint(members["id"])
	}
	if want.Mail != nil {
		p.checkRecordedEmail(t, fmt.Sprint(members["id"]), want.Mail)
	}
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

func (p *player) fill(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(mark string) string { return p.ids[strings.Trim(mark, "{}")] })
}

func (p *player) filled(t *testing.T, v any) (out any) {
	t.Helper()
	raw, err := json.Marshal(v)
	must(t, err)
	must(t, json.Unmarshal([]byte(p.fill(string(raw))), &out))
	return out
}

func (p *player) send(t *testing.T, call *recordedCall) (int, http.Header, []byte) {
	t.Helper()
	method, path, _ := strings.Cut(p.fill(call.Request), " ")
	var body io.Reader
	if call.Body != nil {
		body = strings.NewReader(p.fill(string(call.Body)))
	}
	r, err := http.NewRequest(method, p.fixture.in.url+path, body)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+p.key)
	for _, header := range []map[string]string{p.Headers, call.Headers} {
		for name, value := range header {
			r.Header.Set(name, value)
		}
	}
	res, err := plainHTTP.Do(r)
	must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, res.Header, answer
}

// checkAnswerOfAnyClient looks at what some client or other falls over: PHP and
// Python want the media type, Ruby an object and statusCode in errors alone, PHP
// `error` in what Resend has no name for.
func checkAnswerOfAnyClient(t *testing.T, status int, header http.Header, answer []byte, said string) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatalf("%s, which is no JSON object: %v", said, err)
	}
	if media := header.Get("Content-Type"); !strings.HasPrefix(media, "application/json") {
		t.Errorf("%s as %q", said, media)
	}
	if status < 400 {
		if members["statusCode"] != nil {
			t.Errorf("%s: a success with a statusCode", said)
		}
		return members
	}
	if members["statusCode"] != float64(status) || members["name"] == nil || members["message"] == nil {
		t.Errorf("%s: an error without statusCode, name or message", said)
	}
	if name := fmt.Sprint(members["name"]); slices.Contains(ownErrorNames, name) {
		if problem := holds(map[string]any{"name": name, "message": members["message"], "statusCode": float64(status)}, members["error"]); problem != "" {
			t.Errorf("%s: `error`: %s", said, problem)
		}
	}
	return members
}

// ownErrorNames are codes that Resend's API does not have.
var ownErrorNames = []string{"conflict", "forbidden", "all_recipients_suppressed", "sending_paused", "broadcasts_paused",
	"broadcast_too_large", "plan_limit_reached", "payload_too_large", "invalid_payload"}

// holds returns what of want is not in got; "" if nothing. Lists are compared by index.
func holds(want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		members, _ := got.(map[string]any)
		for name, v := range want {
			value, there := members[name]
			if !there {
				return "no member " + name
			}
			if problem := holds(v, value); problem != "" {
				return name + ": " + problem
			}
		}
		return ""
	case []any:
		items, _ := got.([]any)
		if len(items) != len(want) {
			return fmt.Sprintf("%d items, want %d", len(items), len(want))
		}
		for i := range want {
			if problem := holds(want[i], items[i]); problem != "" {
				return fmt.Sprintf("[%d]: %s", i, problem)
			}
		}
		return ""
	}
	if want == "*" && got != nil || want == got {
		return ""
	}
	return fmt.Sprintf("%v, want %v", got, want)
}

func (p *player) checkRecordedEmail(t *testing.T, id string, want *recordedEmail) {
	t.Helper()
	m := p.sink.wait(t, 1, time.Minute, func(m *message) bool { return m.header("X-Mailer-Email-ID") == id })[0]
	if want.Envelope != nil && !slices.Equal(sorted(m.To), sorted(want.Envelope)) {
		t.Errorf("envelope %v, want %v", m.To, want.Envelope)
	}
	for name, value := range want.Header {
		got := m.header(name)
		other, not := strings.CutPrefix(value, "!")
		if not && (got == other || got == "") || !not && normalAddresses(got) != normalAddresses(value) {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	parts := m.leaves(t)
	if text := content(parts, "text/plain"); want.Text != "" && text != want.Text {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if html := content(parts, "text/html"); want.HTML != "" && html != want.HTML {
		t.Errorf("HTML %q, want %q", html, want.HTML)
	}
	for name, text := range want.Files {
		if got := string(file(t, parts, name).body); got != text {
			t.Errorf("file %s: %q, want %q", name, got, text)
		}
	}
	for cid, text := range want.Inline {
		checkInline(t, &m, parts, cid, text)
	}
}

func checkInline(t *testing.T, m *message, parts []leaf, cid, text string) {
	t.Helper()
	there := slices.ContainsFunc(parts, func(p leaf) bool { return p.contentID == cid && string(p.body) == text })
	if !there || !bytes.Contains(m.Raw, []byte("multipart/related")) {
		t.Errorf("no part %s of multipart/related with %q:\n%s", cid, text, m.Raw)
	}
}

// normalAddresses normalizes a list of addresses, and returns other values unchanged.
func normalAddresses(s string) string {
	list, err := mail.ParseAddressList(s)
	if err != nil {
		return s
	}
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}
