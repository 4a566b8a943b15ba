// Package rspamd asks an rspamd (https://docs.rspamd.com/developers/protocol) how much a message looks like spam.
//
// Failure policy: an answer that is not understood is an error. Nothing is retried. No error contains the user or the
// password of the URL.
package rspamd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// Limits of one request.
const (
	timeout     = 10 * time.Second
	maxResponse = 1 << 20 // bytes
	maxReasons  = 20
	maxReason   = 100 // bytes
)

// Client asks one rspamd. It is safe for concurrent use.
type Client struct {
	check *url.URL
	http  http.Client
}

// New returns a client of the rspamd at an http or https URL, like http://127.0.0.1:11333. User and password of the
// URL are sent as basic authentication. Redirects are not followed and proxies of the environment are not used. The
// operator chose the URL, so every address may be reached.
func New(address string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an http or https URL of a rspamd, like http://127.0.0.1:11333")
	}
	return &Client{check: u.JoinPath("checkv2"), http: http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}}, nil
}

// answer is what rspamd answers. Its other members are ignored.
type answer struct {
	Score   *float64 `json:"score"`
	Action  string   `json:"action"`
	Error   string   `json:"error"`
	Symbols map[string]struct {
		Score float64 `json:"score"`
	} `json:"symbols"`
}

// Check asks what rspamd says of a message, within 10 seconds.
func (c *Client) Check(ctx context.Context, in *app.SpamQuestion) (*app.ReceivedSpam, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.check.String(), bytes.NewReader(in.Raw))
	if err != nil {
		return nil, errors.New("rspamd: the URL is invalid")
	}
	request.Header = http.Header{"Content-Type": {"message/rfc822"}, "Ip": {in.RemoteIP}, "From": {in.MailFrom}, "Rcpt": in.Recipients}
	if in.Helo != "" {
		request.Header.Set("Helo", in.Helo)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // its text contains the URL
			err = wrapped.Err
		}
		return nil, fmt.Errorf("rspamd at %s: %w", c.check.Host, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("rspamd at %s: read the answer: %w", c.check.Host, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("rspamd at %s answers %s", c.check.Host, response.Status)
	case len(body) > maxResponse:
		return nil, fmt.Errorf("rspamd at %s: the answer has more than %d bytes", c.check.Host, maxResponse)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("rspamd at %s: the answer is not that of a rspamd: %w", c.check.Host, err)
	}
	if a.Error != "" || a.Score == nil {
		return nil, fmt.Errorf("rspamd at %s: no score: %q", c.check.Host, app.CutText(a.Error, maxReason))
	}
	return a.spam(), nil
}

// spam converts an answer.
func (a *answer) spam() *app.ReceivedSpam {
	out := &app.ReceivedSpam{Score: *a.Score, Reasons: []string{}}
	switch a.Action {
	case "reject", "add header", "rewrite subject":
		out.IsSpam = true
	}
	for name, symbol := range a.Symbols {
		if symbol.Score != 0 {
			out.Reasons = append(out.Reasons, name)
		}
	}
	slices.SortFunc(out.Reasons, func(x, y string) int {
		return cmp.Or(cmp.Compare(math.Abs(a.Symbols[y].Score), math.Abs(a.Symbols[x].Score)), cmp.Compare(x, y))
	})
	out.Reasons = out.Reasons[:min(len(out.Reasons), maxReasons)]
	for i, name := range out.Reasons {
		out.Reasons[i] = app.CutText(name, maxReason)
	}
	return out
}
