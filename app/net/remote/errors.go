package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app/kit/clock"
)

// Error is a refusal of the service.
type Error struct {
	Status  int           // HTTP status
	Name    string        // the service's error name, like "restricted_api_key"; may be empty
	Message string        // the service's message; may be empty
	Wait    time.Duration // requested delay before the next request; 0: none
}

// Error implements error.
func (e *Error) Error() string {
	s := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Name != "" {
		s += " (" + e.Name + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Wait > maxAsked {
		s += fmt.Sprintf("; it asks to wait %s: run this again then", e.Wait.Round(time.Second))
	}
	return s
}

// temporary reports whether the same request may succeed later.
func (e *Error) temporary() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// StatusOf returns the HTTP status of an *Error, otherwise 0.
func StatusOf(err error) int {
	if no, ok := errors.AsType[*Error](err); ok {
		return no.Status
	}
	return 0
}

// ErrUnreachable means that no complete answer was received.
var ErrUnreachable = errors.New("no answer")

// unreachable converts an error of net/http to one without the URL.
func unreachable(r *http.Request, err error) error {
	if m, ok := errors.AsType[*redirected](err); ok {
		return m
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w within %s", ErrUnreachable, timeout)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, words(without(err.Error(), r)))
}

// refusal converts an unsuccessful answer to an error.
func refusal(r *http.Request, answer *http.Response) error {
	e := &Error{Status: answer.StatusCode, Wait: asked(answer)}
	var body struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err == nil && json.Unmarshal(text, &body) == nil {
		e.Name, e.Message = words(without(body.Name, r)), words(without(body.Message, r))
	}
	return e
}

// asked returns the delay that an answer requests: in seconds or until a time (RFC 9110 10.2.3),
// or, for 429 without one, until the end of the rate window.
func asked(answer *http.Response) time.Duration {
	value := strings.TrimSpace(answer.Header.Get("Retry-After"))
	if value == "" && answer.StatusCode == http.StatusTooManyRequests {
		value = answer.Header.Get("Ratelimit-Reset")
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 {
		return time.Duration(min(n, 365*24*3600) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, clock.Until(at))
	}
	return 0
}

// without removes the credentials of a request from the text of its answer.
func without(s string, r *http.Request) string {
	var secret []string
	for name, values := range r.Header {
		if name == "Accept" || name == "User-Agent" {
			continue
		}
		for _, v := range values {
			secret = append(secret, strings.Fields(v)...)
		}
	}
	if _, password, ok := r.BasicAuth(); ok {
		secret = append(secret, password)
	}
	for _, word := range secret {
		if len(word) > len("Bearer") { // not a scheme
			s = strings.ReplaceAll(s, word, "…")
		}
	}
	return s
}

// words returns text of a service as one line of limited length that is safe for terminals.
func words(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	if s = strings.Join(strings.Fields(s), " "); len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
