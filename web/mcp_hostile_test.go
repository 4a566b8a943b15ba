package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/app"
	"mailer/web/rest"
)

func TestMCPNeedsKeyAndPOST(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	wantError(t, r.do("POST", "/mcp", list), 401, app.CodeMissingAPIKey)
	for range 20 {
		wantError(t, r.rpc("mlr_no", list), 401, app.CodeInvalidAPIKey)
	}
	wantError(t, r.rpc("mlr_no", list), 429, app.CodeRateLimitExceeded)
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		w := r.as(r.full, method, "/mcp", "")
		wantError(t, w, 405, app.CodeMethodNotAllowed)
		if w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: allow %q", method, w.Header().Get("Allow"))
		}
	}
	for header, status := range map[string]int{
		"Origin: https://evil.example": 403, "Sec-Fetch-Site: cross-site": 403,
		"Origin: https://mail.example.com": 200, "Sec-Fetch-Site: same-origin": 200, "Host: mail.example.com": 200,
	} {
		if w := r.rpc(r.full, list, header); w.Code != status {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}

func TestMCPRevokedKey(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	token, key, err := r.server.Teams.CreateKey(t.Context(), r.team.ID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	r.ok(token, "list_topics", m{}, nil)
	if err := r.server.Teams.RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		w := r.rpc(token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_topics"}}`)
		if w.Code == http.StatusUnauthorized {
			wantError(t, w, 401, app.CodeInvalidAPIKey)
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("the revoked key is still taken: %d %s", w.Code, w.Body)
		}
	}
}

func TestMCPHostileMessages(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured(), func(_ *Config, l *rest.Limits) { l.Body = 1 << 20 })
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_email","arguments":` + arguments + `}}`
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct {
		name, message string
		status        int
	}{
		{"empty", "", 400},
		{"not JSON", "hello", 400},
		{"null", "null", 400},
		{"a number", "1", 400},
		{"an empty object", "{}", 400},
		{"cut off", `{"jsonrpc":"2.0","id":1,`, 400},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, 400},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400},
		{"an empty batch", `[]`, 400},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 400},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffing\"}", 400},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/drop"}`, 400},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400},
		{"a call without id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"send_email"}}`, 400},
		{"deeper arguments", call(deep(400_000)), 400},
		{"deep from the start", strings.Repeat("[", 900_000), 400},
		{"too large", call(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`), 413},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, 202},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202},
		{"a cancellation", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202},
		{"params of another kind", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, 200},
		{"no tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, 200},
		{"an unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_tables"}}`, 200},
		{"prompts", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, 200},
		{"initialize without anything", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 400},
		{"initialize with nothing in it", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, 200},
		{"a list that goes on", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := r.rpc(r.full, tt.message)
			wantStatus(t, w, tt.status)
			switch tt.status {
			case 400:
				wantError(t, w, 400, app.CodeInvalidPayload)
			case 413:
				wantError(t, w, 413, app.CodePayloadTooLarge)
			case 202:
				if w.Body.Len() > 0 {
					t.Errorf("the answer is %s", w.Body)
				}
			}
		})
	}
	// A stream that could be endless ends, since the server has no notifications.
	stream := httptest.NewRecorder()
	request := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	request.Header.Set("Authorization", "Bearer "+r.full)
	r.handler.ServeHTTP(stream, request)
	if stream.Code != 200 || !strings.Contains(stream.Body.String(), `"result"`) {
		t.Errorf("subscriptions/listen: %d %s", stream.Code, stream.Body)
	}
	wantError(t, r.rpc(r.full, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Protocol-Version: 1999-01-01"), 400, app.CodeInvalidPayload, "2025-06-18")
	if w := r.rpc(r.full, call(deep(5000))); w.Code != 200 || !strings.Contains(w.Body.String(), `"isError":true`) {
		t.Errorf("deep arguments: %d %s", w.Code, w.Body)
	}
	wantError(t, r.rpc(r.full, `{"jsonrpc":"2.0","id":`+deep(2000)+`,"method":"ping"}`), 400, app.CodeInvalidPayload)
	r.refused(r.full, "send_email", m{"to": []any{[]any{[]any{1}}}}, 422, app.CodeValidation, "`to")
	wantStatus(t, r.rpc(r.full, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Content-Type: text/plain", "Accept: text/html"), 200)
	if p := r.page(r.full, "/emails"); len(p.Data) != 0 {
		t.Errorf("%d emails came of it", len(p.Data))
	}
}

func TestMCPPanicInTool(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	r.breakEmails()
	w := r.rpc(r.full, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_email","arguments":`+validSend+`}}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `internal_server_error`) || strings.Contains(w.Body.String(), "nil pointer") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(r.log.String(), "nil pointer") {
		t.Error("the log does not tell of the panic")
	}
}

// asKey adds a key to each request.
type asKey string

func (k asKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPWithSDKClient is over HTTP and in all its versions.
func TestMCPWithSDKClient(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	for _, version := range mcp.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
				Endpoint: server.URL + "/mcp?tools=all", HTTPClient: &http.Client{Transport: asKey(r.full)},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("spoken is %s", got)
			}
			list, err := session.ListTools(ctx, nil)
			if err != nil || len(list.Tools) != len(r.tools()) {
				t.Fatalf("%v, %d tools of %d", err, len(list.Tools), len(r.tools()))
			}
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send_email", Arguments: m{"from": "a@example.com", "to": "b@example.org", "subject": "s", "text": "t"}})
			if err != nil || result.IsError {
				t.Errorf("send: %v %+v", err, result)
			}
			result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "get_email", Arguments: m{"id": unknownID}})
			if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, "not_found") {
				t.Errorf("a refusal: %v %+v", err, result)
			}
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "drop_tables"}); err == nil {
				t.Error("an unknown tool was called")
			}
		})
	}
}
