// Package mcp serves the Model Context Protocol at /mcp. Its tools are the operations of the API,
// which it gets from web/rest and runs through it. Only web imports it.
//
// Failure policy: an error of an operation is the result of its tool; a panic in a tool is logged
// and answered as internal_server_error.
package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// server is the MCP server. A tool call runs the handler of its operation, so that rules, access
// and texts are those of the API.
type server struct {
	h       *rest.Handler
	origins *http.CrossOriginProtection
	calls   *callBudget
	// sdk makes the protocol handler on the first message: most servers never get one.
	sdk func() *protocol
}

// protocol is the SDK's handler with the tools of the current document.
type protocol struct {
	http.Handler
	groups []string
}

// input are the parameters in the URL.
type input struct {
	Tools []string `query:"tools" doc:"Which tools the answer to tools/list has: default (those for everyday work, where it is absent), all, or groups of operations by their tags in lower case with hyphens, as in default,queue. Only tools that the API key may use are listed"`
}

// output is an answer of the SDK.
type output struct {
	Status      int
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// Register adds /mcp. All operations that are tools must be added before. There are no sessions, so
// GET and DELETE get 405, as the protocol requires.
func Register(h *rest.Handler) {
	m := &server{h: h, origins: http.NewCrossOriginProtection(), calls: newCallBudget(h.Now)}
	if u, err := url.Parse(h.BaseURL()); err == nil && u.Host != "" {
		// Behind a proxy the Host header may differ. An invalid origin is not added, and nothing is
		// trusted then.
		_ = m.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	m.sdk = rest.Cached(h, m.newSDK)
	object := func(what string) map[string]*openapi.MediaType {
		return map[string]*openapi.MediaType{"application/json": {Schema: &openapi.Schema{Type: "object", Description: what, AdditionalProperties: true}}}
	}
	op := openapi.Operation{
		OperationID: "call-mcp", Method: http.MethodPost, Path: "/mcp",
		Summary: "Take a message of the Model Context Protocol (streamable HTTP without sessions)", Tags: []string{"MCP"},
		Responses: map[string]*openapi.Response{
			"200": {Description: "OK", Content: object("The JSON-RPC response")},
			"202": {Description: "Accepted: the message asks for no answer"},
		},
	}
	added := rest.RegisterRaw(h, rest.Route{Sending: true, Body: true}, op, m.serve)
	message := object("One JSON-RPC message")["application/json"]
	message.Schema = h.Component("MCPMessage", message.Schema)
	added.RequestBody = &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{"application/json": message}}
}

// newSDK makes the SDK's server with the tools.
func (m *server) newSDK() *protocol {
	all := tools(m.h)
	groups := groupsOf(all)
	server := sdk.NewServer(&sdk.Implementation{Name: "mailer", Title: "Mailer", Version: m.h.OpenAPI().Info.Version}, &sdk.ServerOptions{
		Instructions: instructions(groups),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes while the server runs
	})
	server.AddReceivingMiddleware(m.listing(all))
	for _, t := range all {
		server.AddTool(t.definition(), func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return m.call(ctx, t), nil
		})
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, // the body was read already, within the limits
		// Behind a reverse proxy on this machine, every request comes from loopback with a foreign
		// Host; the key is the protection.
		DisableLocalhostProtection: true,
	})
	return &protocol{handler, groups}
}

// messageKey is the context key of a message.
type messageKey struct{}

// message is what a tool call needs of the request to /mcp.
type message struct {
	x         *rest.Exchange
	arguments []byte   // of the call; nil: none
	chosen    []string // groups and tools to list; none: the default
}

func (m *server) serve(ctx context.Context, x *rest.Exchange, in *input) (*output, error) {
	protocol := m.sdk()
	if err := checkChosen(in.Tools, protocol.groups); err != nil {
		return nil, err
	}
	rest.ReplaceLoneSurrogates(x.Body)
	left, arguments, err := takeArguments(x.Body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, messageKey{}, message{x, arguments, in.Tools}), http.MethodPost, "/mcp", bytes.NewReader(left))
	if err != nil {
		return nil, err
	}
	r.Host, r.Header = x.Host, x.RequestHeader.Clone()
	if m.origins.Check(r) != nil {
		return nil, rest.NewError(app.CodeForbidden, "The request comes from a page of another site")
	}
	// The body is JSON, whatever type the client declares.
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := rest.NewRecorder()
	protocol.ServeHTTP(w, r)
	return m.output(x, w)
}

// output converts the SDK's answer. Plain text errors of the SDK may repeat the caller's input, and
// are replaced.
func (m *server) output(x *rest.Exchange, w *rest.Recorder) (*output, error) {
	out := &output{Status: w.Status, ContentType: w.Head.Get("Content-Type"), Body: w.Body.Bytes()}
	if w.Status < 400 || strings.HasPrefix(out.ContentType, "application/json") {
		return out, nil
	}
	if w.Status >= 500 {
		m.h.Log().Error("request failed", "request_id", x.ID, "route", x.Pattern, "error", w.Body.String())
		return nil, rest.InternalError()
	}
	return nil, rest.NewError(app.CodeInvalidPayload, "The request is not a message that this server takes; it speaks the versions "+
		strings.Join(sdk.SupportedProtocolVersions(), ", ")+" of the Model Context Protocol")
}

// call runs a tool call. It never panics: a panic in the SDK's goroutine would end the process.
func (m *server) call(ctx context.Context, t *tool) (result *sdk.CallToolResult) {
	in := ctx.Value(messageKey{}).(message)
	x := in.x
	defer func() {
		if p := recover(); p != nil {
			m.h.Log().Error("panic in a tool", "request_id", x.ID, "tool", t.name, "panic", p)
			result = refusedResult(rest.InternalError())
		}
	}()
	if err := m.calls.take(x.Key.ID); err != nil {
		m.h.Log().LogAttrs(ctx, slog.LevelInfo, "tool refused", slog.String("tool", t.name),
			slog.String("request_id", x.ID), slog.String("key_id", x.Key.ID))
		return refusedResult(err)
	}
	request := &toolInput{}
	if m.h.MayUse(x.Key, t.operation) { // otherwise the operation refuses, whatever the arguments are
		var err error
		if request, err = t.read(in.arguments); err != nil {
			return refusedResult(m.h.ErrorFor(x, err))
		}
	}
	request.Via = mail.SourceMCP
	w := m.h.Perform(ctx, x, t.operation, &request.Call)
	if w.Status >= 400 {
		return textResult(w.Body.Bytes(), true)
	}
	body, err := t.withoutSecrets(w.Body.Bytes())
	if err != nil {
		return refusedResult(m.h.ErrorFor(x, err))
	}
	return textResult(body, false)
}

// refusedResult returns an error of the API as a tool result.
func refusedResult(e *rest.Error) *sdk.CallToolResult {
	var b bytes.Buffer
	_ = rest.Marshal(&b, e) // strings and a number: can't fail
	return textResult(b.Bytes(), true)
}

func textResult(body []byte, isError bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: isError, Content: []sdk.Content{&sdk.TextContent{Text: string(bytes.TrimSpace(body))}}}
}
