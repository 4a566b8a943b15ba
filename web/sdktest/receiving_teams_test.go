package sdktest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTeamsReceiveSeparately: a message for two teams is there for each once, and neither reads what the other received. A
// domain that two teams have verified is refused until one of them is left.
func TestTeamsReceiveSeparately(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	w := newReceivingFixture(t, strict)
	const own, others = "support@in.example.test", "support@other.test"
	w.in.run(t, "teams", "create", "Other")
	w.in.run(t, "domains", "add", "other.test", "--trust", "--team", "Other")
	key := w.in.newKey(t, "--team", "Other")
	w.receives(t, key, "other.test")
	message := func(id string) string {
		return strings.ReplaceAll(strings.ReplaceAll(receivedMail, "q1@", id+"@"), "A question", id)
	}
	eventually(t, time.Minute, "the other team receives", func() (bool, string) {
		err := w.deliver(message("both"), own, others)
		return err == nil, fmt.Sprint(err)
	})
	must(t, w.deliver(message("others"), others))
	keys := []string{w.key, key}
	var ids [2]map[string]string // by subject
	for i := range keys {
		var page struct{ Data []receivedThing }
		client{w.in.url, keys[i]}.get(t, "/emails/receiving?limit=100", &page)
		ids[i] = map[string]string{}
		for _, m := range page.Data {
			if ids[i][m.Subject] != "" {
				t.Errorf("%s is there twice", m.Subject)
			}
			ids[i][m.Subject] = m.ID
			if want := []string{own, others}[i]; len(m.ReceivedFor) != 1 || m.ReceivedFor[0] != want {
				t.Errorf("%s was received for %q, and not for %s alone", m.Subject, m.ReceivedFor, want)
			}
		}
	}
	if len(ids[0]) != 2 || ids[0]["both"] == "" || len(ids[1]) != 2 || ids[1]["both"] == "" || ids[1]["others"] == "" || ids[0]["both"] == ids[1]["both"] {
		t.Errorf("received %v and %v", ids[0], ids[1])
	}
	for i := range keys {
		for _, id := range ids[i] {
			for _, path := range []string{"", "/attachments", "/attachments/" + someID} {
				if status, b := (client{w.in.url, keys[1-i]}).do(t, "GET", "/emails/receiving/"+id+path, nil); status != 404 {
					t.Errorf("a foreign email%s: %d %s", path, status, b)
				}
			}
			if status, b := (client{w.in.url, keys[1-i]}).do(t, "GET", "/emails/receiving?after="+id, nil); status == 200 {
				t.Errorf("a foreign email as a cursor: %s", b)
			}
		}
	}
	w.in.run(t, "domains", "add", "in.example.test", "--trust", "--team", "Other")
	eventually(t, time.Minute, "a domain of two teams is refused", func() (bool, string) {
		err := w.deliver(message("refused"))
		return err != nil && strings.HasPrefix(err.Error(), "450 4.7.1"), fmt.Sprint(err)
	})
	var list struct{ Data []domainThing }
	client{w.in.url, key}.get(t, "/domains", &list)
	client{w.in.url, key}.ask(t, "DELETE", "/domains/"+list.Data[0].ID, nil, 200)
	eventually(t, time.Minute, "the domain of one team receives", func() (bool, string) {
		err := w.deliver(message("again"))
		return err == nil, fmt.Sprint(err)
	})
	if got := w.subjects(t); strings.Join(got, ", ") != "A question, again, both" {
		t.Errorf("received %q", got)
	}
}
