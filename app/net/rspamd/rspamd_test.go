package rspamd_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/net/rspamd"
)

var input = app.SpamQuestion{Raw: []byte("Subject: hello\r\n\r\nHello\r\n"), RemoteIP: "192.0.2.7", Helo: "peer.test", MailFrom: "bob@example.net", Recipients: []string{"ann@one.test", "x@one.test"}}

func TestCheck(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"S%02d": {"score": %d}, `, i, i)
	}
	for name, tt := range map[string]struct {
		status       int
		answer       string
		score        float64
		isSpam       bool
		reasons      string // the first ones
		count        int
		errorHasWord string
	}{
		"ham":            {200, `{"score": -1.5, "required_score": 15, "action": "no action", "symbols": {"ZERO": {"score": 0}, "GOOD": {"score": -1.5}}, "messages": {}}`, -1.5, false, "GOOD", 1, ""},
		"no symbols":     {200, `{"score": 0, "action": "no action"}`, 0, false, "", 0, ""},
		"marked":         {200, `{"score": 7.25, "action": "add header", "symbols": {"A": {"score": 1}, "B": {"score": 5.25}, "C": {"score": 1}}}`, 7.25, true, "B A C", 3, ""},
		"subject":        {200, `{"score": 8, "action": "rewrite subject"}`, 8, true, "", 0, ""},
		"rejected":       {200, `{"score": 20, "action": "reject"}`, 20, true, "", 0, ""},
		"greylisted":     {200, `{"score": 4, "action": "greylist"}`, 4, false, "", 0, ""},
		"many symbols":   {200, `{"score": 9, "action": "reject", "symbols": {` + many.String() + `"T": {"score": 0}}}`, 9, true, "S39 S38", 20, ""},
		"no score":       {200, `{"error": "bad message"}`, 0, false, "", 0, "bad message"},
		"another server": {200, `<html>`, 0, false, "", 0, "not that of a rspamd"},
		"not here":       {404, `{}`, 0, false, "", 0, "404"},
		"redirect":       {302, ``, 0, false, "", 0, "302"},
		"too long":       {200, `{"score": 1, "x": "` + strings.Repeat("x", 2<<20) + `"}`, 0, false, "", 0, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				user, password, _ := r.BasicAuth()
				if r.Method != http.MethodPost || r.URL.Path != "/checkv2" || string(body) != string(input.Raw) || r.Header.Get("IP") != input.RemoteIP || r.Header.Get("From") != input.MailFrom ||
					r.Header.Get("Helo") != input.Helo || !slices.Equal(r.Header.Values("Rcpt"), input.Recipients) || user != "ann" || password != "secret" {
					t.Errorf("%s %s %v %q", r.Method, r.URL, r.Header, body)
				}
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer server.Close()
			client, err := rspamd.New(strings.Replace(server.URL, "http://", "http://ann:secret@", 1))
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Check(t.Context(), &input)
			if tt.errorHasWord != "" {
				if err == nil || !strings.Contains(err.Error(), tt.errorHasWord) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || got.Score != tt.score || got.IsSpam != tt.isSpam || len(got.Reasons) != tt.count || !strings.HasPrefix(strings.Join(got.Reasons, " "), tt.reasons) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestCheckWithoutServer(t *testing.T) {
	t.Parallel()
	client, err := rspamd.New("http://ann:secret@127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := client.Check(ctx, &input); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	cancel()
	if _, err := client.Check(ctx, &input); err == nil {
		t.Error("a check that was canceled has an answer")
	}
	injected := input
	injected.Helo = "x\r\nUser: root"
	if _, err := client.Check(t.Context(), &injected); err == nil || strings.Contains(err.Error(), "refused") {
		t.Errorf("a header with a line break: %v", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://127.0.0.1:11333", "https://ann:secret@spam.test/path", "http://[::1]:11333/"} {
		if _, err := rspamd.New(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "127.0.0.1:11333", "ftp://x", "http://", "http://:11333", "http://x?y=z", "http://x#y", "http://%zz"} {
		if _, err := rspamd.New(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}
