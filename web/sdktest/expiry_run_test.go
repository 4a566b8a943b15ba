package sdktest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestExpiryAndSuspension: mail expires while its relay is down, and commands suspend and resume a
// team of the running server.
func TestExpiryAndSuspension(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := startBare(t, "--relay", "smtp://"+freeAddr(t)+"?tls=off", "--max-wait", "3s")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	letter := map[string]any{"from": "x@example.test", "to": "bob@example.com", "subject": "s", "text": "t"}
	id := api.send(t, letter)
	api.waitLast(t, id, time.Minute, "failed")
	if words := api.waitEvent(t, id, time.Minute, "failed").Detail.Message; !strings.HasPrefix(words, "Expired after ") {
		t.Errorf("it failed with the words %q", words)
	}
	for expires, want := range map[string]int{"10m": http.StatusOK, "31d": http.StatusUnprocessableEntity, "soon": http.StatusUnprocessableEntity} {
		letter["expires_in"] = expires
		if status, b := api.do(t, "POST", "/emails", letter); status != want || want != http.StatusOK && !strings.Contains(string(b), "`expires_in`") {
			t.Errorf("expires_in %s: %d %s", expires, status, b)
		}
	}
	in.stop(t)

	relay := newSink(t, sinkOptions{})
	in.args = []string{"--relay", "smtp://" + relay.addr + "?tls=off"}
	in.run(t, "teams", "suspend", "Default", "--reason", "unpaid")
	in.serve(t)
	delete(letter, "expires_in")
	if status, b := api.do(t, "POST", "/emails", letter); status != http.StatusForbidden || !strings.Contains(string(b), "sending_paused") || !strings.Contains(string(b), "unpaid") {
		t.Errorf("a send of a suspended team: %d %s", status, b)
	}
	if n := len(relay.messages()); n != 0 {
		t.Errorf("%d messages left while the team was suspended", n)
	}
	in.run(t, "teams", "resume", "Default", "--json")
	relay.wait(t, 1, time.Minute, func(*message) bool { return true }) // the one that expires after 10m
}
