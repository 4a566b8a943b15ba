package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

const (
	// readyTime is the timeout of a readiness request.
	readyTime = 3 * time.Second
)

// refuses returns why the running server accepts no mail according to its /readyz; empty: it does,
// or it can't be asked. A command can't see this in the database: the reason may lie in the
// server's process.
func (s *Service) refuses(ctx context.Context) string {
	if s.target.ThisProcess {
		return wordsOf(s.Ready())
	}
	if !s.target.Running || s.Settings.BaseURL == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	a, err := s.get(ctx, s.Settings.BaseURL+"/readyz")
	if err != nil || a.status != http.StatusServiceUnavailable { // another check covers the base URL
		return ""
	}
	var body struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(a.body), &body) != nil || body.Message == "" { // answered by a proxy
		return fmt.Sprintf("%s/readyz answers %d", s.Settings.BaseURL, a.status)
	}
	return body.Message
}

// wordsOf returns the message of an error for callers; empty: nil.
func wordsOf(err error) string {
	if refusal, ok := errors.AsType[*app.Error](err); ok {
		return refusal.Message
	}
	return errText(err)
}

func (s *Service) checkReadiness(ctx context.Context) ([]Check, error) {
	const name = "readiness"
	if !s.target.Running {
		return nil, nil
	}
	if why := s.refuses(ctx); why != "" {
		return []Check{bad(name, "server_refuses", "", "reason", why)}, nil
	}
	return []Check{good(name, "the server accepts mail")}, nil
}
