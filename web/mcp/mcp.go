// Package mcp is the server of the Model Context Protocol at /mcp: its tools are
// the operations of the API. It asks web/rest alone, for the operations and to
// run them; only web imports it. It fails as they do: a refusal of an operation is
// the result of its tool, and a panic in a tool is logged and answered as
// internal_server_error.
package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
)

// server is the MCP server at /mcp. Its tools are the operations of the document,
// and a call runs the very handler of its operation, so that rules, scopes and
// words are those of the API.
type server struct {
	h       *rest.Handler
	origins *http.CrossOriginProtection
	calls   *callBudget
	// sdk is made with the first message: most servers never see one.
	sdk func() *protocol
}

// protocol is the SDK's handler with the tools of the document as it is.
type protocol struct {
	http.Handler
	groups []string
}

// input is what the address of a message says.
type input struct {
	Tools []string `query:"tools" doc:"Which tools the answer to tools/list has: default (those for everyday work, where it is absent), all, or groups of operations by their tags in lower case with hyphens, as in default,queue. Only tools that the API key may use are listed"`
}

// output is an answer as the SDK wrote it.
type output struct {
	Status      int
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// Register adds /mcp. It comes after all operations that are to be tools.
// There are no sessions, so GET and DELETE get the 405 that the protocol asks
// for then.
func Register(h *rest.Handler) {
	m := &server{h: h, origins: http.NewCrossOriginProtection(), calls: newCallBudget(h.Now)}
	if u, err := url.Parse(h.BaseURL()); err == nil && u.Host != "" {
		// Behind a proxy the Host that arrives may be another. It fails for what
		// has no origin, and nothing is trusted then.
		_ = m.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	m.sdk = rest.Cached(h, m.newSDK)
	object := func(what string) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object", Description: what, AdditionalProperties: true}}}
	}
	op := huma.Operation{
		OperationID: "call-mcp", Method: http.MethodPost, Path: "/mcp",
		Summary: "Take a message of the Model Context Protocol (streamable HTTP without sessions)", Tags: []string{"MCP"},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: object("The JSON-RPC response")},
			"202": {Description: "Accepted: the message asks for no answer"},
		},
	}
	added := rest.RegisterRaw(h, rest.Route{Sending: true, Body: true}, op, m.serve)
	message := object("One JSON-RPC message")["application/json"]
	message.Schema = h.Component("MCPMessage", message.Schema)
	added.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": message}}
}

// newSDK makes the server with its tools.
func (m *server) newSDK() *protocol {
	all := tools(m.h)
	groups := groupsOf(all)
	server := sdk.NewServer(&sdk.Implementation{Name: "mailer", Title: "Mailer", Version: m.h.OpenAPI().Info.Version}, &sdk.ServerOptions{
		Instructions: instructions(groups),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // they never change while it runs
	})
	server.AddReceivingMiddleware(m.listing(all))
	for _, t := range all {
		server.AddTool(t.definition(), func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return m.call(ctx, t), nil
		})
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, // it was read, within the limit of any request
		// Behind a reverse proxy on this machine every request comes over the
		// loopback with a foreign Host; what protects here is the key.
		DisableLocalhostProtection: true,
	})
	return &protocol{handler, groups}
}

// messageKey is where the context of a message has the message.
type messageKey struct{}

// message is what a call of a tool has to know of the request to /mcp.
type message struct {
	x         *rest.Exchange
	arguments []byte   // of the call; nil: none
	chosen    []string // which tools a list has; none: the default
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
	// As everywhere: whatever the client says, it is JSON.
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := rest.NewRecorder()
	protocol.ServeHTTP(w, r)
	return m.output(x, w)
}

// output returns what the SDK wrote. Its refusals in plain text, which may repeat
// what the caller sent, become our own.
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

// call carries a call of a tool out. It never panics: the SDK's goroutine would
// take the process along.
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
	if m.h.MayUse(x.Key, t.served) { // else the operation refuses, whatever the arguments are
		var err error
		if request, err = t.read(in.arguments); err != nil {
			return refusedResult(m.h.ErrorFor(x, err))
		}
	}
	request.Via = mail.SourceMCP
	w := m.h.Perform(ctx, x, t.served, &request.Call)
	if w.Status >= 400 {
		return textResult(w.Body.Bytes(), true)
	}
	body, err := t.withoutSecrets(w.Body.Bytes())
	if err != nil {
		return refusedResult(m.h.ErrorFor(x, err))
	}
	return textResult(body, false)
}

// refusedResult is the API's error as the result of a tool.
func refusedResult(e *rest.Error) *sdk.CallToolResult {
	var b bytes.Buffer
	_ = rest.Marshal(&b, e) // strings and a number: it can't fail
	return textResult(b.Bytes(), true)
}

func textResult(body []byte, isError bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: isError, Content: []sdk.Content{&sdk.TextContent{Text: string(bytes.TrimSpace(body))}}}
}
