package sdktest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// tree is a message that a program makes, with its recipients.
type tree struct {
	Raw []byte
	To  []string
	id  string // after it was sent
}

// makeTrees has Python's email package make messages.
func makeTrees(t *testing.T, n int, seed string) (trees []*tree) {
	t.Helper()
	out, err := exec.Command(python, "testdata/trees.py", "make", strconv.Itoa(n), seed).Output()
	must(t, err)
	for line := range bytes.Lines(out) {
		made := &tree{}
		must(t, json.Unmarshal(line, made))
		trees = append(trees, made)
	}
	return trees
}

func (tr *tree) header() []byte { return tr.Raw[:bytes.Index(tr.Raw, []byte("\r\n\r\n"))+2] }

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// staysHere are the headers that do not leave, in lower case.
var staysHere = []string{"bcc", "return-path", "x-mailer-tag"}

// leaves returns the expected message at the relay: its header without own headers, and its body,
// byte for byte.
func (tr *tree) leaves() []byte {
	var out []byte
	header := tr.header()
	drop := false
	for line := range bytes.Lines(header) {
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := strings.Cut(string(line), ":")
			drop = slices.Contains(staysHere, strings.ToLower(name))
		}
		if !drop {
			out = append(out, line...)
		}
	}
	return append(out, tr.Raw[len(header):]...)
}

// handInTrees sends them, 50 per connection.
func (h *submissionFixture) handInTrees(t *testing.T, trees []*tree) {
	t.Helper()
	for part := range slices.Chunk(trees, 50) {
		conn := h.signedIn(t, h.api.key)
		for _, tr := range part {
			a, err := conn.handIn(string(tr.Raw), " BODY=8BITMIME SMTPUTF8", tr.To...)
			if tr.id = a.id(); err != nil || tr.id == "" {
				t.Fatalf("%s, %v to\n%.2000q", a, err, tr.Raw)
			}
		}
		conn.Close()
	}
}

// judged compares messages in Python: those that were re-encoded must have equal content.
func (h *submissionFixture) judged(t *testing.T, trees []*tree, at map[string]*message) {
	t.Helper()
	name, value := h.dkimRecord(t, "example.test")
	var in bytes.Buffer
	for i, tr := range trees {
		if m := at[tr.id]; m != nil {
			must(t, json.NewEncoder(&in).Encode(map[string]any{"number": i, "before": tr.Raw, "after": m.Raw, "changed": !bytes.HasSuffix(m.Raw, tr.leaves())}))
		}
	}
	cmd := exec.Command(python, "testdata/trees.py", "judge", name, value)
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	must(t, err)
	lines := bufio.NewScanner(bytes.NewReader(out))
	for n := 0; lines.Scan() && n < 5; n++ {
		t.Errorf("%.3000s", lines.Text())
		if number, err := strconv.Atoi(strings.Fields(lines.Text())[0]); err == nil {
			t.Logf("arrived:\n%.4000q", at[trees[number].id].Raw)
		}
	}
}

// arrivedTrees are the messages at the sink by their ids, once all emails have ended.
func (h *submissionFixture) arrivedTrees(t *testing.T, trees []*tree) map[string]*message {
	t.Helper()
	eventually(t, time.Minute+time.Duration(len(trees))*100*time.Millisecond, "all are sent or refused", func() (bool, string) {
		left := slices.DeleteFunc(slices.Collect(maps.Values(h.api.states(t))), func(s string) bool { return endStates[s] })
		return len(left) == 0, fmt.Sprint(len(left), " are left")
	})
	at := map[string]*message{}
	for _, m := range h.relay.messages() {
		id := m.header("X-Mailer-Email-ID")
		if at[id] != nil && slices.Equal(at[id].To, m.To) {
			t.Errorf("%s came twice", id)
		}
		at[id] = &m
	}
	return at
}

func treeCount() int {
	if *handedIn > 0 {
		return *handedIn
	}
	return 60
}

// TestMIMETreesArriveUnchanged: with a relay that takes 8-bit mail and UTF-8 addresses, messages
// arrive unchanged but for own headers.
func TestMIMETreesArriveUnchanged(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	needPythonDKIM(t)
	h := newSubmissionFixtureBefore(t, newSink(t, sinkOptions{utf8: true}), "", "off")
	trees := makeTrees(t, treeCount(), "1")
	h.handInTrees(t, trees)
	at := h.arrivedTrees(t, trees)
	for i, tr := range trees {
		m := at[tr.id]
		if m == nil {
			t.Errorf("message %d did not arrive: %s", i, describe(h.api.events(t, tr.id)))
			continue
		}
		if !bytes.HasSuffix(m.Raw, tr.leaves()) {
			t.Errorf("message %d arrived otherwise:\n%.3000q\nwas\n%.3000q", i, m.Raw, tr.leaves())
		}
		if !slices.Equal(sorted(m.To), sorted(tr.To)) {
			t.Errorf("message %d went to %q, not %q", i, m.To, tr.To)
		}
		if i%20 != 0 || !utf8.Valid(tr.Raw) {
			continue
		}
		if raw := h.rawOf(t, tr.id); !bytes.HasSuffix(raw, tr.leaves()) {
			t.Errorf("message %d is shown otherwise:\n%.3000q", i, raw)
		}
	}
	h.judged(t, trees, at)
}

func (h *submissionFixture) rawOf(t *testing.T, id string) []byte {
	t.Helper()
	var shown struct{ Message string }
	h.api.get(t, "/emails/"+id+"/raw", &shown)
	return []byte(shown.Message)
}

// TestMIMETreesWithout8BITMIME: 8-bit content is re-encoded with equal content, or refused with an
// error that names what the relay lacks: signed or encrypted content, and addresses that are not
// ASCII. Everything else arrives byte for byte.
func TestMIMETreesWithout8BITMIME(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	needPythonDKIM(t)
	relay := newSink(t, sinkOptions{})
	p := startPostfixBefore(t, relay.addr, nil, map[string]string{"smtpd_discard_ehlo_keywords": "8bitmime, smtputf8", "smtpd_client_connection_count_limit": "0"})
	h := newSubmissionFixtureBefore(t, relay, p.addr+"?tls=off", "off")
	trees := makeTrees(t, treeCount(), "2")
	h.handInTrees(t, trees)
	h.arrivedTrees(t, trees) // all have ended
	p.waitEmpty(t)
	at := h.arrivedTrees(t, trees)
	same, encoded, refused := 0, 0, 0
	for i, tr := range trees {
		m := at[tr.id]
		switch {
		case m == nil:
			refused++
			h.wantRefusedFor8Bit(t, i, tr)
		case !ascii(string(m.Raw)):
			t.Errorf("message %d arrived with 8-bit text:\n%.3000q", i, m.Raw)
		case bytes.HasSuffix(m.Raw, tr.leaves()):
			same++
		default:
			if encoded++; ascii(string(tr.Raw)) {
				t.Errorf("message %d is ASCII and arrived otherwise:\n%.3000q\nwas\n%.3000q", i, m.Raw, tr.leaves())
			}
		}
	}
	t.Logf("%d as they came, %d encoded, %d refused", same, encoded, refused)
	if same == 0 || encoded == 0 || refused == 0 {
		t.Error("one of them is none")
	}
	h.judged(t, trees, at)
}

// wantRefusedFor8Bit: a message that did not arrive can't be re-encoded, and its timeline says so.
func (h *submissionFixture) wantRefusedFor8Bit(t *testing.T, i int, tr *tree) {
	t.Helper()
	text := describe(h.api.events(t, tr.id))
	if ascii(string(tr.Raw)) && ascii(strings.Join(tr.To, "")) || !strings.Contains(text, "8BITMIME") && !strings.Contains(text, "SMTPUTF8") {
		t.Errorf("message %d did not arrive: %s\n%.2000q", i, text, tr.Raw)
	}
}

// TestSMIMESignatureSurvives: an S/MIME signature is good where the
// message arrives.
func TestSMIMESignatureSurvives(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	_, err := exec.LookPath("openssl")
	need(t, err == nil, "openssl")
	h := newSubmissionFixtureBefore(t, newSink(t, sinkOptions{utf8: true}), "", "off")
	dir := t.TempDir()
	part := filepath.Join(dir, "part")
	must(t, os.WriteFile(part, []byte("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nDzień dobry  \r\n.\r\nFrom me\r\n"), 0o600))
	shell(t, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ada@example.test", "-keyout", dir+"/key", "-out", dir+"/cert")
	shell(t, "openssl", "smime", "-sign", "-crlfeol", "-in", part, "-signer", dir+"/cert", "-inkey", dir+"/key", "-out", dir+"/signed")
	signed, err := os.ReadFile(dir + "/signed")
	must(t, err)
	message := "From: ada@example.test\r\nTo: zofia@example.org\r\nSubject: signed\r\n" + strings.ReplaceAll(strings.ReplaceAll(string(signed), "\r\n", "\n"), "\n", "\r\n")
	conn := h.signedIn(t, h.api.key)
	conn.want(t, "250 2.0.0", message, "zofia@example.org")
	m := h.relay.wait(t, 1, time.Minute, subjectIs("signed"))[0]
	must(t, os.WriteFile(dir+"/arrived", m.Raw, 0o600))
	shell(t, "openssl", "smime", "-verify", "-noverify", "-in", dir+"/arrived", "-out", dir+"/out")
	h.verifies(t, &m)
}
