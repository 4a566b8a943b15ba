package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/net/remote"
)

// roundTripFunc answers requests with a handler, without a network, which synctest could not wait
// for.
type roundTripFunc struct{ http.Handler }

func (w roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	answer := rec.Result()
	answer.Request = r
	return answer, nil
}

const key = "re_secret_key_1234"

func bearer(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }

// client returns a client of https://api.test/v1 that a handler answers.
func client(t *testing.T, perSecond float64, h http.HandlerFunc) *remote.Client {
	t.Helper()
	c, err := remote.New("https://api.test/v1/", bearer, perSecond)
	if err != nil {
		t.Fatal(err)
	}
	c.WithTransport(roundTripFunc{h})
	return c
}

type thing struct {
	Name string `json:"name"`
}

func TestGetAsksBelowTheBaseWithTheCredentials(t *testing.T) {
	c := client(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "https://api.test/v1/things?after=a%26b" || r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("User-Agent") == "" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		io.WriteString(w, `{"name":"x","name":"y","other":1}`)
	})
	var got thing
	if err := c.Get(t.Context(), "/things", url.Values{"after": {"a&b"}}, &got); err != nil || got.Name != "y" {
		t.Fatal(got, err)
	}
}

func TestNewRefusesInvalidBaseURL(t *testing.T) {
	for _, base := range []string{"", "api.test", "ftp://api.test", "https://", "https://ann:" + key + "@api.test", "https://api.test/?k=" + key, "https://api.test/%zz" + key, "https://api.test#" + key} {
		if _, err := remote.New(base, nil, 0); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// TestRateLimit: no request is sent early, and there is no burst after idle time.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		c := client(t, 10, func(w http.ResponseWriter, _ *http.Request) {
			at = append(at, time.Now())
			io.WriteString(w, `{}`)
		})
		for i := range 60 {
			if i == 30 {
				time.Sleep(time.Hour)
			}
			if err := c.Get(t.Context(), "/", nil, &thing{}); err != nil {
				t.Fatal(err)
			}
		}
		for i, first := range at[:len(at)-10] {
			if d := at[i+10].Sub(first); d < time.Second {
				t.Errorf("requests %d to %d within %s", i, i+10, d)
			}
		}
		if d := at[29].Sub(at[0]); d != 2900*time.Millisecond {
			t.Errorf("30 requests took %s", d)
		}
	})
}

// answers returns a handler that fails n times with a status and headers, and then succeeds.
func answers(n int, status int, header ...string) (http.HandlerFunc, *[]time.Time) {
	var at []time.Time
	return func(w http.ResponseWriter, _ *http.Request) {
		at = append(at, time.Now())
		if len(at) > n {
			io.WriteString(w, `{"name":"x"}`)
			return
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, `{"statusCode":1,"name":"a_name","message":"Some words"}`)
	}, &at
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	until := time.Date(2000, 1, 1, 0, 0, 7, 0, time.UTC) // synctest bubbles start at midnight
	for name, test := range map[string]struct {
		n, status int
		header    []string
		took      time.Duration
	}{
		"500":                   {2, 500, nil, 3 * time.Second},
		"503 with a wait":       {2, 503, []string{"Retry-After", "5"}, 10 * time.Second},
		"500 with a window":     {2, 500, []string{"Ratelimit-Reset", "9"}, 3 * time.Second},
		"429":                   {2, 429, nil, 3 * time.Second},
		"429 with seconds":      {2, 429, []string{"Retry-After", "2", "Ratelimit-Reset", "9"}, 4 * time.Second},
		"429 with a date":       {1, 429, []string{"Retry-After", until.Format(http.TimeFormat)}, 7 * time.Second},
		"429 with a past date":  {1, 429, []string{"Retry-After", until.AddDate(-1, 0, 0).Format(http.TimeFormat)}, time.Second},
		"429 with a window":     {2, 429, []string{"Ratelimit-Reset", "1"}, 2 * time.Second},
		"429 with neither":      {2, 429, []string{"Retry-After", "soon"}, 3 * time.Second},
		"429 with less than it": {2, 429, []string{"Retry-After", "-4"}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, _ := answers(test.n, test.status, test.header...)
				var got thing
				began := time.Now()
				if err := client(t, 10, h).Get(t.Context(), "/", nil, &got); err != nil || got.Name != "x" {
					t.Fatal(got, err)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, at := answers(1<<30, 502)
		began := time.Now()
		err := client(t, 10, h).Get(t.Context(), "/x", nil, &thing{})
		if remote.StatusOf(err) != 502 || len(*at) != 8 || time.Since(began) > 3*time.Minute {
			t.Errorf("%v after %d attempts and %s", err, len(*at), time.Since(began))
		}
		if want := "GET https://api.test/v1/x: 502 Bad Gateway (a_name): Some words"; err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	})
}

func TestLongRetryAfterIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, at := answers(1<<30, 429, "Retry-After", "86400")
		began := time.Now()
		err := client(t, 10, h).Get(t.Context(), "/", nil, &thing{})
		if remote.StatusOf(err) != 429 || len(*at) != 1 || time.Since(began) > 0 || !strings.Contains(err.Error(), "24h0m0s: run this again then") {
			t.Error(err, len(*at), time.Since(began))
		}
	})
}

func TestRefusalIsNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 422, 501, 204, 304} {
		h, at := answers(1<<30, status)
		err := client(t, 0, h).Get(t.Context(), "/", nil, &thing{})
		if remote.StatusOf(err) != status || len(*at) != 1 {
			t.Errorf("%d: %v after %d attempts", status, err, len(*at))
		}
	}
	if remote.StatusOf(errors.New("x")) != 0 || remote.StatusOf(nil) != 0 {
		t.Error("a status of no answer")
	}
}

// failing fails n times with a network error.
type failing struct {
	n     int
	after http.RoundTripper
	tried int
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.tried++; f.tried <= f.n {
		return nil, fmt.Errorf("connection refused for %s", r.Header.Get("Authorization"))
	}
	return f.after.RoundTrip(r)
}

// TestUnreachable: a few attempts before the first answer, when the address may be wrong, and
// minutes of attempts after it.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := answers(0, 200)
		c := client(t, 10, h)
		f := &failing{n: 1 << 30, after: roundTripFunc{h}}
		c.WithTransport(f)
		err := c.Get(t.Context(), "/x", nil, &thing{})
		if !errors.Is(err, remote.ErrUnreachable) || f.tried != 3 || err.Error() != "GET https://api.test/v1/x: no answer: connection refused for Bearer …" {
			t.Fatal(err, f.tried)
		}
		f.n = 0
		if err := c.Get(t.Context(), "/x", nil, &thing{}); err != nil {
			t.Fatal(err)
		}
		*f = failing{n: 7, after: roundTripFunc{h}}
		if err := c.Get(t.Context(), "/x", nil, &thing{}); err != nil || f.tried != 8 {
			t.Fatal(err, f.tried)
		}
	})
}

// endlessBody is a body of any size; slow takes a second for each byte.
type endlessBody struct {
	ctx  context.Context
	slow bool
	read int
}

func (e *endlessBody) Read(p []byte) (int, error) {
	if e.slow {
		p = p[:1]
		select {
		case <-time.After(time.Second):
		case <-e.ctx.Done():
			return 0, e.ctx.Err()
		}
	}
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func (e *endlessBody) Close() error { return nil }

func (e *endlessBody) RoundTrip(r *http.Request) (*http.Response, error) {
	e.ctx = r.Context()
	return &http.Response{StatusCode: 200, Body: e, Request: r}, nil
}

func TestEndlessAnswerIsCut(t *testing.T) {
	c := client(t, 0, nil)
	body := &endlessBody{}
	c.WithTransport(body)
	err := c.Get(t.Context(), "/", nil, &thing{})
	if err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") || body.read > remote.MaxAnswer+1<<20 {
		t.Fatal(err, body.read)
	}
}

func TestSlowAnswerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, 0, nil)
		c.WithTransport(&endlessBody{slow: true})
		began := time.Now()
		err := c.Get(t.Context(), "/", nil, &thing{})
		if !errors.Is(err, remote.ErrUnreachable) || !strings.Contains(err.Error(), "within 1m0s") || time.Since(began) > 12*time.Minute {
			t.Fatal(err, time.Since(began))
		}
	})
}

func TestUnexpectedAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		"":                            "is this the URL of the API?",
		"<html>":                      "is this the URL of the API?",
		`{"name":"x"`:                 "is this the URL of the API?",
		`{"name":{"` + key + `": 1}}`: "/name in the answer is not of the kind",
	} {
		c := client(t, 0, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
		if err := c.Get(t.Context(), "/", nil, &thing{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestCredentialsAreNotSentToOtherHosts: and no error contains them, even if the service repeats
// them.
func TestCredentialsAreNotSentToOtherHosts(t *testing.T) {
	for _, to := range []string{"https://elsewhere.test/" + key, "http://api.test/v1/", "https://api.test:8443/", "https://sub.api.test/", "//ann:" + key + "@elsewhere.test/"} {
		n := 0
		c := client(t, 0, func(w http.ResponseWriter, r *http.Request) {
			n++
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
		err := c.Get(t.Context(), "/", nil, &thing{})
		if n != 1 || err == nil || !strings.Contains(err.Error(), "credentials are not sent") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v after %d requests", to, err, n)
		}
	}
	for _, auth := range []func(*http.Request){bearer, func(r *http.Request) { r.SetBasicAuth("api", key) }, func(r *http.Request) { r.Header.Set("Authorization", "token api:"+key) }} {
		c, err := remote.New("https://api.test", auth, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.WithTransport(roundTripFunc{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			_, password, _ := r.BasicAuth()
			fmt.Fprintf(w, `{"message":"no such key: \u001b[31m%s %s"}`, r.Header.Get("Authorization"), password)
		})})
		err = c.Get(t.Context(), "/", nil, &thing{})
		if remote.StatusOf(err) != 401 || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "no such key") {
			t.Error(err)
		}
	}
}

func TestSameHostRedirectIsFollowed(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/loop":
			http.Redirect(w, r, "/v1/loop", http.StatusFound)
		case r.URL.Path != "/v1/new/":
			http.Redirect(w, r, "/v1/new/", http.StatusMovedPermanently)
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(401)
		default:
			io.WriteString(w, `{}`)
		}
	}
	if err := client(t, 0, h).Get(t.Context(), "/new", nil, &thing{}); err != nil {
		t.Error(err)
	}
	if err := client(t, 0, h).Get(t.Context(), "/loop", nil, &thing{}); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Error(err)
	}
}

func TestCancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, at := answers(1<<30, 429, "Retry-After", "500")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := client(t, 10, h).Get(ctx, "/", nil, &thing{})
		if !errors.Is(err, context.DeadlineExceeded) || len(*at) != 1 || time.Since(began) != time.Second {
			t.Error(err, len(*at), time.Since(began))
		}
	})
}
