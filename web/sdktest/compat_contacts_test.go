package sdktest

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestContactsAsOtherClientsSendThem is what clients were seen to send that nobody tuned
// for this service, on the built binary in both modes.
func TestContactsAsOtherClientsSendThem(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	for _, mode := range []string{"strict", "resend"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &worldOptions{direct: true, args: []string{"--compat", mode}})
			c := client{"http://" + w.in.addr, w.key} // past the tap: the document does not say what is only tolerated
			want := func(status int, method, path string, body any) (answer struct {
				ID      string
				Name    string
				Message string
				Email   string
				Error   *struct {
					Name, Message string
					StatusCode    int
				}
			}) {
				t.Helper()
				got, text := c.do(t, method, path, body)
				if got != status {
					t.Fatalf("%s %s %v: %d %s, want %d", method, path, body, got, text, status)
				}
				if err := json.Unmarshal(text, &answer); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return answer
			}
			segment := want(201, "POST", "/audiences", map[string]any{"name": "Friends"}).ID
			first := want(201, "POST", "/contacts", map[string]any{"email": "ann@example.org", "properties": []any{}, "audience_id": segment}).ID
			again := map[string]any{"email": "Ann@example.org", "segments": []string{segment}}
			switch mode {
			case "strict":
				refused := want(409, "POST", "/contacts", again)
				if refused.Error == nil || refused.Error.Name != "conflict" || refused.Error.Message != refused.Message || refused.Error.StatusCode != 409 {
					t.Errorf("%+v", refused)
				}
			default:
				if id := want(200, "POST", "/contacts", again).ID; id != first {
					t.Errorf("another contact: %s", id)
				}
			}
			if id := want(200, "POST", "/contacts?on_conflict=upsert", again).ID; id != first {
				t.Errorf("another contact: %s", id)
			}
			if id := want(200, "POST", "/audiences/"+segment+"/contacts", map[string]any{"email": "ann@example.org", "audience_id": segment}).ID; id != first {
				t.Errorf("another contact: %s", id)
			}
			want(200, "PATCH", "/contacts/"+first, map[string]any{"id": first, "contact_id": first, "audience_id": segment, "email": "ann@example.net", "unsubscribed": true})
			want(404, "GET", "/contacts/ann@example.org", nil)
			if got := want(200, "GET", "/contacts/ann@example.net", nil); got.ID != first {
				t.Errorf("%+v", got)
			}
			want(200, "GET", "/suppressions/ann@example.org", nil)
			want(200, "PATCH", "/segments/"+segment, map[string]any{"segment_id": segment, "audience_id": segment, "name": "Best"})
			if refused := want(422, "GET", "/contacts?segment="+segment, nil); !strings.Contains(refused.Message, "`segment_id`") {
				t.Errorf("%+v", refused)
			}
			want(200, "GET", "/audiences/"+segment+"/contacts?audience_id="+segment, nil)
			want(201, "POST", "/domains", map[string]any{"name": "other.test", "tls": "opportunistic"})
			if refused := want(422, "POST", "/webhooks", map[string]any{"endpoint": "https://example.org/", "events": []string{"email.received"}}); !strings.Contains(refused.Message, "email.received") {
				t.Errorf("%+v", refused)
			}
		})
	}
}
