package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mailer/web/rest"
)

// What the tests of all routes look at: they import web, which imports this
// package.
var (
	ExcludedOperations = excludedOperations
	Object             = object
	Inlined            = inlined
	KeyCreation        = keyCreation

	DefaultTools    = defaultTools
	HiddenArguments = hiddenArguments
)

// Tools makes the tools of a handler.
func Tools(h *rest.Handler) []*tool { return rest.Cached(h, func() []*tool { return tools(h) })() }

func (t *tool) Name() string               { return t.name }
func (t *tool) Operation() *rest.Operation { return t.operation }
func (t *tool) Hides(name string) bool     { return t.hides(name) }
func (t *tool) List() string               { return t.list }
func (t *tool) Secrets() []string          { return t.secrets }
func (t *tool) Schema() map[string]any     { return t.schema }
func (t *tool) Definition() *sdk.Tool      { return t.definition() }
