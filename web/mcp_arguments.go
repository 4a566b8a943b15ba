package web

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
)

// toolInput is a call of a tool as the request that its operation takes.
type toolInput struct {
	params httprouter.Params
	query  url.Values
	header http.Header
	body   []byte
}

// read takes the arguments of a call apart: the parameters of the operation,
// and for the body what is left. The members of the body are not looked at,
// since the operation does that. Errors: CodeValidation for an argument that the
// operation does not have, or a parameter that is missing or no plain value.
func (t *tool) read(arguments json.RawMessage) (*toolInput, error) {
	in := &toolInput{query: url.Values{}, header: http.Header{}}
	var rest bytes.Buffer // members of the body, as they came
	err := eachMember(arguments, func(name string, value jsontext.Value) error {
		if p := t.parameters[name]; p != nil {
			return in.add(name, p, value)
		}
		switch {
		case !t.takesBody:
			return newError(app.CodeValidation, unknownField(fieldName(jsontext.Pointer("").AppendToken(name))))
		case t.list == name:
			in.body = value.Clone()
			return nil
		}
		return appendMember(&rest, name, value)
	})
	if err != nil {
		return nil, err
	}
	if err := t.close(in, rest.Bytes()); err != nil {
		return nil, err
	}
	return in, nil
}

// close checks that nothing is missing and puts the body together.
func (t *tool) close(in *toolInput, rest []byte) error {
	for _, p := range t.operation.Parameters {
		if p.In == "path" && in.params.ByName(p.Name) == "" {
			return app.Invalid(p.Name, "is required")
		}
	}
	switch {
	case !t.takesBody:
		return nil
	case t.list == "":
		if len(rest) > 0 || t.operation.RequestBody.Required {
			in.body = append(append([]byte{'{'}, rest...), '}')
		}
		return nil
	case len(rest) > 0:
		var name string
		if err := eachMember(append(append([]byte{'{'}, rest...), '}'), func(n string, _ jsontext.Value) error { name = n; return nil }); err != nil {
			return err
		}
		return newError(app.CodeValidation, unknownField(fieldName(jsontext.Pointer("").AppendToken(name))))
	case in.body == nil:
		return app.Invalid(t.list, "is required")
	}
	return nil
}

// add notes a parameter. null is as good as absent.
func (in *toolInput) add(name string, p *huma.Param, value jsontext.Value) error {
	var text string
	switch value.Kind() {
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
		in.params = append(in.params, httprouter.Param{Key: p.Name, Value: text})
	case "query":
		in.query.Set(p.Name, text)
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
	in.header.Set(p.Name, textproto.TrimString(text))
	return nil
}

// eachMember walks over the members of a JSON object; nothing and null are an
// empty one. The value is good until the next one is read.
func eachMember(object []byte, member func(name string, value jsontext.Value) error) error {
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object)) // a Buffer is read in place
	if d.PeekKind() != '{' {
		return app.Invalid("arguments", "must be an object")
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("read arguments: %w", err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return newError(app.CodeInvalidPayload, "The arguments are not valid JSON")
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return newError(app.CodeInvalidPayload, "The arguments are not valid JSON")
		}
		if err := member(key, value); err != nil {
			return err
		}
	}
	return nil
}

func appendMember(b *bytes.Buffer, name string, value jsontext.Value) error {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	quoted, err := jsontext.AppendQuote(b.AvailableBuffer(), name)
	if err != nil {
		return newError(app.CodeInvalidPayload, "The arguments are not valid JSON")
	}
	b.Write(quoted)
	b.WriteByte(':')
	b.Write(value)
	return nil
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
