package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of requests and answers.
const (
	MaxAnswer         = 32 << 20         // bytes of one answer
	timeout           = time.Minute      // of one attempt including its body
	tries             = 8                // attempts for one request
	firstRequestTries = 3                // attempts before the first answer ever: the address may be wrong
	maxWait           = 30 * time.Second // before an attempt, if the service requests no delay
	maxAsked          = 10 * time.Minute // that a service may request
	maxRedirects      = 5
	maxMessage        = 300 // bytes of a service's message
)

// Client is a client of one service. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	auth  func(*http.Request)
	http  http.Client
	every time.Duration

	mu       sync.Mutex
	next     time.Time // when the next request may be sent
	answered bool
	date     time.Time // of the last answer
}

// New returns a client of the API below a base URL. auth, if not nil, sets the credentials of each
// request. perSecond is the maximum number of requests in a second, without bursts; 0: no limit.
// URLs with credentials or with another scheme than http and https are refused.
func New(base string, auth func(*http.Request), perSecond float64) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil: // the error contains the URL, which may have a password
		return nil, errors.New("the base URL can't be understood")
	case u.User != nil:
		return nil, errors.New("the base URL has a user name in it: credentials have their own place")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return nil, errors.New("the base URL must be like https://api.example.com")
	case u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("the base URL must end before ? and #")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	c := &Client{base: u, auth: auth}
	if perSecond > 0 {
		c.every = time.Duration(float64(time.Second) / perSecond)
	}
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout: timeout, TLSHandshakeTimeout: timeout / 4, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	c.http = http.Client{Transport: t, CheckRedirect: c.redirect}
	return c, nil
}

// WithTransport sets the transport of the client.
func (c *Client) WithTransport(way http.RoundTripper) { c.http.Transport = way }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Date returns the service's clock at its last answer; zero: unknown.
func (c *Client) Date() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.date
}

// redirect follows redirects within the host only, since requests carry credentials.
func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != c.base.Scheme || r.URL.Host != c.base.Host {
		return &redirected{r.URL.Scheme + "://" + r.URL.Host}
	}
	if len(via) > maxRedirects {
		return &redirected{"itself, again and again"}
	}
	return nil
}

// redirected is the error of a redirect to another host.
type redirected struct{ to string }

func (m *redirected) Error() string {
	return "it leads on to " + words(m.to) + ", where the credentials are not sent: give the URL at which the API answers"
}

// Get requests a path below the base URL and decodes the JSON answer into a value; unknown members
// are ignored. Errors: *Error for a refusal; ErrUnreachable without an answer.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	for attempt := 1; ; attempt++ {
		answer, err := c.try(ctx, path, query)
		if err == nil {
			return c.named(path, decode(answer, into))
		}
		if ctx.Err() != nil {
			return c.named(path, context.Cause(ctx))
		}
		wait, again := c.retry(err, attempt)
		if !again {
			return c.named(path, err)
		}
		c.pauseUntil(wait)
	}
}

// named adds the path of the request to an error, without its query.
func (c *Client) named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("GET %s%s: %w", c.base, path, err)
}

func decode(answer []byte, into any) error {
	err := json.Unmarshal(answer, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return nil
	}
	if where, ok := errors.AsType[*json.SemanticError](err); ok && where.JSONPointer != "" {
		return fmt.Errorf("%s in the answer is not of the kind that its documents name", words(string(where.JSONPointer)))
	}
	return errors.New("the answer is not the JSON that its documents name: is this the URL of the API?")
}

// try makes one attempt.
func (c *Client) try(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if err := c.waitTurn(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	to := c.base.String() + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return nil, errors.New("the path can't be asked for")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "mailer-import")
	if c.auth != nil {
		c.auth(r)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, unreachable(r, err)
	}
	defer answer.Body.Close()
	c.mu.Lock()
	c.answered = true
	c.date, _ = http.ParseTime(answer.Header.Get("Date"))
	c.mu.Unlock()
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(r, answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, unreachable(r, err)
	case len(text) > MaxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d MiB", MaxAnswer>>20)
	}
	return text, nil
}

// waitTurn waits until the rate limit allows a request.
func (c *Client) waitTurn(ctx context.Context) error {
	for {
		c.mu.Lock()
		now := time.Now()
		wait := c.next.Sub(now)
		if wait <= 0 {
			c.next = now.Add(c.every)
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// pauseUntil delays all requests by a duration.
func (c *Client) pauseUntil(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.next) {
		c.next = until
	}
}

// retry reports whether a request is retried after an error, and after which delay.
func (c *Client) retry(err error, attempt int) (wait time.Duration, retry bool) {
	c.mu.Lock()
	maxTries := tries
	if !c.answered {
		maxTries = firstRequestTries
	}
	c.mu.Unlock()
	if attempt >= maxTries {
		return 0, false
	}
	wait = min(time.Second<<(attempt-1), maxWait)
	if no, ok := errors.AsType[*Error](err); ok {
		if no.Wait > 0 {
			wait = no.Wait
		}
		return wait, no.temporary() && no.Wait <= maxAsked
	}
	return wait, errors.Is(err, ErrUnreachable)
}
