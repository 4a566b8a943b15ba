package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

// files serves what the tests fetch.
func files(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/size/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		_, _ = w.Write([]byte(strings.Repeat("x", n)))
	})
	mux.HandleFunc("/unknown-size/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		w.(http.Flusher).Flush()
		_, _ = w.Write([]byte(strings.Repeat("x", n)))
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		_, _ = w.Write([]byte("secret words of the host"))
	})
	mux.HandleFunc("/redirects/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		to := "/size/1"
		if n > 1 {
			to = "/redirects/" + strconv.Itoa(n-1)
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/truncated", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = w.Write([]byte("x"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestFetch(t *testing.T) {
	server := files(t)
	f := New(loopback)
	contents, release, err := f.Fetch(t.Context(), "team", []string{server.URL + "/size/3", server.URL + "/redirects/3", server.URL + "/unknown-size/4"}, 8)
	if err != nil {
		t.Fatal(err)
	}
	release()
	for i, want := range []int{3, 1, 4} {
		if len(contents[i]) != want {
			t.Errorf("file %d has %d bytes, want %d", i, len(contents[i]), want)
		}
	}
}

func TestFetchFails(t *testing.T) {
	server := files(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for path, want := range map[string]app.FetchReason{
		server.URL + "/status/404":                                app.FetchRefused,
		server.URL + "/status/204":                                app.FetchRefused,
		server.URL + "/status/500":                                app.FetchRefused,
		server.URL + "/redirects/4":                               app.FetchRefused,
		server.URL + "/redirect?to=ftp://example.com/":            app.FetchRefused,
		server.URL + "/redirect?to=http://user:x@127.0.0.1/":      app.FetchRefused,
		server.URL + "/redirect?to=http://127.0.0.2/":             app.FetchForbidden,
		server.URL + "/redirect?to=http://169.254.169.254/latest": app.FetchForbidden,
		server.URL + "/size/9":                                    app.FetchTooLarge,
		server.URL + "/unknown-size/9":                            app.FetchTooLarge,
		server.URL + "/endless":                                   app.FetchTooLarge,
		server.URL + "/truncated":                                 app.FetchUnreachable,
		closed.URL:                                                app.FetchUnreachable,
		"http://192.0.2.1/":                                       app.FetchForbidden,
	} {
		_, _, err := New(loopback).Fetch(t.Context(), "team", []string{server.URL + "/size/0", path}, 8)
		var failed *app.FetchError
		if !errors.As(err, &failed) || failed.Reason != want || failed.Index != 1 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Without ranges of the operator nothing but public addresses on port 443 is dialled.
func TestFetchForbidden(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	for _, path := range []string{
		server.URL, "https://localhost/", "https://127.0.0.1/", "https://[::1]/", "https://0.0.0.0/", "https://10.0.0.1/", "https://172.16.0.1/",
		"https://192.168.1.1/", "https://169.254.169.254/", "https://[fe80::1]/", "https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://100.64.0.1/",
		"https://2130706433/", "https://0x7f.1/", "http://1.1.1.1/", "https://1.1.1.1:8443/", "https://1.1.1.1:22/",
	} {
		_, _, err := New(nil).Fetch(t.Context(), "team", []string{path}, 8)
		var failed *app.FetchError
		if !errors.As(err, &failed) || failed.Reason != app.FetchForbidden && failed.Reason != app.FetchUnreachable {
			t.Errorf("%s: %v", path, err)
		}
	}
	if asked.Load() > 0 {
		t.Error("a server on loopback was asked")
	}
}

func TestFetchEndsWithCaller(t *testing.T) {
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hang.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f := New(loopback)
	ended := make(chan error)
	go func() {
		_, _, err := f.Fetch(ctx, "team", []string{hang.URL}, 8)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestFetchTakesTooLong(t *testing.T) {
	drip := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer drip.Close()
	f := New(loopback)
	f.limit = 50 * time.Millisecond
	_, _, err := f.Fetch(t.Context(), "team", []string{drip.URL}, 8)
	var failed *app.FetchError
	if !errors.As(err, &failed) || failed.Reason != app.FetchSlow {
		t.Errorf("%v", err)
	}
}

// A team that waits for a slow host holds its own share only.
func TestFetchSharesByTeam(t *testing.T) {
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hang.Close()
	server := files(t)
	f := New(append(loopback, netip.MustParsePrefix("::1/128")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 * perTeam {
		go func() { _, _, _ = f.Fetch(ctx, "slow", []string{hang.URL}, 1<<20) }()
	}
	for range 20 {
		// The host of both is 127.0.0.1, so another name is used.
		other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
		if _, release, err := f.Fetch(t.Context(), "other", []string{other + "/size/1"}, 8); err != nil {
			t.Fatal(err)
		} else {
			release()
		}
	}
}

func TestFetchLimitPerMinute(t *testing.T) {
	server := files(t)
	f := New(loopback)
	f.bytes.AddN("greedy", clock.Now(), bytesPerMinute)
	_, _, err := f.Fetch(t.Context(), "greedy", []string{server.URL + "/size/1"}, 8)
	var limited *app.FetchLimitError
	if !errors.As(err, &limited) || limited.RetryAfter <= 0 {
		t.Errorf("%v", err)
	}
	if _, release, err := f.Fetch(t.Context(), "other", []string{server.URL + "/size/1"}, 8); err != nil {
		t.Error(err)
	} else {
		release()
	}
}
