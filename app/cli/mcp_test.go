package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fakeServer answers messages at /mcp by their method or tool name; a text that begins with a digit
// begins with the status.
func fakeServer(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil || r.URL.Path != "/mcp" || r.Header.Get("Authorization") != "Bearer the-key" {
			t.Errorf("%v: %s with %q", err, r.URL, r.Header.Get("Authorization"))
		}
		answer, ok := answers[message.Method]
		if message.Params.Name != "" {
			answer = answers[message.Params.Name]
		}
		if !ok && message.Method == "ping" {
			answer = `{"result":{}}`
		}
		status := http.StatusOK
		if first, rest, ok := strings.Cut(answer, " "); ok && len(first) == 3 {
			status, answer = int(first[0]-'0')*100+int(first[1]-'0')*10+int(first[2]-'0'), rest
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// agent runs the command's part against a server and returns the agent's end.
func agent(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	u := &upstream{url: url, key: "the-key\n", client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	ended := make(chan error, 1)
	go func() { ended <- u.serve(ctx, far) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		cancel()
	})
	return session
}

func text(t *testing.T, session *mcp.ClientSession, tool string) (msg string, isError bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]string{"html": "<b>&"}})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func TestMCPForwardsTools(t *testing.T) {
	session := agent(t, fakeServer(t, map[string]string{
		"tools/list": `{"result":{"tools":[{"name":"get_x","inputSchema":{"type":"object"}}]}}`,
		"get_x":      `{"result":{"content":[{"type":"text","text":"it is x"}]}}`,
		"refuse":     `{"result":{"isError":true,"content":[{"type":"text","text":"not_found"}]}}`,
		"conflict":   `409 {"statusCode":409,"name":"conflict","message":"There is one","error":"conflict"}`,
		"revoked":    `401 {"statusCode":401,"name":"invalid_api_key","message":"API key is invalid"}`,
		"moved":      `302 {}`,
		"html":       `502 <html>Bad gateway</html>`,
		"nothing":    ` `,
		"unknown":    `{"error":{"code":-32602,"message":"unknown tool"}}`,
	}).URL)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "get_x" {
		t.Errorf("%v, %+v", err, list)
	}
	for tool, want := range map[string]struct {
		words   string
		isError bool
	}{
		"get_x": {"it is x", false}, "refuse": {"not_found", true},
		"conflict": {`"name":"conflict"`, true}, "revoked": {`"name":"invalid_api_key"`, true},
		"moved": {"status 302", true}, "html": {"status 502", true}, "nothing": {"service_unavailable", true},
	} {
		if msg, isError := text(t, session, tool); isError != want.isError || !strings.Contains(msg, want.words) {
			t.Errorf("%s: %v %s", tool, isError, msg)
		}
	}
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "unknown"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("an unknown tool: %v", err)
	}
}

func TestMCPRequestsChosenTools(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		io.WriteString(w, `{"result":{}}`)
	}))
	defer server.Close()
	for _, tools := range []string{"", "default,queue"} {
		u := &upstream{url: server.URL, tools: tools, key: "the-key", client: server.Client()}
		if err := u.send(t.Context(), "ping", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"/mcp", "/mcp?tools=default%2Cqueue"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

func TestMCPReportsUnreachableServer(t *testing.T) {
	server := fakeServer(t, nil)
	session := agent(t, server.URL)
	server.Close()
	msg, isError := text(t, session, "get_x")
	if !isError || !strings.Contains(msg, "service_unavailable") || !strings.Contains(msg, server.URL) || strings.Contains(msg, "the-key") {
		t.Errorf("%v %s", isError, msg)
	}
}

func TestMCPNeedsServerThatAcceptsKey(t *testing.T) {
	refusing := fakeServer(t, map[string]string{"ping": `401 {"statusCode":401,"name":"invalid_api_key","message":"API key is invalid"}`})
	gone := fakeServer(t, nil)
	gone.Close()
	for _, tt := range []struct{ url, key, words string }{
		{refusing.URL, "", "MAILER_API_KEY"},
		{"localhost:3000", "the-key", "--url"},
		{refusing.URL, "the-key", "invalid_api_key"},
		{gone.URL, "the-key", "could not be reached"},
	} {
		_, far := mcp.NewInMemoryTransports()
		u := &upstream{url: tt.url, key: tt.key, client: http.DefaultClient}
		if err := u.serve(t.Context(), far); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s %q: %v", tt.url, tt.key, err)
		}
	}
}
