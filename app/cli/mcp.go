package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

const (
	// maxMessage bounds a message on standard input, in bytes: slightly more than the server
	// accepts, so that the server refuses it.
	maxMessage = 41 << 20
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 128 << 20
	// answerTimeout is slightly longer than the server's own timeout of 5 minutes.
	answerTimeout = 6 * time.Minute
	// protocolVersion is the protocol version between this command and the server; the SDK supports
	// all versions with the agent.
	protocolVersion = "2025-11-25"
)

// MCP returns the command that connects an agent on standard input and output to a running server.
// It knows none of the tools.
func MCP() *cobra.Command {
	u := &upstream{client: &http.Client{
		Timeout: answerTimeout,
		// The key must not be sent to any other server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	cmd := newCommand("mcp", "Offer the tools of a running server to an agent (MCP over standard input and output)", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			return u.serve(cmd.Context(), &mcp.IOTransport{Reader: os.Stdin, Writer: keepOpen{os.Stdout}, MaxLineLength: maxMessage})
		})
	cmd.Flags().StringVar(&u.url, "url", "http://127.0.0.1:3000", "address of the server")
	cmd.Flags().StringVar(&u.tools, "tools", "", "tools to list: all, or groups like default,queue (default: the tools for everyday work)")
	cmd.Flags().StringVar(&u.key, "api-key", "", "API key for the tools; prefer MAILER_API_KEY or MAILER_API_KEY_FILE, which other users can't see")
	return cmd
}

// keepOpen is a writer whose Close does nothing.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// upstream is the server.
type upstream struct {
	url    string
	tools  string // the parameter tools of /mcp; empty: the server's default
	key    string
	client *http.Client
}

// serve answers the agent until the transport is closed or ctx ends. Errors: the server can't be
// reached or refuses the key at the start.
func (u *upstream) serve(ctx context.Context, t mcp.Transport) error {
	if u.key == "" {
		return errors.New("no API key: set MAILER_API_KEY")
	}
	base, err := url.Parse(u.url)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return fmt.Errorf("--url %q is not an http or https address", u.url)
	}
	u.url, u.key = strings.TrimRight(u.url, "/"), strings.TrimSpace(u.key)
	if err := u.send(ctx, "ping", nil, nil); err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mailer", Title: "Mailer", Version: "1.0.0"},
		&mcp.ServerOptions{
			Instructions: "Tools of an email service. The list has those for everyday work; mailer mcp --tools all lists all that the API key may use.",
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	server.AddReceivingMiddleware(u.forward)
	err = server.Run(ctx, drainingTransport{t})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// forward sends messages about tools to the server, and the rest to the SDK.
func (u *upstream) forward(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch params := req.GetParams().(type) {
		case *mcp.ListToolsParams:
			out := &mcp.ListToolsResult{}
			cursor := map[string]string{}
			if params != nil && params.Cursor != "" {
				cursor["cursor"] = params.Cursor
			}
			return out, u.send(ctx, method, cursor, out)
		case *mcp.CallToolParamsRaw:
			return u.call(ctx, params)
		}
		return next(ctx, method, req)
	}
}

// call calls a tool. Errors become results too: agents see results, but often no protocol errors.
func (u *upstream) call(ctx context.Context, params *mcp.CallToolParamsRaw) (mcp.Result, error) {
	out := &mcp.CallToolResult{}
	err := u.send(ctx, "tools/call", map[string]any{"name": params.Name, "arguments": params.Arguments}, out)
	var refused *refusedError
	if errors.As(err, &refused) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: refused.body()}}}, nil
	}
	return out, err
}

// refusedError is an error of the API instead of one of the protocol.
type refusedError struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"name"`
	Message    string `json:"message"`
}

// Error implements error.
func (e *refusedError) Error() string { return e.Name + ": " + e.Message }

func (e *refusedError) body() string {
	b, _ := json.Marshal(e) // strings and a number: can't fail
	return string(b)
}

// send sends a message and decodes the result into out. Errors: *refusedError if the server refuses
// or can't be reached; *jsonrpc.Error for protocol errors.
func (u *upstream) send(ctx context.Context, method string, params, out any) error {
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		message["params"] = params
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // escaping could make HTML six times as long
	if err := enc.Encode(message); err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	status, body, err := u.post(ctx, b.Bytes())
	if err != nil {
		return &refusedError{http.StatusServiceUnavailable, "service_unavailable", "The server at " + u.url + " could not be reached: " + err.Error()}
	}
	return u.read(status, body, out)
}

func (u *upstream) read(status int, body []byte, out any) error {
	var answer struct {
		Result, Error json.RawMessage
	}
	var refused refusedError
	if json.Unmarshal(body, &refused) == nil && refused.Name != "" {
		return &refused
	}
	err := json.Unmarshal(body, &answer)
	var wire jsonrpc.Error
	switch {
	case err == nil && json.Unmarshal(answer.Error, &wire) == nil:
		return &wire
	case err != nil || answer.Result == nil:
		return &refusedError{http.StatusServiceUnavailable, "service_unavailable",
			fmt.Sprintf("%s/mcp answers with status %d and no message of the protocol; is it a Mailer?", u.url, status)}
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, out)
}

func (u *upstream) post(ctx context.Context, message []byte) (status int, body []byte, err error) {
	address := u.url + "/mcp"
	if u.tools != "" {
		address += "?" + url.Values{"tools": {u.tools}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(message))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+u.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", protocolVersion)
	res, err := u.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, body, err
}
