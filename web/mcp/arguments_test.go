package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

func TestTakeArguments(t *testing.T) {
	for _, tt := range []struct{ message, left, arguments string }{
		{`{"method":"tools/call","params":{"name":"a","arguments":{"x":[1, 2]},"_meta":{"y":1}},"id":1}`,
			`{"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"y":1}},"id":1}`, `{"x":[1, 2]}`},
		{" { \"params\" : {\n\"arguments\" : \"x\" } , \"method\" : \"tools/call\" } \n", " { \"params\" : {\n\"arguments\" : {} } , \"method\" : \"tools/call\" } \n", `"x"`},
		{`{"method":"tools\/call","params":{"arguments":null}}`, `{"method":"tools\/call","params":{"arguments":{}}}`, `null`},
		{`{"method":"tools/call","params":{"name":"arguments"}}`, "", ""},
		{`{"method":"tools/call","params":[{"arguments":1}]}`, "", ""},
		{`{"method":"tools/call"}`, "", ""},
		{`{"method":1,"params":{"arguments":1}}`, "", ""},
		{`{"method":"tools/list","params":{"arguments":1}}`, "", ""},
		{`{"method":"tools/call","x":{"arguments":1}}`, "", ""},
	} {
		if tt.left == "" {
			tt.left = tt.message
		}
		left, arguments, err := takeArguments([]byte(tt.message))
		if err != nil || string(left) != tt.left || string(arguments) != tt.arguments {
			t.Errorf("%s: %v\n%s\n%s", tt.message, err, left, arguments)
		}
	}
}

// FuzzTakeArguments: an accepted message is unchanged, with arguments in their position.
func FuzzTakeArguments(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"a","arguments":{"x":1}},"id":1}`))
	f.Add([]byte(`{"params":{"arguments":[]},"method":"tools/call"}`))
	f.Add([]byte(`{"method":"ping"} {}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, message []byte) {
		was := bytes.Clone(message)
		left, arguments, err := takeArguments(message)
		if !bytes.Equal(was, message) {
			t.Fatal("the message changed")
		}
		if err != nil {
			var refused *rest.Error
			if !errors.As(err, &refused) || refused.Name != app.CodeInvalidPayload {
				t.Errorf("%v", err)
			}
			return
		}
		if !json.Valid(message) || !json.Valid(left) || arguments != nil && !json.Valid(arguments) {
			t.Fatalf("%q gives %q and %q", message, left, arguments)
		}
		if arguments != nil && len(left)-2+len(arguments) != len(message) {
			t.Errorf("%q gives %q and %q", message, left, arguments)
		}
	})
}

// FuzzToolArguments: the body of a call is the arguments without the
// parameters.
func FuzzToolArguments(f *testing.F) {
	tool := &tool{
		operation: &rest.Operation{Operation: &openapi.Operation{Parameters: []*openapi.Param{{Name: "id", In: "path"}}, RequestBody: &openapi.RequestBody{Required: true}}},
		takesBody: true,
		parameters: map[string]*openapi.Param{"id": {Name: "id", In: "path"}, "limit": {Name: "limit", In: "query"},
			"idempotency_key": {Name: "Idempotency-Key", In: "header"}},
	}
	f.Add([]byte(`{"id":"x","limit":1,"idempotency_key":"k","a":{"b":[1, null]},"c":"<\u0000>"}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"id":1e3,"":true}`))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		in, err := tool.read(arguments)
		if err != nil {
			return
		}
		var want, got map[string]any
		if err := json.Unmarshal(arguments, &want); err != nil {
			t.Fatalf("%q passes: %v", arguments, err)
		}
		if err := json.Unmarshal(in.Body, &got); err != nil {
			t.Fatalf("%q gives the body %q: %v", arguments, in.Body, err)
		}
		for name := range tool.parameters {
			delete(want, name)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Errorf("%q gives the body %q", arguments, in.Body)
		}
		if key := in.Header.Get("Idempotency-Key"); strings.ContainsAny(key, "\r\n") || in.Params.ByName("id") == "" {
			t.Errorf("%q gives %q, %q", arguments, key, in.Params)
		}
	})
}
