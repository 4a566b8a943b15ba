// Package fetch fetches files from URLs that senders chose, for attachments of emails and as feeds.
//
// Failure policy: an address is checked at each dial, also after a redirect, and only public
// addresses are reached, by https on port 443, except ranges that the operator allowed. Errors name
// one of five reasons and nothing that the other server said.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/fair"
	"mailer/app/kit/window"
	"mailer/app/net/outbound"
)

// Limits.
const (
	Timeout        = 10 * time.Second // for all files of one call
	MaxRedirects   = 3
	bytesPerMinute = 200 << 20 // of a team
	perTeam        = 4         // files at a time
	perHost        = 2         // files at a time, of all teams
	atATime        = 32        // files of all teams
	waitingPerTeam = 100
	memoryBytes    = 128 << 20 // held by all teams, until the files are stored
	memoryPerTeam  = 64 << 20
)

// Fetcher fetches files. It is safe for concurrent use.
type Fetcher struct {
	client *http.Client
	teams  *fair.Semaphore[string]
	hosts  *fair.Semaphore[string]
	memory *fair.Semaphore[string]
	bytes  *window.Keyed // by team, each minute
	limit  time.Duration // Timeout
}

// New returns a Fetcher that may also reach the ranges in allow, there also by http and on any port.
func New(allow []netip.Prefix) *Fetcher {
	f := &Fetcher{
		client: outbound.Client(outbound.Options{Allow: allow, Port: 443, MaxResponse: memoryPerTeam + 1}),
		teams:  fair.New(fair.Config[string]{Capacity: atATime, Share: perTeam, MaxWaiting: waitingPerTeam}),
		hosts:  fair.New(fair.Config[string]{Capacity: atATime, Share: perHost}),
		memory: fair.New(fair.Config[string]{Capacity: memoryBytes, Share: memoryPerTeam}),
		bytes:  window.NewKeyed(time.Minute),
		limit:  Timeout,
	}
	f.client.Timeout = 0 // the context ends requests
	f.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > MaxRedirects || r.URL.User != nil || r.URL.Scheme != "https" && r.URL.Scheme != "http" {
			return errRedirect
		}
		return nil
	}
	return f
}

var errRedirect = errors.New("a redirect that is not followed")

// Fetch is an app.FetchFiles.
func (f *Fetcher) Fetch(ctx context.Context, team string, urls []string, limit int64) (contents [][]byte, release func(), err error) {
	limit = min(limit, memoryPerTeam)
	whole, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	if release, err = f.reserve(ctx, whole, team, limit); err != nil {
		return nil, nil, err
	}
	contents = make([][]byte, len(urls))
	errs := make([]error, len(urls))
	left := &allowance{left: limit}
	var all sync.WaitGroup
	for i, at := range urls {
		all.Go(func() {
			var file app.FetchedFile
			file, errs[i] = f.file(whole, team, request{url: at, agent: "Mailer (attachments)"}, left)
			if contents[i] = file.Content; errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	if err := firstError(ctx, errs); err != nil {
		release()
		return nil, nil, err
	}
	return contents, release, nil
}

// FetchChanged is an app.FetchChanged.
func (f *Fetcher) FetchChanged(ctx context.Context, team, at string, known app.FileVersion, limit int64) (file app.FetchedFile, err error) {
	limit = min(limit, memoryPerTeam)
	whole, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	release, err := f.reserve(ctx, whole, team, limit)
	if err != nil {
		return file, err
	}
	file, err = f.file(whole, team, request{url: at, agent: "Mailer (feeds)", known: known}, &allowance{left: limit})
	if err = firstError(ctx, []error{err}); err != nil {
		release()
		return app.FetchedFile{}, err
	}
	file.Release = release
	return file, nil
}

// reserve reserves the memory for a call of a team. whole ends with the time of the call. Errors:
// *app.FetchLimitError, *app.FetchError, that of ctx.
func (f *Fetcher) reserve(ctx, whole context.Context, team string, limit int64) (release func(), err error) {
	if now := clock.Now(); f.bytes.AddN(team, now, 0) >= bytesPerMinute {
		return nil, &app.FetchLimitError{RetryAfter: f.bytes.Left(now)}
	}
	if err := f.memory.Acquire(whole, team, limit); err != nil {
		return nil, ended(ctx, 0)
	}
	return sync.OnceFunc(func() { f.memory.Release(team, limit) }), nil
}

// firstError returns the error that ended the others, which are canceled.
func firstError(ctx context.Context, errs []error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var first error
	for i, err := range errs {
		var reason reasonError
		switch {
		case err == nil:
		case errors.As(err, &reason):
			return &app.FetchError{Index: i, Reason: app.FetchReason(reason)}
		case errors.Is(err, fair.ErrTooManyWaiting):
			return &app.FetchLimitError{RetryAfter: time.Second}
		case errors.Is(err, context.DeadlineExceeded) && first == nil:
			first = ended(ctx, i)
		}
	}
	return first
}

// ended is the error of a call whose time is over, or whose caller has gone.
func ended(ctx context.Context, index int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &app.FetchError{Index: index, Reason: app.FetchSlow}
}

// reasonError is a reason as an error.
type reasonError app.FetchReason

func (e reasonError) Error() string { return string(e) }

// request is what is asked of a host.
type request struct {
	url   string
	agent string
	known app.FileVersion
}

// new returns the HTTP request.
func (q *request) new(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url, http.NoBody)
	if err != nil {
		return nil, reasonError(app.FetchForbidden)
	}
	r.Header.Set("User-Agent", q.agent)
	if q.known.ETag != "" {
		r.Header.Set("If-None-Match", q.known.ETag)
	}
	if q.known.LastModified != "" {
		r.Header.Set("If-Modified-Since", q.known.LastModified)
	}
	return r, nil
}

// maxVersion is how long a header that names a version may be, in bytes. Longer ones are not used.
const maxVersion = 200

// versionOf returns the version that an answer names.
func versionOf(h http.Header) app.FileVersion {
	value := func(name string) string {
		v := h.Get(name)
		if len(v) > maxVersion || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
			return ""
		}
		return v
	}
	return app.FileVersion{ETag: value("ETag"), LastModified: value("Last-Modified")}
}

// file fetches one file. Errors: reasonError, those of the semaphores, that of ctx.
func (f *Fetcher) file(ctx context.Context, team string, q request, left *allowance) (file app.FetchedFile, err error) {
	u, err := url.Parse(q.url)
	if err != nil {
		return file, reasonError(app.FetchForbidden)
	}
	if err := f.teams.Acquire(ctx, team, 1); err != nil {
		return file, err
	}
	defer f.teams.Release(team, 1)
	if err := f.hosts.Acquire(ctx, u.Hostname(), 1); err != nil {
		return file, err
	}
	defer f.hosts.Release(u.Hostname(), 1)
	r, err := q.new(ctx)
	if err != nil {
		return file, err
	}
	response, err := f.client.Do(r)
	if err != nil {
		return file, reasonOf(ctx, err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && q.known != (app.FileVersion{}):
		return app.FetchedFile{Unchanged: true, Version: q.known}, nil
	case response.StatusCode != http.StatusOK:
		return file, reasonError(app.FetchRefused)
	case response.ContentLength > left.now():
		return file, reasonError(app.FetchTooLarge)
	}
	var content bytes.Buffer
	content.Grow(int(max(response.ContentLength, 0)) + bytes.MinRead)
	_, err = content.ReadFrom(&countingReader{response.Body, left})
	f.bytes.AddN(team, clock.Now(), content.Len())
	switch {
	case errors.Is(err, errTooLarge):
		return file, reasonError(app.FetchTooLarge)
	case err != nil:
		return file, reasonOf(ctx, err)
	}
	return app.FetchedFile{Content: content.Bytes(), Version: versionOf(response.Header)}, nil
}

func reasonOf(ctx context.Context, err error) error {
	var refused *outbound.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused) && refused.Forbidden():
		return reasonError(app.FetchForbidden)
	case errors.Is(err, errRedirect):
		return reasonError(app.FetchRefused)
	}
	return reasonError(app.FetchUnreachable)
}

// allowance is the number of bytes that the files of a call may still take.
type allowance struct {
	mu   sync.Mutex
	left int64
}

func (a *allowance) now() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.left, 0)
}

func (a *allowance) take(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left -= n
	return a.left >= 0
}

var errTooLarge = errors.New("too large")

// countingReader ends with errTooLarge when the allowance is used up.
type countingReader struct {
	from io.Reader
	left *allowance
}

func (r *countingReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if n > 0 && !r.left.take(int64(n)) {
		return n, errTooLarge
	}
	return n, err
}
