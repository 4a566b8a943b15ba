package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"mailer/web/rest/openapi"
)

// SelfWritten is the output of an operation that writes its answer itself, status and all.
type SelfWritten struct{ Body func() }

// Answer writes content of a media type as the whole answer.
func (x *Exchange) Answer(mediaType string, content []byte) {
	x.answered = true
	x.Header().Set("Content-Type", mediaType)
	x.Header().Set("Content-Length", strconv.Itoa(len(content)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(content) // an error means that the connection is closed
}

// outputPlan describes how the output of an operation becomes the answer. An output may have a
// Status, a Body, and strings with the tag "header".
type outputPlan struct {
	of       reflect.Type
	headers  []headerField
	status   []int // nil: the operation's default
	body     []int // nil: no body
	bodyType reflect.Type
}

// headerField is an output field that becomes a header, unless it is empty.
type headerField struct {
	field []int
	name  string
}

// Types of a Body that are not written as JSON.
var (
	bytesBody   = reflect.TypeFor[[]byte]()
	writtenBody = reflect.TypeFor[func()]()
)

// outputPlanOf makes the plan of an output type. It panics for a field that would not be written.
func outputPlanOf(output reflect.Type) *outputPlan {
	p := &outputPlan{of: output}
	for _, f := range visibleFields(output) {
		name := f.Tag.Get("header")
		switch {
		case f.Name == "Status" && f.Type.Kind() == reflect.Int:
			p.status = f.Index
		case f.Name == "Body":
			p.body, p.bodyType = f.Index, f.Type
		case name != "" && f.IsExported() && f.Type.Kind() == reflect.String:
			p.headers = append(p.headers, headerField{f.Index, name})
		case f.IsExported() && !f.Anonymous:
			panic(fmt.Sprintf("%s: the field %s has no place in an answer", output, f.Name))
		}
	}
	return p
}

// write writes an output, which is a pointer; nil: only the status. answer is the output's JSON.
func (p *outputPlan) write(ctx context.Context, x *Exchange, status int, output any, answer encoded) {
	out := reflect.ValueOf(output)
	if !out.IsValid() || out.IsNil() {
		x.WriteHeader(status)
		return
	}
	out = out.Elem()
	for _, h := range p.headers {
		if text := out.FieldByIndex(h.field).String(); text != "" {
			x.Header().Set(h.name, text)
		}
	}
	if p.status != nil {
		status = int(out.FieldByIndex(p.status).Int())
	}
	switch {
	case p.body == nil:
		x.WriteHeader(status)
	case p.bodyType == writtenBody:
		out.FieldByIndex(p.body).Interface().(func())()
	case p.bodyType == bytesBody:
		x.WriteHeader(status)
		_, _ = x.Write(out.FieldByIndex(p.body).Bytes()) // an error means that the connection is closed
	default:
		writeJSON(ctx, x, status, answer)
	}
}

// encode encodes the JSON body of an output, if it has one. It reserves memory for the answer to a
// request that only reads, since a client may read slowly. Errors: CodeServiceUnavailable.
func (p *outputPlan) encode(x *Exchange, output any) (answer encoded, err error) {
	out := reflect.ValueOf(output)
	if !out.IsValid() || out.IsNil() || p.body == nil || p.bodyType == writtenBody || p.bodyType == bytesBody {
		return answer, nil
	}
	if answer, err = encode(out.Elem().FieldByIndex(p.body).Interface()); err != nil {
		return answer, fmt.Errorf("encode the answer of %s: %w", x.Pattern, err)
	}
	if x.onlyReads {
		err = x.memory.ReserveNow(int64(len(answer.json)))
	}
	return answer, err
}

// writeJSON answers in JSON. If the answer can't be completed it panics, which aborts the answer,
// so that no client takes a part for the whole.
func writeJSON(ctx context.Context, x *Exchange, status int, answer encoded) {
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(status)
	if err := answer.writeTo(x); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		panic(fmt.Errorf("write the answer of %s: %w", x.Pattern, err))
	}
}

// setStatus sets the status of the answer, unless the operation names one.
func (p *outputPlan) setStatus(op *openapi.Operation) {
	if op.DefaultStatus != 0 {
		return
	}
	op.DefaultStatus = http.StatusNoContent
	if p.body != nil || op.Method == http.MethodHead {
		op.DefaultStatus = http.StatusOK
	}
}

// document adds the answer to the operation's documentation.
func (p *outputPlan) document(registry *openapi.Registry, op *openapi.Operation) {
	status := strconv.Itoa(op.DefaultStatus)
	response := op.Responses[status]
	if response == nil {
		response = &openapi.Response{}
		op.Responses[status] = response
	}
	if response.Description == "" {
		response.Description = http.StatusText(op.DefaultStatus)
	}
	if p.body != nil {
		p.documentBody(registry, response)
	}
	for _, h := range p.headers {
		f := p.of.FieldByIndex(h.field)
		if f.Tag.Get("hidden") == "true" {
			continue
		}
		if response.Headers == nil {
			response.Headers = map[string]*openapi.Header{}
		}
		response.Headers[h.name] = &openapi.Header{Schema: registry.Field(f)}
	}
}

// documentBody documents the body of an answer, unless the operation has done so.
func (p *outputPlan) documentBody(registry *openapi.Registry, response *openapi.Response) {
	if p.bodyType == writtenBody || len(response.Content) > 0 {
		return
	}
	schema := registry.Field(p.of.FieldByIndex(p.body))
	response.Content = map[string]*openapi.MediaType{"application/json": {Schema: schema}}
}

// documentErrors documents the errors of an operation. Operations share one response per status,
// since the document stays in memory.
func (h *Handler) documentErrors(op *openapi.Operation) {
	for _, status := range op.Errors {
		name := strconv.Itoa(status)
		if h.refusals[name] == nil {
			schema := h.doc.Components.Schemas.Schema(reflect.TypeFor[Error]())
			h.refusals[name] = &openapi.Response{
				Description: http.StatusText(status),
				Content:     map[string]*openapi.MediaType{"application/json": {Schema: schema}},
			}
		}
		op.Responses[name] = h.refusals[name]
	}
}
