package sdktest

import (
	"net/http"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// waitState waits until an email is in a state.
func (c client) waitState(t *testing.T, id, want string) {
	t.Helper()
	eventually(t, time.Minute, "the state of "+id+" is "+want, func() (bool, string) {
		var email struct{ State string }
		c.get(t, "/emails/"+id, &email)
		return email.State == want, email.State
	})
}

// TestStatesInTheBrowser: list, views, page and queue say the same of mail that the relay
// puts off, that a person holds, and that is refused for its recipients.
func TestStatesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.behave.Store(&behaviour{rcpt: func(to string) error {
		if to == "later@example.org" {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "come back later"}
		}
		return nil
	}})
	in := startBare(t, "--relay", "smtp://"+relay.addr+"?tls=off")
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "later@example.org", "subject": "put off", "text": "hello"})
	api.waitState(t, id, "deferred")
	s := newScreen(t, in.url, b.session(t))
	s.load("/emails")
	s.press("Delayed")
	s.sees("put off", "Deferred")
	s.load("/emails/" + id)
	s.sees("Deferred", "come back later")
	api.ask(t, "POST", "/queue/hold", map[string]any{"ids": []string{id}}, http.StatusOK)
	s.sees("Held by the API key", "Release")
	s.load("/emails")
	s.press("Held")
	s.sees("put off")
	s.load("/queue")
	s.sees("1 email is held.")
	s.load("/emails/" + id)
	s.press("Release")
	s.sees("Released 1 email")
	api.waitState(t, id, "deferred")
	api.ask(t, "POST", "/suppressions", map[string]any{"email": "gone@example.org"}, http.StatusCreated)
	api.ask(t, "POST", "/emails", map[string]any{"from": "a@example.test", "to": "gone@example.org", "subject": "refused", "text": "x"}, http.StatusUnprocessableEntity)
	s.load("/emails?status=suppressed")
	s.press("refused")
	s.sees("Not sent to gone@example.org: it was put on the suppression list")
	s.load("/usage")
	s.sees("Recipients accepted today", "Recipients sent to in the last 30 days")
	s.fine("the states")
}
