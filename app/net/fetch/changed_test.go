package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
)

// TestFetchChanged: a host is asked for what changed since the known version, and only with a version can it say
// that nothing did. Versions that are no plain text or too long are not kept.
func TestFetchChanged(t *testing.T) {
	const modified = "Mon, 02 Jan 2006 15:04:05 GMT"
	etag, plain := `"v1"`, true
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		w.Header().Set("Last-Modified", modified)
		if !plain || r.Header.Get("If-None-Match") == etag && r.Header.Get("If-Modified-Since") == modified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("feed"))
	}))
	t.Cleanup(host.Close)
	f := New(loopback)
	get := func(known app.FileVersion) (app.FetchedFile, error) {
		file, err := f.FetchChanged(t.Context(), "team", host.URL, known, 10)
		if err == nil {
			file.Release()
		}
		return file, err
	}
	first, err := get(app.FileVersion{})
	if err != nil || string(first.Content) != "feed" || first.Unchanged || first.Version != (app.FileVersion{ETag: etag, LastModified: modified}) {
		t.Fatalf("%+v %v", first, err)
	}
	if again, err := get(first.Version); err != nil || !again.Unchanged || again.Version != first.Version {
		t.Errorf("%+v %v", again, err)
	}
	etag = strings.Repeat("x", maxVersion+1)
	if long, err := get(first.Version); err != nil || long.Unchanged || long.Version.ETag != "" {
		t.Errorf("%+v %v", long, err)
	}
	plain = false
	var refused *app.FetchError
	if _, err := get(app.FileVersion{}); !errors.As(err, &refused) || refused.Reason != app.FetchRefused {
		t.Errorf("304 without a version: %v", err)
	}
}
