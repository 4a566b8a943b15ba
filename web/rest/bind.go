package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"mailer/web/rest/openapi"
)

// Locations of a parameter. The location is also the struct tag that names the parameter.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
)

// param is a parameter of an operation.
type param struct {
	field    []int  // index of the input's field
	in, name string // location and name
	standard string // default value
	list     bool   // separated by commas, repeated, or both
}

// inputPlan describes how a request becomes the input of an operation. It is made once per
// operation.
type inputPlan struct {
	of     reflect.Type
	params []param
}

// inputPlanOf makes the plan of an input type. It panics for a parameter that is neither a string
// nor, in the query, a list of strings: inputs check their own parameters, so that all refusals
// have the same texts.
func inputPlanOf(input reflect.Type) *inputPlan {
	p := &inputPlan{of: input}
	p.gather(input, nil)
	return p
}

// gather adds the parameters of a struct that is embedded in the input at the index at.
func (p *inputPlan) gather(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f, field := t.Field(i), append(slices.Clone(at), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			p.gather(f.Type, field)
			continue
		}
		in, name := locationOf(f)
		if in == "" {
			continue
		}
		list := in == inQuery && f.Type == reflect.TypeFor[[]string]()
		if !f.IsExported() || !list && f.Type.Kind() != reflect.String {
			panic(fmt.Sprintf("%s: the parameter %s can't be read into a %s", t, name, f.Type))
		}
		p.params = append(p.params, param{field: field, in: in, name: name, standard: f.Tag.Get("default"), list: list})
	}
}

// locationOf returns the location and name of a field's parameter; empty if the field is no
// parameter.
func locationOf(f reflect.StructField) (in, name string) {
	for _, in := range []string{inPath, inQuery, inHeader} {
		if name := f.Tag.Get(in); name != "" {
			return in, name
		}
	}
	return "", ""
}

// bind returns a pointer to the input of a request.
func (p *inputPlan) bind(x *Exchange, r *http.Request) any {
	in := reflect.New(p.of)
	var query url.Values
	for i := range p.params {
		one := &p.params[i]
		if one.list {
			if query == nil {
				query = r.URL.Query()
			}
			in.Elem().FieldByIndex(one.field).Set(reflect.ValueOf(commaList(query[one.name])))
		} else if text := cmp.Or(one.read(x, r), one.standard); text != "" {
			in.Elem().FieldByIndex(one.field).SetString(text)
		}
	}
	return in.Interface()
}

// read returns the parameter's value in a request; empty if absent.
func (p *param) read(x *Exchange, r *http.Request) string {
	switch p.in {
	case inPath:
		return x.params.ByName(p.name)
	case inQuery:
		return queryValue(r.URL.RawQuery, p.name)
	}
	return r.Header.Get(p.name)
}

// queryValue returns the first value of a name in a query. A name without "=" is a flag that is
// "true".
func queryValue(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, assigned := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			continue
		}
		if !assigned {
			return "true"
		}
		text, _ := url.QueryUnescape(value) // empty if it can't be read
		return text
	}
	return ""
}

// commaList splits values at commas; nil if nothing is left.
func commaList(values []string) (list []string) {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// document adds the parameters to the operation's documentation.
func (p *inputPlan) document(registry *openapi.Registry, op *openapi.Operation) {
	for i := range p.params {
		one := &p.params[i]
		schema := registry.Field(p.of.FieldByIndex(one.field))
		documented := &openapi.Param{Name: one.name, In: one.in, Description: schema.Description, Required: one.in == inPath, Schema: schema}
		if one.in == inQuery {
			documented.Explode = new(bool) // lists are separated by commas
		}
		op.Parameters = append(op.Parameters, documented)
	}
}
