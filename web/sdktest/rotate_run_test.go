package sdktest

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

var rotations = flag.Int("rotations", 0, "how many rotations of the master key are killed; 0: 6")

func rotationCount() int { return cmp.Or(*rotations, 6) }

// TestMasterKeyRotation rotates the master key again and again while two
// teams send, and kills the server, the command or both at random moments. Every
// value can be opened afterwards, nothing is lost or unsigned, and links from before the
// first rotation still lead somewhere, also once their key is retired.
func TestMasterKeyRotation(t *testing.T) {
	part(t, "restore")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "other.test", "--trust", "--team", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	link := linkFromBefore(t, in, other, relay)
	for i := range webhooksSealed {
		if status, b := other.do(t, "POST", "/webhooks", map[string]any{"endpoint": fmt.Sprintf("https://hooks.example.com/%d", i), "events": []string{"email.sent"}}); status != http.StatusCreated {
			t.Fatalf("POST /webhooks: %d %s", status, b)
		}
	}
	l := newLoad(api)
	stop := l.start(t)
	rounds := rotationCount()
	for n := range rounds {
		l.waitAccepted(t, 15)
		in.killRotation(t, n)
	}
	l.waitAccepted(t, 20)
	stop()
	t.Logf("%d rotations were killed", rounds)
	in.run(t, "master-key", "rotate")
	checkValues(t, in, other, relay, "rotated")
	in.run(t, "master-key", "retire")
	checkValues(t, in, other, relay, "retired")
	answer, err := http.Post(in.url+link, "application/x-www-form-urlencoded", strings.NewReader("List-Unsubscribe=One-Click"))
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the unsubscribe link of before: %d", answer.StatusCode)
	}
	signed := dkimVerifier(t, in, "other.test", "--team", "Other")
	for _, m := range relay.matching(ofSecondTeam) {
		if err := signed(m.Raw); err != nil {
			t.Errorf("mail of the other team: %v", err)
		}
	}
	e := l.ledger.gather(t, in, l.api, relay, killPatience(), killLimit(rounds))
	e.signed = dkimVerifier(t, in, "example.test")
	e.arrived = slices.DeleteFunc(e.arrived, func(m message) bool { return ofSecondTeam(&m) })
	l.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
}

// killRotation begins a rotation and kills the server, the command or both.
func (in *instance) killRotation(t *testing.T, n int) {
	t.Helper()
	cmd := exec.Command(binary.path, "master-key", "rotate", "--db", in.db)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = in.dir, cleanEnv(in.dir), endWithParent()
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	afterRandom(1500 * time.Millisecond)
	if n%3 != 0 {
		_ = cmd.Process.Kill()
		<-done
	}
	if n%3 != 1 {
		in.kill(t)
		in.serve(t)
	}
	<-done
}

// ofSecondTeam picks the mail of the second team.
func ofSecondTeam(m *message) bool { return strings.Contains(m.header("From"), "@other.test") }

// linkFromBefore is the path of the link in a mail of a topic.
func linkFromBefore(t *testing.T, in *instance, api client, relay *sink) string {
	t.Helper()
	topic, _ := madeID(t, api, "/topics", map[string]any{"name": "News", "default_subscription": "opt_in", "visibility": "public"})
	sendOther(t, api, relay, "before", map[string]any{"topic_id": topic})
	m := relay.matching(subjectIs("before"))[0]
	link, found := strings.CutPrefix(strings.Trim(m.header("List-Unsubscribe"), "<>"), in.url)
	if !found {
		t.Fatalf("List-Unsubscribe: %s", m.header("List-Unsubscribe"))
	}
	return link
}

// sendOther sends a mail of the second team and waits until it arrives.
func sendOther(t *testing.T, api client, relay *sink, subject string, more map[string]any) {
	t.Helper()
	body := map[string]any{"from": "b@other.test", "to": "kim@example.net", "subject": subject, "text": "x"}
	maps.Copy(body, more)
	if status, b := api.do(t, "POST", "/emails", body); status != http.StatusOK {
		t.Fatalf("POST /emails: %d %s", status, b)
	}
	relay.wait(t, 1, time.Minute, subjectIs(subject))
}

// checkValues sends a mail, which opens a DKIM key, and reads the secret of each
// webhook; nothing may be sealed with a key that does not open.
func checkValues(t *testing.T, in *instance, api client, relay *sink, subject string) {
	t.Helper()
	sendOther(t, api, relay, subject, nil)
	var list struct{ Data []struct{ ID string } }
	api.get(t, "/webhooks?limit=100", &list)
	if len(list.Data) != webhooksSealed {
		t.Errorf("%d webhooks", len(list.Data))
	}
	for _, w := range list.Data {
		var one struct {
			Secret string `json:"signing_secret"`
		}
		api.get(t, "/webhooks/"+w.ID, &one)
		if !strings.HasPrefix(one.Secret, "whsec_") {
			t.Errorf("webhook %s has the secret %q", w.ID, one.Secret)
		}
	}
	for _, key := range rows(t, in.run(t, "master-key", "list", "--json")) {
		if key["state"] != "seals" && key["sealed"] != 0.0 {
			t.Errorf("values are left with a key: %v", key)
		}
	}
}

// webhooksSealed is how many webhooks with secrets there are.
const webhooksSealed = 20
