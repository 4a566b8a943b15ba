package cli

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckLive(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:" + port, ":" + port, "0.0.0.0:" + port, "[::]:" + port, "localhost:" + port} {
		if err := checkLive(t.Context(), listen); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
	status = http.StatusInternalServerError
	if err := checkLive(t.Context(), "127.0.0.1:"+port); !errors.Is(err, errNotLive) || !strings.Contains(err.Error(), "500") {
		t.Errorf("a server that fails: %v", err)
	}
	server.Close()
	if err := checkLive(t.Context(), "127.0.0.1:"+port); !errors.Is(err, errNotLive) {
		t.Errorf("no server: %v", err)
	}
	if err := checkLive(t.Context(), "3000"); err == nil || !strings.Contains(err.Error(), "--listen 3000") {
		t.Errorf("no address: %v", err)
	}
}
