package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/julienschmidt/httprouter"

	"mailer/app"
	"mailer/web/rest"
)

// toolInput is a call of a tool as the request that its operation takes.
type toolInput struct{ rest.Call }

// read takes the arguments of a call apart: the parameters of the operation,
// and for the body what is left. The members of the body are not looked at,
// since the operation does that. Errors: CodeValidation for an argument that the
// operation does not have, or a parameter that is missing or no plain value.
func (t *tool) read(arguments []byte) (*toolInput, error) {
	in := &toolInput{rest.Call{Query: url.Values{}, Header: http.Header{}}}
	var left []byte // the body, without its last brace
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

// finish checks that nothing is missing and ends the body.
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

// add notes a parameter. null is as good as absent.
func (in *toolInput) add(name string, p *huma.Param, value []byte) error {
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

// addHeader refuses what could not have come in a header.
func (in *toolInput) addHeader(name string, p *huma.Param, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return app.Invalid(name, "must not hold control characters")
	}
	in.Header.Set(p.Name, textproto.TrimString(text))
	return nil
}

// eachMember walks over the members of a JSON object; nothing and null are an
// empty one. The values are parts of object, at the index that member gets.
func eachMember(object []byte, member func(name string, value []byte, at int) error) error {
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object)) // a Buffer is read in place
	if d.PeekKind() != '{' {
		return app.Invalid("arguments", "must be an object")
	}
	return walk(d, object, member)
}

// walk reads the object that comes next from d, which reads whole. Errors:
// CodeInvalidPayload, and those of member.
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
		key := name.String() // before it is read over
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
	b, _ = jsontext.AppendQuote(b, name) // it was read as a string, so it is one
	b = append(b, ':')
	return append(b, value...)
}

// takeArguments takes the arguments out of a message that calls a tool: the SDK
// would copy them several times over, and they may be 40 MB. It lets only one
// JSON object pass, with names that are unique. Arrays of messages are of one
// old version of the protocol; a single one could hold any number of calls.
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
			_ = json.Unmarshal(value, &method) // what is no string is no call of a tool
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

// withoutSecrets takes the secret members out of an answer.
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
