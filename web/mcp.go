package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/app"
)

// mcpServer is the MCP server at /mcp (decisions.md 11). Its tools are the
// operations of the document, and a call runs the very handler of its
// operation, so that rules, scopes and words are those of the API.
type mcpServer struct {
	h       *Handler
	origins *http.CrossOriginProtection
	calls   *callBudget
	// sdk is made with the first message: most servers never see one.
	sdk func() http.Handler
}

// mcpOutput is an answer as the SDK wrote it.
type mcpOutput struct {
	Status      int
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        []byte
}

// registerMCP adds /mcp. It comes after all operations that are to be tools.
// There are no sessions, so GET and DELETE get the 405 that the protocol asks
// for then.
func registerMCP(h *Handler) {
	m := &mcpServer{h: h, origins: http.NewCrossOriginProtection(), calls: newCallBudget(h.now)}
	if u, err := url.Parse(h.baseURL); err == nil && u.Host != "" {
		// Behind a proxy the Host that arrives may be another. It fails for what
		// has no origin, and nothing is trusted then.
		_ = m.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	m.sdk = sync.OnceValue(m.newSDK)
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
	added := registerRaw(h, route{sending: true, body: true}, op, m.serve)
	added.RequestBody = &huma.RequestBody{Required: true, Content: object("One JSON-RPC message")}
}

// newSDK makes the server with its tools.
func (m *mcpServer) newSDK() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "mailer", Title: "Mailer", Version: m.h.api.OpenAPI().Info.Version}, &mcp.ServerOptions{
		Instructions: "Tools of an email service, one for each operation of its API. Lists answer at most 100 rows: " +
			"give the last id as after for the next ones while has_more is true. " +
			"A refusal is an object with statusCode, name and message. A send with an idempotency_key may be repeated safely.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // they never change while it runs
	})
	for _, t := range m.h.tools() {
		server.AddTool(t.declared(), func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return m.call(ctx, t), nil
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, // it was read, within the limit of any request
		// Behind a reverse proxy on this machine every request comes over the
		// loopback with a foreign Host; what protects here is the key.
		DisableLocalhostProtection: true,
	})
}

// argumentsKey is where the context of a message has the arguments of its call.
type argumentsKey struct{}

func (m *mcpServer) serve(ctx context.Context, x *exchange, _ *struct{}) (*mcpOutput, error) {
	message, arguments, err := takeArguments(x.body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, argumentsKey{}, arguments), http.MethodPost, "/mcp", bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Host, r.Header = x.host, x.header.Clone()
	if m.origins.Check(r) != nil {
		return nil, newError(app.CodeForbidden, "The request comes from a page of another site")
	}
	// As everywhere: whatever the client says, it is JSON.
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := newRecorder()
	m.sdk().ServeHTTP(w, r)
	return m.output(x, w)
}

// output gives what the SDK wrote. Its refusals in plain text, which may repeat
// what the caller sent, become our own.
func (m *mcpServer) output(x *exchange, w *recorder) (*mcpOutput, error) {
	out := &mcpOutput{Status: w.status, ContentType: w.head.Get("Content-Type"), Body: w.body.Bytes()}
	if w.status < 400 || strings.HasPrefix(out.ContentType, "application/json") {
		return out, nil
	}
	if w.status >= 500 {
		m.h.log.Error("request failed", "request_id", x.id, "route", x.pattern, "error", w.body.String())
		return nil, internalError()
	}
	return nil, newError(app.CodeInvalidPayload, "The request is not a message that this server takes; it speaks the versions "+
		strings.Join(mcp.SupportedProtocolVersions(), ", ")+" of the Model Context Protocol")
}

// call carries a call of a tool out. It never panics: the SDK's goroutine would
// take the process along.
func (m *mcpServer) call(ctx context.Context, t *tool) (result *mcp.CallToolResult) {
	x := exchangeOf(ctx) // of the request to /mcp
	defer func() {
		if p := recover(); p != nil {
			m.h.log.Error("panic in a tool", "request_id", x.id, "tool", t.name, "panic", p)
			result = refusedResult(internalError())
		}
	}()
	if err := m.calls.take(x.key.ID); err != nil {
		m.h.log.LogAttrs(ctx, slog.LevelInfo, "tool refused", slog.String("tool", t.name),
			slog.String("request_id", x.id), slog.String("key_id", x.key.ID))
		return refusedResult(err)
	}
	arguments, _ := ctx.Value(argumentsKey{}).([]byte) // a context without them has none
	in, err := t.read(arguments)
	if err != nil {
		return refusedResult(m.h.errorFor(x, err))
	}
	w := m.h.perform(ctx, x, t.operation, in)
	if w.status >= 400 {
		return textResult(w.body.Bytes(), true)
	}
	body, err := t.withoutSecrets(w.body.Bytes())
	if err != nil {
		return refusedResult(m.h.errorFor(x, err))
	}
	return textResult(body, false)
}

// refusedResult is the API's error as the result of a tool.
func refusedResult(e *Error) *mcp.CallToolResult {
	var b bytes.Buffer
	_ = marshal(&b, e) // strings and a number: it can't fail
	return textResult(b.Bytes(), true)
}

func textResult(body []byte, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: isError, Content: []mcp.Content{&mcp.TextContent{Text: string(bytes.TrimSpace(body))}}}
}

// perform runs an operation inside of another request, with the key of that
// one, which has paid for it already. The log has a line of its own for it.
func (h *Handler) perform(ctx context.Context, outer *exchange, o *operation, in *toolInput) (w *recorder) {
	w = newRecorder()
	x := &exchange{ResponseWriter: w, id: outer.id, key: outer.key, header: in.header, host: outer.host, body: in.body, inside: true}
	r := &http.Request{
		Method: o.Method, URL: &url.URL{Path: o.Path, RawQuery: in.query.Encode()}, Host: outer.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: in.header, Body: http.NoBody,
	}
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	defer h.finish(x, r, h.now())
	o.run(x, r, in.params)
	return w
}

// recorder keeps an answer.
type recorder struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{head: http.Header{}, status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// Flush implements http.Flusher, which the SDK asks for.
func (w *recorder) Flush() {}
