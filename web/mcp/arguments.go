package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/julienschmidt/httprouter"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// toolInput is the request of a tool call's operation.
type toolInput struct{ rest.Call }

// read splits the arguments of a call into the operation's parameters and its body. The operation
// checks the members of the body. Errors: CodeValidation for an unknown argument, and for a
// parameter that is missing or no plain value.
func (t *tool) read(arguments []byte) (*toolInput, error) {
	in := &toolInput{rest.Call{Query: url.Values{}, Header: http.Header{}}}
	var left []byte // the body without its closing brace
	err := eachMember(arguments, func(name string, value []byte, _ int) error {
		p := t.parameters[name]
		switch {
		case p != nil:
			return in.add(name, p, value)
		case t.list != "" && t.list == name:
			in.Body = value
			return nil
		case t.list != "" || !t.takesBody:
			return rest.NewError(app.CodeValidation, rest.UnknownField(rest.FieldName(jsontext.Pointer("").AppendToken(name))))
		}
		if left == nil {
			left = make([]byte, 0, len(arguments)+2)
		}
		left = appendMember(left, name, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return in, t.finish(in, left)
}

// finish checks that no parameter is missing, and closes the body.
func (t *tool) finish(in *toolInput, left []byte) error {
	for _, p := range t.operation.Parameters {
		if p.In == "path" && in.Params.ByName(p.Name) == "" {
			return app.Invalid(p.Name, "is required")
		}
	}
	switch {
	case !t.takesBody:
	case t.list != "" && in.Body == nil:
		return app.Invalid(t.list, "is required")
	case t.list != "":
	case left != nil:
		in.Body = append(left, '}')
	case t.operation.RequestBody.Required:
		in.Body = []byte("{}")
	}
	return nil
}

// add adds a parameter. null means absent.
func (in *toolInput) add(name string, p *openapi.Param, value []byte) error {
	var text string
	switch jsontext.Value(value).Kind() {
	case 'n':
		return nil
	case '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return app.Invalid(name, "must be a string")
		}
	case '{', '[':
		return app.Invalid(name, "must be a string, a number, true or false")
	default:
		text = string(value)
	}
	switch p.In {
	case "path":
		in.Params = append(in.Params, httprouter.Param{Key: p.Name, Value: text})
	case "query":
		in.Query.Set(p.Name, text)
	default:
		return in.addHeader(name, p, text)
	}
	return nil
}

// addHeader refuses values that no HTTP header could contain.
func (in *toolInput) addHeader(name string, p *openapi.Param, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return app.Invalid(name, "must not hold control characters")
	}
	in.Header.Set(p.Name, textproto.TrimString(text))
	return nil
}

// eachMember calls member for each member of a JSON object; absent and null are an empty object.
// The values are parts of object, at the given index.
func eachMember(object []byte, member func(name string, value []byte, at int) error) error {
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object)) // the decoder reads a Buffer without a copy
	if d.PeekKind() != '{' {
		return app.Invalid("arguments", "must be an object")
	}
	return walk(d, object, member)
}

// walk reads the next object from d, which reads whole. Errors: CodeInvalidPayload, and those of
// member.
func walk(d *jsontext.Decoder, whole []byte, member func(name string, value []byte, at int) error) error {
	broken := rest.NewError(app.CodeInvalidPayload, "The request body is not valid JSON")
	if _, err := d.ReadToken(); err != nil {
		return broken
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return broken
		}
		key := name.String() // before it is overwritten
		value, err := d.ReadValue()
		if err != nil {
			return broken
		}
		end := int(d.InputOffset())
		at := end - len(value)
		if err := member(key, whole[at:end], at); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return broken
	}
	return nil
}

func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) == 0 {
		b = append(b, '{')
	} else {
		b = append(b, ',')
	}
	b, _ = jsontext.AppendQuote(b, name) // valid, since it was decoded as a string
	b = append(b, ':')
	return append(b, value...)
}

// takeArguments removes the arguments from a tool call message: they may be 40 MB, and the SDK
// would copy them several times. Only a single JSON object with unique names is accepted. Arrays of
// messages belong to an old version of the protocol; one array could contain any number of calls.
func takeArguments(message []byte) (left, arguments []byte, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(message))
	switch d.PeekKind() {
	case '{':
	case '[':
		return nil, nil, rest.NewError(app.CodeInvalidPayload, "The request body must be one JSON-RPC message; batches are not supported")
	default:
		return nil, nil, rest.NewError(app.CodeInvalidPayload, "The request body must be a JSON-RPC message")
	}
	var method string
	var params []byte
	var start int
	err = walk(d, message, func(name string, value []byte, at int) error {
		switch name {
		case "method":
			_ = json.Unmarshal(value, &method) // a value that is no string is no tool call
		case "params":
			params, start = value, at
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case len(bytes.TrimSpace(message[d.InputOffset():])) > 0:
		return nil, nil, rest.NewError(app.CodeInvalidPayload, "The request body must be one JSON-RPC message")
	case method != "tools/call" || jsontext.Value(params).Kind() != '{':
		return message, nil, nil
	}
	err = eachMember(params, func(name string, value []byte, at int) error {
		if name == "arguments" {
			arguments = value
			start += at
		}
		return nil
	})
	if err != nil || arguments == nil {
		return message, nil, err
	}
	left = append(left, message[:start]...)
	left = append(left, "{}"...)
	return append(left, message[start+len(arguments):]...), arguments, nil
}

// withoutSecrets removes secret members from an answer.
func (t *tool) withoutSecrets(body []byte) ([]byte, error) {
	if len(t.secrets) == 0 {
		return body, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", t.name, err)
	}
	for _, name := range t.secrets {
		delete(members, name)
	}
	return json.Marshal(members)
}
