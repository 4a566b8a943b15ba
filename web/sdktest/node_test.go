package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// nodeTimeout bounds one script; the flow waits up to a minute for each send.
const nodeTimeout = 5 * time.Minute

func needNode(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("node")
	need(t, err == nil, "node")
	_, err = os.Stat("node_modules/resend/package.json")
	need(t, err == nil, "node_modules: run `npm ci --ignore-scripts` in this folder")
}

// nodeOutput is what a script printed.
type nodeOutput []byte

func (o nodeOutput) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(o, v); err != nil {
		t.Fatalf("the script's output: %v\n%s", err, o)
	}
}

// errors reads the output of errors.mjs.
func (o nodeOutput) errors(t *testing.T) map[string]apiError {
	t.Helper()
	var m map[string]apiError
	o.into(t, &m)
	return m
}

// runNode runs a script of node/ against the API at url.
func runNode(t *testing.T, url, key, name string, env map[string]string) nodeOutput {
	t.Helper()
	called := filepath.Join(t.TempDir(), "calls")
	all := []string{"RESEND_BASE_URL=" + url, "RESEND_API_KEY=" + key, "CALLS=" + called}
	for k, v := range env {
		all = append(all, k+"="+v)
	}
	out, err := runJS(t, all, filepath.Join("node", name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	noteScript(t, called)
	return out
}

func runJS(t *testing.T, env []string, args ...string) (nodeOutput, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(cleanEnv(t.TempDir()), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if errs.Len() > 0 {
		t.Logf("%v, standard error: %s", args, errs.String())
	}
	return out.Bytes(), err
}

// stubAPI refuses everything with its own error.
func stubAPI(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
		_ = json.NewEncoder(w).Encode(apiError{StatusCode: http.StatusTeapot, Name: "stub", Message: "a stub"})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// flowResult is the output of flow.mjs.
type flowResult struct {
	IDs         struct{ Full, Again, Small, Older string }
	Mismatch    apiError
	Emails      struct{ Full, Small, Older email }
	Attachments struct{ Data []attachment }
	Attachment  attachment
	Download    struct {
		Status int
		Bytes  []int
	}
	First, Rest emailList
}

type attachment struct {
	Object      string `json:"object"`
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	Size        int    `json:"size"`
	ContentType string `json:"content_type"`
	DownloadURL string `json:"download_url"`
}

type emailList struct {
	Object  string  `json:"object"`
	HasMore bool    `json:"has_more"`
	Data    []email `json:"data"`
}

func (l emailList) ids() []string {
	var out []string
	for _, e := range l.Data {
		out = append(out, e.ID)
	}
	return out
}

// everyByte is a file that no encoding but a binary-safe one brings through.
func everyByte() []byte {
	out := make([]byte, 300)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func asNumbers(b []byte) string {
	numbers := make([]int, len(b))
	for i, v := range b {
		numbers[i] = int(v)
	}
	s, _ := json.Marshal(numbers)
	return string(s)
}

func TestNodeClientFlow(t *testing.T) {
	part(t, "clients", shortForm)
	inBothModes(t, nodeClientFlow)
}

func nodeClientFlow(t *testing.T, mode compat) {
	needNode(t)
	needPythonDKIM(t)
	world := newFixture(t, &fixtureOptions{compat: mode})
	var got flowResult
	runNode(t, world.in.url, world.key, "flow.mjs", map[string]string{
		"FROM": "Shop <shop@example.test>", "BINARY": asNumbers(everyByte()),
		"SUBJECT_FULL": "Grüße from Node", "SUBJECT_SMALL": "small from Node", "SUBJECT_OLDER": "older from Node",
	}).into(t, &got)

	if got.IDs.Again != got.IDs.Full {
		t.Errorf("the same Idempotency-Key gave %s and then %s", got.IDs.Full, got.IDs.Again)
	}
	if got.Mismatch.StatusCode != 409 || got.Mismatch.Name != "invalid_idempotent_request" {
		t.Errorf("the same key with another body: %+v", got.Mismatch)
	}
	t.Run("read back", func(t *testing.T) { checkNodeReadBack(t, &got) })
	t.Run("attachments", func(t *testing.T) { checkNodeAttachments(t, &got) })
	t.Run("full", func(t *testing.T) {
		world.checkArrived(t, arrival{
			id: got.IDs.Full, subject: "Grüße from Node", from: "shop@example.test",
			envelope: []string{"ann@example.com", "bob@example.com", "carl@example.com", "dora@example.com"},
			header:   map[string]string{"X-Entity-Ref-ID": "ref-1", "To": "ann@example.com bob@example.com", "Cc": "carl@example.com", "Reply-To": "support@example.test"},
			html:     "<p>Grüße, <b>Ann</b></p>", text: "Grüße, Ann",
			files: map[string][]byte{"data.bin": everyByte(), "note.txt": everyByte()},
		})
	})
	t.Run("small", func(t *testing.T) {
		world.checkArrived(t, arrival{
			id: got.IDs.Small, subject: "small from Node", from: "shop@example.test",
			envelope: []string{"eve@example.com", "fred@example.com", "gina@example.com"},
			header:   map[string]string{"Reply-To": "one@example.test two@example.test"},
			text:     "only text",
		})
	})
	t.Run("older", func(t *testing.T) {
		world.checkArrived(t, arrival{
			id: got.IDs.Older, subject: "older from Node", from: "shop@example.test",
			envelope: []string{"hal@example.com"}, text: "older",
			files: map[string][]byte{"data.bin": everyByte()},
		})
	})
}

func checkNodeReadBack(t *testing.T, got *flowResult) {
	e := got.Emails.Full
	want := email{
		From: "Shop <shop@example.test>", To: []string{"Ann Example <ann@example.com>", "bob@example.com"},
		Cc: []string{"carl@example.com"}, Bcc: []string{"dora@example.com"}, ReplyTo: []string{"Support <support@example.test>"},
		Subject: "Grüße from Node", HTML: "<p>Grüße, <b>Ann</b></p>", Text: "Grüße, Ann", LastEvent: "sent",
	}
	if e.From != want.From || e.Subject != want.Subject || e.HTML != want.HTML || e.Text != want.Text || e.LastEvent != want.LastEvent ||
		!slices.Equal(e.To, want.To) || !slices.Equal(e.Cc, want.Cc) || !slices.Equal(e.Bcc, want.Bcc) || !slices.Equal(e.ReplyTo, want.ReplyTo) {
		t.Errorf("emails.get:\n got %+v\nwant %+v", e, want)
	}
	if len(e.Tags) != 1 || e.Tags[0].Name != "category" || e.Tags[0].Value != "welcome" {
		t.Errorf("tags %+v", e.Tags)
	}
	if s := got.Emails.Small; !slices.Equal(s.To, []string{"eve@example.com"}) || s.LastEvent != "sent" || len(s.ReplyTo) != 2 {
		t.Errorf("emails.get of the small one: %+v", s)
	}
	if !slices.Equal(got.First.ids(), []string{got.IDs.Older}) || !got.First.HasMore || got.First.Object != "list" {
		t.Errorf("emails.list, first page: %+v", got.First)
	}
	if !slices.Equal(got.Rest.ids(), []string{got.IDs.Small, got.IDs.Full}) || got.Rest.HasMore {
		t.Errorf("emails.list, the rest: %v, more %v; want the other two, newest first", got.Rest.ids(), got.Rest.HasMore)
	}
}

func checkNodeAttachments(t *testing.T, got *flowResult) {
	if n := len(got.Attachments.Data); n != 2 {
		t.Fatalf("%d attachments listed, want 2", n)
	}
	a := got.Attachment
	if a.Object != "attachment" || a.Filename != got.Attachments.Data[0].Filename || a.Size != 300 || a.ContentType == "" {
		t.Errorf("attachments.get: %+v", a)
	}
	if got.Download.Status != 200 || len(got.Download.Bytes) != 300 {
		t.Fatalf("download: status %d, %d bytes", got.Download.Status, len(got.Download.Bytes))
	}
	for i, b := range got.Download.Bytes {
		if b != i%256 {
			t.Fatalf("download: byte %d is %d", i, b)
		}
	}
}

func TestNodeClientErrors(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientErrors)
}

func nodeClientErrors(t *testing.T, mode compat) {
	needNode(t)
	world := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	world.in.addDomain(t, "other.test")
	got := runNode(t, world.in.url, world.key, "errors.mjs", map[string]string{
		"FROM": "a@example.test", "UNVERIFIED": "a@unverified.test", "WRONG_KEY": forgedKey(world.key),
		"RESTRICTED_KEY": world.in.newKey(t, "--permission", "sending_access"),
		"SCOPED_KEY":     world.in.newKey(t, "--permission", "sending_access", "--domain", "other.test"),
	}).errors(t)
	for name, want := range wantErrors {
		e := got[name]
		if e.StatusCode != want.StatusCode || e.Name != want.Name || e.Message == "" {
			t.Errorf("%s: got %+v, want %d %s", name, e, want.StatusCode, want.Name)
		}
	}
	if n := len(world.sink.messages()); n != 0 {
		t.Errorf("%d refused emails went out", n)
	}
}

// wantErrors is what the cases of errors.mjs are to give.
var wantErrors = map[string]apiError{
	"missing_key":           {StatusCode: 401, Name: "missing_api_key"},
	"wrong_key":             {StatusCode: 401, Name: "invalid_api_key"},
	"restricted_get":        {StatusCode: 403, Name: "restricted_api_key"},
	"restricted_list":       {StatusCode: 403, Name: "restricted_api_key"},
	"scoped_send":           {StatusCode: 403, Name: "restricted_api_key"},
	"unknown_field":         {StatusCode: 422, Name: "validation_error"},
	"unverified":            {StatusCode: 422, Name: "validation_error"},
	"no_content":            {StatusCode: 422, Name: "validation_error"},
	"no_recipient":          {StatusCode: 422, Name: "validation_error"},
	"attachment_path":       {StatusCode: 422, Name: "validation_error"},
	"not_found":             {StatusCode: 404, Name: "not_found"},
	"attachments_not_found": {StatusCode: 404, Name: "not_found"},
	"no_such_route":         {StatusCode: 404, Name: "not_found"},
}

// forgedKey is a key of the right form with a wrong secret.
func forgedKey(key string) string {
	last := byte('a')
	if key[len(key)-1] == last {
		last = 'b'
	}
	return key[:len(key)-1] + string(last)
}
