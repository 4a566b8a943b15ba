package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/queryparam"
)

// Where a parameter stands, which is also the tag that names it.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
)

// param is a parameter of an operation.
type param struct {
	field    []int  // of the input, which holds it
	in, name string // where it stands, and under which name
	standard string // what a request means that says nothing
	list     bool   // written with commas, repeated, or both
}

// inputPlan is how requests become the input of an operation. It is made once for each
// operation and not for each request. huma's own way is a function of several hundred
// lines that is compiled anew for each operation: a tenth of the binary.
type inputPlan struct {
	of     reflect.Type
	params []param
}

// inputPlanOf reads the plan off an input. It panics for a parameter that is neither
// text nor a list of texts in the query: inputs check their own parameters, so that
// refusals have the same words everywhere.
func inputPlanOf(input reflect.Type) *inputPlan {
	p := &inputPlan{of: input}
	p.gather(input, nil)
	return p
}

// gather adds the parameters of a struct that stands at a field of the input.
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

// locationOf returns where the parameter of a field stands; empty: it holds none.
func locationOf(f reflect.StructField) (in, name string) {
	for _, in := range []string{inPath, inQuery, inHeader} {
		if name := f.Tag.Get(in); name != "" {
			return in, name
		}
	}
	return "", ""
}

// bind returns the input of a request, as a pointer.
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

// read returns what a request says; empty: nothing.
func (p *param) read(x *Exchange, r *http.Request) string {
	switch p.in {
	case inPath:
		return x.params.ByName(p.name)
	case inQuery:
		return queryparam.Get(r.URL.RawQuery, p.name)
	}
	return r.Header.Get(p.name)
}

// commaList returns the texts that stand between commas in values; none: nil.
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

// document adds the parameters to what the document says of an operation.
func (p *inputPlan) document(registry huma.Registry, op *huma.Operation) {
	for i := range p.params {
		one := &p.params[i]
		schema := huma.SchemaFromField(registry, p.of.FieldByIndex(one.field), "")
		response := &huma.Param{Name: one.name, In: one.in, Description: schema.Description, Required: one.in == inPath, Schema: schema}
		if one.in == inQuery {
			response.Explode = new(bool) // lists have commas
		}
		op.Parameters = append(op.Parameters, response)
	}
}
