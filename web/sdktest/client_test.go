package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client speaks to the API with nothing but net/http.
type client struct {
	url string
	key string
}

var plainHTTP = &http.Client{Timeout: time.Minute}

// email is what the API says of an email.
type email struct {
	ID          string   `json:"id"`
	From        string   `json:"from"`
	To          []string `json:"to"`
	Cc          []string `json:"cc"`
	Bcc         []string `json:"bcc"`
	ReplyTo     []string `json:"reply_to"`
	Subject     string   `json:"subject"`
	HTML        string   `json:"html"`
	Text        string   `json:"text"`
	MessageID   string   `json:"message_id"`
	LastEvent   string   `json:"last_event"`
	ScheduledAt string   `json:"scheduled_at"`
	Tags        []struct{ Name, Value string }
}

// event is a line of an email's timeline.
type event struct {
	Type      string    `json:"type"`
	Recipient string    `json:"recipient"`
	CreatedAt time.Time `json:"created_at"`
	Detail    struct {
		Message       string `json:"message"`
		ReplyCode     int    `json:"reply_code"`
		Reply         string `json:"reply"`
		NextAttemptAt string `json:"next_attempt_at"`
	} `json:"detail"`
}

// apiError is the body of every refusal.
type apiError struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"name"`
	Message    string `json:"message"`
}

// try makes one request; header holds alternating names and values.
func (c client) try(method, path string, body any, header ...string) (int, []byte, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, c.url+path, content)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := plainHTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, b, err
}

func (c client) do(t *testing.T, method, path string, body any) (int, []byte) {
	t.Helper()
	status, b, err := c.try(method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, b
}

func (c client) get(t *testing.T, path string, into any) {
	t.Helper()
	status, b := c.do(t, "GET", path, nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("GET %s: %v\n%s", path, err, b)
	}
}

// send has one email accepted and returns its id.
func (c client) send(t *testing.T, body map[string]any) string {
	t.Helper()
	status, b := c.do(t, "POST", "/emails", body)
	var answer struct{ ID string }
	if err := json.Unmarshal(b, &answer); status != http.StatusOK || err != nil || answer.ID == "" {
		t.Fatalf("POST /emails: %d %s", status, b)
	}
	return answer.ID
}

func (c client) email(t *testing.T, id string) email {
	t.Helper()
	var e email
	c.get(t, "/emails/"+id, &e)
	return e
}

// events is the timeline of an email, newest first.
func (c client) events(t *testing.T, id string) []event {
	t.Helper()
	var list struct{ Data []event }
	c.get(t, "/emails/"+id+"/events?limit=100", &list)
	return list.Data
}

// waitLast waits until the email's last_event is the wanted one.
func (c client) waitLast(t *testing.T, id string, timeout time.Duration, want string) {
	t.Helper()
	eventually(t, timeout, "last_event of "+id+" is "+want, func() (bool, string) {
		got := c.email(t, id).LastEvent
		return got == want, fmt.Sprintf("%s, events %s", got, describe(c.events(t, id)))
	})
}

// waitEvent returns the first event of a type, once there is one.
func (c client) waitEvent(t *testing.T, id string, timeout time.Duration, kind string) event {
	t.Helper()
	var found event
	eventually(t, timeout, "event "+kind+" of "+id, func() (bool, string) {
		events := c.events(t, id)
		for _, e := range events {
			if e.Type == kind {
				found = e
				return true, ""
			}
		}
		return false, describe(events)
	})
	return found
}

func describe(events []event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "[%s %s %d %q next %s] ", e.Type, e.Recipient, e.Detail.ReplyCode, e.Detail.Message, e.Detail.NextAttemptAt)
	}
	return b.String()
}
