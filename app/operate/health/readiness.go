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
	// readyTime bounds the question to a server whether it takes mail.
	readyTime = 3 * time.Second
)

// refuses is why the running server takes no mail, as its /readyz tells; empty: it takes mail,
// or none runs or can be asked. A command can't see that on the database alone: what keeps
// the server from writing may be the server's own.
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
	if err != nil || a.status != http.StatusServiceUnavailable { // doctor looks where the base URL leads
		return ""
	}
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(a.body), &said) != nil || said.Message == "" { // a proxy's own
		return fmt.Sprintf("%s/readyz answers %d", s.Settings.BaseURL, a.status)
	}
	return said.Message
}

// wordsOf is what an error says to callers; empty: there is none.
func wordsOf(err error) string {
	if said, ok := errors.AsType[*app.Error](err); ok {
		return said.Message
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
